"""Expected widths of answers if values are dealt at random, and the chances of what is dealt.

The sensitive values of some rows are dealt to them at random, without regard to their owners. The
values that some of these rows get are a *hand*. The width of an answer is the difference between
its upper and its lower bound.

A group shows the multiset v_1 ≤ … ≤ v_N. If h of its rows are selected, their sum lies between the
h least and the h greatest values, and the difference is

    w(h) = Σ_{t = 1}^{min(h, N - h)} (v_{N + 1 - t} - v_t),

which does not depend on the true values of the selected rows. The width of a query's SUM is the sum
of w over groups, and the width of its AVG is this sum divided by the number of selected rows. If
the number H of selected rows of a group is random,

    E w(H) = Σ_{t = 1}^{⌊N / 2⌋} (v_{N + 1 - t} - v_t) · P(t ≤ H ≤ N - t).

Let values be dealt at random to the n rows of a part, and let its groups depend only on the
multiset of these values. Then the rows of a group of N are as if drawn from the part: if h of the n
rows are selected, H follows the hypergeometric law of (n, N, h). Groups of one size can be added up
before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

_MANY = 4096  # distinct values, beyond which a bound takes the place of the law
_SMALL = 32  # larger groups are selected from in proportion, nearly
_FINE = 64  # fractions at which the width of a part is computed, where it is asked at more


def log_choose(n: Any, k: Any) -> np.ndarray:
    """Return the logarithm of the number of ways to choose k of n (integers or arrays).

    It is -inf where there is no way.
    """
    n, k = np.asarray(n, dtype=np.int64), np.asarray(k, dtype=np.int64)
    possible = (k >= 0) & (k <= n)
    n, k = np.maximum(n, 0), np.where(possible, k, 0)
    logs = _log_factorials(int(n.max(initial=0)).bit_length())
    return np.where(possible, logs[n] - logs[k] - logs[n - k], -np.inf)


@cache
def _log_factorials(bits: int) -> np.ndarray:
    """Return the logarithm of the factorial of every integer below 2**bits (float64)."""
    return np.append(0.0, np.cumsum(np.log(np.arange(1, 2**bits))))


def chance_of_too_few(values: np.ndarray, counts: np.ndarray, rows: int, k: int, e: int) -> float:
    """Return a bound on the chance that a hand has fewer than k values, or spans less than e.

    Args:
        values: distinct, ascending, int64 or Python integers.
        counts: how often each value occurs (int64).
        rows: the number of values in the hand.
        k: smallest number of distinct values.
        e: smallest range.
    """
    total = int(counts.sum())
    if rows >= total:
        return float(len(values) < k or int(values[-1]) - int(values[0]) < e)
    alike = 0.0 if _differ_surely(counts, rows, k) else _too_alike(counts, rows / total, k)
    return min(1.0, _too_narrow(values, counts, rows, e) + alike)


def _too_narrow(values: np.ndarray, counts: np.ndarray, rows: int, e: int) -> float:
    """Return the chance that the values span less than e: all lie within e of the least one."""
    if e <= 0:
        return 0.0
    before = np.append(0, np.cumsum(counts))
    end = np.searchsorted(values, values + e, side="left")
    within = before[end] - before[:-1]
    all_ways = log_choose(before[-1], rows)
    least = np.exp(log_choose(within, rows) - all_ways)
    return float((least - np.exp(log_choose(within - counts, rows) - all_ways)).sum())


def _differ_surely(counts: np.ndarray, rows: int, k: int) -> bool:
    """Decide whether the k - 1 values that occur most often are fewer than the rows."""
    others = max(len(counts) - max(k - 1, 0), 0)
    return len(counts) >= k and int(np.partition(counts, others - 1)[others:].sum()) < rows


def _too_alike(counts: np.ndarray, share: float, k: int) -> float:
    """Return a bound on the chance of fewer than k distinct values.

    If each row were dealt independently with probability `share`, the number of rows would be
    binomial, and its median is its mean, which is whole. Fewer rows have fewer values, so the
    chance given that mean is at most twice the chance of the independent rows.
    """
    if k <= 1:
        return 0.0
    there = 1 - (1 - share) ** counts
    mean = float(there.sum())
    if len(counts) > _MANY:  # Chernoff's bound of a sum of independent ones
        return 1.0 if mean < k else 2 * float(np.exp(-((mean - k + 1) ** 2) / (2 * mean)))
    law = np.zeros(k)
    law[0] = 1.0
    for chance in there.tolist():
        law[1:] = law[1:] * (1 - chance) + law[:-1] * chance
        law[0] *= 1 - chance
    return 2 * float(law.sum())


@dataclass(frozen=True, eq=False)
class GroupWidths:
    """The widths of the groups of a part, by size.

    Attributes:
        rows: the number of rows of the part.
        share: the number of rows that each value represents: 1 where all values are there.
        gains: by the number N of values of a group: v_{N + 1 - t} - v_t for each t from 1 to
            ⌊N / 2⌋, added up over all groups of N values (float64).
        counts: the widths of counts of values on which a condition holds, by its kind: they are
            those of sums of ones and zeros.
    """

    rows: int
    share: float
    gains: Mapping[int, np.ndarray]
    counts: Mapping[str, "GroupWidths"] = field(default_factory=dict)

    def of_windows(self, kinds: np.ndarray, hits: np.ndarray) -> np.ndarray:
        """Return the expected widths (float64) of the answers to windows.

        Args:
            kinds: the kind of each window's condition (str), "" where values are summed.
            hits: the number of rows that each window selects (one per window, the last axis).
        """
        widths = np.empty(hits.shape)
        for kind in np.unique(kinds).tolist():
            mask, kind_widths = kinds == kind, self.counts[kind] if kind else self
            widths[..., mask] = kind_widths.expected_width(hits[..., mask])
        return widths

    def expected_width(self, hits: np.ndarray) -> np.ndarray:
        """Return the expected width of sums (float64) if so many rows are selected."""
        widths: np.ndarray = np.interp(hits, *self._curve)
        return widths

    @cached_property
    def _curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of selected rows (all, or some of many), and the expected width at each."""
        grid = np.arange(self.rows + 1)
        if self.rows > _FINE:
            grid = np.unique(np.linspace(0, self.rows, _FINE + 1).round().astype(np.int64))
        return grid, self.expected_among(self.rows, grid)

    def expected_among(self, total: int, hits: np.ndarray) -> np.ndarray:
        """Return the expected widths (float64) if so many of `total` rows are selected.

        `total` is at least the number of rows of the part.
        """
        width = np.zeros(len(hits))
        for size, gains in self.gains.items():
            if self.share == 1 and size <= _SMALL:
                width += gains @ _chances(total, size, hits)
            else:
                width += self.share * _in_proportion(gains, size, hits / max(total, 1))
        return width


