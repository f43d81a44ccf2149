"""(k,e)-anonymous groups, which may overlap, whose largest range is the least possible.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
A group whose range is inside another's can be dissolved into it, and of three whose ranges share a
point the one that reaches least far to either side. So some optimum is a chain of groups, ascending
in their least and in their greatest value, of which only neighbours overlap; each value serves at
most two of them, and more than two of its copies do not matter.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.partitions.ke.chain import Chain, chain_within, pieces
from sfumato.tasks.partitions.ke.largest import minimum_max
from sfumato.tasks.partitions.ke.runs import WORTH_COMPILING, first_ends

_STEPS = 10**10  # of one decision, beyond which groups that do not overlap have to do
_CELLS = 2 * 10**7


class Overlapping(NamedTuple):
    """Groups by pieces of the sorted multiset.

    `bounds` are the positions where pieces begin (int64), with the multiset's size at the end;
    `group` is the group of each piece (int64); `largest` is the largest range, and `apart` the
    least one of groups that do not overlap. No groups have a largest range below `bound`.
    """

    bounds: np.ndarray
    group: np.ndarray
    largest: int
    apart: int
    bound: int


def minimum_max_overlapping(
    values: np.ndarray, counts: np.ndarray, k: int, e: int
) -> Overlapping | None:
    """Share out a multiset to groups of k distinct values spanning e, the largest range least.

    Where the search would take too long, the best groups that do not overlap are taken: their
    largest range is at most twice the optimum, which is at least `bound`.

    Args:
        values: distinct, ascending, int64 or Python integers; differences must not overflow.
        counts: how often each value occurs (int64), at least once.
        k: smallest number of distinct values in a group.
        e: smallest range of a group.

    Returns:
        None where no groups keep the promise.

    >>> values, counts = np.unique([54, 55, 56, 65, 70, 75, 75, 80, 85], return_counts=True)
    >>> found = minimum_max_overlapping(values, counts, k=2, e=10)
    >>> found.largest, found.apart
    (11, 15)
    """
    found = minimum_max(values, counts, k, e)
    if found is None:
        return None
    bounds, apart = found
    without = Overlapping(bounds, np.arange(len(bounds) - 1), apart, apart, apart)
    if k == 1 and e == 0:
        return without
    points = values - values[0]
    first = first_ends(points, k, e)[:-1] - 1  # the least greatest value of a group, or d
    bound = max(e, (apart + 1) // 2, _forced(points, first))
    if bound == apart:
        return without
    if not _within_reason(points, apart):
        return without._replace(bound=bound)
    chain, largest = _search(points, counts, k, first, bound, apart)
    if chain is None:
        return without
    sizes, group = pieces(chain, counts)
    return Overlapping(np.append(0, np.cumsum(sizes)), group, largest, apart, largest)


def _last(points: np.ndarray, largest: int) -> np.ndarray:
    """The last value that may be the greatest of a group, for each least one (int64)."""
    reach = np.minimum(points, points[-1] - largest) + largest
    last: np.ndarray = np.searchsorted(points, reach, side="right") - 1
    return last


def _forced(points: np.ndarray, first: np.ndarray) -> int:
    """The largest, over all values, of the least range of any valid group that has the value."""
    ends = first[first < len(points)]
    queue = np.zeros(len(points) + 1, dtype=np.int64)
    if len(points) >= WORTH_COMPILING and points.dtype != object:
        return int(_compiled_widest()(points, ends, queue))
    return int(_widest(points.tolist(), ends.tolist(), queue))


def _widest(points: Any, ends: Any, queue: Any) -> Any:
    """See `_forced`; `ends` are the first greatest values for each least one.

    A group from a start whose first end is before the value reaches up to the value, best from the
    last such start; the queue has the others, the cheapest first.
    """
    head, tail, passed, widest = 0, 0, 0, 0
    for value in range(len(points)):
        if value < len(ends):
            range_ = points[ends[value]] - points[value]
            while tail > head and points[ends[queue[tail - 1]]] - points[queue[tail - 1]] >= range_:
                tail -= 1
            queue[tail] = value
            tail += 1
        while passed < len(ends) and ends[passed] <= value:
            passed += 1
        while head < tail and queue[head] < passed:
            head += 1
        least = points[value] - points[max(passed - 1, 0)]
        if head < tail:
            waiting = points[ends[queue[head]]] - points[queue[head]]
            least = waiting if passed == 0 else min(least, waiting)
        widest = max(widest, least)
    return widest


def _within_reason(points: np.ndarray, largest: int) -> bool:
    sizes = (_last(points, largest) - np.arange(len(points)) + 2).astype(np.float64)
    return bool((sizes**2).sum() <= _STEPS and sizes.sum() <= _CELLS)


def _search(
    points: np.ndarray, counts: np.ndarray, k: int, first: np.ndarray, bound: int, apart: int
) -> tuple[Chain | None, int]:
    """The chain of the least largest range in [bound, apart), where there is one; and that range.

    Small ranges are tried first: the least is mostly near the bound, and they take less time.
    """
    ranges = _ranges(points, bound, apart)
    low, high, step = 0, len(ranges), 1  # no chain below low; high has one, or is apart
    best = None
    twice = np.append(0, np.cumsum(counts >= 2))
    while low < high:
        middle, step = min(low + step - 1, (low + high) // 2), 2 * step
        chain = chain_within(first, _last(points, ranges[middle]), twice, k)
        if chain is None:
            low = middle + 1
        else:
            best, high = chain, middle
    return best, int(ranges[high]) if best is not None else apart


def _ranges(points: np.ndarray, bound: int, apart: int) -> np.ndarray:
    """The differences of values in [bound, apart), each once, ascending."""
    found, step = [np.array([], dtype=points.dtype)], 1
    while step < len(points):
        differences = points[step:] - points[:-step]
        if differences.min() >= apart:
            break
        found.append(np.unique(differences[(differences >= bound) & (differences < apart)]))
        step += 1
    return np.unique(np.concatenate(found))


@cache
def _compiled_widest() -> Loop:
    return compile_loop(_widest)
