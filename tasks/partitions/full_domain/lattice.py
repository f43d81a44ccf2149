"""The lattice of full-domain generalization: its nodes, and rows that show which of them fail.

A node gives each quasi-identifier the level to which all its values are generalized. A node is
*above* another if it is a different one and none of its levels is lower. Rows are collapsed once to
distinct ones with counts; all further work is adding up counts. To *roll up* rows is to generalize
one quasi-identifier of theirs and to collapse them again.

If no row may be suppressed and merging groups cannot break the promises, whatever holds at a node
holds above it, so that the minimal nodes suffice. Nodes are judged from the lowest on, and each one
that fails yields a counterexample: a row whose group breaks a promise. One histogram of the rows,
by the levels at which each would join that group, summed along the axes, has the group's counts at
all nodes at once. It rules out every node at which the group still fails, and all nodes below. So
few nodes are judged in full: the minimal ones, and one for each counterexample.

Otherwise every node is judged (see `walk`), except those that surely suppress too much, or surely
cost more than another one.

Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity (SIGMOD 2005),
for the lattice, its monotonicity and the roll-up; the search for counterexamples is our own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.partitions.full_domain.problem import Scope
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, Node, shown_rows

_ENTRIES = 2**20  # of a histogram over a lattice


class NodeJudge:
    """One promise at the nodes of a lattice, with the distinct rows that it is about.

    Attributes:
        axes: the axes of the lattice that the promise is about, ascending.
        levels: for each of these axes, the node above each value at each level (integers, levels x
            values).
        rows: the distinct rows in the columns that the promise is about.
        scope: the promise, with its columns numbered as in `rows`.
        shape: the number of levels of every axis of the lattice.
        rarity: a score of each distinct row, see `_rarity`.
    """

    def __init__(self, scope: Scope, rows: LatticeRows, levels: Sequence[np.ndarray]) -> None:
        columns = [*scope.axes, *scope.fixed]
        if scope.sensitive is not None:
            columns.append(scope.sensitive)
        self.axes = scope.axes
        axes = range(len(scope.axes))
        fixed = range(len(scope.axes), len(scope.axes) + len(scope.fixed))
        self.levels = [levels[axis] for axis in scope.axes]
        self.rows = rows.only(columns)
        last = None if scope.sensitive is None else len(columns) - 1
        self.scope = scope._replace(axes=tuple(axes), fixed=tuple(fixed), sensitive=last)
        self.shape = [len(nodes) for nodes in levels]
        self.rarity = self._rarity()

    def _rarity(self) -> np.ndarray:
        """Return a score per row (float64), which is smaller if fewer rows share its nodes.

        Rare rows make good counterexamples.
        """
        total = np.zeros(len(self.rows))
        for codes, nodes in zip(self.rows.codes, self.levels, strict=False):
            of_value = np.bincount(codes, self.rows.counts, nodes.shape[1])
            logs = sum(np.log1p(np.bincount(level, of_value))[level] for level in nodes)
            total += np.asarray(logs)[codes]
        return total

    def counterexample(self, node: Node) -> int | None:
        """Return a row whose group breaks the promise at a node, None if there is none."""
        group, groups = self.scope.group_rows(
            self.rows.generalize_to(self.levels, tuple(node[axis] for axis in self.axes))
        )
        failing = self.scope.promise.failing(groups)
        if not failing.any():
            return None
        within = np.flatnonzero(failing[group])
        return int(within[np.argmin(self.rarity[within])])

    def rule_out(self, row: int, node: Node) -> np.ndarray:
        """Return the nodes at which the group of a row breaks the promise, and those below them.

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
        # rows that join at a node stay at all nodes above: sums along the axes are whole groups
        for axis in range(len(grid)):
            steps = _axis_view(histogram, axis)
            for level in range(1, steps.shape[1]):
                steps[:, level] += steps[:, level - 1]
        fails = self._failing(histogram.reshape(-1, values)).reshape(histogram.shape[:-1])
        # merging cannot break the promise, so below a node at which the group breaks it, some part
        # of the group breaks it, too
        ruled = np.zeros([len(nodes) for nodes in self.levels], dtype=bool)
        ruled[np.ix_(*grid)] = fails
        for axis in range(ruled.ndim):
            steps = _axis_view(ruled, axis)
            for level in reversed(range(steps.shape[1] - 1)):
                steps[:, level] |= steps[:, level + 1]
        return ruled.reshape(
            [size if axis in self.axes else 1 for axis, size in enumerate(self.shape)]
        )

    def _histogram(self, row: int, grid: Sequence[np.ndarray], values: int) -> np.ndarray:
        """Return the rows of each value that first join a row's group at each node of a grid.

        The result is int64, grid x values.
        """
        key, counts = np.zeros(len(self.rows), dtype=np.int64), self.rows.counts
        stride = prod(map(len, grid))
        for codes, nodes, chosen in zip(self.rows.codes, self.levels, grid, strict=False):
            # the lowest level at which each value has the same node as the row's value
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


def _axis_view(array: np.ndarray, axis: int) -> np.ndarray:
    """Return a view of a contiguous array with three axes, the given one in the middle."""
    return array.reshape(prod(array.shape[:axis]), array.shape[axis], -1)


