"""The nearest target within a distance of a reference: t-closeness of one group, exactly.

Of all targets w/D of one denominator D whose earth mover's distance (equal or ordered) from the
distribution of all rows is at most t, it has the least total variation from the group's own. Both
are sums over the values in their order, given how much weight lies before each. So a path from 0 to
D has two costs, and the best is found among the paths of which no other is better in both, with
bounds on what is still to come: from the least of either cost alone, and from a path that is best
for a weighted sum of both. All numbers are whole.

The choice of the nearest target is this project's own (see `tasks.targets.ranked`).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

_NEVER = 1 << 60
_SCALE = 1 << 10
_HALVINGS = 24


class _Path(NamedTuple):
    """A way to spend weight on the first values: its two costs, the last weight, and the rest."""

    off: int
    moved: int
    weight: int
    before: "_Path | None"


@dataclass(frozen=True, eq=False)
class _Steps:
    """The two costs of a value by the weight before it and after it (int64, values x D+1 x D+1)."""

    off: np.ndarray
    moved: np.ndarray

    def least(self, times_off: int, times_moved: int) -> np.ndarray:
        """The least weighted cost of all values from each on, by the weight before it."""
        values, size, _ = self.off.shape
        found = np.full((values + 1, size), _NEVER, dtype=np.int64)
        found[-1, -1] = 0
        for value in range(values - 1, -1, -1):
            step = times_off * self.off[value] + times_moved * self.moved[value]
            step[self.off[value] >= _NEVER] = _NEVER
            found[value] = np.minimum((step + found[value + 1]).min(axis=1), _NEVER)
        return found

    def follow(self, least: np.ndarray, times_off: int, times_moved: int) -> tuple[int, int]:
        """The two costs of the path whose weighted cost is least."""
        at = off = moved = 0
        for value in range(len(self.off)):
            here, there = self.off[value][at], self.moved[value][at]
            step = times_off * here + times_moved * there
            step[here >= _NEVER] = _NEVER
            to = int(np.argmin(step + least[value + 1]))
            off, moved, at = off + int(here[to]), moved + int(there[to]), to
        return off, moved


def nearest_within(
    counts: np.ndarray, totals: np.ndarray, denominator: int, limit: Fraction, *, ordered: bool
) -> np.ndarray | None:
    """The weights of the nearest target that is within `limit` of the distribution of all rows.

    Args:
        counts: how often the group has each value (int64, one per value, in their order).
        totals: how often all rows have it (int64, at least 1).
        denominator: what the weights add up to.
        limit: the largest distance, from 0 to 1.
        ordered: whether it is by rank, or all values are equally far apart.

    Returns:
        int64, one per value; None where no target of the denominator is so close.
    """
    steps = _steps(counts, totals, denominator, ordered=ordered)
    parts = max(len(counts) - 1, 1) if ordered else 2
    most = int(limit * parts * denominator * int(totals.sum()))  # rounded down: costs are whole
    still_off, still_moved = steps.least(1, 0), steps.least(0, 1)
    if still_moved[0, 0] > most:
        return None
    found = _best(steps, still_off, still_moved, most, _reached(steps, most))
    weights = np.zeros(len(counts), dtype=np.int64)
    path: _Path | None = found
    for value in range(len(counts) - 1, -1, -1):
        if path is not None:
            weights[value], path = path.weight, path.before
    return weights


def _steps(counts: np.ndarray, totals: np.ndarray, denominator: int, *, ordered: bool) -> _Steps:
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


def _reached(steps: _Steps, most: int) -> int:
    """How near some target within the limit is: the best that a weighted sum of costs finds."""
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
    """The best path whose second cost is at most `most`, and its first at most `bound`."""
    paths: dict[int, list[_Path]] = {0: [_Path(0, 0, 0, None)]}
    for value in range(len(steps.off)):
        further: dict[int, list[_Path]] = {}
        for at, those in paths.items():
            for to in range(at, steps.off.shape[1]):
                off, moved = int(steps.off[value, at, to]), int(steps.moved[value, at, to])
                room = bound - off - int(still_off[value + 1, to])
                left = most - moved - int(still_moved[value + 1, to])
                kept = [
                    _Path(path.off + off, path.moved + moved, to - at, path)
                    for path in those
                    if path.off <= room and path.moved <= left
                ]
                if kept:
                    further.setdefault(to, []).extend(kept)
        paths = {to: _unbeaten(those) for to, those in further.items()}
    return min(paths[steps.off.shape[1] - 1], key=lambda path: path[:2])


def _unbeaten(paths: list[_Path]) -> list[_Path]:
    """The paths of which no other is as good in both costs."""
    kept: list[_Path] = []
    for path in sorted(paths, key=lambda one: one[:2]):
        if not kept or path.moved < kept[-1].moved:
            kept.append(path)
    return kept
