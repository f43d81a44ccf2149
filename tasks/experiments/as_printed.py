"""The papers' algorithms as they are printed, errors included: baselines, and never a release.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss. As printed, a group begins with ⌈1/β⌉ + 1 rows (the loop runs from 0 to ⌈1/β⌉), its presence
is the number of its *distinct sensitive values* over its combinations, where the theorem needs the
number of its rows, and the row that is added is the one that covers the *fewest* new values, where
the text asks for the most. The loop that adds rows never ends when no value is left to add.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, Algorithm 1. Inside the loop over attributes it adds c·l/m, where the worked example
multiplies; on that example the printed version gives 11/6 and the paper's text 7/18.

Source: Aggarwal et al., Approximation algorithms for k-anonymity (2005), section 4. A vertex that
belongs to one part and is needed to connect the other is copied there; such a copy (a Steiner
vertex) is no row. The printed cases count each vertex at which a piece is cut as a row, so that a
piece cut at a copy may leave parts of k - 1 rows, and no part of k.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). The
last term of its recurrence, the subdomains that a node keeps, lacks the fakes that came to it.

Only experiments and tests may import these.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil

import numpy as np

from sfumato.tasks.partitions.targets.tree import Tree

PrintedTree = Mapping[int, frozenset[int]]
"""The neighbours of each vertex; vertices below 0 are copies."""
_NEVER = float("inf")


@dataclass(frozen=True, eq=False)
class PrintedGroups:
    """The group of each row (int64, -1 for none), and how many groups would grow without end."""

    group: np.ndarray
    endless: int


def printed_presence(values: np.ndarray, cells: np.ndarray) -> float:
    """Return the presence of a group by Algorithm 3: distinct sensitive values by combinations.

    Args:
        values: the sensitive value of each of its rows.
        cells: their quasi-identifiers (rows x attributes).
    """
    admitted = [len(np.unique(column)) for column in cells.T]
    return len(np.unique(values)) / float(np.prod(admitted))


def printed_groups(
    values: np.ndarray, cells: np.ndarray, alpha: float, beta: float, rng: np.random.Generator
) -> PrintedGroups:
    """Group rows as printed; stop where the loop without end would begin.

    Args:
        values: the sensitive value of each row (int64; 0, 1, …).
        cells: the quasi-identifiers of each row (int64, rows x attributes).
        alpha: the bound on presence.
        beta: the bound on association.
        rng: decides among rows that cover as much.
    """
    least = ceil(1 / beta - 1e-12)
    remaining = [
        rng.permutation(np.flatnonzero(values == value)) for value in range(values.max() + 1)
    ]
    group = np.full(len(values), -1, dtype=np.int64)
    groups, endless = 0, 0
    while sum(len(bucket) > 0 for bucket in remaining) > least:
        members = _grow(remaining, values, cells, least + 1, alpha)
        if printed_presence(values[members], cells[members]) > alpha:
            endless += 1
            break
        group[members] = groups
        groups += 1
    _place_remaining(group, groups, values, cells, alpha)
    return PrintedGroups(group, endless)


def _grow(
    remaining: list[np.ndarray], values: np.ndarray, cells: np.ndarray, picks: int, alpha: float
) -> np.ndarray:
    """Return the rows of one more group, and remove them from the remaining rows."""
    members: list[int] = []
    used: set[int] = set()
    while len(members) < picks or printed_presence(values[members], cells[members]) > alpha:
        value = max(
            (v for v in range(len(remaining)) if v not in used),
            key=lambda v: len(remaining[v]),
            default=-1,
        )
        if value < 0 or not len(remaining[value]):
            break
        position = _fewest_new(cells[remaining[value]], cells[members])
        members.append(int(remaining[value][position]))
        remaining[value] = np.delete(remaining[value], position)
        used.add(value)
    return np.array(members, dtype=np.int64)


def _fewest_new(candidates: np.ndarray, members: np.ndarray) -> int:
    """Return the candidate that covers the fewest values anew."""
    new = [~np.isin(column, had) for column, had in zip(candidates.T, members.T, strict=True)]
    return int(np.argmin(np.sum(new, axis=0)))


def _place_remaining(
    group: np.ndarray, groups: int, values: np.ndarray, cells: np.ndarray, alpha: float
) -> None:
    """Let remaining rows join the first group that lacks their value and keeps α as printed."""
    for row in np.flatnonzero(group < 0):
        for number in range(groups):
            joined = np.append(np.flatnonzero(group == number), row)
            had = values[joined[:-1]]
            if values[row] not in had and printed_presence(values[joined], cells[joined]) <= alpha:
                group[row] = number
                break


def printed_count(counts: np.ndarray, shares: np.ndarray) -> float:
    """Return Σ over groups and attributes of c·l/m.

    Args:
        counts: the number of rows of each group with the sensitive value (one per group).
        shares: the selected share of the values that it admits (groups x attributes).
    """
    return float((counts[:, None] * shares).sum())


def printed_clusters(to: np.ndarray, k: int) -> np.ndarray:
    """Cut the trees of a forest as printed.

    Args:
        to: the target of each vertex (int64), -1 for none; each tree has at least k vertices.
        k: the smallest intended size of a cluster.

    Returns:
        The cluster of each vertex (int64), 0, 1, …; with fewer than k vertices if the printed
        cases ignore copies.
    """
    cluster = np.full(len(to), -1, dtype=np.int64)
    waiting, number = list(_trees(to)), 0
    while waiting:
        tree = waiting.pop()
        parts = () if _rows(tree) <= max(2 * k - 1, 3 * k - 5) else _cut(tree, k)
        if parts:
            waiting.extend(parts)
        else:
            cluster[[vertex for vertex in tree if vertex >= 0]] = number
            number += 1
    return cluster


def _trees(to: np.ndarray) -> Iterator[PrintedTree]:
    ends: dict[int, set[int]] = {vertex: set() for vertex in range(len(to))}
    for vertex, other in enumerate(to.tolist()):
        if other >= 0:
            ends[vertex].add(other)
            ends[other].add(vertex)
    forest = {vertex: frozenset(others) for vertex, others in ends.items()}
    seen: set[int] = set()
    for vertex in forest:
        if vertex not in seen:
            reached = _reachable(forest, vertex, None)
            seen |= reached
            yield _subtree(forest, reached)


def _cut(tree: PrintedTree, k: int) -> tuple[PrintedTree, ...]:
    """Cut a large piece into two parts; return no parts if one of them would have no row."""
    u = min(tree, key=lambda vertex: (vertex < 0, vertex))  # "any vertex"
    size = _rows(tree)
    while True:  # walk into the largest branch until the rest has k - 1 rows
        branches = sorted((_reachable(tree, v, u) for v in tree[u]), key=_rows, reverse=True)
        largest = branches[0]
        (v,) = tree[u] & largest
        if size - _rows(largest) >= k - 1:
            break
        u = v
    rest, most = set(tree) - largest, _rows(largest)
    if most >= k and size - most >= k:
        return _subtree(tree, largest), _subtree(tree, rest)
    if size - most == k - 1:
        return _with_copy(tree, largest, v), _subtree(tree, rest | {v})
    if most == k - 1:
        return _subtree(tree, largest | {u}), _with_copy(tree, rest, u)
    return _by_branches(tree, u, branches, k)


def _by_branches(
    tree: PrintedTree, u: int, branches: list[set[int]], k: int
) -> tuple[PrintedTree, ...]:
    """Divide the branches at a vertex: some until they have k - 1 rows, and the others.

    The vertex goes with the others if they have exactly k - 1 rows, otherwise with the first ones;
    its copy goes with the rest.
    """
    first, other = set[int](), set[int]()
    for branch in branches:
        if _rows(first) < k - 1:
            first |= branch
        else:
            other |= branch
    with_vertex, without = (other, first) if _rows(other) == k - 1 else (first, other)
    if not _rows(without):
        return ()
    return _subtree(tree, with_vertex | {u}), _with_copy(tree, without | {u}, u)


def _reachable(tree: PrintedTree, start: int, closed: int | None) -> set[int]:
    """Return the vertices that can be reached from one without passing the closed one."""
    reached, pending = {start}, [start]
    while pending:
        further = tree[pending.pop()] - reached - {closed}
        reached |= further
        pending.extend(further)
    return reached


def _subtree(tree: PrintedTree, vertices: set[int]) -> PrintedTree:
    return {vertex: tree[vertex] & vertices for vertex in vertices}


def _with_copy(tree: PrintedTree, vertices: set[int], vertex: int) -> PrintedTree:
    """Return the part of a tree, with a copy in the place of a vertex."""
    copy = min(0, *tree) - 1
    part = _subtree(tree, vertices)
    return {
        copy if node == vertex else node: frozenset(copy if end == vertex else end for end in ends)
        for node, ends in part.items()
    }


def _rows(vertices: PrintedTree | set[int]) -> int:
    return sum(vertex >= 0 for vertex in vertices)


def printed_costs(
    tree: Tree, counts: np.ndarray, ranges: np.ndarray, most: int, *, mended: bool = False
) -> list[float]:
    """Return the sum of ranges that the recurrence gives with 0, 1, …, `most` fakes.

    Args:
        tree: binary, all values as likely, so that siblings with as many leaves weigh the same.
        counts: the number of values at each node, a leaf (int64, one per node).
        ranges: the range of each node.
        most: the largest number of fakes.
        mended: whether to add the missing term, for comparison.
    """
    totals = counts.copy()
    for node in range(len(totals) - 1, 0, -1):
        totals[tree.parent[node]] += totals[node]
    family = [np.flatnonzero(tree.parent == node).tolist() for node in range(len(totals))]

    @cache
    def cost(node: int, fakes: int, removed: int) -> float:
        """Return the least sum below a node with so many fakes added and subdomains removed."""
        if not family[node]:
            return 0.0 if removed <= totals[node] + fakes else _NEVER
        return min((split(node, fakes, removed, x) for x in range(fakes + 1)), default=_NEVER)

    def split(node: int, fakes: int, removed: int, x: int) -> float:
        first, second = family[node]
        room = int(totals[node]) + fakes - removed
        if room < 0:
            return _NEVER
        passed = min(int(totals[first]) + x, int(totals[second]) + fakes - x, room // 2)
        below = cost(first, x, int(totals[first]) + x - passed)
        below += cost(second, fakes - x, int(totals[second]) + fakes - x - passed)
        remaining = int(totals[node]) - 2 * passed - removed + (fakes if mended else 0)
        return below + remaining * int(ranges[node])

    return [cost(0, fakes, 0) for fakes in range(most + 1)]
