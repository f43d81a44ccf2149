"""Columns of published rows and of people, numbered by the same values.

Several attacks compare published rows with people. Each column is ranked once for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.groups.ranks import categories, rank
from sfumato.tasks.microdata.table import Column, Microdata

_ROOM, _BITS = 8, 24  # cells of a table for each hash, and the most of them as a power of 2
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of Fibonacci hashing: 2 ** 64 by the golden ratio


@dataclass(frozen=True, eq=False)
class ColumnTogether:
    """A column of published rows, and of people, in codes for the values of both.

    Attributes:
        values: the distinct values, ascending.
        codes: the place of each row's value, then of each person's, -1 for null (int32).
    """

    values: pa.Array
    codes: np.ndarray


def rank_together(
    published: pa.Array | pa.ChunkedArray, own: Column, type_: pa.DataType
) -> ColumnTogether:
    """Return a column of published rows and of people as values of one type.

    The result is that of `rank` on all values one after another, but people's values, which have
    codes, are not compared one by one.

    Args:
        published: the value of each row.
        own: the value of each person.
        type_: the type in which values are compared.

    Raises:
        pyarrow.ArrowInvalid: if a value has no place in the type.
    """
    return _unite(*rank(published.cast(type_)), own)


def _unite(values: pa.Array, codes: np.ndarray, own: Column) -> ColumnTogether:
    """Return a column of rows with values in codes (int32), and of people."""
    occurs = np.zeros(len(own.values) + 1, dtype=bool)
    occurs[own.codes] = True
    own_values = own.values.filter(pa.array(occurs[:-1])).cast(values.type)
    distinct, place = rank(pa.concat_arrays([values, own_values]))
    new = np.full(len(own.values) + 1, -1, dtype=np.int32)
    new[:-1][occurs[:-1]] = place[len(values) :]
    if len(distinct) > len(values):
        codes = np.append(place[: len(values)], np.int32(-1))[codes]
    return ColumnTogether(distinct, np.concatenate([codes, new[own.codes]]))


@dataclass(frozen=True, eq=False)
class RowsTogether:
    """Published rows and people, compared by their columns; each column is ranked once.

    Attributes:
        table: the published rows.
        people: the people.
        names: the columns of quasi-identifiers.
    """

    table: pa.Table
    people: Microdata
    names: Sequence[str]
    _ranked: dict[str, ColumnTogether] = field(default_factory=dict)
    _published: dict[str, tuple[pa.Array, np.ndarray]] = field(default_factory=dict)

    def published(self, name: str) -> tuple[pa.Array, np.ndarray]:
        """Return the distinct published values of a column, ascending, and rows' places (int32)."""
        if name not in self._published:
            column = self.table[name]
            self._published[name] = rank(column.cast(_plain(column.type)))
        return self._published[name]

    def column(self, name: str) -> ColumnTogether:
        """Return a column, as values of the published type."""
        if name not in self._ranked:
            self._ranked[name] = _unite(*self.published(name), self.people[name])
        return self._ranked[name]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of the quasi-identifiers of each row, then of each person (int64, dense).

        They ascend with the values of the columns, the first column first; null is the first value.
        """
        if not self.names:
            return np.zeros(self.table.num_rows + self.people.rows, dtype=np.int64)
        columns = [self.column(name) for name in self.names]
        keys, _ = _keys([each.values for each in columns], [each.codes for each in columns])
        return dense(keys)[0]

    def has_more_vectors_than(self, number: int) -> bool:
        """Decide whether the rows have more than so many vectors; people are not looked at.

        Vectors with different hashes are different, and hashes are counted in a table. Where that
        does not decide, all vectors are compared.
        """
        if self.table.num_rows <= number:
            return False
        keys, _ = _keys(*zip(*(self.published(name) for name in self.names), strict=True))
        bits = min((_ROOM * number).bit_length(), _BITS)
        hashes = (keys.astype(np.uint64) * _FACTOR) >> np.uint64(64 - bits)
        occurs = np.zeros(1 << bits, dtype=bool)
        occurs[hashes] = True
        return int(occurs.sum()) > number or int(self.vectors[0].max()) + 1 > number

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """The vector of each published row, and of each person (int64 both).

        Vectors of rows are numbered 0, 1, …; that of a person is -1 if no row has it.
        """
        rows = self.numbers[: self.table.num_rows]
        occurs = np.zeros(int(self.numbers.max(initial=-1)) + 1, dtype=bool)
        occurs[rows] = True
        place = np.where(occurs, np.cumsum(occurs) - 1, -1)
        return place[rows], place[self.numbers[self.table.num_rows :]]


def _keys(values: Sequence[pa.Array], codes: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Return keys of vectors, null as the first value, and their bound (see `pack`)."""
    numbered, sizes = zip(*map(categories, values, codes), strict=True)
    return pack(numbered, sizes)


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
