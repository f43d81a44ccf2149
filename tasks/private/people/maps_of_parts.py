"""The private map of a version in parts: the maps of its parts, one below the other in one file.

Each part's map is that of a line of its own (see `slots`): its groups are numbered from 0, and so
are the ids that they have in the part's release. The file's metadata, in format 3, state where each
part begins, which cut distinguishes it, and how the line was cut. It is one file, named in the
state by its SHA-256, so that everything that walks maps (forgetting, renaming, backups) walks it.

A reader of the whole file gets the slots of all parts, with numbers that run on from part to part.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.slots import (
    FORMAT_IN_PARTS,
    FORMER,
    META,
    SlotMap,
    from_table,
    names_of_column,
)
from sfumato.tasks.schema.files import regular

_AT_ONCE = 1 << 20  # rows of a row group of the file
_BUCKETS = 16  # files of names, by the first bits of a name
_ENTRY = np.dtype([("name", NAME), ("part", "<i4"), ("marked", "?")])


_PARTS, _CUTS = "parts", "cuts"  # keys of the document in the metadata


@dataclass(frozen=True)
class MappedPart:
    """A part in the map of a version.

    Attributes:
        where: the cut that distinguishes it, as a text.
        rows: the number of its rows in the file.
        groups: how many numbers its groups have used so far.
        first_group: the number added to its ids where all parts of the version are one table.
        digest: the digest of its release, None if the version shows nobody in it.
    """

    where: str
    rows: int = 0
    groups: int = 0
    first_group: int = 0
    digest: str | None = None


@dataclass(frozen=True)
class MapInParts:
    """The file of a map in parts.

    Attributes:
        path: of the file.
        parts: in their order.
        cuts: how the line was cut, as a document.
    """

    path: Path
    parts: tuple[MappedPart, ...]
    cuts: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> "MapInParts | None":
        """Return the map in a file, or None if it is the map of a version in one table.

        Raises:
            PromiseError: where the file is no map.
        """
        try:
            document = json.loads((pq.read_schema(regular(path)).metadata or {})[META])
            if _PARTS not in document:
                return None
            parts = tuple(MappedPart(**part) for part in document[_PARTS])
            return cls(path, parts, dict(document[_CUTS]))
        except (KeyError, ValueError, TypeError, pa.ArrowException) as error:
            require_machine(error)
            raise PromiseError(
                f"{path}: cannot be read as a map of people. Restore it from a backup: "
                "sfumato line restore SPEC FILE"
            ) from None

    def number_of(self, where: str) -> int | None:
        """Return the place of the part with that cut, or None if there is none."""
        return next((n for n, part in enumerate(self.parts) if part.where == where), None)

    def nameless(self) -> "MapInParts":
        """Return a copy without the values that distinguish parts from one another."""
        parts = tuple(replace(part, where="") for part in self.parts)
        return MapInParts(self.path, parts, {})

    def read(self, number: int) -> SlotMap:
        """Return the slots of a part, by the part's own numbers."""
        return from_table(self._rows(number), self.path)

    def names(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the name in each row of a part (S16, empty for nobody), and the row's kind.

        Rows of former holders (kind FORMER) are included.
        """
        table = self._rows(number, ["key", "kind"])
        return names_of_column(table["key"]), table["kind"].to_numpy()

    def _rows(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a part, from the row groups of the file that have some."""
        # `position` is the first row of each row group; `skipped` counts rows before the first read
        first = sum(part.rows for part in self.parts[:number])
        end, position, read, skipped = first + self.parts[number].rows, 0, [], 0
        with pq.ParquetFile(regular(self.path)) as file:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if position + rows <= first:
                    skipped = position + rows
                elif position < end:
                    read.append(group)
                position += rows
            table = file.read_row_groups(read, columns=columns)
        return table.slice(first - skipped, end - first)


def is_in_parts(path: Path) -> bool:
    """Decide whether a file is a map in parts; a file that cannot be read is not."""
    try:
        return MapInParts.open(path) is not None
    except PromiseError:
        return False


def join_maps(
    path: Path, parts: Sequence[tuple[MappedPart, Path]], cuts: Mapping[str, Any]
) -> None:
    """Write the maps of parts into one file, one after the other.

    Args:
        path: of the file.
        parts: each with the file of its own map, which gives its numbers of rows and groups.
        cuts: how the line is cut, as a document.

    Raises:
        PromiseError: where the slots of two parts have other columns, or values of other types.
    """
    schemas = [pq.read_schema(regular(place)) for _, place in parts]
    like = max(schemas, key=_decimals)
    document = json.loads((like.metadata or {})[META])
    mapped = [asdict(_with_counts(part, place)) for part, place in parts]
    document |= {"format": FORMAT_IN_PARTS, _PARTS: mapped, _CUTS: dict(cuts)}
    schema = like.with_metadata({META: json.dumps(document).encode()})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _, place in parts:
            writer.write_table(_cast(_read(place), schema), row_group_size=_AT_ONCE)


def with_numbers_of_all(table: pa.Table) -> pa.Table:
    """Return the rows of a map that is read whole, with numbers that run on through parts."""
    document = json.loads((table.schema.metadata or {})[META])
    if _PARTS not in document:
        return table
    parts = [MappedPart(**part) for part in document[_PARTS]]
    rows = [part.rows for part in parts]
    groups = np.cumsum([0, *(part.groups for part in parts)])[:-1]
    group = table["group"].to_numpy() + np.repeat(groups, rows)
    published = _numbers(table["published"])
    first = np.repeat([part.first_group for part in parts], rows)
    former = table["kind"].to_numpy() == FORMER
    numbers = {"group": group, "published": np.where(published < 0, -1, published + first)}
    for name, values in numbers.items():
        place = table.column_names.index(name)
        field = table.schema.field(place)
        mask = former if name == "published" else None
        table = table.set_column(place, field, pa.array(values, field.type, mask=mask))
    return table


def _with_counts(part: MappedPart, place: Path) -> MappedPart:
    """Return a part with the numbers of rows and groups of its map."""
    group = _read(place, ["group"])["group"]
    return replace(part, rows=len(group), groups=int(pc.max(group).as_py() or 0) + 1)


def _read(place: Path, columns: Sequence[str] | None = None) -> pa.Table:
    with pq.ParquetFile(regular(place)) as file:
        return file.read(columns)


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers (int64), -1 for null."""
    return np.asarray(column.fill_null(-1).to_numpy()).astype(np.int64)


def _decimals(schema: pa.Schema) -> int:
    """Return the sum of the scales of decimal columns: a longer scale can hold shorter values."""
    return sum(f.type.scale for f in schema if pa.types.is_decimal(f.type))


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return table.select(schema.names).cast(schema.remove_metadata())
    except (KeyError, pa.ArrowException):
        raise PromiseError(
            "versions: composed: two parts have other columns, or values of other "
            "types, so the groups cannot continue. Keep the columns and their types as "
            "they were"
        ) from None


class Buckets:
    """Names, each with the number of a part, in a private directory."""

    def __init__(self, directory: Path) -> None:
        """Hold none yet."""
        self._directory = directory
        for file in directory.iterdir():  # of an attempt that failed
            file.unlink()

    def add(self, names: np.ndarray, part: int, marked: np.ndarray | bool = False) -> None:
        """Write the names of people (S16) of a part, some of them marked (bool)."""
        entries = np.empty(len(names), dtype=_ENTRY)
        entries["name"], entries["part"], entries["marked"] = names, part, marked
        bucket = np.ascontiguousarray(names, dtype=NAME).view(np.uint8).reshape(-1, NAME.itemsize)
        buckets = bucket[:, 0] // (256 // _BUCKETS)
        for number in np.unique(buckets).tolist():
            with self._file(number).open("ab") as file:
                file.write(entries[buckets == number].tobytes())

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the names (S16), parts (int64) and marks (bool) of each bucket.

        All entries of a person are in one bucket.
        """
        for number in range(_BUCKETS):
            place = self._file(number)
            entries = np.fromfile(place, _ENTRY) if place.exists() else np.empty(0, _ENTRY)
            yield (
                np.ascontiguousarray(entries["name"]),
                entries["part"].astype(np.int64),
                np.ascontiguousarray(entries["marked"]),
            )

    def _file(self, number: int) -> Path:
        return self._directory / f"{number}"
