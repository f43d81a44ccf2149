"""Sets of sensitive values for groups: those that quasi-identifiers hardly tell apart, or few.

Anatomy groups people by their values alone. Where quasi-identifiers tell something of a value, as
they mostly do, whoever learns how from all groups together tells the people of a group apart:
deFinetti's attack (Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009). Least is
learned where the people with one value of a group are much like those with another.

Which sets there are depends on how often each value occurs, which the groups show together, and on
counts with noise: never on who has which value. So all ways to give the people of each group its
values stay equally likely, but for what the noise tells, which ε bounds.

Source: this project; that values of a group should go alike with what else is known, and that only
counts may decide about that, follows from Kifer, and Wong et al. (VLDB 2007).

Source: the two-sided geometric mechanism of Ghosh, Roughgarden and Sundararajan, Universally
utility-maximizing privacy mechanisms (STOC 2009). The counts of all quasi-identifiers together are
ε-differentially private in one person's sensitive value: another value lowers one count and raises
another for each quasi-identifier.

Rows are sorted by value, values and the rows of each in random order, and dealt to the groups in
turn. As no value has more rows than there are groups, all values of a group differ. Groups of one
run of values are alike: there are about as many different sets as there are values, where anatomy's
own groups have nearly all different ones.

Source: this project; the division and balancing of m-invariance (Xiao and Tao, SIGMOD 2007) need
few sets.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.exact import is_ordered
from sfumato.expectations.groups.counting import dense
from sfumato.tasks.microdata.table import Column, Randomness

_KNOWN = 256  # values that are compared, the most frequent ones: little is known of rare ones
_STEP = 8  # so many sets for a value, about, until its rows are used up
_MOST = 4096  # sets
MOST = 16
"""So many bands of a column, at most."""


def alike_sets(
    counts: Sequence[np.ndarray], times: np.ndarray, l: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Sets of l values (int64), and how many groups are to have each; other groups are not told of.

    A set is of values that would occur too often in the groups that are left, then of the one that
    is left most often, and of those most like it.

    Args:
        counts: of the rows that have each value, by what is known of them (kinds x values), for
            each quasi-identifier; they may be wrong, and negative.
        times: how often each value occurs (int64, one per value), each in at most one l-th of all.
        l: values of a set.
    """
    left, groups = times.astype(np.int64), int(times.sum()) // l
    known = np.argsort(-left, kind="stable")[:_KNOWN]
    rare = int(np.delete(left, known).max(initial=0))
    unlike = _distances([of[:, known] for of in counts], len(known))
    for _ in range(_MOST):
        here = left[known]
        if rare >= groups or np.count_nonzero(here) < l:
            return
        urgent = np.maximum(here - groups + 1, 0)
        order = np.lexsort((unlike[np.argmax(here)], -urgent))
        chosen = order[here[order] > 0][:l]
        room = groups - max(int(np.delete(here, chosen).max(initial=0)), rare)
        many = max(1, min(int(here[chosen].min()), room) // _STEP)
        yield known[chosen], many
        left[known[chosen]] -= many
        groups -= many


def _distances(counts: Sequence[np.ndarray], values: int) -> np.ndarray:
    """How unlike values are: squared Hellinger distances over all columns (values x values)."""
    shown = [np.maximum(of, 0) + 0.5 for of in counts]
    roots = [np.sqrt(of / of.sum(axis=0)) for of in shown]
    alike = sum((of.T @ of for of in roots), start=np.zeros((values, values)))
    return np.asarray(len(counts) - alike)


def bands_of(column: Column) -> np.ndarray:
    """The band of each row (int64, 0, 1, …, each occurring), at most `MOST` of them.

    Nodes of the lowest level of a hierarchy that has as few; runs of values in order, of about as
    many rows; of other values the most frequent ones, and all the others together. A null is a
    value, the lowest.
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
    """How many rows of each band have each value (int64, bands x values), for each column.

    Args:
        bands: of each row by each quasi-identifier (int64, one array per quasi-identifier).
        codes: the sensitive value of each row (integers from 0).
        values: the number of values.
        epsilon: of the guarantee for one row's value, over all columns together.
        randomness: where noise comes from.
    """
    found = []
    for band in bands:
        number = int(band.max(initial=-1)) + 1
        counts = np.bincount(band * values + codes, minlength=number * values)
        noise = two_sided_geometric(len(counts), epsilon / (2 * len(bands)), randomness)
        found.append((counts + noise).reshape(number, values))
    return found


def two_sided_geometric(n: int, epsilon: float, randomness: Randomness) -> np.ndarray:
    """So many draws (int64), x with a probability in proportion to exp(-epsilon |x|)."""
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
