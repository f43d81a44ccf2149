"""Columns of published tables as codes, each read when a question first needs it.

The code of a value is its rank among the column's distinct values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.shared.arrow import as_array, as_codes, as_indices, as_numpy
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.query.engines.engine import Source
from sfumato.tasks.query.question.ways import GROUP_ID
from sfumato.tasks.schema.files import regular
from sfumato.tasks.sql.parted import TableInParts

_SAMPLE = 1 << 16  # rows
_NEGATIVE_ZERO = -(2**63)  # as the bits of a float
_SPARSE = 4  # a range of integers is tabulated if it has at most so many integers per row


class NotDirectError(Exception):
    """A question that codes and group ids cannot answer; SQL answers it."""


@dataclass(frozen=True, eq=False)
class CodedValues:
    """Codes (unsigned, as narrow as possible, one per row) into values.

    `values` ascend, each once; a null is the last one.
    """

    codes: np.ndarray
    values: pa.Array

    def rows_with(self, chosen: np.ndarray) -> np.ndarray:
        """Return the rows (bool, one per row) whose value is chosen (bool, one per value)."""
        edges = np.flatnonzero(np.diff(chosen.view(np.int8), prepend=0, append=0))
        if len(edges) > 2:
            rows: np.ndarray = chosen[self.codes]
            return rows
        # the chosen codes are one run, from `first` to before `end`, or there are none
        first, end = (int(edge) for edge in edges) if len(edges) else (0, 0)
        if end - first == len(chosen):
            return np.ones(len(self.codes), dtype=bool)
        narrow = self.codes.dtype.type
        within: np.ndarray = (self.codes - narrow(first)) < narrow(end - first)  # wraps below
        return within


class GroupsByValue:
    """An index of a column: the groups of its rows, by the codes of their values."""

    def __init__(self, column: CodedValues, group: np.ndarray, groups: int) -> None:
        """Sort the rows by code, and then by group.

        Args:
            column: the codes of the rows.
            group: the group of each row (integers).
            groups: the number of groups.
        """
        bits = max(groups - 1, 0).bit_length()
        codes = np.arange(len(column.values) + 1)
        kind = np.int32 if len(codes) << bits <= np.iinfo(np.int32).max else np.int64
        key: np.ndarray = column.codes.astype(kind)
        key <<= kind(bits)
        key |= group.astype(kind, copy=False)
        key.sort()
        self._start = np.searchsorted(key, (codes << bits).astype(kind))
        key &= kind((1 << bits) - 1)
        self._group = key

    def groups_with(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the groups and the codes of the rows whose value is chosen (bool, by code).

        Both are integers, one per such row; rows ascend by code, and then by group.
        """
        codes = np.flatnonzero(chosen)
        edges = np.flatnonzero(np.diff(chosen.view(np.int8), prepend=0, append=0)).reshape(-1, 2)
        runs = [self._group[self._start[first] : self._start[end]] for first, end in edges]
        code = np.repeat(codes, np.diff(self._start)[codes])
        return runs[0] if len(runs) == 1 else np.concatenate([self._group[:0], *runs]), code


def coded_values(column: pa.ChunkedArray) -> CodedValues:
    """Return the values of a column as codes.

    Raises:
        NotDirectError: if nearly all values differ, or a float is NaN or a negative zero.
    """
    if (pa.types.is_integer(column.type) or pa.types.is_date32(column.type)) and len(column):
        ranked = _code_integers(column)
        if ranked is not None:
            return ranked
    _require_repeated(column)
    whole = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column
    array = whole.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return _in_order(array)


def _code_integers(column: pa.ChunkedArray) -> CodedValues | None:
    """Return the codes of integers (or days); None if some are null, or they are far apart."""
    if column.null_count:
        return None
    numbers = column.combine_chunks()
    units = as_numpy(numbers)
    low, high = int(units.min()), int(units.max())
    if high - low > _SPARSE * len(units) + _SAMPLE:
        return None
    shifted = units - units.dtype.type(low) if low else units
    met = np.zeros(high - low + 1, dtype=bool)
    met[shifted] = True
    values = np.flatnonzero(met)
    rank = (np.cumsum(met) - 1).astype(_narrow(len(values)))
    codes = shifted.astype(rank.dtype) if len(values) == len(met) else rank[shifted]
    return CodedValues(codes, as_array((values + low).astype(units.dtype), numbers.type))


