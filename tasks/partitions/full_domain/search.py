"""The search for the node of least cost that keeps every promise within the budget.

A suppressed row counts as fully generalized, and generalizing it costs no more. So the cost of a
node without suppression is a floor. For metrics that add up over columns, the floor follows from
the columns, before any rows are grouped. Discernibility has a floor by the groups of a node, which
holds at all nodes above, too: their groups are unions of these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.partitions.full_domain.lattice import minimal, suppress_failing, walk
from sfumato.tasks.partitions.full_domain.metrics import (
    Cost,
    MetricDomain,
    Original,
    entropy_of,
    penalty_of,
)
from sfumato.tasks.partitions.full_domain.parameters import Metric
from sfumato.tasks.partitions.full_domain.problem import LatticeProblem, Scope
from sfumato.tasks.partitions.full_domain.rows import LatticeRows, Node, tally

_SQUARED = 2**31  # rows whose square fits into 64 bits
_ROUNDED = 1e-9  # floats of either side are off by less


def floors(original: Original, metric: Metric) -> np.ndarray | None:
    """Return the floor of each node (float64, of the lattice's shape); None if groups decide."""
    if metric not in _OF_COLUMN:
        return None
    of_column = _OF_COLUMN[metric]
    columns = [np.array(of_column(domain, original)) for domain in original.domains]
    return np.asarray(reduce(np.add.outer, columns))


def discernibility_floor(problem: LatticeProblem, rows: LatticeRows) -> int:
    """Return what a node and all nodes above it cost at least, by the distinct rows at the node.

    Of a group of b among n rows, s may be suppressed: it costs (b - s)² + n s, which is b² at
    least if b is at most n / 2, otherwise n b - n² / 4. Both grow by more than their sum where
    groups are united.
    """
    n = problem.original.rows
    _, sizes = tally(*rows.key(range(len(problem.levels) + 1)), rows.counts)
    squares = sizes.astype(object) if n > _SQUARED else sizes
    large = [int(size) for size in sizes[sizes > n // 2]]
    return int((squares * squares).sum()) + sum(
        n * size - n * n // 4 - size * size for size in large
    )


def too_dear(floor: np.ndarray, cost: Cost) -> np.ndarray:
    """Mark the nodes whose floor exceeds this cost (bool)."""
    limit = float(cost)
    return np.asarray(floor > limit + _ROUNDED * (1 + abs(limit)))


def _height(domain: MetricDomain, _: Original) -> list[float]:
    return [float(level) for level in range(len(domain.levels))]


def _precision(domain: MetricDomain, original: Original) -> list[float]:
    cells = max(domain.height, 1) * len(original.domains)
    return [level / cells for level in range(len(domain.levels))]


def _entropy(domain: MetricDomain, original: Original) -> list[float]:
    of_values = entropy_of(domain.levels[0])
    return [(entropy_of(level) - of_values) / original.rows for level in domain.levels]


def _ncp(domain: MetricDomain, original: Original) -> list[float]:
    cells = domain.whole * original.rows * len(original.domains)
    return [penalty_of(level) / cells for level in domain.levels]


_OF_COLUMN: Mapping[Metric, Callable[[MetricDomain, Original], list[float]]] = {
    "height": _height,
    "precision": _precision,
    "entropy": _entropy,
    "ncp": _ncp,
}
_OF_GROUPS: Mapping[Metric, Callable[[LatticeProblem, LatticeRows], int]] = {
    "discernibility": discernibility_floor,
}
"""Metrics with a floor by the groups of a node."""


@dataclass(frozen=True, eq=False)
class FoundNode:
    """The best node, its cost, and the distinct rows that it suppresses (bool, one per row).

    `judged` counts the nodes that were judged in full; `minimal` has all minimal nodes with their
    costs, the best first, where no row may be suppressed.
    """

    node: Node
    cost: Cost
    suppressed: np.ndarray
    judged: int
    minimal: tuple[tuple[Node, Cost], ...] = field(default=())

    def facts(self, problem: LatticeProblem) -> dict[str, Any]:
        """Return the outcome of the search, for the data steward."""
        facts: dict[str, Any] = {
            "nodes": problem.nodes,
            "nodes_judged": self.judged,
            "levels": dict(zip(problem.names, self.node, strict=True)),
            "metric": problem.metric,
            "cost": float(self.cost),
            "rows_suppressed": int(problem.rows.counts[self.suppressed].sum()),
        }
        if self.minimal:
            facts["minimal_nodes"] = [
                {"levels": list(node), "cost": float(cost)} for node, cost in self.minimal
            ]
        return facts


def best_node(problem: LatticeProblem) -> FoundNode:
    """Return the node of least cost; of several the lowest, then the lexicographically first.

    Raises:
        PromiseError: if no node keeps the promises within the budget.
    """
    if not problem.budget:
        _require_feasible(problem)
    if problem.budget or problem.over_people or not all(p.monotone for p in problem.promises):
        return _best_of_all(problem)
    return _best_of_minimal(problem)


def _require_feasible(problem: LatticeProblem) -> None:
    """Refuse a promise that is broken at the root, and no node below it can keep.

    Nothing is suppressed.
    """
    top = problem.rows.generalize_to(problem.levels, problem.tops)
    for scope in problem.scopes:
        if scope.kept_above and scope.failing(top).any():
            raise PromiseError(
                f"{scope.promise.name} cannot be kept by full-domain generalization: "
                "it is broken even with all quasi-identifiers hidden (at the root)"
            )


def _best_of_minimal(problem: LatticeProblem) -> FoundNode:
    """Return the best of the minimal nodes: without suppression, no metric improves above them."""
    lowest = minimal(problem.rows, problem.levels, problem.scopes)
    costs = []
    for node in lowest.nodes:
        rows = problem.rows.generalize_to(problem.levels, node)
        rows = rows.collapse() if problem.metric == "kl" else rows
        cost = problem.cost(node, rows, np.zeros(len(rows), dtype=bool))
        costs.append((cost, sum(node), node))
    costs.sort()
    cost, _, node = costs[0]
    none = np.zeros(len(problem.rows), dtype=bool)
    return FoundNode(node, cost, none, lowest.judged, tuple((n, c) for c, _, n in costs))


def _best_of_all(problem: LatticeProblem) -> FoundNode:
    """Return the best of all nodes that may be best; each of these is judged and evaluated.

    Suppose that further rows cannot break a promise (over people they can). Then a node must
    suppress at least the rows that such promises make any node above it suppress, whose groups are
    unions of its own. If none may be suppressed, it is enough that a node keeps what one below it
    keeps. A node whose floor is above the cost of another is not the best.
    """
    skipped = np.zeros([len(nodes) for nodes in problem.levels], dtype=bool)
    floor = floors(problem.original, problem.metric)
    least = _OF_GROUPS.get(problem.metric)
    telling = _telling_scopes(problem)
    best: tuple[Cost, int, Node] | None = None
    judged = 0

    def costs_more(rows: LatticeRows) -> bool:
        return least is not None and best is not None and least(problem, rows) > best[0]

    for node, rows in walk(problem.rows, problem.levels, skipped, costs_more):
        judged += 1
        suppressed, keeps = _suppress(problem, node, rows, telling)
        if not keeps and int(rows.counts[suppressed].sum()) > problem.budget:
            # those below it would suppress more than the budget, too
            skipped[tuple(slice(level + 1) for level in node)] = True
            continue
        if len(telling) < len(problem.scopes):
            suppressed, keeps = _suppress(problem, node, rows, problem.scopes)
        if keeps:
            offered = (problem.cost(node, rows, suppressed), sum(node), node)
            best = offered if best is None else min(best, offered)
            if floor is not None and best is offered:
                skipped |= too_dear(floor, best[0])
    if best is None:
        names = ", ".join(dict.fromkeys(promise.name for promise in problem.promises))
        raise PromiseError(
            f"{names} cannot be kept by full-domain generalization "
            f"with at most {problem.budget} of {problem.original.rows} rows suppressed; "
            "raise suppression, or promise less"
        )
    cost, _, node = best
    rows = problem.rows.generalize_to(problem.levels, node)
    suppressed, _ = _suppress(problem, node, rows, problem.scopes)
    return FoundNode(node, cost, suppressed, judged)


def _telling_scopes(problem: LatticeProblem) -> list[Scope]:
    """Return the promises that tell, where they fail at a node, that they fail at all below it."""
    if not problem.budget and all(scope.kept_above for scope in problem.scopes):
        return problem.scopes
    if problem.over_people:
        return []
    return [scope for scope in problem.scopes if scope.promise.unbroken_by_rows]


def _suppress(
    problem: LatticeProblem, node: Node, rows: LatticeRows, scopes: Sequence[Scope]
) -> tuple[np.ndarray, bool]:
    return suppress_failing(rows, node, problem.tops, scopes, problem.budget, problem.starred)
