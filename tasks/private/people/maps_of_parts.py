"""The private map of a version in parts: the maps of its parts, one below the other in one file.

Each part's map is that of a line of its own (see `slots`): its groups are numbered from 0, and so
are the ids that they have in the part's release. The file says of itself, in format 3, where each
part begins, by what cut it is told from others, and how the line was cut. It is one file, named in
the state by its SHA-256, so that whatever walks maps (forgetting, renaming, backups) walks this.

Whoever reads it whole reads the slots of all parts, with numbers that run on from part to part.
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

_AT_ONCE = 1 << 20  # rows of a group of rows
_BUCKETS = 16
_ENTRY = np.dtype([("name", NAME), ("part", "<i4"), ("marked", "?")])


_PARTS, _CUTS = "parts", "cuts"


@dataclass(frozen=True)
class MappedPart:
    """A part in the map of a version.

    Attributes:
        where: the cut that tells it from others, as a text.
        rows: how many rows of the file are its own.
        groups: how many numbers its groups have used so far.
        first_group: what is added to its ids where all parts of the version are one table.
        digest: that of its release, None where nobody of it is shown in the version.
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
    def of(cls, path: Path) -> "MapInParts | None":
        """The map in a file, None where it is that of one table.

        Raises:
            PromiseError: where it is none.
        """
        try:
            told = json.loads((pq.read_schema(regular(path)).metadata or {})[META])
            if _PARTS not in told:
                return None
            parts = tuple(MappedPart(**part) for part in told[_PARTS])
            return cls(path, parts, dict(told[_CUTS]))
        except (KeyError, ValueError, TypeError, pa.ArrowException):
            raise PromiseError(f"{path}: cannot be read as a map of people") from None

    def number_of(self, where: str) -> int | None:
        """The place of the part with that cut, None where there is none."""
        return next((n for n, part in enumerate(self.parts) if part.where == where), None)

    def nameless(self) -> "MapInParts":
        """The same without the values that tell parts from one another."""
        parts = tuple(replace(part, where="") for part in self.parts)
        return MapInParts(self.path, parts, {})

    def read(self, number: int) -> SlotMap:
        """The slots of a part, by the part's own numbers."""
        return from_table(self._rows(number), self.path)

    def names(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Who holds, or held, slots of a part (S16; empty for nobody), and their kind (int8)."""
        table = self._rows(number, ["key", "kind"])
        return names_of_column(table["key"]), table["kind"].to_numpy()

    def _rows(self, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a part, out of those groups of rows that have some."""
        first = sum(part.rows for part in self.parts[:number])
        end, at, read, skipped = first + self.parts[number].rows, 0, [], 0
        with pq.ParquetFile(regular(self.path)) as file:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if at + rows <= first:
                    skipped = at + rows
                elif at < end:
                    read.append(group)
                at += rows
            table = file.read_row_groups(read, columns=columns)
        return table.slice(first - skipped, end - first)


def is_in_parts(path: Path) -> bool:
    """Decide whether a file is a map in parts; what cannot be read is none."""
    try:
        return MapInParts.of(path) is not None
    except PromiseError:
        return False


def join_maps(
    path: Path, parts: Sequence[tuple[MappedPart, Path]], cuts: Mapping[str, Any]
) -> None:
    """Write the maps of parts into one file, one after the other.

    Args:
        path: of the file.
        parts: each with the file of its own map; how many rows and groups it has is told from that.
        cuts: how the line is cut, as a document.

    Raises:
        PromiseError: where the slots of two parts have other columns, or values of other types.
    """
    schemas = [pq.read_schema(regular(place)) for _, place in parts]
    like = max(schemas, key=_decimals)
    told = json.loads((like.metadata or {})[META])
    mapped = [asdict(_counted(part, place)) for part, place in parts]
    told |= {"format": FORMAT_IN_PARTS, _PARTS: mapped, _CUTS: dict(cuts)}
    schema = like.with_metadata({META: json.dumps(told).encode()})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _, place in parts:
            writer.write_table(_cast(_read(place), schema), row_group_size=_AT_ONCE)


def with_numbers_of_all(table: pa.Table) -> pa.Table:
    """The rows of a map that is read whole: in parts, with numbers that run on through parts."""
    told = json.loads((table.schema.metadata or {})[META])
    if _PARTS not in told:
        return table
    parts = [MappedPart(**part) for part in told[_PARTS]]
    rows = [part.rows for part in parts]
    groups = np.cumsum([0, *(part.groups for part in parts)])[:-1]
    group = table["group"].to_numpy() + np.repeat(groups, rows)
    published = _numbers(table["published"])
    first = np.repeat([part.first_group for part in parts], rows)
    former = table["kind"].to_numpy() == FORMER
    found = {"group": group, "published": np.where(published < 0, -1, published + first)}
    for name, of in found.items():
        place = table.column_names.index(name)
        field = table.schema.field(place)
        mask = former if name == "published" else None
        table = table.set_column(place, field, pa.array(of, field.type, mask=mask))
    return table


def _counted(part: MappedPart, place: Path) -> MappedPart:
    """A part with the rows and the groups of its map."""
    group = _read(place, ["group"])["group"]
    return replace(part, rows=len(group), groups=int(pc.max(group).as_py() or 0) + 1)


def _read(place: Path, columns: Sequence[str] | None = None) -> pa.Table:
    with pq.ParquetFile(regular(place)) as file:
        return file.read(columns)


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers (int64), -1 for none."""
    return np.asarray(column.fill_null(-1).to_numpy()).astype(np.int64)


def _decimals(schema: pa.Schema) -> int:
    """The digits behind the points of all columns: a longer scale holds the values of a shorter."""
    return sum(f.type.scale for f in schema if pa.types.is_decimal(f.type))


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    try:
        return table.select(schema.names).cast(schema.remove_metadata())
    except (KeyError, pa.ArrowException):
        raise PromiseError(
            "versions: composed: the slots of two parts have other columns, or values of other "
            "types, and groups cannot go on: keep the columns"
        ) from None


class Buckets:
    """Names with the number of a part each, in a private directory."""

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
        of = bucket[:, 0] // (256 // _BUCKETS)
        for number in np.unique(of).tolist():
            with self._file(number).open("ab") as file:
                file.write(entries[of == number].tobytes())

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The names (S16), parts (int64) and marks (bool) of each share, all of a person in one."""
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