def group_widths(values: np.ndarray, bounds: np.ndarray, rows: int) -> GroupWidths:
    """Return the widths of groups that are runs of sorted values.

    Args:
        values: the values, ascending (float64).
        bounds: where runs begin, and the number of values (int64).
        rows: the number of rows that these values represent.
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
    """Return the mean widths, over conditions, of counts in groups that are runs of sorted values.

    If a condition holds on c of a group's N values, ones and zeros differ by 1 at the first min(c,
    N - c) places from both ends.

    Args:
        values: the values, ascending (float64).
        bounds: where runs begin, and the number of values (int64).
        rows: the number of rows that these values represent.
        limits: the least and the greatest value that each condition holds on (float64, n x 2).
    """
    sizes, gains = np.diff(bounds), {}
    low = np.searchsorted(values, limits[:, 0], side="left")[:, None]
    high = np.searchsorted(values, limits[:, 1], side="right")[:, None]
    for size in np.unique(sizes).tolist():
        first = bounds[:-1][sizes == size]
        matches = np.clip(high, first, first + size) - np.clip(low, first, first + size)
        least = np.minimum(matches, size - matches)
        reached = np.bincount(least.ravel(), minlength=size // 2 + 1)[::-1].cumsum()[::-1]
        gains[size] = reached[1:] / max(len(limits), 1)
    return GroupWidths(rows, rows / max(len(values), 1), gains)


def mean_widths(made: Sequence[GroupWidths]) -> GroupWidths:
    """Return the mean of the widths of parts with equally many rows."""
    gains: dict[int, np.ndarray] = {}
    for part in made:
        for size, of_size in part.gains.items():
            gains[size] = gains.get(size, 0) + of_size / len(made)
    counts = {kind: mean_widths([part.counts[kind] for part in made]) for kind in made[0].counts}
    return GroupWidths(made[0].rows, made[0].share, gains, counts)


def _chances(total: int, size: int, hits: np.ndarray) -> np.ndarray:
    """Return P(t ≤ H ≤ size - t) for t = 1, …, ⌊size / 2⌋ (rows), by selected rows (columns)."""
    outcomes = np.arange(size + 1)[:, None]
    law = np.exp(
        log_choose(hits, outcomes)
        + log_choose(total - hits, size - outcomes)
        - log_choose(total, size)
    )
    below = np.concatenate([np.zeros((1, len(hits))), np.cumsum(law, axis=0)])
    t = np.arange(1, size // 2 + 1)
    chances: np.ndarray = below[size - t + 1] - below[t]
    return chances


def _in_proportion(gains: np.ndarray, size: int, share: np.ndarray) -> np.ndarray:
    """Return the width if each group has the same share of its values selected.

    `share` and the result are float64; `share` is from 0 to 1.
    """
    reached = np.append(0.0, np.cumsum(gains))
    hits = np.minimum(share, 1 - share) * size
    widths: np.ndarray = np.interp(hits, np.arange(len(reached)), reached)
    return widths
