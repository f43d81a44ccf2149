"""The nearest target that keeps promises about how often values occur, whichever they are.

How near is the total variation, the share of a group's rows that would need another value. Targets
are all w/D of one denominator D. Where a promise depends on the weights alone, and not on which
values have them, the nearest target gives a value that is more frequent in the group no smaller
weight: |Dc - nw| + |Dc' - nw'| never falls when the weights of two values change places so that the
more frequent has the smaller one. So it is enough to try every way of writing D as a sum, and to
give its terms, the largest first, to the values as they are frequent: exact, and few to try.

The choice of the nearest target is this project's own; the paper leaves open where targets come
from (Koudas, Srivastava, Yu, Zhang, VLDB 2009).
"""

from functools import cache

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups


@cache
def ways_of_writing(denominator: int) -> np.ndarray:
    """Every way of writing a number as a sum, its terms descending (int64, ways x terms, 0 after).

    >>> ways_of_writing(3).tolist()
    [[3, 0, 0], [2, 1, 0], [1, 1, 1]]
    """
    found: list[list[int]] = []
    terms = [denominator]
    while True:
        found.append(terms + [0] * (denominator - len(terms)))
        last = len(terms) - 1
        while last >= 0 and terms[last] == 1:
            last -= 1
        if last < 0:
            return np.array(found, dtype=np.int64)
        largest, left = terms[last] - 1, len(terms) - last
        whole, rest = divmod(left, largest)
        terms = [*terms[:last], largest, *[largest] * whole, *([rest] if rest else [])]


def as_groups(ways: np.ndarray, name: str) -> Groups:
    """Ways of writing a number as groups whose values occur so often, for promises to judge."""
    group, value = np.nonzero(ways)
    counts = Counts(group, value, ways[group, value], ways.shape[1], None)
    return Groups(ways.sum(axis=1), {name: counts})


def nearest_ranked(counts: np.ndarray, ways: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """The weights of the nearest target, the first of equally near ones.

    Args:
        counts: how often the group has each value (int64, one per value).
        ways: those ways of writing the denominator that keep the promises (int64, ways x terms).
        totals: how often all rows have each value (int64): which of equally frequent values, such
            as those that the group lacks, come first.

    Returns:
        int64, one per value, that add up to the denominator; None where no target has enough
        values.
    """
    values = len(counts)
    order = np.lexsort((np.arange(values), -totals, -counts))
    fitting = ways[(ways[:, values:] == 0).all(axis=1), :values] if len(ways) else ways
    if not len(fitting):
        return None
    denominator, rows, tried = int(fitting[0].sum()), int(counts.sum()), fitting.shape[1]
    held = denominator * counts[order[:tried]]
    off = np.abs(held - rows * fitting).sum(axis=1)  # the values after these weigh nothing
    weights = np.zeros(values, dtype=np.int64)
    weights[order[:tried]] = fitting[int(np.argmin(off))]
    return weights
