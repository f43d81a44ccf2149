"""Cells of an answer, with the number of rows of each group that each cell selects.

These rows are the hits of a group in a cell. If conditions are on sensitive values, a row qualifies
if its value matches. Of a group with n values, m of which match, and h hits, at least h + m - n and
at most m hits qualify.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.shared.arrow import as_indices
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import lengths, starts
from sfumato.tasks.query.engines.group_bounds import CountedRows
from sfumato.tasks.query.engines.published_columns import (
    CodedValues,
    NotDirectError,
    PublishedColumns,
)
from sfumato.tasks.query.question.question import Key

_FEW = 1 << 12  # up to so many cells, all combinations are cells, also those without rows
_NEAR = 1 << 21  # numbers that stay in the processor's cache while rows are counted one by one
_BINS = 4  # at most so many bins per row
_NARROW = 2**31  # keys below this are int32
_BLOCK = 8  # groups are in blocks of 2**8
_LOOKED_AT = 16  # up to so many cells, the rows of each are counted in a pass of their own


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """The rows that a question selects.

    Attributes:
        group: the group of each row (integers).
        cell: the cell of each row (integers from 0); None if the question has no group columns.
        keys: the values of the group columns, by cell.
    """

    group: np.ndarray
    cell: np.ndarray | None
    keys: Sequence[Key]

    @cached_property
    def of_cells(self) -> np.ndarray:
        """The number of rows in each cell (int64, one per cell)."""
        if self.cell is None:
            return np.array([len(self.group)])
        if len(self.keys) <= _LOOKED_AT:
            every = np.arange(len(self.keys)).astype(self.cell.dtype)
            return np.array([np.count_nonzero(self.cell == cell) for cell in every], np.int64)
        return np.bincount(self.cell, minlength=len(self.keys))


@dataclass(frozen=True, eq=False)
class Hits:
    """The number of rows that a cell selects of a group, one entry for each pair that has any.

    Attributes:
        group: the group of each entry (int64); a slice if the entries are all groups, some of them
            without hits.
        hits: the number of rows, parallel to the groups (int64).
        run: the positions at which runs begin: neighbouring entries in one cell (int64, ascending).
        cell_of_run: the cell of each run (int64); a cell may have several runs.
        cells: the number of cells.
    """

    group: np.ndarray | slice
    hits: np.ndarray
    run: np.ndarray
    cell_of_run: np.ndarray
    cells: int

    @property
    def each_group(self) -> np.ndarray:
        """The group of each entry, never a slice (int64)."""
        return np.arange(len(self.hits)) if isinstance(self.group, slice) else self.group

    @property
    def cell(self) -> np.ndarray:
        """The cell of each entry (int64)."""
        return np.repeat(self.cell_of_run, lengths(self.run, len(self.hits)))

    def where(self, chosen: np.ndarray) -> "Hits":
        """Return the chosen entries (bool), with the same number of cells."""
        places = np.flatnonzero(chosen)
        run = np.searchsorted(places, self.run)
        some = np.flatnonzero(lengths(run, len(places)))
        return Hits(
            self.each_group[places],
            self.hits[places],
            run[some],
            self.cell_of_run[some],
            self.cells,
        )

    def reduce_by_cell(self, function: np.ufunc, numbers: np.ndarray, none: int) -> np.ndarray:
        """Reduce the numbers of each cell by a function of two (same dtype, one per cell).

        Args:
            function: an associative and commutative function.
            numbers: the numbers, parallel to the hits.
            none: the result for a cell without numbers.
        """
        results = np.full(self.cells, none, dtype=numbers.dtype)
        if len(self.run):
            function.at(results, self.cell_of_run, function.reduceat(numbers, self.run))
        return results

    def sums(self, units: np.ndarray, most: int) -> np.ndarray:
        """Return the sum of the units of each cell (int64, or Python integers).

        Args:
            units: integers (int64 or Python integers), parallel to the hits.
            most: the largest absolute value that a unit can have.
        """
        fits = units.dtype == np.int64 and most * len(units) <= INT64_MAX
        return self.reduce_by_cell(np.add, units if fits else units.astype(object), 0)


def selected_rows(
    table: PublishedColumns, group_by: Sequence[str], chosen: np.ndarray | None
) -> SelectedRows:
    """Return the chosen rows (bool, one per row; None for all), in cells by the group columns.

    Cells are all combinations of values if these are few; otherwise those that rows have.
    """
    group = table.group if chosen is None else table.group[chosen]
    if not group_by:
        return SelectedRows(group, None, [()])
    columns = [table.coded_column(name) for name in group_by]
    sizes = [len(column.values) for column in columns]
    codes = [c.codes if chosen is None else c.codes[chosen] for c in columns]
    key = codes[0] if len(codes) == 1 else pack(codes, sizes)[0]
    if not 0 < prod(sizes) <= _FEW:
        key, first = _rank_keys(key)
        return SelectedRows(
            group, key, _keys(columns, [column_codes[first] for column_codes in codes])
        )
    every = np.unravel_index(np.arange(prod(sizes)), sizes)
    return SelectedRows(group, key, _keys(columns, every))


def _rank_keys(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks of keys (int64, one per row), and for each rank a row that has it."""
    ranks, number = dense(key.astype(np.int64))
    row = np.empty(number, dtype=np.int64)
    row[ranks] = np.arange(len(ranks))
    return ranks, row


