"""The entropy of each group's sensitive values in nats, plain or adjusted for don't-care values."""

import numpy as np

from sfumato.expectations.groups.counts import Counts


def entropy(counts: Counts, sizes: np.ndarray) -> np.ndarray:
    """-Σ p ln p of each group (float64, one per group), p the shares of its values.

    `sizes` are the rows of each group (int64, one per group).

    >>> counts = Counts(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([2, 1, 1]), 3, None)
    >>> np.exp(entropy(counts, np.array([4]))).round(4).tolist()
    [2.8284]
    """
    if not len(sizes):
        return np.zeros(0)
    rows = sizes.astype(np.float64)
    terms = np.add.reduceat(_n_ln_n(counts.count), counts.starts)
    return np.asarray(np.log(rows) - terms / rows)


def adjusted_entropy(counts: Counts, dont_care: np.ndarray) -> np.ndarray:
    """The supremum of each group's entropy when the counts of don't-care values may be lowered.

    The counts of other values are fixed; from the smallest don't-care count on, each is fixed, too,
    while its logarithm is at most the log-entropic mean M = Σ c ln c / Σ c of what is fixed, and
    every further one is lowered to exp(M). A group of don't-care values alone gets infinity.

    Args:
        counts: the counts of the sensitive attribute.
        dont_care: which entries of the counts are of don't-care values (bool, one per entry).

    Returns:
        float64, one per group.
    """
    fixed = np.where(dont_care, 0, counts.count)
    rows = np.add.reduceat(fixed, counts.starts).astype(np.float64)
    terms = np.add.reduceat(_n_ln_n(fixed), counts.starts)
    lowerable = np.add.reduceat(dont_care.astype(np.int64), counts.starts)
    ascending = np.flatnonzero(dont_care)
    ascending = ascending[np.lexsort((counts.count[ascending], counts.group[ascending]))]
    first = np.cumsum(lowerable) - lowerable
    active = np.flatnonzero((rows > 0) & (lowerable > 0))
    while len(active):
        smallest = counts.count[ascending[first[active]]].astype(np.float64)
        stays = np.log(smallest) <= terms[active] / rows[active]
        active, smallest = active[stays], smallest[stays]
        rows[active] += smallest
        terms[active] += smallest * np.log(smallest)
        first[active] += 1
        lowerable[active] -= 1
        active = active[lowerable[active] > 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = terms / rows
        found = np.log(rows + lowerable * np.exp(mean)) - mean
    return np.where(rows > 0, found, np.inf)


def _n_ln_n(counts: np.ndarray) -> np.ndarray:
    """The product n ln n of each whole number n (float64), 0 for 0."""
    most = int(counts.max(initial=0))
    if most >= len(counts):
        large = counts.astype(np.float64)
        return np.asarray(large * np.log(np.maximum(large, 1)))
    known = np.arange(most + 1, dtype=np.float64)
    known[1:] *= np.log(known[1:])
    return np.asarray(known[counts])
