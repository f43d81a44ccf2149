"""(k,e)-anonymous runs of the sorted values, at the least sum of range times size.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007)
minimise the plain sum of ranges; weighed by size it is the worst error that a query about a random
row can expect. The optimum is one among runs of the sorted values only: {0, 1, 4, 6} with k = 2 and
e = 4 costs 24 as one run, and 18 as {0, 4} and {1, 6}.

The cost of a run satisfies the quadrangle inequality: once a later start is no worse than an
earlier one, it stays so for all later ends. A queue keeps the starts that are or will be best, each
with the end from which it is; a start enters when the first run from it is admissible.
"""

from functools import cache
from typing import Any

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.partitions.ke.runs import WORTH_COMPILING, feasible, first_ends, starts_of

# Costs are two numbers, high * 2**31 + low: their products need more than 64 bits.
_BITS = 31  # of the low number
_LOW = 2**31 - 1


def minimum_weighted(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, worth: int | None = None
) -> tuple[np.ndarray, int] | None:
    """Cut a sorted multiset into runs of k distinct values spanning e, each weighed by its size.

    O(d log d), for d distinct values.

    Args:
        values: distinct, ascending, int64 or Python integers; differences must not overflow.
        counts: how often each value occurs (int64), at least once.
        k: smallest number of distinct values in a run.
        e: smallest range of a run.
        worth: from how many points on compiled loops pay, where that is not the usual number.

    Returns:
        The positions (int64) where runs begin in the sorted multiset, with its size at the end, and
        the sum of size times range; None if no cut keeps the promise.

    >>> values, counts = np.unique([54, 55, 56, 65, 70, 75, 75, 80, 85], return_counts=True)
    >>> minimum_weighted(values, counts, k=3, e=2)
    (array([0, 3, 6, 9]), 66)
    """
    if k == 1 and e == 0:
        return np.arange(int(counts.sum()) + 1), 0
    if not feasible(values, k, e):
        return None
    points, before = _points(values, counts)
    n = len(points)
    worth = WORTH_COMPILING if worth is None else worth
    ends = first_ends(points, k, e, worth)
    start = np.full(n + 1, -1, dtype=np.int32)
    start[0] = 0
    cost: Any = np.zeros((2, n + 1), dtype=np.int64)
    queue: Any = np.zeros((2, n + 1), dtype=np.int32)
    if n >= worth and points.dtype != object and before[-1] <= _LOW:
        _compiled_loop()(points, before, ends, tuple(cost), start, tuple(queue))
    else:
        cost, queue = cost.tolist(), queue.tolist()
        _scan(points.tolist(), before.tolist(), ends.tolist(), cost, start, queue)
    total = (int(cost[0][-1]) << _BITS) + int(cost[1][-1])
    return np.append(before[starts_of(start)], before[-1]), total


def _points(values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values, each at most three times, and the number of rows before each.

    The number of all rows is at the end. The cost is linear in the place where two runs part the
    copies of a value, so it is best to part them before or after the first or the last copy: the
    copies in between are one point.
    """
    points = values - values[0]
    if counts.max() == 1:
        return points, np.arange(len(points) + 1)
    copies = np.minimum(counts, 3)
    weight = np.ones(int(copies.sum()), dtype=np.int64)
    many = copies == 3
    weight[np.cumsum(copies)[many] - 2] = counts[many] - 2
    return np.repeat(points, copies), np.append(0, np.cumsum(weight))


def _scan(points: Any, before: Any, ends: Any, cost: Any, start: Any, queue: Any) -> None:
    """Fill, for each end, the least cost and the start of the last run; -1 if no run ends there.

    `ends` are the first ends of runs from each start. `queue` has starts and the ends from which
    they are best, both ascending; the best for this end is at `head`.
    """
    high, low = cost
    who, since = queue
    candidate, head, tail = 0, 0, 0
    for end in range(1, len(points) + 1):
        while ends[candidate] <= end:
            if start[candidate] >= 0:
                tail = _enter(points, before, cost, queue, ends, candidate, head, tail)
            candidate += 1
        while head + 1 < tail and since[head + 1] <= end:
            head += 1
        if head < tail:
            start[end] = who[head]
            high[end], low[end] = _cost(points, before, cost, who[head], end)


def _enter(
    points: Any, before: Any, cost: Any, queue: Any, ends: Any, new: int, head: int, tail: int
) -> int:
    """Put a start into the queue in place of those that it will always beat; return the new tail.

    A run that could be two runs is never best. So a start is needed only for ends up to the first
    one at which its run could be two.
    """
    who, since = queue
    end = ends[new]  # the first end of a run from the start
    limit = min(ends[end], len(points))  # the last end for which the start is needed
    until = limit + 1  # from here on it is known to be no worse than all starts left in the queue
    while tail > head:
        if not _no_worse(points, before, cost, new, who[tail - 1], max(since[tail - 1], end)):
            break
        tail -= 1
        until = min(until, since[tail])
    first = end
    if tail > head:
        after = max(since[tail - 1], end)
        first = _first(points, before, cost, new, who[tail - 1], after, until, limit)
    if first <= limit:
        who[tail] = new
        since[tail] = first
        tail += 1
    return tail


def _first(
    points: Any, before: Any, cost: Any, new: int, old: int, after: int, until: int, limit: int
) -> int:
    """Return the first end after `after` for which a start is no worse than an older one.

    The start is no worse at `until`, unless `until` is past the limit. If there is no such end up
    to the limit, the result is past the limit, too.
    """
    if until > limit:
        if after >= limit or not _no_worse(points, before, cost, new, old, limit):
            return limit + 1
        until = limit
    while until - after > 1:
        middle = (after + until) // 2
        if _no_worse(points, before, cost, new, old, middle):
            until = middle
        else:
            after = middle
    return until


def _no_worse(points: Any, before: Any, cost: Any, new: int, old: int, end: int) -> bool:
    """Return True if runs up to an end cost no more with the last from `new` than from `old`."""
    high, low = _cost(points, before, cost, new, end)
    old_high, old_low = _cost(points, before, cost, old, end)
    return bool(high < old_high or (high == old_high and low <= old_low))


def _cost(points: Any, before: Any, cost: Any, start: int, end: int) -> tuple[int, int]:
    """Return the cost of the best runs before a start and the run from there to an end."""
    high, low = cost
    size, spread = before[end] - before[start], points[end - 1] - points[start]
    part = size * (spread & _LOW)
    carried = low[start] + (part & _LOW)
    above = high[start] + size * (spread >> _BITS) + (part >> _BITS) + (carried >> _BITS)
    return above, carried & _LOW


@cache
def _compiled_loop() -> Loop:
    return compile_loop(_cost, _no_worse, _first, _enter, _scan)
