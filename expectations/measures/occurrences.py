"""Expected occurrences of the values that groups admit, and how far to fit them.

Groups that show only which values they admit still reveal how frequent values are: a frequent one
is admitted by more groups, and those in which it stands alone are larger. The expectation maximises
the likelihood of one distribution w of the attribute's values, where every admitted value occurs at
least once. It serves estimates of counts, and an attacker as well.

It supposes that groups have a value as often as others do. Where groups are made by the attribute
itself, that is wrong: people of 17 fill a group of their own, and do not fill the others. The fit
moves away from equal shares round by round, so it is stopped early there; and where the fit tells
no more than chance would, shares stay equal. Which of these holds is decided from published files.
The construction is this project's own.
"""

import numpy as np

from sfumato.expectations.groups.groups import Cover

ROUNDS = 100
"""The number of rounds after which a distribution is fitted."""
FEW_ROUNDS = 2
"""The number of rounds where groups are made by the attribute itself."""
_BY_CHANCE = 2.0  # times the standard deviation of counts whose values occur equally often
_TOGETHER = 0.7  # share of the values of groups, of those that random groups would have


def occurrences(sizes: np.ndarray, cover: Cover, rounds: int = ROUNDS) -> np.ndarray:
    """Return the expected number of rows of each group that have each value it admits.

    With g rows and m values, n(v) = 1 + (g - m) w(v) / Σ w(u) over the values u of the group; then
    w(v) is proportional to the sum of n(v) over the groups; and so on, from the share of the groups
    that admit v. After no round n(v) = g / m, which is Wang's estimator.

    Args:
        sizes: the rows of each group (int64), at least as many as values that it admits.
        cover: the values that each group admits, one at least.
        rounds: the number of times that the distribution is fitted; 0 for equal shares.

    Returns:
        float64, parallel to the entries of the cover; those of a group add up to its rows.
    """
    groups = len(sizes)
    spare = (sizes - cover.sizes(groups)).astype(np.float64)[cover.group]
    weights: np.ndarray = np.bincount(cover.value, minlength=cover.values).astype(np.float64)
    expected: np.ndarray = 1.0 + spare / cover.sizes(groups)[cover.group]
    for _ in range(rounds):
        chosen = weights[cover.value]
        shares = chosen / np.bincount(cover.group, chosen, groups)[cover.group]
        expected = 1.0 + spare * shares
        weights = np.bincount(cover.value, expected, cover.values)
    return expected


def choose_rounds(sizes: np.ndarray, cover: Cover, expected: np.ndarray) -> int:
    """Return for how many rounds occurrences are best fitted: 0, `FEW_ROUNDS` or `ROUNDS`.

    Args:
        sizes: the rows of each group (int64).
        cover: the values that each group admits, one at least.
        expected: the expected number of rows after `ROUNDS`, see `occurrences`.
    """
    admitted = cover.sizes(len(sizes))
    equal, fitted = (
        np.bincount(cover.value, of_entries, cover.values)
        for of_entries in (occurrences(sizes, cover, 0), expected)
    )
    share = 1 / admitted
    variance = ((sizes - admitted) * share * (1 - share))[cover.group]
    by_chance = np.sqrt(np.bincount(cover.value, variance, cover.values))
    if np.abs(fitted - equal).mean() <= _BY_CHANCE * by_chance.mean():
        return 0
    return ROUNDS if togetherness(sizes, cover, fitted) >= _TOGETHER else FEW_ROUNDS


def togetherness(sizes: np.ndarray, cover: Cover, occurring: np.ndarray) -> float:
    """Return the number of values of all groups, divided by that of groups put together at random.

    Args:
        sizes: the rows of each group (int64).
        cover: the values that each group admits.
        occurring: the number of rows with each value (float64), of all groups together.
    """
    size, groups = np.unique(sizes, return_counts=True)
    share = occurring / occurring.sum()
    with np.errstate(divide="ignore"):
        absent = np.exp(size * np.log1p(-share)[:, None])  # chance, values x sizes
    return float(len(cover.value) / ((1 - absent) @ groups).sum())
