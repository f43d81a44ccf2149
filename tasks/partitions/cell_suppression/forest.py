"""k-anonymity by suppressing cells: a forest of near rows, cut into clusters of k rows or more.

Source: Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu, Approximation algorithms for
k-anonymity (2005). Every row of a small component is tied to its nearest row outside, until all
components have k rows. Cutting these trees into clusters of at most L = max(2k - 1, 3k - 5) rows,
connected by disjoint sets of edges, suppresses at most L cells for each unit of the forest's
weight, which is no more than the fewest cells that any solution suppresses. The cuts are made in an
order that never meets a vertex of no cluster (a Steiner vertex), which the published order does.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.cell_suppression.clusters import Clustering, cluster
from sfumato.tasks.partitions.cell_suppression.parameters import ForestParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.nearest import nearest
from sfumato.tasks.partitions.shared.thresholds import largest_k, needed_promises


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: ForestParameters,
    randomness: Randomness,
) -> Partition:
    """Group each stratum's rows into clusters of k rows or more that differ in few cells.

    k is the largest that any k-anonymity promise asks for. The cells that must be suppressed are at
    most max(2k - 1, 3k - 5) times the fewest. Clusters that break another promise are merged with
    clusters like them, which this ratio does not cover.

    Raises:
        PromiseError: where no promise is k-anonymity, a stratum has fewer than k rows, or another
            promise cannot be kept by merging.
    """
    return cluster(
        microdata,
        strata,
        promises,
        largest_k(needed_promises(KAnonymity, promises, parameters)),
        of_codes,
    )


_NONE: Any = np.int64(-1)  # in compiled loops a literal would be a type of its own
_NEAR = 16  # rows near a row, whose clusters it may move to


def of_codes(codes: np.ndarray, k: int, large: bool = False) -> Clustering:
    """The clusters of k rows or more before any local search; see `Method` for the arguments.

    No solution costs less than the sum of the distances to the (k - 1)-th nearest rows: a row's
    cluster has k - 1 others, the farthest of which is at least that far, and each column in which
    it differs is not constant. An edge of the forest is never longer than that of its row.
    """
    near, distance = nearest(codes, max(k - 1, _NEAR))
    few = slice(k - 1)
    to, weight = grow(near[:, few], distance[:, few], k, large)
    bound = max(int(weight.sum()), int(distance[:, k - 2].sum()) if k > 1 else 0)
    facts = {"forest_weight": int(weight.sum())}
    return Clustering(decompose(to, weight, k, large), near, bound, facts)


def grow(
    near: np.ndarray, distance: np.ndarray, k: int, large: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """A forest whose trees have k vertices or more: each vertex points to one near it, or to none.

    A component of fewer than k vertices has exactly one that does not point anywhere, and the
    nearest outside is among its k - 1 nearest, for at most k - 2 others are inside.

    Args:
        near: the k - 1 nearest other rows of each row, nearest first.
        distance: how far they are.
        k: smallest size of a tree.
        large: whether the data are large enough to compile for.

    Returns:
        Where each vertex points (-1: nowhere) and how far that is, int64.
    """
    rows = len(near)
    to, weight = np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    if k > 1:
        order = np.argsort(distance[:, 0], kind="stable")
        arrays = map(np.ascontiguousarray, (near, distance))
        choose_loop(large, _grow, _compiled_grow)(*arrays, k, order, to, weight)
    return to, weight


def _grow(
    near: np.ndarray,
    distance: np.ndarray,
    k: int,
    order: np.ndarray,
    to: np.ndarray,
    weight: np.ndarray,
) -> None:
    above = np.arange(len(near))  # union-find
    size = np.ones(len(near), dtype=np.int64)
    free = np.arange(len(near))  # of each root: the vertex of its tree that points nowhere
    for vertex in order:
        root = _root(above, vertex)
        while size[root] < k:
            u, j = free[root], 0
            while _root(above, near[u, j]) == root:
                j += 1
            to[u], weight[u] = near[u, j], distance[u, j]
            other = _root(above, near[u, j])
            kept = free[other]
            if size[other] < size[root]:
                root, other = other, root
            above[root] = other
            size[other] += size[root]
            free[other] = kept
            root = other


def _root(above: np.ndarray, vertex: int) -> int:
    while above[vertex] != vertex:
        above[vertex] = above[above[vertex]]
        vertex = above[vertex]
    return vertex


def largest(k: int) -> int:
    """The most rows of a cluster that `decompose` makes, and the ratio that it guarantees."""
    return max(2 * k - 1, 3 * k - 5)


def decompose(to: np.ndarray, weight: np.ndarray, k: int, large: bool = False) -> np.ndarray:
    """Cut the trees of a forest into clusters of k to `largest(k)` vertices.

    The clusters are connected by disjoint sets of edges of their trees: their vertices differ in no
    more columns than those edges weigh.

    Args:
        to: where each vertex points, -1 for nowhere; each tree has at least k vertices.
        weight: what that edge weighs.
        k: smallest size of a cluster.
        large: whether the data are large enough to compile for.

    Returns:
        The cluster of each vertex, 0, 1, ….
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
    after = np.full(2 * rows, -1, dtype=np.int64)
    before = np.full(2 * rows, -1, dtype=np.int64)
    found, parent = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    for u in range(rows):
        if to[u] >= 0:
            _tie(first, after, before, u, 2 * u)
            _tie(first, after, before, to[u], 2 * u + 1)
    for u in order:
        if to[u] >= 0 and _cuttable(to, first, after, u, k, found, parent):
            _untie(first, after, before, u, 2 * u)
            _untie(first, after, before, to[u], 2 * u + 1)
    clusters = _NONE + 1
    for u in range(rows):
        if cluster[u] < 0:
            size = _visit(to, first, after, u, _NONE, rows, found, parent)
            if size > most:
                centre = found[_centre(parent, size, k)]
                _visit(to, first, after, centre, _NONE, rows, found, parent)
                clusters = _star(found, parent, size, k, most, clusters, cluster)
            else:
                clusters = _label(found, size, clusters, cluster)


