"""The branches of a tree's centre bundled into clusters of k vertices or more.

Source: Aggarwal et al. (2005), see `forest`, for the bounds. These functions are compiled for large
data: `LOOPS` has them in the order in which they call one another.
"""

from typing import Any

import numpy as np

_NONE: Any = np.int64(-1)  # in compiled loops a literal would be a type of its own


def label_bundles(
    found: np.ndarray,
    parent: np.ndarray,
    size: int,
    k: int,
    most: int,
    clusters: int,
    cluster: np.ndarray,
) -> int:
    """Label the clusters of a tree, visited from its centre; return the new number of clusters.

    Args:
        found: the vertices of the tree, its centre first (int64).
        parent: the position in `found` of the vertex from which each was reached (int64).
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
        sizes: of the branches (int64), descending, each below k; with the centre more than `most`.
        k: smallest size of a bundle.
        most: largest size of a bundle, at least max(2k - 1, 3k - 5).

    Returns:
        The bundle of each branch (int64), and at the end that of the centre, 0, 1, ….
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


LOOPS = (_descending, _share, bundles, label_bundles)
