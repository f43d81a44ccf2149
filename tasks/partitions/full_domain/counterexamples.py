"""Counterexamples in a lattice: a group that breaks a promise rules out more than its own node.

One histogram of the rows, by the levels at which each would join that group, summed along the axes,
has the group's counts at all nodes at once, and rules out every node at which it still fails, with
all below.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, Node
from sfumato.tasks.partitions.full_domain.scope import Scope

_ENTRIES = 2**20  # of a histogram over a lattice


class NodeJudge:
    """One promise at the nodes of a lattice, by the distinct rows that it is about."""

    def __init__(self, scope: Scope, rows: LatticeRows, levels: Sequence[np.ndarray]) -> None:
        wanted = [*scope.axes, *scope.fixed]
        if scope.sensitive is not None:
            wanted.append(scope.sensitive)
        self.axes = scope.axes
        axes = range(len(scope.axes))
        fixed = range(len(scope.axes), len(scope.axes) + len(scope.fixed))
        self.levels = [levels[axis] for axis in scope.axes]
        self.rows = rows.only(wanted)
        last = None if scope.sensitive is None else len(wanted) - 1
        self.scope = scope._replace(axes=tuple(axes), fixed=tuple(fixed), sensitive=last)
        self.shape = [len(nodes) for nodes in levels]
        self.rarity = self._rarity()

    def _rarity(self) -> np.ndarray:
        """A score per row (float64), the smaller the fewer rows share its nodes.

        Rare rows make good counterexamples.
        """
        total = np.zeros(len(self.rows))
        for codes, nodes in zip(self.rows.codes, self.levels, strict=False):
            of_value = np.bincount(codes, self.rows.counts, nodes.shape[1])
            logs = sum(np.log1p(np.bincount(level, of_value))[level] for level in nodes)
            total += np.asarray(logs)[codes]
        return total

    def counterexample(self, node: Node) -> int | None:
        """A row whose group breaks the promise at a node, None where none does."""
        group, groups = self.scope.seen(
            self.rows.at(self.levels, tuple(node[axis] for axis in self.axes))
        )
        failing = self.scope.promise.failing(groups)
        if not failing.any():
            return None
        within = np.flatnonzero(failing[group])
        return int(within[np.argmin(self.rarity[within])])

    def rule_out(self, row: int, node: Node) -> np.ndarray:
        """The nodes at which the group of a row breaks the promise, and those below them.

        Args:
            row: a row whose group breaks it at `node`.
            node: where there are too many nodes for a histogram over all of them, those at and
                above this one are preferred.

        Returns:
            bool, of the lattice's shape; an axis that the promise is not about has length 1.
        """
        values = 1 if self.scope.coded is None else self.scope.coded.values
        grid = _grid(
            [len(nodes) for nodes in self.levels], [node[a] for a in self.axes], _ENTRIES // values
        )
        histogram = self._histogram(row, grid, values)
        for axis in range(len(grid)):
            steps = _along(histogram, axis)
            for level in range(1, steps.shape[1]):
                steps[:, level] += steps[:, level - 1]
        fails = self._failing(histogram.reshape(-1, values)).reshape(histogram.shape[:-1])
        ruled = np.zeros([len(nodes) for nodes in self.levels], dtype=bool)
        ruled[np.ix_(*grid)] = fails
        for axis in range(ruled.ndim):
            steps = _along(ruled, axis)
            for level in reversed(range(steps.shape[1] - 1)):
                steps[:, level] |= steps[:, level + 1]
        return ruled.reshape(
            [size if axis in self.axes else 1 for axis, size in enumerate(self.shape)]
        )

    def _histogram(self, row: int, grid: Sequence[np.ndarray], values: int) -> np.ndarray:
        """The rows of each value that first join a row's group at a node (int64, grid x values)."""
        key, counts = np.zeros(len(self.rows), dtype=np.int64), self.rows.counts
        stride = prod(map(len, grid))
        for codes, nodes, chosen in zip(self.rows.codes, self.levels, grid, strict=False):
            same = nodes == nodes[:, codes[row], None]
            joins = np.where(same.any(axis=0), same.argmax(axis=0), len(nodes))
            stride //= len(chosen)
            key += (stride * np.minimum(np.searchsorted(chosen, joins), len(chosen) - 1))[codes]
            if joins.max() > chosen[-1]:
                counts = np.where((joins > chosen[-1])[codes], 0, counts)
        for column in self.scope.fixed:
            codes = self.rows.codes[column]
            counts = np.where(codes == codes[row], counts, 0)
        if self.scope.sensitive is not None:
            key = key * values + self.rows.codes[self.scope.sensitive]
        shape = [*(len(chosen) for chosen in grid), values]
        return np.bincount(key, counts, prod(shape)).astype(np.int64).reshape(shape)

    def _failing(self, histogram: np.ndarray) -> np.ndarray:
        """Mark the groups that break the promise, given their counts (int64, groups x values)."""
        promise, coded = self.scope.promise, self.scope.coded
        number = len(histogram)
        if coded is None:
            return promise.failing(Groups(histogram[:, 0], {}))
        if promise.compares_with_all:  # the other rows are a group, too
            values = self.rows.codes[-1]
            rest = np.bincount(values, self.rows.counts, coded.values).astype(np.int64) - histogram
            histogram = np.concatenate([histogram, rest[rest.any(axis=1)]])
        group, value = np.nonzero(histogram)
        sizes, counts = histogram.sum(axis=1), histogram[group, value]
        return promise.failing(self.scope.groups(sizes, group, value, counts))[:number]


def _along(array: np.ndarray, axis: int) -> np.ndarray:
    """A view of a contiguous array with three axes, the given one in the middle."""
    return array.reshape(prod(array.shape[:axis]), array.shape[axis], -1)


def _grid(sizes: Sequence[int], node: Sequence[int], most: int) -> list[np.ndarray]:
    """Levels of each axis that make at most `most` nodes: all, or some from those of `node` on."""
    grid = [np.arange(size) for size in sizes]
    if prod(sizes) <= most:
        return grid
    grid = [levels[level:] for levels, level in zip(grid, node, strict=True)]
    while prod(map(len, grid)) > max(most, 1):
        longest = max(range(len(grid)), key=lambda axis: len(grid[axis]))
        grid[longest] = grid[longest][::2]
    return grid
