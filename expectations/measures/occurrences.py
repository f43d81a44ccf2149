"""Expected occurrences of each admitted value in each group, under one distribution per attribute.

Groups that show only which values they admit still tell how frequent values are: a frequent one is
admitted by more groups. The expectation maximises the likelihood of one distribution w of the
attribute's values, where every admitted value occurs at least once. It serves estimates of counts,
and an attacker as well. The construction is this project's own.
"""

import numpy as np

from sfumato.expectations.groups.groups import Cover

ROUNDS = 100


def occurrences(sizes: np.ndarray, cover: Cover, rounds: int = ROUNDS) -> np.ndarray:
    """The expected number of rows of each group that have each value it admits.

    With g rows and m values, n(v) = 1 + (g - m) w(v) / Σ w(u) over the values u of the group; then
    w(v) is proportional to the sum of n(v) over the groups; and so on, from the share of the groups
    that admit v.

    Args:
        sizes: the rows of each group (int64), at least as many as values that it admits.
        cover: the values that each group admits, one at least.
        rounds: the number of times that the distribution is fitted.

    Returns:
        float64, parallel to the entries of the cover; those of a group add up to its rows.
    """
    groups = len(sizes)
    spare = (sizes - cover.sizes(groups)).astype(np.float64)[cover.group]
    weights: np.ndarray = np.bincount(cover.value, minlength=cover.values).astype(np.float64)
    expected: np.ndarray = np.ones(len(cover.value))
    for _ in range(rounds):
        chosen = weights[cover.value]
        shares = chosen / np.bincount(cover.group, chosen, groups)[cover.group]
        expected = 1.0 + spare * shares
        weights = np.bincount(cover.value, expected, cover.values)
    return expected
