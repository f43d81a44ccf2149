"""What it costs to suppress cells until the rows of each cluster are equal: its stars."""

import numpy as np


def constant(codes: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """On which columns each cluster is constant, and how many rows it has.

    Args:
        codes: rows x columns.
        cluster: the cluster of each row, 0, 1, … without gaps.

    Returns:
        bool, clusters x columns; int64, one per cluster.
    """
    sizes = np.bincount(cluster)
    starts = np.cumsum(sizes) - sizes
    ordered = codes[np.argsort(cluster, kind="stable")]
    least, most = np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)
    return least == most, sizes


def stars(codes: np.ndarray, cluster: np.ndarray) -> int:
    """The cells that are suppressed: of each row those in columns not constant on its cluster."""
    if not len(codes):
        return 0
    same, sizes = constant(codes, cluster)
    return int(((~same).sum(axis=1) * sizes).sum())
