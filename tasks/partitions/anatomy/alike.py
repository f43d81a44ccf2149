"""Sets of sensitive values that quasi-identifiers hardly tell apart, for groups to have.

Anatomy groups people by their values alone. Where quasi-identifiers tell something of a value, as
they mostly do, whoever learns how from all groups together tells the people of a group apart:
deFinetti's attack (Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009). Least is
learned where the people with one value of a group are much like those with another.

Which sets there are depends on how often each value occurs, which the groups show together, and on
counts with noise: never on who has which value. So all ways to give the people of each group its
values stay equally likely, but for what the noise tells, which ε bounds.

Source: this project; that values of a group should go alike with what else is known, and that only
counts may decide about that, follows from Kifer, and Wong et al. (VLDB 2007).
"""

from collections.abc import Iterator, Sequence

import numpy as np

_KNOWN = 256  # values that are compared, the most frequent ones: little is known of rare ones
_STEP = 8  # so many sets for a value, about, until its rows are used up
_MOST = 4096  # sets


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
