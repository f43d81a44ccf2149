"""The counts of values that recursive (c,l)-diversity compares in each group.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity
(ICDE 2006): r_1 < c (r_l + … + r_m), where r_1 ≥ … ≥ r_m are a group's counts of values. With
don't-care values, positive disclosure-recursive: only the most frequent other value s_y must be so
bounded, by c (r_l + … + r_m) where y < l, and else by c (r_{l-1} + … + r_m - r_y).
"""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.groups.counts import Counts


def recursive_sides(
    counts: Counts, l: int, dont_care: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The two sides of most < c * rest in each group (both int64, one per group).

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
    """The count of the rarest of some values in each group, 0 where one is missing.

    Raises:
        PromiseError: where the values themselves are not known.

    Returns:
        int64, one per group.
    """
    groups = len(counts.starts)
    least = np.full(groups, np.iinfo(np.int64).max)
    for value in values:
        shown = np.zeros(groups, dtype=np.int64)
        of_value = counts.entries_of((value,))
        shown[counts.group[of_value]] = counts.count[of_value]
        least = np.minimum(least, shown)
    return least
