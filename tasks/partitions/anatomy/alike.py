"""Sets of sensitive values for groups: values that quasi-identifiers hardly separate, or few sets.

Anatomy groups people only by their values. Quasi-identifiers mostly reveal something about a value,
and an attacker who learns this from all groups together can tell the people of one group apart:
deFinetti's attack (Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009). Least is
learned if the people with one value of a group are much like those with another.

The sets depend on the frequency of each value, which the groups show together, and on noisy counts,
but never on who has which value. So all ways to give the people of each group its values stay
equally likely, except for what the noisy counts reveal, which ε bounds.

Source: this project; that the values of a group should go alike with what else is known, and that
only counts may decide about that, follows from Kifer, and Wong et al. (VLDB 2007).

Source: the two-sided geometric mechanism of Ghosh, Roughgarden and Sundararajan, Universally
utility-maximizing privacy mechanisms (STOC 2009). The counts of all quasi-identifiers together are
ε-differentially private in one person's sensitive value: another value lowers one count and raises
another for each quasi-identifier.

The groups of `deal` (`draw: round-robin`) need no counts. Rows are sorted by value, values and the
rows of each in random order, and dealt to the groups in turn. As no value has more rows than there
are groups, all values of a group differ. Groups of one run of values are alike: there are about as
many different sets as there are values, where anatomy's own groups have nearly all different ones.

Source: this project; the division and balancing of m-invariance (Xiao and Tao, SIGMOD 2007) need
few sets.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.exact import is_ordered
from sfumato.tasks.microdata.table import Column, Randomness

_KNOWN = 256  # values that are compared, the most frequent ones: little is known of rare ones
_STEP = 8  # sets that a value has, about, until its rows are used up
_MOST = 4096  # sets
MOST = 16
"""The largest number of bands of a column."""


def alike_sets(
    counts: Sequence[np.ndarray], times: np.ndarray, l: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield sets of l values (int64), each with the number of groups that are to have it.

    The remaining groups are not determined here. A set has the values that would occur too often in
    the groups that are left, then the value that is left most often, and those most like it.

    Args:
        counts: counts of rows by band and value (bands x values), for each quasi-identifier; noise
            may make them negative.
        times: how often each value occurs (int64, one per value), each in at most one l-th of all.
        l: values of a set.
    """
    remaining, groups = times.astype(np.int64), int(times.sum()) // l
    frequent = np.argsort(-remaining, kind="stable")[:_KNOWN]
    rare = int(np.delete(remaining, frequent).max(initial=0))
    unlike = _distances([column_counts[:, frequent] for column_counts in counts], len(frequent))
    for _ in range(_MOST):
        here = remaining[frequent]
        if rare >= groups or np.count_nonzero(here) < l:
            return
        # values of as many rows as there are groups left must be in every further group
        urgent = np.maximum(here - groups + 1, 0)
        order = np.lexsort((unlike[np.argmax(here)], -urgent))
        chosen = order[here[order] > 0][:l]
        # the number of groups until a value that is not chosen must be in every further group
        room = groups - max(int(np.delete(here, chosen).max(initial=0)), rare)
        many = max(1, min(int(here[chosen].min()), room) // _STEP)
        yield frequent[chosen], many
        remaining[frequent[chosen]] -= many
        groups -= many


def _distances(counts: Sequence[np.ndarray], values: int) -> np.ndarray:
    """Return squared Hellinger distances of values over all columns (float64, values x values)."""
    smoothed = [np.maximum(column_counts, 0) + 0.5 for column_counts in counts]
    roots = [np.sqrt(column_counts / column_counts.sum(axis=0)) for column_counts in smoothed]
    alike = sum((root.T @ root for root in roots), start=np.zeros((values, values)))
    return np.asarray(len(counts) - alike)


def bands_of(column: Column) -> np.ndarray:
    """Return the band of each row (int64; 0, 1, …, each occurring), at most `MOST` of them.

    Bands are the nodes of the lowest level of a hierarchy with few enough nodes; runs of ordered
    values with about equally many rows; or the most frequent of other values, and all the rest
    together. A null is a value, the lowest.
    """
    codes, size = column.category()
    if size <= MOST:
        return dense(codes.astype(np.int64))[0]
    if column.ancestors is not None:
        return _nodes(column.levels(), codes)
    counts = np.bincount(codes, minlength=size)
    if is_ordered(column.values.type):
        before = np.cumsum(counts) - counts
        return dense(before[codes] * MOST // len(codes))[0]
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(size)
    return dense(np.minimum(rank, MOST - 1)[codes])[0]


def _nodes(levels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    level = next(nodes for nodes in levels if int(nodes.max()) < MOST)
    return dense(level[codes])[0]


def count_with_noise(
    bands: Sequence[np.ndarray],
    codes: np.ndarray,
    values: int,
    epsilon: float,
    randomness: Randomness,
) -> list[np.ndarray]:
    """Return noisy counts of the rows of each band with each value, for each column.

    Each array is int64, bands x values.

    Args:
        bands: the band of each row (int64, one array per quasi-identifier).
        codes: the sensitive value of each row (integers from 0).
        values: the number of values.
        epsilon: the ε of the guarantee for one row's value, over all columns together.
        randomness: where noise comes from.
    """
    noisy = []
    for band in bands:
        number = int(band.max(initial=-1)) + 1
        counts = np.bincount(band * values + codes, minlength=number * values)
        noise = two_sided_geometric(len(counts), epsilon / (2 * len(bands)), randomness)
        noisy.append((counts + noise).reshape(number, values))
    return noisy


def two_sided_geometric(n: int, epsilon: float, randomness: Randomness) -> np.ndarray:
    """Return n draws (int64) of x with a probability in proportion to exp(-epsilon |x|)."""
    first, second = ((randomness(n) >> np.uint64(11)) + np.uint64(1) for _ in range(2))
    geometric = [np.floor(np.log(u / 2.0**53) / -epsilon) for u in (first, second)]
    return np.asarray(geometric[0] - geometric[1], dtype=np.int64)


def deal(codes: np.ndarray, l: int, randomness: Randomness) -> np.ndarray:
    """Group rows so that each group has l rows or one more, all of different codes. O(n log n).

    Args:
        codes: the sensitive value of each row (integers from 0), each in at most 1/l of them.
        l: smallest size of a group.
        randomness: where every choice comes from.

    Returns:
        The group of each row (int64), 0, 1, ….
    """
    groups = len(codes) // l
    place = randomness(int(codes.max(initial=-1)) + 1)  # of each value among the others
    order = np.lexsort((randomness(len(codes)), codes, place[codes]))
    dealt = np.empty(len(codes), dtype=np.int64)
    dealt[order] = np.arange(len(codes)) % max(groups, 1)
    return dealt
