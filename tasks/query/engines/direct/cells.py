"""Cells of an answer, and how many rows of each group each of them selects, or means.

Where conditions are on sensitive values, rows are meant that have one which matches: of a group
with n values, m of which match, at least h + m - n and at most m of h rows do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from sfumato.expectations.arrow import as_indices
from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.sorting import lengths, starts
from sfumato.tasks.query.engines.direct.coded_values import CodedValues, NotDirectError
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.engines.from_values import CountedRows
from sfumato.tasks.query.question.question import Key

_FEW = 1 << 12  # cells that need not all be met
_BINS = 4  # counted one by one where there are at most so many for each row


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
        return np.bincount(self.cell, minlength=len(self.keys))


@dataclass(frozen=True, eq=False)
class Hits:
    """The number of rows that a cell selects of a group, where there are any.

    `group`, `cell` and `hits` are parallel (integers), `cell` is None where there is one cell.
    """

    group: np.ndarray
    cell: np.ndarray | None
    hits: np.ndarray
    cells: int

    def take(self, some: np.ndarray | slice) -> "Hits":
        """Some of them, of as many cells."""
        cell = None if self.cell is None else self.cell[some]
        return Hits(self.group[some], cell, self.hits[some], self.cells)


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
    cells = len(rows.keys)
    bins = groups * cells
    if bins > INT64_MAX:
        raise NotDirectError
    key = rows.group if rows.cell is None else _joined(rows.group, rows.cell, cells)
    if bins <= _BINS * len(key):
        counted = np.bincount(key, minlength=bins)
        met = np.flatnonzero(counted != 0)
        counted = counted[met]
    else:
        ordered = np.sort(key)
        at = starts(ordered)
        met, counted = ordered[at], lengths(at, len(ordered))
    if rows.cell is None:
        return Hits(met, None, counted, 1)
    group = met // max(cells, 1)  # much faster than divmod
    return Hits(group, met - group * cells, counted, cells)


def _joined(group: np.ndarray, cell: np.ndarray, cells: int) -> np.ndarray:
    key = group * np.int64(cells)
    key += cell
    return key


@dataclass(frozen=True, eq=False)
class MeantRows:
    """Of each group's hits in a cell how many are meant, parallel to these.

    At least and at most (int64), and as expected (float64); `size` is the number of the group's
    values (int64).
    """

    hits: Hits
    size: np.ndarray
    least: np.ndarray
    most: np.ndarray
    expected: np.ndarray

    def take(self, some: np.ndarray | slice) -> "MeantRows":
        """Those of some hits."""
        parallel = (of[some] for of in (self.size, self.least, self.most, self.expected))
        return MeantRows(self.hits.take(some), *parallel)


def meant_rows(hits: Hits, sizes: np.ndarray, matching: Sequence[np.ndarray]) -> MeantRows:
    """The rows that have matching values.

    Args:
        hits: the rows that other conditions select.
        sizes: how many values each group has (int64, one per group).
        matching: how many of them match each condition (int64, one per group).
    """
    size = sizes[hits.group]
    least = most = hits.hits
    expected = hits.hits.astype(np.float64)
    for number in matching:
        of = number[hits.group]
        least, most = least + of - size, np.minimum(most, of)
        expected = expected * of / size
    return MeantRows(hits, size, np.maximum(least, 0), most, expected)


def counted_rows(meant: MeantRows, *, estimates: bool) -> list[CountedRows]:
    """How many rows of each cell are meant."""
    numbers = (
        _by_cell(meant.hits, of).tolist() for of in (meant.least, meant.most, meant.expected)
    )
    return [
        CountedRows(int(least), int(most), Fraction(expected) if estimates else None)
        for least, most, expected in zip(*numbers, strict=True)
    ]


def _by_cell(hits: Hits, numbers: np.ndarray) -> np.ndarray:
    if hits.cell is None:
        return np.array([numbers.sum()])
    return np.bincount(hits.cell, numbers, hits.cells)
