"""Microdata in memory and in private files, as dictionary codes; and sources of randomness.

`Randomness` takes n and returns n fresh unsigned 64-bit keys; a random order is a sort by them.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import Coded, pack
from sfumato.expectations.groups.ranks import categories, rank, sensitive_codes
from sfumato.expectations.shared.arrow import as_indices
from sfumato.tasks.arrays.at_rest import read_stage_table, write_stage_table
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.files import read_json

_PERSONS, _OWNERS = "persons.parquet", "owners.parquet"
_RELATED = "related"
Randomness = Callable[[int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Column:
    """A column as codes (int32, one per row, -1 for null) into its distinct values, ascending.

    `ancestors[level]` numbers the node above each value at each level of its hierarchy, from the
    value itself (level 0) to the root; `labels[level]` are the nodes' labels by these numbers. Both
    are None without a hierarchy.
    """

    name: str
    role: Role
    values: pa.Array
    codes: np.ndarray
    ancestors: np.ndarray | None = None
    labels: tuple[pa.Array, ...] | None = None

    @property
    def has_null(self) -> bool:
        """True if some row has no value."""
        return bool(len(self.codes)) and int(self.codes.min()) < 0

    def array(self) -> pa.Array:
        """Return the column decoded, nulls as nulls."""
        return self.values.take(pa.array(self.codes, mask=self.codes < 0))

    def dictionary_array(self) -> pa.DictionaryArray:
        """Return the column in codes, nulls as nulls: for tables sorted before publication."""
        return pa.DictionaryArray.from_arrays(as_indices(self.codes), self.values)

    def category(self) -> tuple[np.ndarray, int]:
        """Return codes with null as the first category (int32, one per row), and their number."""
        return categories(self.values, self.codes)

    def levels(self) -> np.ndarray:
        """Return the node above each category at each level (int64, levels x categories).

        Nodes of a level are numbered from 0; the last level is only the root. A null has nodes of
        its own below the root. A column without hierarchy has two levels: its values and the root.
        """
        _, size = self.category()
        if self.ancestors is None:
            return np.stack([np.arange(size), np.zeros(size, dtype=np.int64)])
        if not self.has_null:
            return self.ancestors
        of_null = self.ancestors.max(axis=1, initial=-1) + 1
        of_null[-1] = 0
        return np.concatenate([of_null[:, None], self.ancestors], axis=1)

    def counted_codes(self) -> Coded:
        """Return the column as a sensitive attribute to count; nulls are an unordered value."""
        return sensitive_codes(self.values, self.codes, self.name, self.ancestors)

    def take(self, rows: np.ndarray) -> "Column":
        """Return the column of some rows (positions or bool), with only their values."""
        codes = self.codes[rows]
        used = np.zeros(len(self.values) + 1, dtype=bool)
        used[codes] = True
        used = used[:-1]
        renumbered = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
        ancestors, labels = self._nodes_above(used)
        return replace(
            self,
            values=self.values.filter(pa.array(used)),
            codes=renumbered[codes],
            ancestors=ancestors,
            labels=labels,
        )

    def _nodes_above(
        self, used: np.ndarray
    ) -> tuple[np.ndarray | None, tuple[pa.Array, ...] | None]:
        """Return the hierarchy over some values (bool, one per value), with nodes renumbered."""
        if self.ancestors is None:
            return None, self.labels
        levels = [np.unique(nodes, return_inverse=True) for nodes in self.ancestors[:, used]]
        ancestors = np.array([numbers for _, numbers in levels], dtype=np.int64)
        if self.labels is None:
            return ancestors, None
        pairs = zip(self.labels, levels, strict=True)
        return ancestors, tuple(labels.take(pa.array(nodes)) for labels, (nodes, _) in pairs)


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """The rows of a second table, each of which belongs to a row of a table about people.

    `owner` is the position of that row (int64, one per owned row).
    """

    owner: np.ndarray
    table: "Microdata"

    def of_owners(self, positions: np.ndarray, rows: int) -> "OwnedRows":
        """Return the owned rows of some of the owners, whose positions are renumbered.

        Args:
            positions: of the owners that stay, each once (int64).
            rows: the number of owners before.
        """
        place = np.full(rows, -1, dtype=np.int64)
        place[positions] = np.arange(len(positions))
        staying = np.flatnonzero(place[self.owner] >= 0)
        return OwnedRows(place[self.owner[staying]], self.table.take(staying))


@dataclass(frozen=True, eq=False)
class Microdata:
    """A table about people: columns with their roles, all of the same length.

    `person` is the number of each row's person (integers from 0), if people have several rows.
    `related` has the rows of a second table, with column names of its own.
    """

    columns: tuple[Column, ...]
    rows: int
    person: np.ndarray | None = None
    related: OwnedRows | None = None

    def __getitem__(self, name: str) -> Column:
        if self.related is None or any(column.name == name for column in self.columns):
            return next(column for column in self.columns if column.name == name)
        return self.related.table[name]

    def has(self, name: str) -> bool:
        """Return whether there is such a column."""
        return any(column.name == name for column in self.columns)

    def with_roles(self, *roles: Role) -> tuple[Column, ...]:
        """Return the columns that have one of these roles, in the order of the spec."""
        return tuple(column for column in self.columns if column.role in roles)

    def take(self, rows: np.ndarray) -> "Microdata":
        """Return some rows (positions, int64), in the given order."""
        person = None if self.person is None else self.person[rows]
        related = None if self.related is None else self.related.of_owners(rows, self.rows)
        columns = tuple(column.take(rows) for column in self.columns)
        return Microdata(columns, len(rows), person, related)

    def keep(self, columns: Iterable[Column]) -> "Microdata":
        """Return the same rows with only these columns; related rows keep theirs."""
        return Microdata(tuple(columns), self.rows, self.person, self.related)

    def with_columns(self, columns: Sequence[Column]) -> "Microdata":
        """Return the same rows with only these columns, each of the people or of related rows."""
        own = [column for column in columns if self.has(column.name)]
        if self.related is None:
            return self.keep(own)
        of_related = [column for column in columns if not self.has(column.name)]
        related = replace(self.related, table=self.related.table.keep(of_related))
        return replace(self, columns=tuple(own), related=related)

    def table(self) -> pa.Table:
        """Return the rows decoded, as an Arrow table."""
        return pa.table({column.name: column.array() for column in self.columns})


def key(columns: Sequence[Column], rows: int) -> tuple[np.ndarray, int]:
    """Return one int64 per row that tells different vectors of values apart (nulls are a value)."""
    if not columns:
        return np.zeros(rows, dtype=np.int64), 1
    categories = [column.category() for column in columns]
    return pack([codes for codes, _ in categories], [size for _, size in categories])


def encode(name: str, role: Role, array: pa.Array | pa.ChunkedArray) -> Column:
    """Return a column in which each distinct value has its rank as its code."""
    values, codes = rank(array)
    return Column(name, role, values, codes)


def save(microdata: Microdata, directory: Path) -> None:
    """Write codes and dictionaries into an existing private directory."""
    names = [column.name for column in microdata.columns]
    codes = pa.table([pa.array(column.codes) for column in microdata.columns], names=names)
    values = pa.table([_as_one_list(column.values) for column in microdata.columns], names=names)
    if microdata.person is not None:
        write_stage_table(pa.table({"person": microdata.person}), directory / _PERSONS)
    write_stage_table(codes, directory / "codes.parquet")
    write_stage_table(values, directory / "values.parquet")
    roles = {"rows": microdata.rows, "roles": {c.name: c.role for c in microdata.columns}}
    (directory / "microdata.json").write_text(json.dumps(roles), encoding="utf-8", newline="\n")
    if microdata.related is not None:
        owners = pa.table({"owner": microdata.related.owner})
        write_stage_table(owners, directory / _OWNERS)
        (directory / _RELATED).mkdir(exist_ok=True)
        save(microdata.related.table, directory / _RELATED)


def count_rows(directory: Path) -> int:
    """Return the number of rows that `save` wrote."""
    described = read_json(directory / "microdata.json", None)
    return int(described["rows"])


def load(directory: Path) -> Microdata:
    """Read what `save` wrote."""
    described = read_json(directory / "microdata.json", None)
    codes = read_stage_table(directory / "codes.parquet")
    values = read_stage_table(directory / "values.parquet")
    columns = tuple(
        Column(
            name,
            role,
            values[name].combine_chunks().flatten(),
            codes[name].to_numpy(),
        )
        for name, role in described["roles"].items()
    )
    persons, related = _persons(directory / _PERSONS), _load_related(directory)
    return Microdata(columns, described["rows"], persons, related)


def _persons(place: Path) -> np.ndarray | None:
    """Return the number of each row's person, or None if the stage has none."""
    return read_stage_table(place)["person"].to_numpy() if place.exists() else None


def _load_related(directory: Path) -> OwnedRows | None:
    """Return the related rows, or None if the stage has none."""
    place = directory / _OWNERS
    if not place.exists():
        return None
    owner = read_stage_table(place)["owner"].to_numpy()
    return OwnedRows(owner, load(directory / _RELATED))


def _as_one_list(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def operating_system(n: int) -> np.ndarray:
    """Return n keys from the operating system (uint64); all published randomness uses them."""
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


def seeded_keys(seed: int) -> Randomness:
    """Return a source of keys that can be drawn again, for tests and experiments."""
    generator = np.random.default_rng(seed)
    return generator.bit_generator.random_raw  # the keys that `integers` gives, in less time
