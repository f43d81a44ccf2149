"""Trees cut into clusters of k vertices or more, which are connected by disjoint sets of edges.

Source: Aggarwal et al. (2005), see `forest`, for the bounds. The cuts are made in an order that
never meets a vertex of no cluster (a Steiner vertex), which the published order does.

First every edge is cut that leaves k vertices or more on both sides. A tree that is still too large
then has a *centre*: without this vertex the tree falls into *branches* of fewer than k vertices.
The branches are joined to *bundles*, one of which takes the centre; a bundle is a cluster.

`LOOPS` has the functions that are compiled for large data, in the order in which they call one
another.
"""

from functools import cache
from typing import Any

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop

_NONE: Any = np.int64(-1)  # in compiled loops a literal would be a type of its own


def label_bundles(
    vertices: np.ndarray,
    parent: np.ndarray,
    size: int,
    k: int,
    most: int,
    clusters: int,
    cluster: np.ndarray,
) -> int:
    """Label the clusters of a tree, visited from its centre; return the new number of clusters.

    Args:
        vertices: the vertices of the tree, its centre first, breadth first (int64).
        parent: the position in `vertices` of the vertex from which each was reached (int64).
        size: the number of vertices.
        k: smallest size of a cluster.
        most: largest size of a cluster.
        clusters: the number of clusters before.
        cluster: to be filled, the cluster of each vertex (int64).
    """
    branch, sizes = np.zeros((2, size), dtype=np.int64)
    branches = 0
    for i in range(1, size):
        if parent[i] == 0:
            branch[i] = branches
            branches += 1
        else:
            branch[i] = branch[parent[i]]
        sizes[branch[i]] += 1
    rank = _descending(sizes[:branches], k)
    ranked = np.empty(branches, dtype=np.int64)
    for i in range(branches):
        ranked[rank[i]] = sizes[i]
    bundle = bundles(ranked, k, most)
    cluster[vertices[0]] = clusters + bundle[-1]
    number = bundle[-1]
    for i in range(1, size):
        of_branch = bundle[rank[branch[i]]]
        cluster[vertices[i]] = clusters + of_branch
        number = max(number, of_branch)
    after: int = clusters + number + 1
    return after


def _descending(sizes: np.ndarray, k: int) -> np.ndarray:
    """Return the rank of each of some sizes below k, the largest size first."""
    rank = np.empty(len(sizes), dtype=np.int64)
    filled = 0
    for size in range(k - 1, 0, -1):
        for i in range(len(sizes)):
            if sizes[i] == size:
                rank[i] = filled
                filled += 1
    return rank


def bundles(sizes: np.ndarray, k: int, most: int) -> np.ndarray:
    """Bundle the branches of a centre, and the centre: k to `most` vertices in each bundle.

    Args:
        sizes: the number of vertices of each branch (int64), descending, each below k; with the
            centre they are more than `most` in all.
        k: smallest size of a bundle.
        most: largest size of a bundle, at least max(2k - 1, 3k - 5).

    Returns:
        The bundle of each branch (int64), and at the end the bundle of the centre, 0, 1, ….
    """
    # the open bundle is `number` and has `filled` vertices so far; of the full bundles, `smallest`
    # has the fewest vertices, `least`
    bundle = np.zeros(len(sizes) + 1, dtype=np.int64)
    number = filled = least = _NONE + 1
    smallest = _NONE
    for i in range(len(sizes)):
        bundle[i] = number
        filled += sizes[i]
        if filled >= k:
            if smallest < 0 or filled < least:
                smallest, least = number, filled
            number, filled = number + 1, 0
    bundle[-1] = number
    if filled + 1 >= k:
        return bundle
    # the open bundle is too small, even with the centre: the smallest full one takes it, or shares
    if least + filled + 1 <= most:
        for i in range(len(bundle)):
            if bundle[i] == number:
                bundle[i] = smallest
        return bundle
    _share(bundle, sizes, smallest, number, least + filled, k)
    return bundle


def _share(
    bundle: np.ndarray, sizes: np.ndarray, first: int, other: int, total: int, k: int
) -> None:
    """Share the branches of two bundles, and the centre, so that both have k vertices or more.

    `total` is the number of vertices in the branches of both.
    """
    filled = 0
    for i in range(len(sizes)):
        if bundle[i] in (first, other):
            bundle[i] = first if filled < k - 1 else other
            if bundle[i] == first:
                filled += sizes[i]
    bundle[-1] = other if total - filled == k - 1 else first


LOOPS = (_descending, _share, bundles, label_bundles)


def largest(k: int) -> int:
    """Return the largest size of a cluster of `decompose`, which is also its proven ratio."""
    return max(2 * k - 1, 3 * k - 5)


