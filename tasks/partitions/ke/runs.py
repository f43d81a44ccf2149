"""Runs of the sorted values, and groups of rows in random order, the baseline."""

from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.microdata.table import Randomness

WORTH_COMPILING = 20_000  # values: below, interpreting takes less time than loading the compiled


def feasible(values: np.ndarray, k: int, e: int) -> bool:
    """Return True if the values (integers; distinct, ascending) are at least k and span e."""
    return len(values) >= k and int(values[-1]) - int(values[0]) >= e


def first_ends(points: np.ndarray, k: int, e: int, worth: int | None = None) -> np.ndarray:
    """Return the first end of a run from each start; n + 1 for n points if there is none.

    Args:
        points: ascending, int64 or Python integers.
        k: smallest number of distinct points in a run.
        e: smallest range of a run.
        worth: from how many points on compiled loops pay, where that is not the usual number.

    Returns:
        int32, one for each start from 0 to the number of points; ascending.
    """
    n = len(points)
    ends = np.full(n + 1, n + 1, dtype=np.int32)
    if n >= (WORTH_COMPILING if worth is None else worth) and points.dtype != object:
        _compiled_loop()(points, k, e, ends)
    else:
        _fill(points.tolist(), k, e, ends)
    return ends


def _fill(points: Any, k: int, e: int, ends: Any) -> None:
    """Fill the first end of a run from each start; see `first_ends`.

    `distinct` counts the different points in [start, end).
    """
    start, distinct = 0, 0
    for end in range(1, len(points) + 1):
        last = points[end - 1]
        if end == 1 or last != points[end - 2]:
            distinct += 1
        while distinct >= k and last - points[start] >= e:
            ends[start] = end
            start += 1
            if start == end or points[start] != points[start - 1]:
                distinct -= 1


@cache
def _compiled_loop() -> Loop:
    return compile_loop(_fill)


def bounds_of(starts: np.ndarray, copies: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the positions (int64) where runs begin in the whole multiset, and its size.

    Args:
        starts: where they begin in the multiset of only the first copies (int64).
        copies: the number of those copies of each value (int64).
        counts: how often each value occurs (int64).
    """
    ends = np.cumsum(copies)
    value = np.searchsorted(ends, starts, side="right")
    inner = starts - (ends[value] - copies[value])
    below = np.cumsum(counts)
    return np.append(below[value] - counts[value] + inner, below[-1])


def starts_of(start: np.ndarray) -> np.ndarray:
    """Return the positions (int64) where the runs of an optimum begin.

    `start` is where the last run begins, for each end (int32).
    """
    chain = [int(start[-1])]
    while chain[-1]:
        chain.append(int(start[chain[-1]]))
    return np.array(chain[::-1])


def assign(
    codes: np.ndarray, values: int, bounds: np.ndarray, randomness: Randomness
) -> np.ndarray:
    """Return the run of each row, given the positions where runs begin among the sorted codes.

    Only rows whose value two runs share need an order, and get a random one.

    Args:
        codes: the value of each row (integers), below `values`.
        values: the number of values.
        bounds: where runs begin among the sorted codes, and the number of rows (int64).
        randomness: where the order of rows with equal values comes from.

    Returns:
        int64, one per row.
    """
    below = np.append(0, np.cumsum(np.bincount(codes, minlength=values)))
    first = np.searchsorted(bounds, below[:-1], side="right") - 1
    last = np.searchsorted(bounds, below[1:] - 1, side="right") - 1
    group: np.ndarray = first[codes]
    shared = np.flatnonzero((first < last)[codes])
    order = shared[np.lexsort((randomness(len(shared)), codes[shared]))]
    ordered = codes[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    group[order] = np.searchsorted(bounds, below[ordered] + rank, side="right") - 1
    return group


def at_random(
    codes: np.ndarray, units: np.ndarray, k: int, e: int, randomness: Randomness
) -> np.ndarray | None:
    """Return groups of rows in random order, each filled until it is valid.

    Rows that are left at the end join the last group. Groups are numbered by their least value.
    O(n).

    Args:
        codes: the value of each row (integers, ascending in the value).
        units: the values by code, int64 or Python integers.
        k: smallest number of distinct values in a group.
        e: smallest range of a group.
        randomness: where the order comes from.

    Returns:
        The group of each row (int64), 0, 1, …; None if no group becomes valid.
    """
    order = np.argsort(randomness(len(codes)))
    shuffled = codes[order].astype(np.int64)
    scanned = np.zeros(len(codes), dtype=np.int64)
    seen = np.full(len(units), -1, dtype=np.int64)
    if len(codes) >= WORTH_COMPILING and units.dtype != object:
        groups = _compiled_at_random()(shuffled, units, k, e, seen, scanned)
    else:
        groups = _fill_at_random(shuffled.tolist(), units.tolist(), k, e, seen, scanned)
    if not groups:
        return None
    scanned = np.minimum(scanned, groups - 1)
    least = np.minimum.reduceat(shuffled, np.flatnonzero(np.diff(scanned, prepend=-1)))
    number = np.empty(groups, dtype=np.int64)
    number[stable_order(least)] = np.arange(groups)
    group: np.ndarray = np.empty_like(scanned)
    group[order] = number[scanned]
    return group


def _fill_at_random(codes: Any, units: Any, k: int, e: int, seen: Any, group: Any) -> int:
    """Write the group of each row; return the number of valid groups.

    `seen` has, for each value, the last group that shows it.
    """
    number, distinct = 0, 0
    low, high = 0, 0
    for row in range(len(codes)):
        code = codes[row]
        if distinct == 0:
            low, high = code, code
        if seen[code] != number:
            seen[code] = number
            distinct += 1
            low, high = min(low, code), max(high, code)
        group[row] = number
        if distinct >= k and units[high] - units[low] >= e:
            number += 1
            distinct = 0
    return number


@cache
def _compiled_at_random() -> Loop:
    return compile_loop(_fill_at_random)
