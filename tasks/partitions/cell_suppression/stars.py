"""Stars: the cells to suppress so that the rows of each cluster become equal."""

import numpy as np

from sfumato.expectations.sorting import stable_order


def constant(codes: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns on which each cluster is constant, and the number of its rows.

    Args:
        codes: integers, rows x columns.
        cluster: the cluster of each row (int64), 0, 1, … without gaps.

    Returns:
        bool, clusters x columns; int64, one per cluster.
    """
    sizes = np.bincount(cluster)
    starts = np.cumsum(sizes) - sizes
    ordered = codes[stable_order(cluster)]
    least, most = np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)
    return least == most, sizes


def stars(codes: np.ndarray, cluster: np.ndarray) -> int:
    """The number of suppressed cells: in each row, of columns that are not constant on its cluster.

    Arguments are as for `constant`.
    """
    if not len(codes):
        return 0
    same, sizes = constant(codes, cluster)
    return int(((~same).sum(axis=1) * sizes).sum())
