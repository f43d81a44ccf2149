"""(k,e)-anonymous groups, which may overlap, with the least possible largest range.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007). A
group whose range is inside another's can be dissolved into it, and of three groups whose ranges
share a point the one that reaches least far to either side can be dissolved. So some optimum is a
chain of groups, ascending in their least and in their greatest value, of which only neighbours
overlap. Each value serves at most two of them, and more than two of its copies do not matter.

Values are the distinct ones, named by their places in ascending order. Below, a and b are the least
and the greatest value of a group, and `then` is the least value of the next group. The overlap of
two groups has the values from `then` to b. Of a value that occurs more than once, both groups get a
copy; a value that occurs once stays in the first group or *passes* to the next.

Whether groups within some range exist is decided over pairs: the least value of a group, and the
greatest value of the group before. For each pair it suffices to know how many distinct values the
overlap can give the group at most. Of several pairs that lead to the same choice, the one in which
the group has the most values is the best. O(d w²) for d distinct values, w of them within the
range.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.partitions.ke.largest import minimum_max
from sfumato.tasks.partitions.ke.runs import WORTH_COMPILING, first_ends

_STEPS_WORTH_COMPILING = 10**5  # of one decision
_STEPS = 10**10  # of one decision, beyond which groups that do not overlap have to do
_CELLS = 2 * 10**7  # states of one decision, beyond which the same


class Chain(NamedTuple):
    """The least and greatest value of each group, and the values that pass to the next (int64).

    `passed` are values that a group and the next could both have: for a value with copies one copy
    is passed, for a value without copies the value itself.
    """

    least: np.ndarray
    greatest: np.ndarray
    passed: np.ndarray


def chain_within(first: np.ndarray, last: np.ndarray, twice: np.ndarray, k: int) -> Chain | None:
    """Return a chain of groups of k distinct values that has all values, None if there is none.

    Args:
        first: for each value as the least of a group, the first value that may be the group's
            greatest (int64); the number of values where there is none.
        last: for each value in the same way, the last value that may be the greatest (int64).
        twice: for each value, the number of values before it that occur more than once; at the end,
            the number of all such values (int64).
        k: smallest number of distinct values in a group.
    """
    d = len(first)
    offset = np.append(0, np.cumsum(last - np.arange(d) + 2))
    value = np.full(offset[-1] + 1, -1, dtype=np.int32)
    before = np.zeros(offset[-1] + 1, dtype=np.int32)
    best = np.zeros(int(np.diff(offset).max()), dtype=np.int64)
    large = float((np.diff(offset).astype(np.float64) ** 2).sum()) >= _STEPS_WORTH_COMPILING
    decide = _compiled_decide() if large else _decide
    if not decide(first, last, twice, k, offset, value, before, best):
        return None
    return _read(twice, k, offset, value, before)


def _decide(
    first: Any, last: Any, twice: Any, k: int, offset: Any, value: Any, before: Any, best: Any
) -> bool:
    """Fill `value` and `before` of each state; return whether a chain reaches the end.

    A state is the least value a of a group and the number `over` of values from there to the
    greatest of the group before, at `offset[a] + over`. `value` is the largest number of different
    values that the overlap gives the group, -1 where the state is not reached; `before` is the
    least value of the group before. `best[t]` is the most that `value - over` can be where over is
    at most t. If the group before has at most the first t values of a group from a to b, the latter
    can thus have `b - a + 1 + best[t]` distinct values.
    """
    value[0] = 0
    for a in range(len(first)):
        most = -1 - len(first)
        for over in range(last[a] - a + 1):
            reach = value[offset[a] + over]
            if reach >= 0 and reach - over > most:
                most = reach - over
            best[over] = most
        for b in range(first[a], last[a] + 1):
            # the next group may begin after b, without an overlap
            if best[b - a] + b - a + 1 >= k and value[offset[b + 1]] < 0:
                value[offset[b + 1]] = 0
                before[offset[b + 1]] = a
            _overlap(a, b, twice, k, offset, value, before, best)
    return bool(value[offset[len(first)]] >= 0)


def _overlap(
    a: int, b: int, twice: Any, k: int, offset: Any, value: Any, before: Any, best: Any
) -> None:
    """Enter all states of a next group that overlaps a group from a to b."""
    single = 1 - (twice[b + 1] - twice[b])  # b occurs once: it stays, being the greatest
    for then in range(a + 1, b + 1 - single):
        doubled = twice[b + 1] - twice[then]  # values of the overlap that both groups get
        passed = 1 - (twice[then + 1] - twice[then])  # `then` occurs once: it passes
        spare = b - then + 1 - doubled - single - passed  # other values: they stay or pass
        # of these, the group keeps as many as it still needs for k values, and passes the others
        missing = max(0, k - best[then - a] - (then - a) - doubled - single)
        number = doubled + passed + spare - missing
        state = offset[then] + b - then + 1
        if missing <= spare and number > value[state]:
            value[state] = number
            before[state] = a


def _read(
    twice: np.ndarray, k: int, offset: np.ndarray, value: np.ndarray, before: np.ndarray
) -> Chain:
    """Return the chain, read backwards from its end, as `_decide` has filled the arrays."""
    then, over = len(offset) - 1, 0
    least, greatest, passed = [], [], []
    while then > 0:
        a, b = int(before[offset[then] + over]), then + over - 1
        # the overlap with the group before ends before `then`, or before b
        widest = then - a if over else b - a
        states = value[offset[a] : offset[a] + widest + 1]
        gains = np.where(states >= 0, states - np.arange(len(states)), np.iinfo(np.int64).min)
        if over:
            had = int(gains.max()) + then - a
            passed.append(_values_to_pass(twice, then, b, k - had))
        then, over = a, int(gains.argmax())
        least.append(a)
        greatest.append(b)
    every = np.concatenate(passed) if passed else np.array([], dtype=np.int64)
    return Chain(np.array(least[::-1]), np.array(greatest[::-1]), every)


def _values_to_pass(twice: np.ndarray, least: int, greatest: int, missing: int) -> np.ndarray:
    """Return the values from `least` to `greatest` that a group passes on.

    These are the values of its overlap with the next group. The group needs `missing` distinct
    values of the overlap, and keeps as many.
    """
    shared = np.arange(least, greatest + 1)
    single = np.diff(twice[least : greatest + 2]) == 0
    missing -= int((~single).sum()) + int(single[-1])
    keeps = np.zeros(len(shared), dtype=bool)
    keeps[-1] = single[-1]
    free = np.flatnonzero(single[1:-1]) + 1
    keeps[free[: max(missing, 0)]] = True
    return shared[~keeps]


def pieces(chain: Chain, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pieces of the sorted multiset: the number of rows and the group of each (int64).

    `counts` is the number of rows of each value (int64, ascending in the value).
    """
    values = np.arange(len(counts))
    group = np.searchsorted(chain.greatest, values)  # the first that may have the value
    right = np.zeros(len(counts), dtype=np.int64)
    right[chain.passed] = 1
    sizes = np.stack([counts - right, right], axis=1).ravel()
    groups = np.stack([group, group + 1], axis=1).ravel()
    return sizes[sizes > 0], groups[sizes > 0]


