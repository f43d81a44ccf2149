"""(k,e)-anonymous groups of rows in random order: the baseline for better partitions."""

from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.partitions.ke.runs import WORTH_COMPILING


def at_random(
    codes: np.ndarray, units: np.ndarray, k: int, e: int, randomness: Randomness
) -> np.ndarray | None:
    """Fill a group with rows in random order until it is valid, then the next.

    What is left at the end joins the last group. Groups are numbered by their least value. O(n).

    Args:
        codes: the value of each row (integers, ascending in the value).
        units: the values by code, int64 or Python integers.
        k: smallest number of distinct values in a group.
        e: smallest range of a group.
        randomness: where the order comes from.

    Returns:
        The group of each row (int64), 0, 1, …; None where no group becomes valid.
    """
    order = np.argsort(randomness(len(codes)))
    shuffled = codes[order].astype(np.int64)
    scanned = np.zeros(len(codes), dtype=np.int64)
    seen = np.full(len(units), -1, dtype=np.int64)
    if len(codes) >= WORTH_COMPILING and units.dtype != object:
        groups = _compiled()(shuffled, units, k, e, seen, scanned)
    else:
        groups = _fill(shuffled.tolist(), units.tolist(), k, e, seen, scanned)
    if not groups:
        return None
    scanned = np.minimum(scanned, groups - 1)
    least = np.minimum.reduceat(shuffled, np.flatnonzero(np.diff(scanned, prepend=-1)))
    number = np.empty(groups, dtype=np.int64)
    number[stable_order(least)] = np.arange(groups)
    group: np.ndarray = np.empty_like(scanned)
    group[order] = number[scanned]
    return group


def _fill(codes: Any, units: Any, k: int, e: int, seen: Any, group: Any) -> int:
    """Write the group of each row; returns the number of valid groups.

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
def _compiled() -> Loop:
    return compile_loop(_fill)
