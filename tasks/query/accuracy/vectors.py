"""Vectors of quasi-identifiers, of published rows and of original rows.

Several attacks compare published rows with people. Each column is ranked once for all of them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.groups.ranks import categories, rank
from sfumato.expectations.shared.arrow import distinct_values
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.microdata.table import Column, Microdata, encode

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
    occurs = np.bincount(own.codes + 1, minlength=len(own.values) + 1)[1:] > 0
    own_values = own.values.filter(pa.array(occurs)).cast(values.type)
    distinct, place = rank(pa.concat_arrays([values, own_values]))
    new = np.full(len(own.values) + 1, -1, dtype=np.int32)
    new[:-1][occurs] = place[len(values) :]
    if len(distinct) > len(values):
        codes = np.append(place[: len(values)], np.int32(-1)).take(codes)
    return ColumnTogether(distinct, np.concatenate([codes, new.take(own.codes)]))


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

    def rank_published(self, name: str) -> tuple[pa.Array, np.ndarray]:
        """Return the distinct published values of a column, ascending, and rows' places (int32)."""
        if name not in self._published:
            column = self.table[name]
            self._published[name] = rank(_plain(column))
        return self._published[name]

    def column(self, name: str) -> ColumnTogether:
        """Return a column, as values of the published type."""
        if name not in self._ranked:
            self._ranked[name] = _unite(*self.rank_published(name), self.people[name])
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
        keys, _ = _keys(*zip(*(self.rank_published(name) for name in self.names), strict=True))
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


def vectors(
    published: pa.Table, columns: Sequence[str], original: Microdata
) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct published vectors 0, 1, …; original ones that are not among them: -1.

    Args:
        published: a published table.
        columns: those of a vector.
        original: the rows before.

    Returns:
        The vector of each published row, and of each original one (both int64).
    """
    return RowsTogether(published, original, columns).vectors


def codes_as_published(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    """Return the codes of a column's rows as forms number the published values; -1 for others.

    Args:
        column: of the rows before, or of other people.
        values: as they are published.

    Returns:
        int64, one per row of the column.
    """
    published = encode(column.name, "quasi-identifier", values)
    place = pc.index_in(column.values.cast(published.values.type), value_set=published.values)
    codes: np.ndarray = np.append(place.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
    if published.has_null:
        codes[codes >= 0] += 1
        codes[column.codes < 0] = 0
    return codes


@dataclass(frozen=True, eq=False)
class VectorKeys:
    """One key for each vector of values, in the order of vectors; a missing value comes first.

    Attributes:
        names: of the columns.
        values: all values of each column in any part, ascending.
    """

    names: Sequence[str]
    values: Sequence[pa.Array]

    @classmethod
    def for_parts(cls, names: Sequence[str], parts: Iterable[pa.Table]) -> "VectorKeys":
        """Return the keys of all vectors of the published rows of some parts."""
        seen: list[list[pa.Array]] = [[] for _ in names]
        for rows in parts:
            for arrays, name in zip(seen, names, strict=True):
                arrays.append(encode(name, "quasi-identifier", _plain(rows[name])).values)
        return cls(names, [distinct_values(arrays) for arrays in seen])

    def of_rows(self, rows: pa.Table) -> np.ndarray:
        """Return the key of each published row's vector: int64, or bytes if int64 is too short."""
        return self._pack(
            [self._places(rows[name], number) for number, name in enumerate(self.names)]
        )

    def of_original(self, columns: Sequence[Column]) -> np.ndarray:
        """Return the key of each original row's vector.

        A vector that is not published has a key that no published row has.
        """
        codes = []
        for column, values in zip(columns, self.values, strict=True):
            index = pc.index_in(column.values.cast(values.type), value_set=values)
            place = np.append(index.fill_null(len(values)).to_numpy() + 1, 0)
            codes.append(place[column.codes])
        return self._pack(codes)

    def _places(self, column: pa.ChunkedArray, number: int) -> np.ndarray:
        index = pc.index_in(_plain(column), value_set=self.values[number])
        return np.asarray(index.combine_chunks().fill_null(-1).to_numpy()) + 1

    def _pack(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Combine the codes of all columns (0: missing value) into keys in the order of vectors."""
        sizes = [len(values) + 2 for values in self.values]
        if math.prod(sizes) > INT64_MAX:
            return _as_bytes(codes)
        packed = np.zeros(len(codes[0]), dtype=np.int64)
        for column_codes, size in zip(codes, sizes, strict=True):
            packed = packed * size + column_codes
        return packed


def count_vectors(keys: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of all parts, ascending, and the number of rows of each (int64)."""
    distinct, counts = np.unique(next(keys), return_counts=True)
    for part_keys in keys:
        more, numbers = np.unique(part_keys, return_counts=True)
        both, place = np.unique(np.concatenate([distinct, more]), return_inverse=True)
        summed = np.zeros(len(both), dtype=np.int64)
        np.add.at(summed, place, np.concatenate([counts, numbers]))
        distinct, counts = both, summed
    return distinct, counts


def _as_bytes(codes: Sequence[np.ndarray]) -> np.ndarray:
    wide = np.stack([column_codes.astype(">u4") for column_codes in codes], axis=1)
    return np.ascontiguousarray(wide).view(f"S{4 * len(codes)}").ravel()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if dictionary else column
