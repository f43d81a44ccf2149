"""How many copies of each value of a column count in a cell, where some rows of groups are meant.

The copies that surely count, and those that may, are those which do where the other values that
match come first; for upper bounds, where they come last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_indices
from sfumato.expectations.exact import exact
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.engines.direct.cells import MeantRows
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.group_values import MatchingValues

_AT_ONCE = 1 << 21  # values of groups in cells
_MOST = 1 << 22  # values of cells


class CellValues:
    """How many copies of each value of a column count in each cell."""

    def __init__(self, meant: MeantRows, matching: MatchingValues, values: pa.Array) -> None:
        """Count them.

        Raises:
            NotDirectError: where there are too many values and cells.
        """
        self._values = values
        shape = meant.hits.cells, len(values)
        if shape[0] * shape[1] > _MOST:
            raise NotDirectError
        self._counts = np.zeros((4, *shape), dtype=np.int64)
        self._expected = np.zeros(shape)
        for items in _items(meant, matching):
            key = items.cell * shape[1] + items.code
            for counts, number in zip(self._counts, items.copies(), strict=True):
                counts += _counted(key, number, shape)
            self._expected += np.bincount(key, items.expected, shape[0] * shape[1]).reshape(shape)

    def counted(self, cell: int, *, whole: bool, estimates: bool) -> CountedValues | None:
        """The values of a cell of which some copy may count; None where there are none.

        With estimates those between, too, which count neither from below nor from above.
        """
        counting = self._counts[:, cell].any(axis=0)
        if not counting.any():
            return None
        met = np.flatnonzero(counting | (self._expected[cell] > 0) if estimates else counting)
        low_sure, low_all, high_sure, high_all = self._counts[:, cell, met]
        chances = self._expected[cell, met]
        values = self._values.take(as_indices(met.astype(np.int32)))
        return CountedValues(
            ShownValues(values),
            partial(exact, values, "aggregated"),
            Counting(low_sure, low_all - low_sure),
            Counting(high_sure, high_all - high_sure),
            whole,
            chances if estimates else None,
            float(chances.sum()),
        )


@dataclass(frozen=True, eq=False)
class ShownValues:
    """Values of a column by their positions."""

    values: pa.Array

    def __getitem__(self, position: int) -> Any:
        return self.values[int(position)].as_py()


def _counted(key: np.ndarray, number: np.ndarray, shape: tuple[int, int]) -> Any:
    if not number.any():
        return 0
    return np.bincount(key, number, shape[0] * shape[1]).astype(np.int64).reshape(shape)


@dataclass(frozen=True, eq=False)
class _Items:
    """Matching values of groups in cells, parallel; see `MeantRows` and `MatchingValues`."""

    cell: np.ndarray
    code: np.ndarray
    times: np.ndarray
    below: np.ndarray
    above: np.ndarray
    sure: np.ndarray
    most: np.ndarray
    expected: np.ndarray

    def copies(self) -> Iterator[np.ndarray]:
        """How many copies count surely and in all: for lower bounds, then for upper ones."""
        for before in (self.below, self.above):
            for number in (self.sure, self.most):
                yield np.clip(number - before, 0, self.times)


def _items(meant: MeantRows, matching: MatchingValues) -> Iterator[_Items]:
    """The items of some groups in cells at once, so that they fit."""
    lengths = matching.start[meant.hits.group + 1] - matching.start[meant.hits.group]
    if not lengths.all():
        meant, lengths = meant.take(some := np.flatnonzero(lengths != 0)), lengths[some]
    ends = np.cumsum(lengths)
    total = int(lengths.sum())
    for block in range(0, total, _AT_ONCE):
        first, last = np.searchsorted(ends, [block, min(block + _AT_ONCE, total)], side="right")
        if last > first:
            yield _block(meant.take(slice(first, last)), matching, lengths[first:last])


def _block(meant: MeantRows, matching: MatchingValues, lengths: np.ndarray) -> _Items:
    """Each of the groups in cells with each of its matching values."""
    group, size = meant.hits.group, meant.size
    matched = matching.number[group]
    first = matching.start[group] - (np.cumsum(lengths) - lengths)
    of = np.repeat(np.arange(len(group)), lengths)
    at = np.arange(len(of)) + first[of]
    times, below = matching.times[at], matching.below[at]
    return _Items(
        np.zeros(len(of), np.int64) if meant.hits.cell is None else meant.hits.cell[of],
        matching.code[at],
        times,
        below,
        matched[of] - below - times,
        np.maximum(meant.least + matched - size, 0)[of],
        np.minimum(meant.most, matched)[of],
        (meant.expected[of] * times) / size[of],
    )
