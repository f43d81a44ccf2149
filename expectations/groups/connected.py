"""Connected components of a graph, by hooking and pointer jumping (Shiloach and Vishkin, 1982).

Whoever checks a release needs no more than NumPy for it.
"""

import numpy as np


def connected_components(tails: np.ndarray, heads: np.ndarray, nodes: int) -> np.ndarray:
    """Number the connected components of an undirected graph, in the order of their first nodes.

    In each round every root becomes the child of the lowest root that it has an edge to. A root
    that nobody joins in one round has lower neighbours in the next: two rounds halve the roots.

    Args:
        tails: one end of each edge (integers below `nodes`).
        heads: the other end (integers, parallel).
        nodes: the number of nodes.

    Returns:
        The component of each node, from 0 (int64, one per node).

    >>> connected_components(np.array([0, 3]), np.array([2, 4]), 6)
    array([0, 1, 0, 2, 2, 3])
    """
    root = np.arange(nodes, dtype=np.int64)
    tails, heads = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    while len(tails):
        tails, heads = root[tails], root[heads]
        apart = tails != heads
        tails, heads = tails[apart], heads[apart]
        np.minimum.at(root, np.maximum(tails, heads), np.minimum(tails, heads))
        _shorten(root)
    is_first = root == np.arange(nodes)
    return np.asarray((np.cumsum(is_first) - 1)[root], dtype=np.int64)


def _shorten(root: np.ndarray) -> None:
    """Let every node point to the root of its tree (int64, one per node; changed in place)."""
    while True:
        above = root[root]
        if np.array_equal(above, root):
            return
        root[:] = above


def connected_sides(
    firsts: np.ndarray, seconds: np.ndarray, first_nodes: int, second_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Number the connected components of a graph whose edges join nodes of two kinds.

    Args:
        firsts: the node of the first kind that each edge joins (integers below `first_nodes`).
        seconds: the node of the second kind (integers below `second_nodes`, parallel).
        first_nodes: the number of nodes of the first kind.
        second_nodes: the number of nodes of the second kind.

    Returns:
        The component of each node of the first kind, and of each node of the second (int64).

    >>> connected_sides(np.array([0, 1, 2]), np.array([1, 1, 0]), 3, 2)
    (array([0, 0, 1]), array([1, 0]))
    """
    heads = first_nodes + np.asarray(seconds)
    component = connected_components(firsts, heads, first_nodes + second_nodes)
    return component[:first_nodes], component[first_nodes:]
