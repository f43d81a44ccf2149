"""The entropy of each group's sensitive values, and the counts that (c,l)-diversity compares.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity
(ICDE 2006): r_1 < c (r_l + … + r_m), where r_1 ≥ … ≥ r_m are a group's counts of values. With
don't-care values, whose disclosure harms nobody, it is positive disclosure-recursive: only the most
frequent other value must be so bounded. If y is the rank of this value, the bound of r_y is
c (r_l + … + r_m) where y < l, and otherwise c (r_{l-1} + … + r_m - r_y).
"""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.groups.counts import Counts


def entropy(counts: Counts, sizes: np.ndarray) -> np.ndarray:
    """Return -Σ p ln p of each group (float64, one per group), p the shares of its values.

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
    """Return the supremum of each group's entropy if don't-care counts may be lowered.

    The counts of other values are fixed. From the smallest don't-care count on, each is also fixed
    while its logarithm is at most the log-entropic mean M = Σ c ln c / Σ c of what is fixed, and
    every further one is lowered to exp(M). A group that has only don't-care values gets infinity.

    Args:
        counts: the counts of the sensitive attribute.
        dont_care: which entries of the counts are of don't-care values (bool, one per entry).

    Returns:
        float64, one per group.
    """
    # `rows` and `terms` add up c and c ln c of what is fixed; `lowerable` counts what is not, of
    # which `first` is the smallest in each group
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
        entropies = np.log(rows + lowerable * np.exp(mean)) - mean
    return np.where(rows > 0, entropies, np.inf)


def _n_ln_n(counts: np.ndarray) -> np.ndarray:
    """Return the product n ln n of each whole number n (float64), 0 for 0."""
    most = int(counts.max(initial=0))
    if most >= len(counts):
        large = counts.astype(np.float64)
        return np.asarray(large * np.log(np.maximum(large, 1)))
    products = np.arange(most + 1, dtype=np.float64)
    products[1:] *= np.log(products[1:])
    return np.asarray(products[counts])


def recursive_sides(
    counts: Counts, l: int, dont_care: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the two sides of most < c * rest in each group (both int64, one per group).

    These are the count of the most frequent value that matters, and the sum of the counts to
    compare it with.

    Args:
        counts: the counts of the sensitive attribute.
        l: from which rank on values count as rare; at least 2 with don't-care values.
        dont_care: which entries of the counts are of don't-care values (bool, one per entry).
    """
    if dont_care is None:
        return counts.largest, counts.tail(l)
    cared_for = np.where(dont_care, 0, counts.count)
    most = np.maximum.reduceat(cared_for, counts.starts) if len(cared_for) else cared_for
    more_frequent = dont_care & (counts.count > np.repeat(most, counts.distinct))
    rank = np.add.reduceat(more_frequent, counts.starts, dtype=np.int64) + 1
    return most, np.where(rank < l, counts.tail(l), counts.tail(l - 1) - most)


def rarest(counts: Counts, values: Sequence[str]) -> np.ndarray:
    """Return the count of the rarest of some values in each group, 0 if one is missing.

    Raises:
        PromiseError: where the values themselves are not known.

    Returns:
        int64, one per group.
    """
    groups = len(counts.starts)
    least = np.full(groups, np.iinfo(np.int64).max)
    for value in values:
        occurrences = np.zeros(groups, dtype=np.int64)
        of_value = counts.entries_of((value,))
        occurrences[counts.group[of_value]] = counts.count[of_value]
        least = np.minimum(least, occurrences)
    return least
