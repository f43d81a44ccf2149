"""k-anonymity by suppressing cells: a forest of near rows, cut into clusters of k rows or more.

Source: Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu, Approximation algorithms for
k-anonymity (2005). Every row of a small component is tied to its nearest row outside, until all
components have k rows. Cutting these trees into clusters of at most L = max(2k - 1, 3k - 5) rows,
connected by disjoint sets of edges, suppresses at most L cells for each unit of the forest's
weight, which is no more than the fewest cells that any solution suppresses.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.cell_suppression.clusters import Clustering, cluster
from sfumato.tasks.partitions.cell_suppression.decompose import decompose
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
        PromiseError: if no promise is k-anonymity, a stratum has fewer than k rows, or another
            promise cannot be kept by merging.
    """
    return cluster(
        microdata,
        strata,
        promises,
        largest_k(needed_promises(KAnonymity, promises, parameters)),
        cluster_by_forest,
    )


_NEAR = 16  # rows near a row, whose clusters it may move to


def cluster_by_forest(codes: np.ndarray, k: int, large: bool = False) -> Clustering:
    """Return clusters of k rows or more, before any local search; see `Method`.

    No solution costs less than the sum of the distances to the (k - 1)-th nearest rows: a row's
    cluster has k - 1 others, the farthest of which is at least that far, and each column in which
    it differs is not constant. An edge of the forest is never longer than the distance of its row.
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
    """Return a forest whose trees have k vertices or more, as the vertex that each one points to.

    A component of fewer than k vertices has exactly one vertex that points nowhere. The nearest
    vertex outside is among its k - 1 nearest, because at most k - 2 others are inside.

    Args:
        near: the k - 1 nearest other rows of each row, nearest first (int64, rows x (k - 1)).
        distance: their distances (int64, rows x (k - 1)).
        k: smallest size of a tree.
        large: whether the data are large enough to compile for.

    Returns:
        Where each vertex points (-1: nowhere) and how far that is (both int64, one per vertex).
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
    """Fill `to` and `weight`, taking the vertices in an order; see `grow`."""
    above = np.arange(len(near))  # union-find
    size = np.ones(len(near), dtype=np.int64)
    free = np.arange(len(near))  # of each root: the vertex of its tree that points nowhere
    for vertex in order:
        root = _root(above, vertex)
        while size[root] < k:
            u, j = free[root], 0
            # the nearest vertex outside the tree of u
            while _root(above, near[u, j]) == root:
                j += 1
            to[u], weight[u] = near[u, j], distance[u, j]
            other = _root(above, near[u, j])
            free_vertex = free[other]  # u now points there, so this one is free in the joint tree
            if size[other] < size[root]:
                root, other = other, root
            above[root] = other
            size[other] += size[root]
            free[other] = free_vertex
            root = other


def _root(above: np.ndarray, vertex: int) -> int:
    while above[vertex] != vertex:
        above[vertex] = above[above[vertex]]
        vertex = above[vertex]
    return vertex


@cache
def _compiled_grow() -> Loop:
    return compile_loop(_root, _grow)