def _label(found: np.ndarray, size: int, clusters: int, cluster: np.ndarray) -> int:
    for i in range(size):
        cluster[found[i]] = clusters
    return clusters + 1


def _cuttable(
    to: np.ndarray,
    first: np.ndarray,
    after: np.ndarray,
    u: int,
    k: int,
    found: np.ndarray,
    parent: np.ndarray,
) -> bool:
    """Whether there are k vertices on both sides of the edge of vertex u."""
    if _visit(to, first, after, u, u, k, found, parent) < k:
        return False
    return _visit(to, first, after, to[u], u, k, found, parent) == k


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
    found: np.ndarray,
    parent: np.ndarray,
) -> int:
    """Find up to `enough` vertices of a tree, breadth first, without the edge of vertex `closed`.

    `found` are the vertices, `parent` the positions there of those from which they were reached.
    """
    found[0], parent[0] = start, -1
    number, at = 1, 0
    while at < number and number < enough:
        half = first[found[at]]
        while half >= 0 and number < enough:
            u = half // 2
            end = to[u] if half % 2 == 0 else u
            back = parent[at] >= 0 and end == found[parent[at]]
            if u != closed and not back:
                found[number], parent[number] = end, at
                number += 1
            half = after[half]
        at += 1
    return number


def _centre(parent: np.ndarray, size: int, k: int) -> int:
    """The position of the vertex all of whose branches have fewer than k vertices."""
    below = np.ones(size, dtype=np.int64)
    for i in range(size - 1, 0, -1):
        below[parent[i]] += below[i]
    centre = 0
    for i in range(1, size):
        if parent[i] == centre and below[i] >= k:
            centre = i
    return centre


def _star(
    found: np.ndarray,
    parent: np.ndarray,
    size: int,
    k: int,
    most: int,
    clusters: int,
    cluster: np.ndarray,
) -> int:
    """Label a tree, visited from its centre; the number of clusters after that."""
    branch = np.zeros(size, dtype=np.int64)
    sizes = np.zeros(size, dtype=np.int64)
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
    cluster[found[0]] = clusters + bundle[-1]
    number = bundle[-1]
    for i in range(1, size):
        of_branch = bundle[rank[branch[i]]]
        cluster[found[i]] = clusters + of_branch
        number = max(number, of_branch)
    after: int = clusters + number + 1
    return after


def _descending(sizes: np.ndarray, k: int) -> np.ndarray:
    """The rank of each of some sizes below k, the largest first."""
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
        sizes: of the branches, descending, each below k; with the centre more than `most` vertices.
        k: smallest size of a bundle.
        most: largest size of a bundle, at least max(2k - 1, 3k - 5).

    Returns:
        The bundle of each branch, and at the end that of the centre, 0, 1, ….
    """
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
    if least + filled + 1 <= most:
        for i in range(len(bundle)):
            if bundle[i] == number:
                bundle[i] = smallest
        return bundle
    _share(bundle, sizes, smallest, number, least + filled, k)
    return bundle


def _share(bundle: np.ndarray, sizes: np.ndarray, one: int, other: int, total: int, k: int) -> None:
    """Share the branches of two bundles, and the centre, so that both have k vertices."""
    filled = 0
    for i in range(len(sizes)):
        if bundle[i] in (one, other):
            bundle[i] = one if filled < k - 1 else other
            if bundle[i] == one:
                filled += sizes[i]
    bundle[-1] = other if total - filled == k - 1 else one


@cache
def _compiled_grow() -> Loop:
    return compile_loop(globals(), _root, _grow)


@cache
def _compiled_decompose() -> Loop:
    return compile_loop(
        globals(),
        *(_label, _tie, _untie, _visit, _cuttable, _centre, _descending, _share),
        *(bundles, _star, _decompose),
    )
