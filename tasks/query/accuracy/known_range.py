"""How wide means are by what groups show alone: no query, no literal and no truth enters.

A group shows the multiset v_1 ≤ … ≤ v_N. Of a selection that takes as many rows of it as a
twentieth, the sum lies between those of the least and of the greatest: of the i-th of either end
counts what is left of N / 20 rows after i - 1, one at most. Widths add up over groups, and the
width of the mean is the sum of them by a twentieth of all rows.
"""

from fractions import Fraction

import numpy as np

from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.counts import Counts

PART = 20
"""A selection takes one in so many rows of each group."""


def mean_by_range(counts: Counts) -> Fraction | None:
    """The width of the mean of a twentieth of each group's rows, by the range of all values.

    None where values are no numbers, or all the same. O(entries), exact.

    >>> from sfumato.expectations.exact import Exact
    >>> both = np.array([0, 1]), np.array([1, 1])
    >>> numbers = Exact(np.array([0, 10]), 0)
    >>> mean_by_range(Counts(np.array([0, 0]), *both, 2, numbers))
    Fraction(1, 1)
    >>> mean_by_range(Counts(np.array([0, 1]), *both, 2, numbers))
    Fraction(0, 1)
    """
    if counts.numbers is None or not len(counts.value):
        return None
    units = counts.numbers.units
    low, high = int(units[counts.value].min()), int(units[counts.value].max())
    rows = int(counts.sizes.sum())
    if low == high or not rows:
        return None
    safe = PART * rows * (high - low) <= INT64_MAX
    above = (units[counts.value] - low).astype(np.int64 if safe else object)
    width = int((above * _at_the_ends(counts)).sum())
    return Fraction(width, rows * (high - low))


def _at_the_ends(counts: Counts) -> np.ndarray:
    """Of each entry's rows how many are at the upper end less those at the lower, in twentieths.

    Of the x rows nearest to an end of a group of N rows, min(x, N / 20) are selected.
    """
    sizes = np.repeat(counts.sizes, counts.distinct)
    from_below, from_above = counts.up_to, sizes - counts.up_to + counts.count
    upper, lower = (
        np.minimum(PART * x, sizes) - np.minimum(PART * (x - counts.count), sizes)
        for x in (from_above, from_below)
    )
    return np.asarray(upper - lower)
