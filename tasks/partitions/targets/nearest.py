"""The nearest targets that keep other promises: within a distance, below a weight, or ranked.

Targets are all w/D of one denominator D; the nearest has the least total variation from the group's
own distribution, the share of its rows that would need another value.

Within a distance (`t-closeness`). The earth mover's distance (equal or ordered) of the target from
the distribution of all rows is at most t. Both this distance and the total variation are sums over
the values in their order, given the weight before each value. So a path from 0 to D has two costs.
The best is found among the paths that no other beats in both, with bounds on the cost that is still
to come: from the least of either cost by itself, and from a path that is best for a weighted sum of
both. All numbers are whole.

Below a weight (`beta-likeness`). The total variation is a sum over the values, convex in each
weight. So it is least if each unit of weight goes to the value that gains most by it, or loses
least: exact, without trying any other.

Ranked (promises about the frequency of values, whichever they are). If a promise depends only on
the weights, and not on which values have them, the nearest target gives a value that is more
frequent in the group no smaller weight. For a value with the weight w that c of the group's n rows
have, |Dc - nw| is its part of the total variation. The sum |Dc - nw| + |Dc' - nw'| of two values
never falls when their weights change places so that the more frequent has the smaller one. So it is
enough to try every way of writing D as a sum, and to give its terms, the largest first, to the
values by descending frequency: exact, and few to try.

The choice of the nearest target is this project's own; the paper leaves open where targets come
from (Koudas, Srivastava, Yu, Zhang, VLDB 2009).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups

_NEVER = 1 << 60  # the cost of what is impossible
_SCALE = 1 << 10  # the sum of the two factors by which costs are weighted
_HALVINGS = 24  # of the range of these factors, at most


class _Path(NamedTuple):
    """A way to spend weight on the first values.

    Attributes:
        off: the total variation so far, as a whole number.
        moved: the earth mover's distance so far, as a whole number.
        weight: the weight of the last of these values.
        before: the path to the value before, None if there is none.
    """

    off: int
    moved: int
    weight: int
    before: "_Path | None"


@dataclass(frozen=True, eq=False)
class _Steps:
    """The two costs of each value, by the weight before it and the weight up to it.

    Costs are as in `_Path` (int64, values x (D + 1) x (D + 1)), `_NEVER` where the weight falls.
    """

    off: np.ndarray
    moved: np.ndarray

    def least(self, times_off: int, times_moved: int) -> np.ndarray:
        """Return the least weighted cost of all values from each on, by the weight before it."""
        values, size, _ = self.off.shape
        costs = np.full((values + 1, size), _NEVER, dtype=np.int64)
        costs[-1, -1] = 0
        for value in range(values - 1, -1, -1):
            step = times_off * self.off[value] + times_moved * self.moved[value]
            step[self.off[value] >= _NEVER] = _NEVER
            costs[value] = np.minimum((step + costs[value + 1]).min(axis=1), _NEVER)
        return costs

    def follow(self, least: np.ndarray, times_off: int, times_moved: int) -> tuple[int, int]:
        """Return the two costs of the path with the least weighted cost, given `least` of it."""
        place = off = moved = 0
        for value in range(len(self.off)):
            here, there = self.off[value][place], self.moved[value][place]
            step = times_off * here + times_moved * there
            step[here >= _NEVER] = _NEVER
            to = int(np.argmin(step + least[value + 1]))
            off, moved, place = off + int(here[to]), moved + int(there[to]), to
        return off, moved


def nearest_within(
    counts: np.ndarray, totals: np.ndarray, denominator: int, limit: Fraction, *, ordered: bool
) -> np.ndarray | None:
    """Return the weights of the nearest target within `limit` of the distribution of all rows.

    Args:
        counts: how often the group has each value (int64, one per value, in their order).
        totals: how often all rows have each value (int64, at least 1).
        denominator: what the weights add up to.
        limit: the largest distance, from 0 to 1.
        ordered: whether it is by rank, or all values are equally far apart.

    Returns:
        int64, one per value; None if no target of the denominator is so close.
    """
    steps = _steps(counts, totals, denominator, ordered=ordered)
    parts = max(len(counts) - 1, 1) if ordered else 2
    most = int(limit * parts * denominator * int(totals.sum()))  # rounded down: costs are whole
    still_off, still_moved = steps.least(1, 0), steps.least(0, 1)
    if still_moved[0, 0] > most:
        return None
    best = _best(steps, still_off, still_moved, most, _reachable_cost(steps, most))
    weights = np.zeros(len(counts), dtype=np.int64)
    path: _Path | None = best
    for value in range(len(counts) - 1, -1, -1):
        if path is not None:
            weights[value], path = path.weight, path.before
    return weights


def _steps(counts: np.ndarray, totals: np.ndarray, denominator: int, *, ordered: bool) -> _Steps:
    """Return the costs of all steps; arguments are as for `nearest_within`."""
    before, after = np.mgrid[: denominator + 1, : denominator + 1]
    weight, rows, all_rows = after - before, int(counts.sum()), int(totals.sum())
    off = np.abs(denominator * counts[:, None, None] - rows * weight)
    if ordered:
        reached = np.cumsum(totals)[:, None, None]
        moved = np.abs(denominator * reached - all_rows * after) + 0 * weight
    else:
        moved = np.abs(denominator * totals[:, None, None] - all_rows * weight)
    off[:, weight < 0] = _NEVER
    moved[:, weight < 0] = _NEVER
    return _Steps(off.astype(np.int64), moved.astype(np.int64))


def _reachable_cost(steps: _Steps, most: int) -> int:
    """Return the first cost (`off`) of some target whose second cost (`moved`) is at most `most`.

    It bounds the least such cost from above: the best that a weighted sum of both costs finds.
    """
    best = _NEVER
    low, high = 0, _SCALE
    for _ in range(_HALVINGS):
        times = (low + high) // 2
        off, moved = steps.follow(steps.least(_SCALE - times, times), _SCALE - times, times)
        if moved <= most:
            best, high = min(best, off), times
        else:
            low = times
        if high - low <= 1:
            break
    off, moved = steps.follow(steps.least(0, 1), 0, 1)
    return min(best, off) if moved <= most else best


def _best(
    steps: _Steps, still_off: np.ndarray, still_moved: np.ndarray, most: int, bound: int
) -> _Path:
    """Return the best path whose second cost is at most `most`, and its first at most `bound`."""
    paths: dict[int, list[_Path]] = {0: [_Path(0, 0, 0, None)]}  # by the weight spent so far
    for value in range(len(steps.off)):
        further: dict[int, list[_Path]] = {}
        for place, those in paths.items():
            for to in range(place, steps.off.shape[1]):
                off, moved = int(steps.off[value, place, to]), int(steps.moved[value, place, to])
                # what paths may have cost before this step, in view of the least cost to come
                room = bound - off - int(still_off[value + 1, to])
                slack = most - moved - int(still_moved[value + 1, to])
                extended = [
                    _Path(path.off + off, path.moved + moved, to - place, path)
                    for path in those
                    if path.off <= room and path.moved <= slack
                ]
                if extended:
                    further.setdefault(to, []).extend(extended)
        paths = {to: _unbeaten(those) for to, those in further.items()}
    return min(paths[steps.off.shape[1] - 1], key=lambda path: path[:2])


def _unbeaten(paths: list[_Path]) -> list[_Path]:
    """Return the paths of which no other is as good in both costs."""
    best: list[_Path] = []
    for path in sorted(paths, key=lambda candidate: candidate[:2]):
        if not best or path.moved < best[-1].moved:
            best.append(path)
    return best


def nearest_capped(counts: np.ndarray, caps: np.ndarray, denominator: int) -> np.ndarray | None:
    """Return the weights of the nearest target, the first of equally near ones.

    Args:
        counts: how often the group has each value (int64, one per value).
        caps: the largest weight of each (int64).
        denominator: what the weights add up to.

    Returns:
        int64, one per value; None if the caps add up to less.
    """
    if int(caps.sum()) < denominator:
        return None
    rows = int(counts.sum())
    weights: np.ndarray = np.minimum(denominator * counts // rows, caps)
    for _ in range(denominator - int(weights.sum())):
        gap = denominator * counts - rows * weights
        cost = np.abs(gap - rows) - np.abs(gap)
        cost[weights >= caps] = 2 * rows  # more than any other
        weights[int(np.argmin(cost))] += 1
    return weights


@cache
def ways_of_writing(denominator: int) -> np.ndarray:
    """Return every way of writing a number as a sum (int64, ways x terms).

    Terms are descending, with 0 after the last.

    >>> ways_of_writing(3).tolist()
    [[3, 0, 0], [2, 1, 0], [1, 1, 1]]
    """
    ways: list[list[int]] = []
    terms = [denominator]
    while True:
        ways.append(terms + [0] * (denominator - len(terms)))
        last = len(terms) - 1
        while last >= 0 and terms[last] == 1:
            last -= 1
        if last < 0:
            return np.array(ways, dtype=np.int64)
        largest, remainder = terms[last] - 1, len(terms) - last
        whole, rest = divmod(remainder, largest)
        terms = [*terms[:last], largest, *[largest] * whole, *([rest] if rest else [])]


def as_groups(ways: np.ndarray, name: str) -> Groups:
    """Return groups whose values occur as often as the terms, for promises to judge."""
    group, value = np.nonzero(ways)
    counts = Counts(group, value, ways[group, value], ways.shape[1], None)
    return Groups(ways.sum(axis=1), {name: counts})


def nearest_ranked(counts: np.ndarray, ways: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """Return the weights of the nearest target, the first of equally near ones.

    Args:
        counts: how often the group has each value (int64, one per value).
        ways: those ways of writing the denominator that keep the promises (int64, ways x terms).
        totals: how often all rows have each value (int64): which of equally frequent values, such
            as those that the group lacks, come first.

    Returns:
        int64, one per value, that add up to the denominator; None if no target has enough
        values.
    """
    values = len(counts)
    order = np.lexsort((np.arange(values), -totals, -counts))
    fitting = ways[(ways[:, values:] == 0).all(axis=1), :values] if len(ways) else ways
    if not len(fitting):
        return None
    denominator, rows, tried = int(fitting[0].sum()), int(counts.sum()), fitting.shape[1]
    scaled = denominator * counts[order[:tried]]
    off = np.abs(scaled - rows * fitting).sum(axis=1)  # the values after these weigh nothing
    weights = np.zeros(values, dtype=np.int64)
    weights[order[:tried]] = fitting[int(np.argmin(off))]
    return weights