def _keys(columns: Sequence[CodedValues], codes: Sequence[np.ndarray]) -> list[Key]:
    pairs = zip(columns, codes, strict=True)
    values = [
        column.values.take(as_indices(column_codes.astype(np.int32))).to_pylist()
        for column, column_codes in pairs
    ]
    return list(zip(*values, strict=True))


def hits_of(rows: SelectedRows, groups: int) -> Hits:
    """Count the rows of each cell and group.

    Keys of cells and groups are counted in an array with a bin for each, or sorted if that would be
    too large.

    Raises:
        NotDirectError: if there are too many cells and groups.
    """
    cells, bits = len(rows.keys), min(max(groups - 1, 0).bit_length(), _BLOCK)
    blocks = ((groups - 1) >> bits) + 1
    bins = groups if rows.cell is None else blocks * cells << bits
    if bins > INT64_MAX:
        raise NotDirectError
    if bins <= min(_NEAR, _BINS * len(rows.group)):
        counted = np.bincount(_combine_keys(rows, bits, np.int64), minlength=bins)
        met = np.flatnonzero(counted != 0)  # the keys that rows have
        counted = counted[met]
    else:
        ordered = np.sort(_combine_keys(rows, bits, np.int32 if bins < _NARROW else np.int64))
        first = starts(ordered)
        met, counted = ordered[first].astype(np.int64), lengths(first, len(ordered))
    if rows.cell is None:
        return Hits(met, counted, zero := np.zeros(min(len(met), 1), np.int64), zero, 1)
    return _in_runs(met, counted, bits, cells)


def hits_in_each(rows: SelectedRows, groups: int) -> Hits:
    """Count the rows of each group in turn if there is one cell, and hardly fewer rows than groups.

    There must be at least half as many rows as groups. Otherwise counts as `hits_of` does.

    Raises:
        NotDirectError: if there are too many cells and groups.
    """
    if rows.cell is not None or 2 * len(rows.group) < groups:
        return hits_of(rows, groups)
    zero = np.zeros(min(groups, 1), np.int64)
    return Hits(slice(None), np.bincount(rows.group, minlength=groups), zero, zero, 1)


def _in_runs(met: np.ndarray, counted: np.ndarray, bits: int, cells: int) -> Hits:
    """Return hits from the keys of blocks, cells and groups in blocks."""
    blocks = met >> bits
    run = starts(blocks)
    block, cell = np.divmod(blocks[run], max(cells, 1))
    group = met & ((1 << bits) - 1)
    group += np.repeat(block << bits, lengths(run, len(met)))
    return Hits(group, counted, run, cell, cells)


def _combine_keys(rows: SelectedRows, bits: int, kind: type[np.signedinteger[Any]]) -> np.ndarray:
    """Return keys of block, cell, and group within the block (integers, one per row).

    In the order of keys, groups of one block are close to each other, as in other tables, and
    within a block the groups of one cell stay together.
    """
    group: np.ndarray = rows.group.astype(kind, copy=False)
    if rows.cell is None:
        return group
    key: np.ndarray = group >> kind(bits)
    key *= kind(len(rows.keys))
    key += rows.cell.astype(kind, copy=False)
    key <<= kind(bits)
    key |= group & kind((1 << bits) - 1)
    return key


@dataclass(frozen=True, eq=False)
class QualifyingRows:
    """The number of each group's hits in a cell that qualify, parallel to the hits.

    `least` and `most` bound the number (int64), and `expected` estimates it (float64).
    """

    hits: Hits
    least: np.ndarray
    most: np.ndarray
    expected: np.ndarray


def qualifying_rows(
    hits: Hits, sizes: np.ndarray, matching: Sequence[np.ndarray]
) -> QualifyingRows:
    """Count the rows that have matching values.

    Args:
        hits: the rows that other conditions select.
        sizes: the number of values of each group (int64, one per group).
        matching: for each condition, the number of values that match (int64, one per group).
    """
    size = sizes[hits.group]
    least = most = hits.hits
    expected: np.ndarray | None = None
    for number in matching:
        matches = number[hits.group]
        least = least + matches
        least -= size
        most = np.minimum(most, matches)
        expected = (hits.hits if expected is None else expected) * matches / np.maximum(size, 1)
    if expected is None:
        expected = hits.hits.astype(np.float64)
    return QualifyingRows(hits, np.maximum(least, 0), most, expected)


def counted_rows(rows: QualifyingRows, *, estimates: bool) -> list[CountedRows]:
    """Return the number of rows of each cell that qualify."""
    numbers = (
        rows.hits.reduce_by_cell(np.add, amounts, 0).tolist()
        for amounts in (rows.least, rows.most, rows.expected)
    )
    return [
        CountedRows(least, most, Fraction(expected) if estimates else None)
        for least, most, expected in zip(*numbers, strict=True)
    ]
