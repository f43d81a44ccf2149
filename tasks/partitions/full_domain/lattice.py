"""The lattice of full-domain generalization: search for the best level of each quasi-identifier.

A node gives each quasi-identifier the level to which all its values are generalized. Rows are
collapsed once to distinct ones with counts; all else is adding up counts.

Where no row may be suppressed and merging groups cannot break the promises, what holds at a node
holds above it, so that the nodes to be found are the minimal ones. Nodes are judged from the lowest
on. A group that breaks a promise tells more than its own node: one histogram of the rows, by the
levels at which each would join that group, summed along the axes, has the group's counts at all
nodes at once, and rules out every node at which it still fails, with all below. So few nodes are
judged in full: the minimal ones, and one for each such counterexample.

Otherwise every node is judged (see `walk`), less those known to suppress too much.

Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity (SIGMOD 2005),
for the lattice, its monotonicity and the roll-up; the search for counterexamples is our own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import Coded, pack
from sfumato.expectations.groups.groups import Counts, Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness

Node = tuple[int, ...]

_ENTRIES = 2**20  # of a histogram over a lattice
_DIRECT = 2**18  # keys below this are counted without sorting


@dataclass(frozen=True, eq=False)
class LatticeRows:
    """Rows as codes by column, in [0, bound), and how often each row occurs.

    The quasi-identifiers come first, one column per axis of the lattice.
    """

    codes: tuple[np.ndarray, ...]
    bounds: tuple[int, ...]
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)

    def key(self, columns: Sequence[int]) -> tuple[np.ndarray, int]:
        """One int64 per row that tells rows apart by some columns, and its bound."""
        telling = [c for c in columns if self.bounds[c] > 1]
        if not telling:
            return np.zeros(len(self), dtype=np.int64), 1
        return pack([self.codes[c] for c in telling], [self.bounds[c] for c in telling])

    def take(self, rows: np.ndarray) -> "LatticeRows":
        """Some rows."""
        return LatticeRows(
            tuple(codes[rows] for codes in self.codes), self.bounds, self.counts[rows]
        )

    def only(self, columns: Sequence[int]) -> "LatticeRows":
        """Some columns, equal rows once."""
        codes, bounds = zip(*((self.codes[c], self.bounds[c]) for c in columns), strict=True)
        return LatticeRows(codes, bounds, self.counts).collapse()[0]

    def collapse(self) -> tuple["LatticeRows", np.ndarray]:
        """Equal rows once, in ascending order, and which of these each row has become."""
        into, first = number_keys(*self.key(range(len(self.codes))))
        codes = tuple(codes[first] for codes in self.codes)
        counts = np.bincount(into, self.counts, len(first)).astype(np.int64)
        return LatticeRows(codes, self.bounds, counts), into

    def generalize(self, axis: int, nodes: np.ndarray) -> "LatticeRows":
        """One quasi-identifier generalized (`nodes`: the node of each value); rows stay apart."""
        codes, bounds = list(self.codes), list(self.bounds)
        bounds[axis] = int(nodes.max(initial=-1)) + 1
        # a column of one value alone tells nothing apart, and is not read
        codes[axis] = nodes[codes[axis]] if bounds[axis] > 1 else np.broadcast_to(0, len(self))
        return LatticeRows(tuple(codes), tuple(bounds), self.counts)

    def at(self, levels: Sequence[np.ndarray], node: Node) -> "LatticeRows":
        """All quasi-identifiers generalized to a node; rows stay apart."""
        rows = self
        for axis, (nodes, level) in enumerate(zip(levels, node, strict=True)):
            rows = rows.generalize(axis, nodes[level]) if level else rows
        return rows


class Scope(NamedTuple):
    """A promise and what it is about, as columns of `LatticeRows`.

    Its groups are the rows that are equal on the axes `axes` (ascending), generalized, and on the
    columns `fixed`; `sensitive` is the column of the attribute that `coded` describes, where it
    needs one.
    """

    promise: PrivacyModel
    axes: tuple[int, ...]
    fixed: tuple[int, ...]
    sensitive: int | None = None
    coded: Coded | None = None

    def failing(self, rows: LatticeRows) -> np.ndarray:
        """Which rows are in groups that break the promise (bool, one per row)."""
        group, groups = self.seen(rows)
        return np.asarray(self.promise.failing(groups)[group])

    def seen(self, rows: LatticeRows) -> tuple[np.ndarray, Groups]:
        """The group of each row, and the groups."""
        group, first = number_keys(*rows.key([*self.axes, *self.fixed]))
        sizes = np.bincount(group, rows.counts, len(first)).astype(np.int64)
        if self.sensitive is None or self.coded is None:
            return group, Groups(sizes, {})
        values = max(self.coded.values, 1)
        pairs, counts = tally(
            group * values + rows.codes[self.sensitive], len(first) * values, rows.counts
        )
        return group, self.groups(sizes, *np.divmod(pairs, values), counts)

    def groups(
        self, sizes: np.ndarray, group: np.ndarray, value: np.ndarray, count: np.ndarray
    ) -> Groups:
        """Groups of these sizes, with counts (see `Counts`) of the sensitive attribute, if any."""
        if self.coded is None:
            return Groups(sizes, {})
        _, values, numbers, labels, ancestors = self.coded
        counts = Counts(group, value, count, values, numbers, labels, ancestors)
        return Groups(sizes, {self.promise.sensitive or "": counts})


def number_keys(key: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of the different keys each is, in ascending order, and a place where each stands."""
    if bound > max(_DIRECT, 32 * len(key)):
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return number, first
    occurs = np.zeros(bound, dtype=bool)
    occurs[key] = True
    different = np.flatnonzero(occurs)
    rank = np.empty(bound, dtype=np.int64)
    rank[different] = np.arange(len(different))
    number = rank[key]
    first = np.empty(len(different), dtype=np.int64)
    first[number] = np.arange(len(key))
    return number, first


