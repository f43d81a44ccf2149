"""The nearest target in which no value has more than a weight of its own: β-likeness of a group.

The total variation is a sum over the values, convex in each weight. So it is least where each unit
of weight goes to the value that gains most by it, or loses least: exact, without trying any other.

The choice of the nearest target is this project's own (see `tasks.targets.ranked`).
"""

import numpy as np


def nearest_capped(counts: np.ndarray, caps: np.ndarray, denominator: int) -> np.ndarray | None:
    """The weights of the nearest target, the first of equally near ones.

    Args:
        counts: how often the group has each value (int64, one per value).
        caps: the largest weight of each (int64).
        denominator: what the weights add up to.

    Returns:
        int64, one per value; None where the caps add up to less.
    """
    if int(caps.sum()) < denominator:
        return None
    rows = int(counts.sum())
    weights: np.ndarray = np.minimum(denominator * counts // rows, caps)
    for _ in range(denominator - int(weights.sum())):
        gap = denominator * counts - rows * weights
        cost = np.abs(gap - rows) - np.abs(gap)
        cost[weights >= caps] = 2 * rows  # more than any other
        weights[int(np.argmin(cost))] += 1
    return weights