def _require_repeated(column: pa.ChunkedArray) -> None:
    """Check that values of a long column repeat, by its dictionaries or by a sample of its rows.

    Raises:
        NotDirectError: if more than half of them seem to differ.
    """
    if len(column) <= 2 * _SAMPLE:
        return
    if pa.types.is_dictionary(column.type):
        if 2 * sum(len(chunk.dictionary) for chunk in column.chunks) > len(column):
            raise NotDirectError
        return
    every = np.arange(0, len(column), len(column) // _SAMPLE, dtype=np.int32)
    sampled = column.take(as_indices(every))
    if 2 * pc.count_distinct(sampled).as_py() > len(sampled):
        raise NotDirectError


def _in_order(array: pa.DictionaryArray) -> CodedValues:
    """Return the codes of a dictionary's values in their order, with null as the last one."""
    values, indices = array.dictionary, array.indices
    _require_plain(values)
    order = as_numpy(pc.sort_indices(values)).astype(np.int32)
    rank = np.empty(len(values) + 1, dtype=_narrow(len(values) + 1))
    rank[order], rank[-1] = np.arange(len(values)), len(values)
    ordered = values.take(as_indices(order))
    if not indices.null_count:
        return CodedValues(rank[as_numpy(indices)], ordered)
    ordered = pa.concat_arrays([ordered, pa.nulls(1, ordered.type)])
    return CodedValues(rank[as_codes(indices)], ordered)


def _require_plain(values: pa.Array) -> None:
    """Check that no float is NaN or a negative zero, of which SQL takes different ones for equal.

    Raises:
        NotDirectError: if one is.
    """
    if pa.types.is_floating(values.type):
        bits = as_numpy(values.cast(pa.float64()).view(pa.int64()))
        if np.isnan(bits.view(np.float64)).any() or (bits == _NEGATIVE_ZERO).any():
            raise NotDirectError


def _narrow(values: int) -> np.dtype:
    """Return the narrowest type that can store so many codes, and their number."""
    return np.dtype(
        next(type_ for type_ in (np.uint8, np.uint16, np.uint32) if values <= np.iinfo(type_).max)
    )


class PublishedColumns:
    """The columns of a table, or of several tables stacked, each read at most once."""

    def __init__(self, *sources: Source) -> None:
        """Take the sources; columns are read when they are needed."""
        self._sources = sources
        self._coded: dict[str, CodedValues] = {}
        self._by_value: dict[str, GroupsByValue | None] = {}

    def read(self, name: str) -> pa.ChunkedArray:
        """Return a column as it is published; texts are dictionaries if they are stored so.

        Raises:
            PromiseError: if a table lacks it, which no table of a release does.
        """
        return _one_type([self._column(source, name) for source in self._sources])

    def _column(self, source: Source, name: str) -> pa.ChunkedArray:
        try:
            return _column(source, name)
        except KeyError:
            place = source.name if isinstance(source, Path) else "a table"
            raise PromiseError(
                f"{place}: has no column {name!r}. The release is damaged or was changed"
            ) from None

    def numbers(self, name: str) -> np.ndarray:
        """Return a column of integers.

        Raises:
            NotDirectError: if the column has another type, or some are missing.
        """
        column = self.read(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise NotDirectError
        return as_numpy(column.combine_chunks())

    def coded_column(self, name: str) -> CodedValues:
        """Return a column as codes.

        Raises:
            NotDirectError: if it cannot be coded.
        """
        if name not in self._coded:
            self._coded[name] = coded_values(self.read(name))
        return self._coded[name]

    def by_value(self, name: str) -> GroupsByValue | None:
        """Return the groups of rows by a column's values; None at the first call for the column.

        Sorting pays off only from the second call.

        Raises:
            NotDirectError: if the column cannot be coded, or groups are not numbered from 0.
        """
        if name not in self._by_value:
            self._by_value[name] = None
        elif self._by_value[name] is None:
            self._by_value[name] = GroupsByValue(self.coded_column(name), self.group, self.groups)
        return self._by_value[name]

    @cached_property
    def group(self) -> np.ndarray:
        """The group of each row (int64, one per row).

        Raises:
            NotDirectError: if an id is not from 0 to below the number of rows.
        """
        group = self.numbers(GROUP_ID).astype(np.int64, copy=False)
        if len(group) and not 0 <= group.min() <= group.max() < len(group):
            raise NotDirectError
        return group

    @cached_property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.group.max(initial=-1)) + 1


def _column(source: Source, name: str) -> pa.ChunkedArray:
    if isinstance(source, pa.Table):
        return source[name]
    if isinstance(source, TableInParts):
        return _one_type([table[name] for table in source.tables([name])])
    # A dictionary of texts: no other column has one.
    with pq.ParquetFile(regular(source), read_dictionary=[name]) as file:
        return file.read([name])[name]


def _one_type(parts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Stack columns; they stay dictionaries if all of them are."""
    type_ = next((p.type for p in parts if not pa.types.is_dictionary(p.type)), parts[0].type)
    return pa.chunked_array([c for p in parts for c in p.cast(type_).chunks], type_)