def _grid(sizes: Sequence[int], node: Sequence[int], most: int) -> list[np.ndarray]:
    """Return levels of each axis that make at most `most` nodes.

    It has all levels if they fit, otherwise some of the levels from those of `node` on.
    """
    grid = [np.arange(size) for size in sizes]
    if prod(sizes) <= most:
        return grid
    grid = [levels[level:] for levels, level in zip(grid, node, strict=True)]
    while prod(map(len, grid)) > max(most, 1):
        longest = max(range(len(grid)), key=lambda axis: len(grid[axis]))
        grid[longest] = grid[longest][::2]
    return grid


@dataclass(frozen=True, eq=False)
class Minimal:
    """The minimal nodes that keep all promises, lowest first, and how many nodes were judged."""

    nodes: tuple[Node, ...]
    judged: int


def minimal(rows: LatticeRows, levels: Sequence[np.ndarray], scopes: Sequence[Scope]) -> Minimal:
    """Return the minimal nodes that keep all given promises, none of which merging can break.

    No node below a minimal one keeps them all.

    Args:
        rows: distinct rows.
        levels: by axis the node above each value at each level (integers, levels x values).
        scopes: the promises.
    """
    judges = [NodeJudge(scope, rows, levels) for scope in scopes]
    # nodes that are neither ruled out nor at or above a minimal one
    unknown = np.ones([len(nodes) for nodes in levels], dtype=bool)
    lowest: list[Node] = []
    judged = 0
    for node in _ascending(unknown):
        judged += 1
        for judge in judges:
            row = judge.counterexample(node)
            if row is not None:
                unknown &= ~judge.rule_out(row, node)
                unknown[node] = False
                break
        else:
            lowest.append(node)
            unknown[tuple(slice(level, None) for level in node)] = False
    return Minimal(tuple(lowest), judged)


def _ascending(unknown: np.ndarray) -> Iterator[Node]:
    """Yield the nodes that are still unknown when their turn comes, lowest first."""
    heights = sum(np.indices(unknown.shape, sparse=True), np.zeros(1, dtype=np.int64))
    flat = unknown.reshape(-1)
    for place in np.argsort(np.asarray(heights).ravel(), kind="stable").tolist():
        if flat[place]:
            yield tuple(int(level) for level in np.unravel_index(place, unknown.shape))


def walk(
    rows: LatticeRows,
    levels: Sequence[np.ndarray],
    skipped: np.ndarray,
    is_left_out: Callable[[LatticeRows], bool] = lambda _: False,
) -> Iterator[tuple[Node, LatticeRows]]:
    """Yield every node with its distinct rows, from the root down: no node before one above it.

    Each node's rows are rolled up from the rows of a node below it. Quasi-identifiers with the most
    values are rolled up first, which leaves the fewest rows.

    Args:
        rows: the distinct rows at the lowest node.
        levels: by quasi-identifier, the node above each value at each level.
        skipped: marks the nodes (bool, of the lattice's shape) that are left out if they are marked
            when their turn comes.
        is_left_out: decides by the rows of a node whether it and all nodes above it are left out.
    """
    axes = sorted(range(len(levels)), key=lambda axis: -len(distinct(levels[axis][0])))

    def descend(
        node: Node, rows: LatticeRows, open_axes: Sequence[int]
    ) -> Iterator[tuple[Node, LatticeRows]]:
        if not open_axes:
            yield node, rows
            return
        axis, *others = open_axes
        for level in reversed(range(len(levels[axis]))):
            child = (*node[:axis], level, *node[axis + 1 :])
            if _all_skipped(skipped, child, others):
                continue
            above = _rolled_up(rows, axis, levels[axis][level]) if level else rows
            if not is_left_out(above):
                yield from descend(child, above, others)

    yield from descend((0,) * len(levels), rows, axes)


def _all_skipped(skipped: np.ndarray, node: Node, others: Sequence[int]) -> bool:
    """Return True if all nodes are skipped that differ from one only in some other axes."""
    index = tuple(slice(None) if axis in others else level for axis, level in enumerate(node))
    return bool(skipped[index].all())


def _rolled_up(rows: LatticeRows, axis: int, nodes: np.ndarray) -> LatticeRows:
    """Return distinct rows with one quasi-identifier generalized, and equal rows collapsed."""
    above = rows.generalize(axis, nodes)
    return above if bool((nodes[1:] > nodes[:-1]).all()) else above.collapse()


def suppress_failing(
    rows: LatticeRows, node: Node, tops: Node, scopes: Sequence[Scope], budget: int, starred: bool
) -> tuple[np.ndarray, bool]:
    """Suppress rows at a node until the promises are kept or the budget is spent.

    Rows of failing groups are suppressed, again and again until no group fails.

    Args:
        rows: the distinct rows at the node.
        node: the level of each quasi-identifier.
        tops: its highest level.
        scopes: the promises.
        budget: the number of rows that may be suppressed.
        starred: whether suppressed rows are still shown, with their quasi-identifiers at `tops`.

    Returns:
        The suppressed rows (bool, one per distinct row), and whether the promises are kept.
    """
    suppressed = np.zeros(len(rows), dtype=bool)
    while True:
        seen = np.ones(len(rows), dtype=bool) if starred else ~suppressed
        visible = shown_rows(rows, node, tops, suppressed) if starred else rows.take(seen)
        failing = np.zeros(len(rows), dtype=bool)
        for scope in scopes:
            failing[seen] |= scope.failing(visible)
        if not (failing & ~suppressed).any():
            return suppressed, not failing.any()
        suppressed |= failing
        if int(rows.counts[suppressed].sum()) > budget:
            return suppressed, False