def decompose(to: np.ndarray, weight: np.ndarray, k: int, large: bool = False) -> np.ndarray:
    """Cut the trees of a forest into clusters of k to `largest(k)` vertices.

    The clusters are connected by disjoint sets of edges of their trees: their vertices differ in no
    more columns than those edges weigh.

    Args:
        to: where each vertex points (int64), -1 for nowhere; each tree has at least k vertices.
        weight: the weight of that edge (int64).
        k: smallest size of a cluster.
        large: whether the data are large enough to compile for.

    Returns:
        The cluster of each vertex (int64), 0, 1, ….
    """
    cluster = np.full(len(to), -1, dtype=np.int64)
    order = np.argsort(-weight, kind="stable")
    choose_loop(large, _decompose, _compiled_decompose)(to, order, k, largest(k), cluster)
    return cluster


def _decompose(to: np.ndarray, order: np.ndarray, k: int, most: int, cluster: np.ndarray) -> None:
    """Cut every edge with k vertices on both sides, the heaviest first; then take stars apart.

    The edge of vertex u has the halves 2u, at u, and 2u + 1, at the other end. Cutting only makes
    sides smaller: an edge that cannot be cut now never can.
    """
    rows = len(to)
    first = np.full(rows, -1, dtype=np.int64)  # of each vertex: its first half-edge
    # of each half-edge: the next and the previous one at the same vertex
    after = np.full(2 * rows, -1, dtype=np.int64)
    before = np.full(2 * rows, -1, dtype=np.int64)
    vertices, parent = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    for u in range(rows):
        if to[u] >= 0:
            _tie(first, after, before, u, 2 * u)
            _tie(first, after, before, to[u], 2 * u + 1)
    for u in order:
        if to[u] >= 0 and _cuttable(to, first, after, u, k, vertices, parent):
            _untie(first, after, before, u, 2 * u)
            _untie(first, after, before, to[u], 2 * u + 1)
    clusters = _NONE + 1
    for u in range(rows):
        if cluster[u] < 0:
            size = _visit(to, first, after, u, _NONE, rows, vertices, parent)
            if size > most:
                centre = vertices[_centre(parent, size, k)]
                _visit(to, first, after, centre, _NONE, rows, vertices, parent)
                clusters = label_bundles(vertices, parent, size, k, most, clusters, cluster)
            else:
                clusters = _label(vertices, size, clusters, cluster)


def _label(vertices: np.ndarray, size: int, clusters: int, cluster: np.ndarray) -> int:
    for i in range(size):
        cluster[vertices[i]] = clusters
    return clusters + 1


def _cuttable(
    to: np.ndarray,
    first: np.ndarray,
    after: np.ndarray,
    u: int,
    k: int,
    vertices: np.ndarray,
    parent: np.ndarray,
) -> bool:
    """Return True if there are k vertices on both sides of the edge of vertex u."""
    if _visit(to, first, after, u, u, k, vertices, parent) < k:
        return False
    return _visit(to, first, after, to[u], u, k, vertices, parent) == k


def _tie(first: np.ndarray, after: np.ndarray, before: np.ndarray, vertex: int, half: int) -> None:
    after[half] = first[vertex]
    if first[vertex] >= 0:
        before[first[vertex]] = half
    first[vertex] = half


def _untie(
    first: np.ndarray, after: np.ndarray, before: np.ndarray, vertex: int, half: int
) -> None:
    if before[half] >= 0:
        after[before[half]] = after[half]
    else:
        first[vertex] = after[half]
    if after[half] >= 0:
        before[after[half]] = before[half]


def _visit(
    to: np.ndarray,
    first: np.ndarray,
    after: np.ndarray,
    start: int,
    closed: int,
    enough: int,
    vertices: np.ndarray,
    parent: np.ndarray,
) -> int:
    """Find up to `enough` vertices of a tree, breadth first, without the edge of vertex `closed`.

    The vertices are written to `vertices`. For each of them, `parent` gets the position there of
    the vertex from which it was reached, -1 for the start. Returns the number of vertices found.
    """
    vertices[0], parent[0] = start, -1
    number, place = 1, 0
    while place < number and number < enough:
        half = first[vertices[place]]
        while half >= 0 and number < enough:
            u = half // 2
            end = to[u] if half % 2 == 0 else u
            back = parent[place] >= 0 and end == vertices[parent[place]]
            if u != closed and not back:
                vertices[number], parent[number] = end, place
                number += 1
            half = after[half]
        place += 1
    return number


def _centre(parent: np.ndarray, size: int, k: int) -> int:
    """Return the position of the vertex all of whose branches have fewer than k vertices.

    `parent` is as in `_visit`: vertices come after the vertex from which they were reached.
    """
    below = np.ones(size, dtype=np.int64)
    for i in range(size - 1, 0, -1):
        below[parent[i]] += below[i]
    # every edge has fewer than k vertices on one side: with k or more below, fewer are above
    centre = 0
    for i in range(1, size):
        if parent[i] == centre and below[i] >= k:
            centre = i
    return centre


@cache
def _compiled_decompose() -> Loop:
    return compile_loop(_label, _tie, _untie, _visit, _cuttable, _centre, *LOOPS, _decompose)