def tally(key: np.ndarray, bound: int, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different keys in ascending order, and the sum of the counts of each (int64)."""
    if bound <= max(_DIRECT, 2 * len(key)):
        sums = np.bincount(key, counts, bound)  # exact: whole numbers below 2^53
        keys = np.flatnonzero(sums)
        return keys, sums[keys].astype(np.int64)
    order = np.argsort(key)
    ordered = key[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[starts], np.add.reduceat(counts[order], starts)


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
        """The smaller, the fewer rows share the row's nodes: rare rows make counterexamples."""
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
        """How many rows of each value join the group of a row first at each node of a grid."""
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
        """Which groups break the promise, given how often each shows each value."""
        promise, coded = self.scope.promise, self.scope.coded
        number = len(histogram)
        if coded is None:
            return promise.failing(Groups(histogram[:, 0], {}))
        if isinstance(promise, TCloseness):  # compares with all rows: the others are a group, too
            values = self.rows.codes[-1]
            rest = np.bincount(values, self.rows.counts, coded.values).astype(np.int64) - histogram
            histogram = np.concatenate([histogram, rest[rest.any(axis=1)]])
        group, value = np.nonzero(histogram)
        sizes, counts = histogram.sum(axis=1), histogram[group, value]
        return promise.failing(self.scope.groups(sizes, group, value, counts))[:number]


def _along(array: np.ndarray, axis: int) -> np.ndarray:
    """A view of a contiguous array with three axes, this one in the middle."""
    return array.reshape(prod(array.shape[:axis]), array.shape[axis], -1)


def _grid(sizes: Sequence[int], node: Sequence[int], most: int) -> list[np.ndarray]:
    """Levels of each axis, with at most so many nodes: all, or some from those of `node` on."""
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
    """The nodes that keep promises which merging cannot break, while no node below does.

    Args:
        rows: distinct rows.
        levels: by axis the node above each value at each level.
        scopes: the promises.
    """
    judges = [NodeJudge(scope, rows, levels) for scope in scopes]
    unknown = np.ones([len(nodes) for nodes in levels], dtype=bool)
    found: list[Node] = []
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
            found.append(node)
            unknown[tuple(slice(level, None) for level in node)] = False
    return Minimal(tuple(found), judged)


def _ascending(unknown: np.ndarray) -> Iterator[Node]:
    """The nodes that are unknown when their turn comes, lowest first."""
    heights = sum(np.indices(unknown.shape, sparse=True), np.zeros(1, dtype=np.int64))
    flat = unknown.reshape(-1)
    for place in np.argsort(np.asarray(heights).ravel(), kind="stable").tolist():
        if flat[place]:
            yield tuple(int(level) for level in np.unravel_index(place, unknown.shape))


def walk(
    rows: LatticeRows, levels: Sequence[np.ndarray], skipped: np.ndarray
) -> Iterator[tuple[Node, LatticeRows]]:
    """Every node with its distinct rows, from the root down in reverse lexicographic order.

    Each node's rows are rolled up from those of a node below it. Nodes that are `skipped` (bool, of
    the lattice's shape) when their turn comes are left out.
    """

    def below(node: Node, rows: LatticeRows) -> Iterator[tuple[Node, LatticeRows]]:
        axis = len(node)
        if axis == len(levels):
            yield node, rows
            return
        for level in reversed(range(len(levels[axis]))):
            if not skipped[(*node, level)].all():
                above = rows.generalize(axis, levels[axis][level]).collapse()[0] if level else rows
                yield from below((*node, level), above)

    yield from below((), rows)


def suppress_failing(
    rows: LatticeRows, node: Node, tops: Node, scopes: Sequence[Scope], budget: int, starred: bool
) -> tuple[np.ndarray, bool]:
    """Which rows to suppress at a node, and whether the promises are kept then.

    Rows of failing groups are suppressed until no group fails, or more than the budget allows.

    Args:
        rows: the distinct rows at the node.
        node: the level of each quasi-identifier.
        tops: its highest level.
        scopes: the promises.
        budget: how many rows may be suppressed.
        starred: whether suppressed rows are still shown, with their quasi-identifiers at these.
    """
    suppressed = np.zeros(len(rows), dtype=bool)
    while True:
        seen = np.ones(len(rows), dtype=bool) if starred else ~suppressed
        shown = shown_rows(rows, node, tops, suppressed) if starred else rows.take(seen)
        failing = np.zeros(len(rows), dtype=bool)
        for scope in scopes:
            failing[seen] |= scope.failing(shown)
        if not (failing & ~suppressed).any():
            return suppressed, not failing.any()
        suppressed |= failing
        if int(rows.counts[suppressed].sum()) > budget:
            return suppressed, False


def shown_rows(rows: LatticeRows, node: Node, tops: Node, starred: np.ndarray) -> LatticeRows:
    """Rows at a node, some of them with all quasi-identifiers at their highest levels instead."""
    if not starred.any():
        return rows
    codes, bounds = list(rows.codes), list(rows.bounds)
    for axis, (level, top) in enumerate(zip(node, tops, strict=True)):
        if level < top:
            codes[axis] = np.where(starred, bounds[axis], codes[axis])
            bounds[axis] += 1
    return replace(rows, codes=tuple(codes), bounds=tuple(bounds))
