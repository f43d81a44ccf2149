"""The lattice of full-domain generalization: search for the best level of each quasi-identifier.

A node gives each quasi-identifier the level to which all its values are generalized. Rows are
collapsed once to distinct ones with counts; all else is adding up counts.

Where no row may be suppressed and merging groups cannot break the promises, what holds at a node
holds above it, so that the nodes to be found are the minimal ones. Nodes are judged from the lowest
on, and each that fails yields a counterexample, which rules out others: few nodes are judged in
full, the minimal ones and one for each counterexample.

Otherwise every node is judged (see `walk`), less those known to suppress too much, or to cost more
than another one.

Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity (SIGMOD 2005),
for the lattice, its monotonicity and the roll-up; the search for counterexamples is our own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.sorting import distinct
from sfumato.tasks.partitions.full_domain.counterexamples import NodeJudge
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, Node, shown_rows
from sfumato.tasks.partitions.full_domain.scope import Scope


@dataclass(frozen=True, eq=False)
class Minimal:
    """The minimal nodes that keep all promises, lowest first, and how many nodes were judged."""

    nodes: tuple[Node, ...]
    judged: int


def minimal(rows: LatticeRows, levels: Sequence[np.ndarray], scopes: Sequence[Scope]) -> Minimal:
    """The minimal nodes that keep promises which merging cannot break: no node below keeps them.

    Args:
        rows: distinct rows.
        levels: by axis the node above each value at each level (integers, levels x values).
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
    """The nodes that are still unknown when their turn comes, lowest first."""
    heights = sum(np.indices(unknown.shape, sparse=True), np.zeros(1, dtype=np.int64))
    flat = unknown.reshape(-1)
    for place in np.argsort(np.asarray(heights).ravel(), kind="stable").tolist():
        if flat[place]:
            yield tuple(int(level) for level in np.unravel_index(place, unknown.shape))


def walk(
    rows: LatticeRows, levels: Sequence[np.ndarray], skipped: np.ndarray
) -> Iterator[tuple[Node, LatticeRows]]:
    """Every node with its distinct rows, from the root down: no node before one above it.

    Each node's rows are rolled up from those of a node below it, the quasi-identifiers of the most
    values first, which leave the fewest rows. Nodes that are `skipped` (bool, of the lattice's
    shape) when their turn comes are left out.
    """
    axes = sorted(range(len(levels)), key=lambda axis: -len(distinct(levels[axis][0])))

    def below(
        node: Node, rows: LatticeRows, left: Sequence[int]
    ) -> Iterator[tuple[Node, LatticeRows]]:
        if not left:
            yield node, rows
            return
        axis, *others = left
        for level in reversed(range(len(levels[axis]))):
            at = (*node[:axis], level, *node[axis + 1 :])
            if not _all_skipped(skipped, at, others):
                nodes = levels[axis][level]
                yield from below(at, _rolled_up(rows, axis, nodes) if level else rows, others)

    yield from below((0,) * len(levels), rows, axes)


def _all_skipped(skipped: np.ndarray, node: Node, others: Sequence[int]) -> bool:
    """True where all nodes are skipped that differ from one in some other axes alone."""
    at = tuple(slice(None) if axis in others else level for axis, level in enumerate(node))
    return bool(skipped[at].all())


def _rolled_up(rows: LatticeRows, axis: int, nodes: np.ndarray) -> LatticeRows:
    """Distinct rows with one quasi-identifier generalized, collapsed where any become equal."""
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
        shown = shown_rows(rows, node, tops, suppressed) if starred else rows.take(seen)
        failing = np.zeros(len(rows), dtype=bool)
        for scope in scopes:
            failing[seen] |= scope.failing(shown)
        if not (failing & ~suppressed).any():
            return suppressed, not failing.any()
        suppressed |= failing
        if int(rows.counts[suppressed].sum()) > budget:
            return suppressed, False
