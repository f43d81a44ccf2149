"""The width of an answer, expected over who has which value: a sum over groups, by hits alone.

A group shows the multiset v_1 ≤ … ≤ v_N. Where h of its rows are selected, their sum lies between
the h least and the h greatest values, and the difference is

    w(h) = Σ_{t = 1}^{min(h, N - h)} (v_{N + 1 - t} - v_t),

which no truth enters. The width of a query's SUM is the sum of this over groups, and that of its
AVG the same divided by the rows selected. Where hits are random,

    E w(H) = Σ_{t = 1}^{⌊N / 2⌋} (v_{N + 1 - t} - v_t) · P(t ≤ H ≤ N - t).

Rows of a part whose values are dealt to them at random, into groups that depend on the multiset of
these values alone, are in a group of N as if drawn: of n rows h are selected, and H follows the
hypergeometric law of (n, N, h). Groups of one size can be added up before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.tasks.partitions.aimed.laws import log_choose

_SMALL = 32  # larger groups are selected from in proportion, nearly
_FINE = 64  # fractions at which the width of a part is computed, where it is asked at more


@dataclass(frozen=True, eq=False)
class GroupWidths:
    """The widths of the groups of a part, by size.

    Attributes:
        rows: of the part.
        share: how many of them each value stands for: 1 where all values are there.
        gains: by the size N of groups in values, summed over these, v_{N + 1 - t} - v_t for each t
            from 1 to ⌊N / 2⌋ (float64).
        counts: the widths of counts of values on which a condition holds, by its kind: they are
            those of sums of ones and noughts.
    """

    rows: int
    share: float
    gains: Mapping[int, np.ndarray]
    counts: Mapping[str, "GroupWidths"] = field(default_factory=dict)

    def of_windows(self, kinds: np.ndarray, hits: np.ndarray) -> np.ndarray:
        """The expected widths (float64) of what windows are asked for.

        Args:
            kinds: of the condition of each window (str), "" where values are summed.
            hits: how many rows each selects (one per window, the last axis).
        """
        found = np.empty(hits.shape)
        for kind in np.unique(kinds).tolist():
            asked, of = kinds == kind, self.counts[kind] if kind else self
            found[..., asked] = of.expected(hits[..., asked])
        return found

    def expected(self, hits: np.ndarray) -> np.ndarray:
        """The expected width of sums (float64) where so many rows are selected."""
        found: np.ndarray = np.interp(hits, *self._curve)
        return found

    @cached_property
    def _curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of selected rows, all or some of many, and the expected width at each."""
        grid = np.arange(self.rows + 1)
        if self.rows > _FINE:
            grid = np.unique(np.linspace(0, self.rows, _FINE + 1).round().astype(np.int64))
        return grid, self.selected(self.rows, grid)

    def selected(self, total: int, hits: np.ndarray) -> np.ndarray:
        """The same where they are selected among more rows than the part has."""
        width = np.zeros(len(hits))
        for size, gains in self.gains.items():
            if self.share == 1 and size <= _SMALL:
                width += gains @ _chances(total, size, hits)
            else:
                width += self.share * _in_proportion(gains, size, hits / max(total, 1))
        return width


def group_widths(values: np.ndarray, bounds: np.ndarray, rows: int) -> GroupWidths:
    """The widths of groups that are runs of sorted values.

    Args:
        values: ascending (float64).
        bounds: where runs begin, and the number of values (int64).
        rows: that these values stand for.
    """
    sizes = np.diff(bounds)
    gains = {}
    for size in np.unique(sizes).tolist():
        first = bounds[:-1][sizes == size]
        below = np.arange(size // 2)
        upper, lower = first[:, None] + size - 1 - below, first[:, None] + below
        gains[size] = (values[upper] - values[lower]).sum(axis=0)
    return GroupWidths(rows, rows / max(len(values), 1), gains)


def group_count_widths(
    values: np.ndarray, bounds: np.ndarray, rows: int, limits: np.ndarray
) -> GroupWidths:
    """The mean widths, over conditions, of counts in groups that are runs of sorted values.

    Where a condition holds on c of a group's N values, ones and noughts differ by 1 at the first
    min(c, N - c) places from both ends.

    Args:
        values: ascending (float64).
        bounds: where runs begin, and the number of values (int64).
        rows: that these values stand for.
        limits: the least and the greatest value that each condition holds on (float64, n x 2).
    """
    sizes, gains = np.diff(bounds), {}
    low = np.searchsorted(values, limits[:, 0], side="left")[:, None]
    high = np.searchsorted(values, limits[:, 1], side="right")[:, None]
    for size in np.unique(sizes).tolist():
        first = bounds[:-1][sizes == size]
        meant = np.clip(high, first, first + size) - np.clip(low, first, first + size)
        least = np.minimum(meant, size - meant)
        reached = np.bincount(least.ravel(), minlength=size // 2 + 1)[::-1].cumsum()[::-1]
        gains[size] = reached[1:] / max(len(limits), 1)
    return GroupWidths(rows, rows / max(len(values), 1), gains)


def mean_widths(made: Sequence[GroupWidths]) -> GroupWidths:
    """The mean of the widths of parts with as many rows."""
    gains: dict[int, np.ndarray] = {}
    for one in made:
        for size, of_size in one.gains.items():
            gains[size] = gains.get(size, 0) + of_size / len(made)
    counts = {kind: mean_widths([one.counts[kind] for one in made]) for kind in made[0].counts}
    return GroupWidths(made[0].rows, made[0].share, gains, counts)


def _chances(total: int, size: int, hits: np.ndarray) -> np.ndarray:
    """P(t ≤ H ≤ size - t) for t from 1 to ⌊size / 2⌋ (rows), by how many are selected (columns)."""
    found = np.arange(size + 1)[:, None]
    law = np.exp(
        log_choose(hits, found) + log_choose(total - hits, size - found) - log_choose(total, size)
    )
    below = np.concatenate([np.zeros((1, len(hits))), np.cumsum(law, axis=0)])
    t = np.arange(1, size // 2 + 1)
    chances: np.ndarray = below[size - t + 1] - below[t]
    return chances


def _in_proportion(gains: np.ndarray, size: int, share: np.ndarray) -> np.ndarray:
    """The width where each group has the same share of its values selected (float64, 0 to 1)."""
    reached = np.append(0.0, np.cumsum(gains))
    hits = np.minimum(share, 1 - share) * size
    found: np.ndarray = np.interp(hits, np.arange(len(reached)), reached)
    return found
