"""Savings by fakes below each node, for each number of subdomains that the node passes on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.targets.fakes_reach import Reach

_FITTING = 2**60  # sums of a few still fit int64


@dataclass(frozen=True, eq=False)
class Savings:
    """Tables of the savings from passing subdomains down instead of keeping them at the root.

    A copy of a node in place of one of its parent saves `gain[node]`. `shared[node]` has a row
    for each q from `low` to `high` and a column for each number of fakes from 0 to `width`: the
    most that is saved below the node when it passes q times on, with at most so many fakes; it is
    negative where that is impossible, as no saving outweighs `never`. Tables are int64, or Python
    integers where those overflow.
    """

    reach: Reach
    gain: Sequence[int]
    never: int
    shared: Sequence[np.ndarray]

    def passing(self, node: int, asked: np.ndarray) -> np.ndarray:
        """The largest saving at a node and below it, by the number of subdomains there.

        Args:
            node: not the root.
            asked: numbers of subdomains (int64, or Python integers).

        Returns:
            The same dtype, a row for each number of subdomains, a column for each number of fakes
            from 0 to the node's width.
        """
        reach, width = self.reach, self.reach.width[node]
        best = np.zeros((len(asked), width + 1), dtype=asked.dtype)
        if reach.total[node]:
            best = self.best(node)[self._row(node, asked)]
        needed = np.maximum(asked - reach.held[node], 0)
        saved: np.ndarray = best + (asked * self.gain[node])[:, None]
        return np.where(np.arange(width + 1) < needed[:, None], self.never, saved)

    def best(self, node: int) -> np.ndarray:
        """The same as `shared`, but by the largest q that the node may pass on."""
        return np.maximum.accumulate(self.shared[node], axis=0)

    def _row(self, node: int, copies: np.ndarray) -> np.ndarray:
        times = np.minimum(copies // self.reach.total[node], self.reach.high[node])
        rows: np.ndarray = (times - self.reach.low[node]).astype(np.int64)
        return rows

    def together(self, node: int, times: np.ndarray) -> list[np.ndarray]:
        """The savings at and below the first child, the first two, …, for each q in `times`."""
        reach = self.reach
        found: list[np.ndarray] = []
        for child in reach.children[node]:
            saved = self.passing(child, times * reach.weight[child])
            found.append(self._added(found[-1], saved, reach.width[node]) if found else saved)
        return found

    def _added(self, one: np.ndarray, other: np.ndarray, width: int) -> np.ndarray:
        """The largest sum for each total of fakes, up to `width` of them."""
        narrow, wide = (one, other) if one.shape[1] < other.shape[1] else (other, one)
        columns = min(narrow.shape[1] + wide.shape[1] - 1, width + 1)
        most = np.full((len(one), columns), self.never, dtype=one.dtype)
        for fakes in range(min(narrow.shape[1], columns)):
            upper = most[:, fakes : fakes + wide.shape[1]]
            sums = narrow[:, fakes, None] + wide[:, : upper.shape[1]]
            np.maximum(upper, sums, out=upper)
        return most


def savings(reach: Reach, ranges: Sequence[int]) -> Savings:
    """Fill the tables from the leaves up; int64, or Python integers where those overflow."""
    parent = reach.parent
    gain = [0, *(ranges[above] - ranges[node] for node, above in enumerate(parent) if node)]
    bound = 1 + ranges[0] * (reach.total[0] * reach.high[0] + 1)
    dtype = np.int64 if max(bound, *reach.total) < _FITTING else object
    shared = [np.empty((0, 0), dtype=dtype) for _ in parent]
    tables = Savings(reach, gain, -bound, shared)
    for node in range(len(parent) - 1, -1, -1):
        if reach.total[node]:
            times = np.arange(reach.low[node], reach.high[node] + 1).astype(dtype)
            shared[node] = _widened(tables.together(node, times)[-1], reach.width[node])
    return tables


def _widened(table: np.ndarray, width: int) -> np.ndarray:
    """A table with its last column repeated: fakes beyond it are of no use."""
    return np.pad(table, ((0, 0), (0, width + 1 - table.shape[1])), mode="edge")
