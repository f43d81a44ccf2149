"""Trees cut into clusters as DECOMPOSE-COMPONENT of the paper prints it.

Source: Aggarwal et al., Approximation algorithms for k-anonymity (2005), section 4. A vertex that
belongs to one part and is needed to connect the other is copied there; such a copy (a Steiner
vertex) is no row. The printed cases reckon as if each vertex at which a piece is cut were a row, so
that a piece cut at a copy may leave parts of k - 1 rows, and none of k.
"""

from collections.abc import Iterator, Mapping

import numpy as np

Tree = Mapping[int, frozenset[int]]
"""The neighbours of each vertex; vertices below 0 are copies."""


def printed_clusters(to: np.ndarray, k: int) -> np.ndarray:
    """Cut the trees of a forest as printed.

    Args:
        to: where each vertex points (int64), -1 for nowhere; each tree has at least k vertices.
        k: what the smallest size of a cluster should be.

    Returns:
        The cluster of each vertex (int64), 0, 1, …; with fewer than k vertices where the printed
        cases do not reckon with copies.
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


def _trees(to: np.ndarray) -> Iterator[Tree]:
    ends: dict[int, set[int]] = {vertex: set() for vertex in range(len(to))}
    for vertex, other in enumerate(to.tolist()):
        if other >= 0:
            ends[vertex].add(other)
            ends[other].add(vertex)
    forest = {vertex: frozenset(others) for vertex, others in ends.items()}
    seen: set[int] = set()
    for vertex in forest:
        if vertex not in seen:
            found = _reached(forest, vertex, None)
            seen |= found
            yield _within(forest, found)


def _cut(tree: Tree, k: int) -> tuple[Tree, ...]:
    """The two parts of a large piece; none where the one would have no row at all."""
    u = min(tree, key=lambda vertex: (vertex < 0, vertex))  # "any vertex"
    size = _rows(tree)
    while True:
        branches = sorted((_reached(tree, v, u) for v in tree[u]), key=_rows, reverse=True)
        largest = branches[0]
        (v,) = tree[u] & largest
        if size - _rows(largest) >= k - 1:
            break
        u = v
    rest, most = set(tree) - largest, _rows(largest)
    if most >= k and size - most >= k:
        return _within(tree, largest), _within(tree, rest)
    if size - most == k - 1:
        return _with_copy(tree, largest, v), _within(tree, rest | {v})
    if most == k - 1:
        return _within(tree, largest | {u}), _with_copy(tree, rest, u)
    return _by_branches(tree, u, branches, k)


def _by_branches(tree: Tree, u: int, branches: list[set[int]], k: int) -> tuple[Tree, ...]:
    """Branches until there are k - 1 rows, and the others; the vertex where k - 1 are, or first."""
    one, other = set[int](), set[int]()
    for branch in branches:
        if _rows(one) < k - 1:
            one |= branch
        else:
            other |= branch
    with_vertex, without = (other, one) if _rows(other) == k - 1 else (one, other)
    if not _rows(without):
        return ()
    return _within(tree, with_vertex | {u}), _with_copy(tree, without | {u}, u)


def _reached(tree: Tree, start: int, closed: int | None) -> set[int]:
    """The vertices reached from one without passing another."""
    found, left = {start}, [start]
    while left:
        further = tree[left.pop()] - found - {closed}
        found |= further
        left.extend(further)
    return found


def _within(tree: Tree, vertices: set[int]) -> Tree:
    return {vertex: tree[vertex] & vertices for vertex in vertices}


def _with_copy(tree: Tree, vertices: set[int], vertex: int) -> Tree:
    """The part, with a copy in the place of a vertex."""
    copy = min(0, *tree) - 1
    part = _within(tree, vertices)
    return {
        copy if one == vertex else one: frozenset(copy if end == vertex else end for end in ends)
        for one, ends in part.items()
    }


def _rows(vertices: Tree | set[int]) -> int:
    return sum(vertex >= 0 for vertex in vertices)
