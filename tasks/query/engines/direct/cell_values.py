"""How many copies of each value of a column count in a cell, where some rows of groups are meant.

The copies that surely count, and those that may, are those which do where the other values that
match come first; for upper bounds, where they come last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_indices
from sfumato.expectations.exact import exact
from sfumato.tasks.arrays.compiled import Loop
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.engines.direct.cells import Hits, MeantRows
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.group_values import (
    MatchingValues,
    RowsOfValues,
    ordered_pairs,
)
from sfumato.tasks.query.engines.from_values import CountedRows

_AT_ONCE = 1 << 21  # values of groups in cells
_MOST = 1 << 22  # values of cells
_FEW_BINS = 1 << 16
_BITS = np.array([[subset >> bit & 1 for subset in range(16)] for bit in range(4)])
_SUBSETS = 16  # of the four counts, those that an item adds to


@dataclass(frozen=True, eq=False)
class CellValues:
    """How many copies of each value of a column count in each cell.

    Attributes:
        values: of the column, ascending.
        counts: how many copies count surely and in all: for lower bounds, then for upper ones
            (int64, 4 x cells x values).
        expected: how many are expected to (float64, cells x values).
    """

    values: pa.Array
    counts: np.ndarray
    expected: np.ndarray

    def counted(self, cell: int, *, whole: bool, estimates: bool) -> CountedValues | None:
        """The values of a cell of which some copy may count; None where there are none.

        With estimates those between, too, which count neither from below nor from above.
        """
        counting = self.counts[:, cell].any(axis=0)
        if not counting.any():
            return None
        met = np.flatnonzero(counting | (self.expected[cell] > 0) if estimates else counting)
        low_sure, low_all, high_sure, high_all = self.counts[:, cell, met]
        chances = self.expected[cell, met]
        values = self.values.take(as_indices(met.astype(np.int32)))
        return CountedValues(
            ShownValues(values),
            partial(exact, values, "aggregated"),
            Counting(low_sure, low_all - low_sure),
            Counting(high_sure, high_all - high_sure),
            whole,
            chances if estimates else None,
            float(chances.sum()),
        )


def cell_values(meant: MeantRows, matching: MatchingValues, values: pa.Array) -> CellValues:
    """Count the copies of values that match.

    Raises:
        NotDirectError: where there are too many values and cells.
    """
    shape = meant.hits.cells, len(values)
    bins = shape[0] * shape[1]
    if bins > _MOST:
        raise NotDirectError
    counts, expected = np.zeros((4, *shape), dtype=np.int64), np.zeros(shape)
    for items in _items(meant, matching, shape[1]):
        counts += items.counts(bins).reshape(4, *shape)
        expected += np.bincount(items.key, items.expected, bins).reshape(shape)
    return CellValues(values, counts, expected)


@dataclass(frozen=True, eq=False)
class CountedAtOnce:
    """The rows that are meant in one cell, and the values of the column that count."""

    rows: CountedRows
    values: CellValues


def count_at_once(
    matching: RowsOfValues, hits: Hits, sizes: np.ndarray, values: pa.Array, loop: Loop
) -> CountedAtOnce:
    """Count what `meant_rows` and `cell_values` do.

    Args:
        matching: the rows of values that match the only condition, none of them null.
        hits: of all groups in turn, in one cell.
        sizes: how many values each group has (int64, one per group).
        values: of the column.
        loop: what `LoopWhenWorth` gives.
    """
    pairs, bits = ordered_pairs(matching, matching.name, len(values), len(sizes))
    counts, expected = np.zeros((4, len(values)), dtype=np.int64), np.zeros(len(values))
    rows = np.zeros(3)
    loop(pairs, bits, hits.hits, sizes, counts, expected, rows)
    counted = CountedRows(int(rows[0]), int(rows[1]), Fraction(float(rows[2])))
    return CountedAtOnce(counted, CellValues(values, counts[:, None], expected[None]))


@dataclass(frozen=True, eq=False)
class ShownValues:
    """Values of a column by their positions."""

    values: pa.Array

    def __getitem__(self, position: int) -> Any:
        return self.values[int(position)].as_py()


@dataclass(frozen=True, eq=False)
class _Items:
    """Matching values of groups in cells, parallel; see `MeantRows` and `MatchingValues`.

    `key` is that of a cell and a value; `times` is None where each item is one copy.
    """

    key: np.ndarray
    times: np.ndarray | None
    below: np.ndarray
    above: np.ndarray
    sure: np.ndarray
    most: np.ndarray
    expected: np.ndarray

    def counts(self, bins: int) -> np.ndarray:
        """How many copies of each key count surely and in all: for lower bounds, then for upper.

        They are int64, 4 x keys.
        """
        sides = list(product((self.below, self.above), (self.sure, self.most)))
        if self.times is None and len(sides) * bins <= _FEW_BINS:
            which = np.zeros(len(self.key), dtype=np.uint8)
            for bit, (before, number) in enumerate(sides):
                which |= (number > before).view(np.uint8) << np.uint8(bit)
            together = np.bincount(self.key * _SUBSETS + which, minlength=_SUBSETS * bins)
            of_subsets: np.ndarray = _BITS @ together.reshape(bins, _SUBSETS).T
            return of_subsets
        return np.stack([self._counted(number - before, bins) for before, number in sides])

    def _counted(self, first: np.ndarray, bins: int) -> np.ndarray:
        """How many copies of each key count, of which so many do that come first."""
        copies = np.clip(first, 0, 1 if self.times is None else self.times)
        if not copies.any():
            return np.zeros(bins, dtype=np.int64)
        return np.bincount(self.key, copies, bins).astype(np.int64)


def _items(meant: MeantRows, matching: MatchingValues, values: int) -> Iterator[_Items]:
    """The items of some groups in cells at once, so that they fit."""
    hits = meant.hits
    each = meant.expected / np.maximum(matching.number[hits.group], 1)  # of the matching values
    if hits.cells == 1:
        groups = len(matching.number)
        parallel = (_by_group(hits.group, of, groups) for of in (meant.least, meant.most, each))
        return _of_one_cell(matching, *parallel)
    return _of_cells(meant, matching, each, values)


def _by_group(group: np.ndarray | slice, numbers: np.ndarray, groups: int) -> np.ndarray:
    """Numbers of some groups by group; 0 for the others."""
    if isinstance(group, slice):
        return numbers
    found = np.zeros(groups, dtype=numbers.dtype)
    found[group] = numbers
    return found


def _of_one_cell(
    matching: MatchingValues, sure: np.ndarray, most: np.ndarray, each: np.ndarray
) -> Iterator[_Items]:
    """All values that match, by how many of each group are meant (one number per group)."""
    for block in range(0, len(matching.group), _AT_ONCE):
        some = slice(block, block + _AT_ONCE)
        group, below = matching.group[some], matching.below[some]
        times = None if matching.times is None else matching.times[some]
        copies = 1 if times is None else times
        above = matching.number[group] - below - copies
        counted = sure[group], most[group], each[group] * copies
        yield _Items(matching.code[some], times, below, above, *counted)


def _of_cells(
    meant: MeantRows, matching: MatchingValues, each: np.ndarray, values: int
) -> Iterator[_Items]:
    """The values of each group with those cells in which it has hits."""
    first_key = meant.hits.cell * values
    start = matching.start[:-1][meant.hits.group]
    sizes = matching.start[1:][meant.hits.group] - start
    ends = np.cumsum(sizes)
    before = ends - sizes
    total = int(sizes.sum())
    for block in range(0, total, _AT_ONCE):
        first, last = np.searchsorted(ends, [block, min(block + _AT_ONCE, total)], side="right")
        if first == last:
            continue
        of = np.repeat(np.arange(first, last), sizes[first:last])
        at = np.arange(before[first], before[first] + len(of)) + (start - before)[of]
        group = matching.group[at]
        times = None if matching.times is None else matching.times[at]
        copies = 1 if times is None else times
        below = matching.below[at]
        above = matching.number[group] - below - copies
        counted = meant.least[of], meant.most[of], each[of] * copies
        yield _Items(first_key[of] + matching.code[at], times, below, above, *counted)
