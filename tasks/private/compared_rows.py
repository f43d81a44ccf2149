"""Comparison of the hashed rows of two tables, over the columns of both.

A column whose values nobody has in both tables, such as the month of monthly files, tells nothing
and is left out. Then the rows are compared over all columns; and over all but one, for each: one
column may have changed for everybody, as ages do. Those comparisons take combinations of values by
chance where there are many rows, the same in both tables, and share one level.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.composition.same_people import RowsOfTwo, rows_of_two
from sfumato.tasks.private.source_rows import WHOSE, Rows

_SAMPLED = 1 << 16  # rows of both tables, in a comparison without one column
_IN_MEMORY = 1 << 26  # hashes of a table
_NONE = np.array([], dtype=np.uint64)
_ODD, _HALF, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(17)


@dataclass(frozen=True)
class RowsInCommon:
    """The counts of combinations that two tables have in common over some columns.

    Attributes:
        columns: that were compared.
        rows: the counts.
        are_related: whether they are rows of the same people.
    """

    columns: tuple[str, ...]
    rows: RowsOfTwo
    are_related: bool


def columns_of_both(one: Rows, other: Rows) -> list[str]:
    """The columns whose values two tables have, in order."""
    return sorted((set(one.column_names) & set(other.column_names)) - {WHOSE})


def compare_rows(one: Rows, other: Rows) -> RowsInCommon | None:
    """Compare two tables, without the rows of units that are in both; None where no column is."""
    first, second, both = _HashedTable(one), _HashedTable(other), columns_of_both(one, other)
    names = [name for name in both if _meet(first.column(name), second.column(name))]
    if not names:
        return None
    sides = _sides(first, second, names)
    whole = rows_of_two(*(side.distinct(side.total) for side in sides))
    if whole.are_related or len(names) == 1:
        return RowsInCommon(tuple(names), whole, whole.are_related)
    for place, name in enumerate(names):
        rows = rows_of_two(*(side.sample_without(place, name, _many(sides)) for side in sides))
        if rows.is_beyond_chance(tests=len(names)):
            return RowsInCommon(tuple(n for n in names if n != name), rows, are_related=True)
    return RowsInCommon(tuple(names), whole, are_related=False)


@dataclass(frozen=True, eq=False)
class _HashedColumn:
    """A column of hashes as it is encoded: per piece its values (uint64) and each row's place."""

    pieces: tuple[tuple[np.ndarray, np.ndarray], ...]

    @property
    def values(self) -> np.ndarray:
        """The hashes that occur (uint64)."""
        return np.concatenate([_NONE, *(_used(values, at) for values, at in self.pieces)])

    def rows(self, change: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
        """The hash of each row (uint64), changed value by value."""
        return np.concatenate([_NONE, *(change(values)[at] for values, at in self.pieces)])


class _HashedTable:
    """Hashed rows by column, which stay in memory where they are few."""

    def __init__(self, of: Rows) -> None:
        self._of, self._known = of, dict[str, _HashedColumn]()
        self.rows = of.num_rows
        self._is_small = of.num_rows * len(of.column_names) <= _IN_MEMORY

    def column(self, name: str) -> _HashedColumn:
        """A column of them."""
        if name in self._known:
            return self._known[name]
        found = self._of[name] if isinstance(self._of, pa.Table) else self._of.column(name)
        pieces = (_encoded(chunk) for chunk in found.chunks)
        column = _HashedColumn(tuple(pieces))
        if self._is_small:
            self._known[name] = column
        return column

    def whose(self) -> np.ndarray | None:
        """The person of each row (uint64), None where rows are people."""
        return self.column(WHOSE).rows() if WHOSE in self._of.column_names else None


def _used(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    used = np.zeros(len(values), dtype=bool)
    used[at] = True
    return np.asarray(values[used])


def _encoded(chunk: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    return np.asarray(coded.dictionary.to_numpy()), np.asarray(coded.indices.to_numpy())


def _meet(one: _HashedColumn, other: _HashedColumn) -> bool:
    """Decide whether some value of a column is in both tables."""
    return bool(np.isin(one.values, other.values).any())


@dataclass(frozen=True, eq=False)
class _Side:
    """The rows of one table that are compared.

    Attributes:
        table: of all its rows.
        kept: which of them are compared (bool).
        total: one hash of each over all columns (uint64).
        whose: each is (uint64), where people have several; else None.
    """

    table: _HashedTable
    kept: np.ndarray
    total: np.ndarray
    whose: np.ndarray | None

    def distinct(self, hashes: np.ndarray, whose: np.ndarray | None = None) -> np.ndarray:
        """The hashes of rows, those of one person each once."""
        whose = self.whose if whose is None else whose
        if whose is None:
            return hashes
        _, first = np.unique(_mix(hashes ^ whose), return_index=True)
        return np.asarray(hashes[first])

    def sample_without(self, place: int, name: str, every: int) -> np.ndarray:
        """One hash of some rows without a column: of one of so many combinations of the others."""
        hashes = self.total - _salted(self.table.column(name), place)[self.kept]
        some = (hashes >> _HALF) & np.uint64(every - 1) == 0
        return self.distinct(hashes[some], None if self.whose is None else self.whose[some])


def _many(sides: Sequence[_Side]) -> int:
    """The number of combinations of which one is taken, a power of two."""
    return 1 << max(0, (sum(len(side.total) for side in sides) // _SAMPLED).bit_length() - 1)


def _sides(one: _HashedTable, other: _HashedTable, names: Sequence[str]) -> tuple[_Side, _Side]:
    mine, theirs = one.whose(), other.whose()
    return _side(one, names, mine, theirs), _side(other, names, theirs, mine)


def _side(
    table: _HashedTable, names: Sequence[str], mine: np.ndarray | None, theirs: np.ndarray | None
) -> _Side:
    kept = np.ones(table.rows, dtype=bool)
    if mine is not None and theirs is not None:
        kept = ~np.isin(mine, theirs)
    total = np.zeros(table.rows, dtype=np.uint64)
    for place, name in enumerate(names):
        total += _salted(table.column(name), place)
    several = mine is not None and pc.count_distinct(pa.array(mine)).as_py() < len(mine)
    return _Side(table, kept, total[kept], mine[kept] if several and mine is not None else None)


def _salted(column: _HashedColumn, place: int) -> np.ndarray:
    """The hash of each row, told from those of another column with the same values (uint64)."""
    salt = np.uint64((place + 1) * int(_ODD) % 2**64)
    return column.rows(lambda values: _mix(values + salt))


def _mix(hashes: np.ndarray) -> np.ndarray:
    product = (hashes ^ (hashes >> _HALF)) * _ODD
    return np.asarray(product ^ (product >> _SHIFT) ^ (product >> _HALF))