@cache
def _compiled_decide() -> Loop:
    return compile_loop(_overlap, _decide)


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
    runs = minimum_max(values, counts, k, e)
    if runs is None:
        return None
    bounds, apart = runs
    without = Overlapping(bounds, np.arange(len(bounds) - 1), apart, apart, apart)
    if k == 1 and e == 0:
        return without
    points = values - values[0]
    first = first_ends(points, k, e)[:-1] - 1  # the least greatest value of a group, or d
    bound = max(e, (apart + 1) // 2, _forced_range(points, first))
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
    """Return the last value that may be the greatest of a group, for each least one (int64).

    Ranges of groups are at most `largest`.
    """
    # the minimum comes first, so that the sum does not overflow
    reach = np.minimum(points, points[-1] - largest) + largest
    last: np.ndarray = np.searchsorted(points, reach, side="right") - 1
    return last


def _forced_range(points: np.ndarray, first: np.ndarray) -> int:
    """Return the least range that some value forces on every valid group with the value.

    It is the largest over all values of the least range of a valid group that has the value.
    """
    ends = first[first < len(points)]
    queue = np.zeros(len(points) + 1, dtype=np.int64)
    if len(points) >= WORTH_COMPILING and points.dtype != object:
        return int(_compiled_widest()(points, ends, queue))
    return int(_widest(points.tolist(), ends.tolist(), queue))


def _widest(points: Any, ends: Any, queue: Any) -> Any:
    """Return the forced range; see `_forced_range`.

    `ends` are the first possible greatest values for each least one, a start. A start whose first
    end is at most the value has been passed: its group must reach up to the value, and is narrowest
    from the last such start. From any other start the group reaches up to the first end. The queue
    has these starts, the narrowest group first; a start is dropped for a later one no worse.
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
    """Return True if a decision for ranges up to `largest` takes few enough steps and states."""
    sizes = (_last(points, largest) - np.arange(len(points)) + 2).astype(np.float64)
    return bool((sizes**2).sum() <= _STEPS and sizes.sum() <= _CELLS)


def _search(
    points: np.ndarray, counts: np.ndarray, k: int, first: np.ndarray, bound: int, apart: int
) -> tuple[Chain | None, int]:
    """Return the chain of the least largest range in [bound, apart), and that range.

    Returns None and `apart` if there is no such chain. Small ranges are tried first, because the
    least is mostly near the bound and they take less time.
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
    """Return the differences of values in [bound, apart), each once, ascending."""
    ranges, step = [np.array([], dtype=points.dtype)], 1
    while step < len(points):
        differences = points[step:] - points[:-step]
        if differences.min() >= apart:
            break
        ranges.append(np.unique(differences[(differences >= bound) & (differences < apart)]))
        step += 1
    return np.unique(np.concatenate(ranges))


@cache
def _compiled_widest() -> Loop:
    return compile_loop(_widest)
