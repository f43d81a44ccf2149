"""(k,e)-anonymous runs of the sorted values, with the least possible largest range.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
Of all cuts with that largest range, the one with the least sum of ranges is chosen. Both steps take
O(d) for d distinct values, by queues that drop a start as soon as a later one is no worse.
"""

from functools import cache
from typing import Any

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.partitions.ke.runs import (
    WORTH_COMPILING,
    bounds_of,
    feasible,
    first_ends,
    starts_of,
)


def minimum_max(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, worth: int | None = None
) -> tuple[np.ndarray, int] | None:
    """Cut a sorted multiset into runs of k distinct values spanning e, the largest range least.

    Among the optima one of the least sum of ranges is chosen, among those one with the most runs.

    Args:
        values: distinct, ascending, int64 or Python integers; differences must not overflow.
        counts: how often each value occurs (int64), at least once.
        k: smallest number of distinct values in a run.
        e: smallest range of a run.
        worth: from how many points on compiled loops pay, where that is not the usual number.

    Returns:
        The positions (int64) where runs begin in the sorted multiset, with its size at the end, and
        the largest range; None if no cut keeps the promise.

    >>> values, counts = np.unique([54, 55, 56, 65, 70, 75, 75, 80, 85], return_counts=True)
    >>> minimum_max(values, counts, k=3, e=2)
    (array([0, 3, 6, 9]), 10)
    """
    if k == 1 and e == 0:
        return np.arange(int(counts.sum()) + 1), 0
    if not feasible(values, k, e):
        return None
    copies = np.minimum(counts, 2)  # where two runs part the copies makes no difference
    points = np.repeat(values - values[0], copies)
    worth = WORTH_COMPILING if worth is None else worth
    ends = first_ends(points, k, e, worth)
    if len(points) >= worth and points.dtype != object:
        start, largest = _cut(points, ends, _compiled_largest(), _compiled_sum())
    else:
        start, largest = _cut(points.astype(object), ends, _least_largest, _least_sum)
    return bounds_of(starts_of(start), copies, counts), largest


def _cut(
    points: np.ndarray, ends: np.ndarray, least_largest: Loop, least_sum: Loop
) -> tuple[np.ndarray, int]:
    """Return the start of the last run for each end (int32), and the least possible largest range.

    `ends` are the first ends of runs from each start.
    """
    n = len(points)
    queue = np.zeros(n + 1, dtype=np.int32)
    cost = np.full(n + 1, -1, dtype=points.dtype)
    cost[0] = 0
    least_largest(points, ends, cost, queue)
    largest = int(cost[-1])
    runs, start = np.zeros((2, n + 1), dtype=np.int32)
    least_sum(points, ends, largest, cost, runs, start, queue)
    return start, largest


def _least_largest(points: Any, ends: Any, most: Any, queue: Any) -> None:
    """Fill, for each end, the least possible largest range; -1 if no run ends there.

    From the head of the queue on, starts and the largest ranges before them ascend, while the range
    from them to the end descends: the best start is where they cross, and that moves to the right.
    """
    candidate, head, tail = 0, 0, 0
    for end in range(1, len(points) + 1):
        while ends[candidate] <= end:
            if most[candidate] >= 0:
                tail = _enter(most, queue, candidate, head, tail)
            candidate += 1
        head = _advance(points, most, queue, end, head, tail)


def _enter(most: Any, queue: Any, new: int, head: int, tail: int) -> int:
    """Put a start at the end of the queue, in place of those with no less before them."""
    while tail > head and most[queue[tail - 1]] >= most[new]:
        tail -= 1
    queue[tail] = new
    return tail + 1


def _advance(points: Any, most: Any, queue: Any, end: int, head: int, tail: int) -> int:
    """Move the head to the best start, and note its largest range."""
    last = points[end - 1]
    if head < tail:
        most[end] = max(most[queue[head]], last - points[queue[head]])
    while head + 1 < tail:
        following = max(most[queue[head + 1]], last - points[queue[head + 1]])
        if following > most[end]:
            break
        most[end] = following
        head += 1
    return head


def _least_sum(
    points: Any, ends: Any, limit: int, cost: Any, runs: Any, start: Any, queue: Any
) -> None:
    """Fill, for each end, the least sum of ranges up to a limit, the most runs, and the last start.

    An end that no run reaches has no runs; its cost is never read. In the queue, starts and what a
    run from them costs ascend, so that the first which is within the limit is the best.
    """
    candidate, head, tail = 0, 0, 0
    for end in range(1, len(points) + 1):
        while ends[candidate] <= end:
            if candidate == 0 or runs[candidate] > 0:
                tail = _put(points, cost, runs, queue, candidate, head, tail)
            candidate += 1
        last = points[end - 1]
        while head < tail and last - points[queue[head]] > limit:
            head += 1
        if head < tail:
            best = queue[head]
            cost[end] = cost[best] + (last - points[best])
            runs[end] = runs[best] + 1
            start[end] = best


def _put(points: Any, cost: Any, runs: Any, queue: Any, new: int, head: int, tail: int) -> int:
    """Put a start at the end of the queue, in place of those that are no better."""
    offered = cost[new] - points[new]
    while tail > head:
        old = queue[tail - 1]
        other = cost[old] - points[old]
        if other < offered or (other == offered and runs[old] > runs[new]):
            break
        tail -= 1
    queue[tail] = new
    return tail + 1


@cache
def _compiled_largest() -> Loop:
    return compile_loop(_enter, _advance, _least_largest)


@cache
def _compiled_sum() -> Loop:
    return compile_loop(_put, _least_sum)
