"""Cells of an answer, and how many rows of each group each of them selects, or means.

Where conditions are on sensitive values, rows are meant that have one which matches: of a group
with n values, m of which match, at least h + m - n and at most m of h rows do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from sfumato.expectations.arrow import as_indices
from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.sorting import lengths, starts
from sfumato.tasks.query.engines.group_bounds import CountedRows
from sfumato.tasks.query.engines.published_columns import (
    CodedValues,
    NotDirectError,
    PublishedColumns,
)
from sfumato.tasks.query.question.question import Key

_FEW = 1 << 12  # cells that need not all be met
_NEAR = 1 << 21  # numbers that stay near the processor while rows are counted one by one
_BINS = 4  # so many of them at most for each row
_NARROW = 2**31
_BLOCK = 8  # bits of groups that are near each other
_LOOKED_AT = 16  # cells of which each is looked for by itself


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """The rows that a question selects.

    Attributes:
        group: of each row (integers).
        cell: of each row (integers from 0); None where the question has no group columns.
        keys: the values of the group columns, by cell.
    """

    group: np.ndarray
    cell: np.ndarray | None
    keys: Sequence[Key]

    @cached_property
    def of_cells(self) -> np.ndarray:
        """How many rows each cell has (int64, one per cell)."""
        if self.cell is None:
            return np.array([len(self.group)])
        if len(self.keys) <= _LOOKED_AT:
            every = np.arange(len(self.keys)).astype(self.cell.dtype)
            return np.array([np.count_nonzero(self.cell == cell) for cell in every], np.int64)
        return np.bincount(self.cell, minlength=len(self.keys))


@dataclass(frozen=True, eq=False)
class Hits:
    """The number of rows that a cell selects of a group, where there are any.

    Attributes:
        group: of each (int64); all of them in turn where that is a slice, some without hits.
        hits: parallel to them (int64).
        run: where the runs of hits in one cell begin (int64, ascending).
        cell_of_run: in which cell each run is (int64); a cell may have several runs.
        cells: how many cells there are.
    """

    group: np.ndarray | slice
    hits: np.ndarray
    run: np.ndarray
    cell_of_run: np.ndarray
    cells: int

    @property
    def each_group(self) -> np.ndarray:
        """The group of each, never a slice (int64)."""
        return np.arange(len(self.hits)) if isinstance(self.group, slice) else self.group

    @property
    def cell(self) -> np.ndarray:
        """The cell of each (int64)."""
        return np.repeat(self.cell_of_run, lengths(self.run, len(self.hits)))

    def where(self, kept: np.ndarray) -> "Hits":
        """Some of them (bool), of as many cells."""
        places = np.flatnonzero(kept)
        run = np.searchsorted(places, self.run)
        some = np.flatnonzero(lengths(run, len(places)))
        return Hits(
            self.each_group[places],
            self.hits[places],
            run[some],
            self.cell_of_run[some],
            self.cells,
        )

    def reduced(self, function: np.ufunc, numbers: np.ndarray, none: int) -> np.ndarray:
        """What a function of two makes of the numbers of each cell (their type, one per cell).

        Args:
            function: in whatever order it takes numbers.
            numbers: parallel to the hits.
            none: what it makes of no numbers.
        """
        found = np.full(self.cells, none, dtype=numbers.dtype)
        if len(self.run):
            function.at(found, self.cell_of_run, function.reduceat(numbers, self.run))
        return found

    def sums(self, units: np.ndarray, most: int) -> np.ndarray:
        """The sum of the units of each cell (int64, or Python integers).

        Args:
            units: integers (int64 or Python's), parallel to the hits.
            most: no unit has a larger absolute value.
        """
        fits = units.dtype == np.int64 and most * len(units) <= INT64_MAX
        return self.reduced(np.add, units if fits else units.astype(object), 0)


def selected_rows(
    table: PublishedColumns, group_by: Sequence[str], chosen: np.ndarray | None
) -> SelectedRows:
    """The chosen rows (bool, one per row; None: all), in cells by the group columns."""
    group = table.group if chosen is None else table.group[chosen]
    if not group_by:
        return SelectedRows(group, None, [()])
    columns = [table.coded(name) for name in group_by]
    sizes = [len(column.values) for column in columns]
    codes = [c.codes if chosen is None else c.codes[chosen] for c in columns]
    key = codes[0] if len(codes) == 1 else pack(codes, sizes)[0]
    if not 0 < prod(sizes) <= _FEW:
        key, first = _ranked(key)
        return SelectedRows(group, key, _keys(columns, [of[first] for of in codes]))
    every = np.unravel_index(np.arange(prod(sizes)), sizes)
    return SelectedRows(group, key, _keys(columns, every))


def _ranked(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks of keys (int64, one per row), and for each rank a row that has it."""
    ranks, number = dense(key.astype(np.int64))
    row = np.empty(number, dtype=np.int64)
    row[ranks] = np.arange(len(ranks))
    return ranks, row


def _keys(columns: Sequence[CodedValues], codes: Sequence[np.ndarray]) -> list[Key]:
    pairs = zip(columns, codes, strict=True)
    shown = [
        column.values.take(as_indices(of.astype(np.int32))).to_pylist() for column, of in pairs
    ]
    return list(zip(*shown, strict=True))


def hits_of(rows: SelectedRows, groups: int) -> Hits:
    """Count the rows of each cell and group.

    Raises:
        NotDirectError: where there are too many of both.
    """
    cells, bits = len(rows.keys), min(max(groups - 1, 0).bit_length(), _BLOCK)
    blocks = ((groups - 1) >> bits) + 1
    bins = groups if rows.cell is None else blocks * cells << bits
    if bins > INT64_MAX:
        raise NotDirectError
    if bins <= min(_NEAR, _BINS * len(rows.group)):
        counted = np.bincount(_joined(rows, bits, np.int64), minlength=bins)
        met = np.flatnonzero(counted != 0)
        counted = counted[met]
    else:
        ordered = np.sort(_joined(rows, bits, np.int32 if bins < _NARROW else np.int64))
        at = starts(ordered)
        met, counted = ordered[at].astype(np.int64), lengths(at, len(ordered))
    if rows.cell is None:
        return Hits(met, counted, one := np.zeros(min(len(met), 1), np.int64), one, 1)
    return _in_runs(met, counted, bits, cells)


def hits_in_each(rows: SelectedRows, groups: int) -> Hits:
    """Count the rows of each group, those of one cell, where hardly any group has none.

    Others are counted as `hits_of` does.

    Raises:
        NotDirectError: where there are too many cells and groups.
    """
    if rows.cell is not None or 2 * len(rows.group) < groups:
        return hits_of(rows, groups)
    one = np.zeros(min(groups, 1), np.int64)
    return Hits(slice(None), np.bincount(rows.group, minlength=groups), one, one, 1)


def _in_runs(met: np.ndarray, counted: np.ndarray, bits: int, cells: int) -> Hits:
    """Hits by the keys of blocks, cells and groups in blocks."""
    of = met >> bits
    run = starts(of)
    block, cell = np.divmod(of[run], max(cells, 1))
    group = met & ((1 << bits) - 1)
    group += np.repeat(block << bits, lengths(run, len(met)))
    return Hits(group, counted, run, cell, cells)


def _joined(rows: SelectedRows, bits: int, kind: type[np.signedinteger[Any]]) -> np.ndarray:
    """Keys of blocks of groups, cells, and groups in blocks (integers, one per row).

    Groups of one block are near each other in other tables, and those of one cell by themselves.
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
class MeantRows:
    """Of each group's hits in a cell how many are meant, parallel to these.

    At least and at most (int64), and as expected (float64).
    """

    hits: Hits
    least: np.ndarray
    most: np.ndarray
    expected: np.ndarray


def meant_rows(hits: Hits, sizes: np.ndarray, matching: Sequence[np.ndarray]) -> MeantRows:
    """The rows that have matching values.

    Args:
        hits: the rows that other conditions select.
        sizes: how many values each group has (int64, one per group).
        matching: how many of them match each condition (int64, one per group).
    """
    size = sizes[hits.group]
    least = most = hits.hits
    expected: np.ndarray | None = None
    for number in matching:
        of = number[hits.group]
        least = least + of
        least -= size
        most = np.minimum(most, of)
        expected = (hits.hits if expected is None else expected) * of / np.maximum(size, 1)
    if expected is None:
        expected = hits.hits.astype(np.float64)
    return MeantRows(hits, np.maximum(least, 0), most, expected)


def counted_rows(meant: MeantRows, *, estimates: bool) -> list[CountedRows]:
    """How many rows of each cell are meant."""
    numbers = (
        meant.hits.reduced(np.add, of, 0).tolist()
        for of in (meant.least, meant.most, meant.expected)
    )
    return [
        CountedRows(least, most, Fraction(expected) if estimates else None)
        for least, most, expected in zip(*numbers, strict=True)
    ]
