"""Rows that no grouping can keep, because their sensitive value is too frequent for β."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness

_SLACK = Fraction(9, 10)  # of β, for the values that exceed it


def within_beta(
    values: np.ndarray, strata: Iterable[np.ndarray], beta: Fraction, randomness: Randomness
) -> np.ndarray:
    """The rows to keep (int64, ascending), so that no value exceeds β of a stratum.

    A stratum in which a value does keeps a little less of it, where possible: a part in which some
    value has a share of β can hardly be cut. Which rows are left out is random.

    Args:
        values: the code of each row's sensitive value (integers).
        strata: the rows of each stratum (int64).
        beta: the largest share of a value.
        randomness: where every choice comes from.
    """
    kept = np.ones(len(values), dtype=bool)
    for rows in strata:
        counts = np.bincount(values[rows])
        most = len(rows)
        if int(counts.max(initial=0)) > beta * len(rows):
            most = _most(counts, beta * _SLACK) or _most(counts, beta)
        order = rows[np.argsort(randomness(len(rows)), kind="stable")]
        order = order[np.argsort(values[order], kind="stable")]
        place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept[order[place >= most]] = False
    return np.flatnonzero(kept)


def _most(counts: np.ndarray, beta: Fraction) -> int:
    """The largest number of rows of one value to keep: at most β of all rows kept."""
    total = int(counts.sum())
    while True:
        most = beta.numerator * total // beta.denominator
        left = int(np.minimum(counts, most).sum())
        if left == total:
            return most
        total = left
