"""(k,e)-anonymous groups of neighbouring sensitive values, at the least sum of ranges.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
The minimum-sum objective is the plain sum of the groups' ranges. Two groups whose ranges intersect
can be merged at no extra cost, so some optimum among all partitions consists of runs of the sorted
values; the paper's recurrence over those runs takes O(n) because the admissible starts of a run
only grow with its end, so that a running minimum replaces the inner loop.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from expectations.counting import count
from expectations.errors import PromiseError
from expectations.exact import Exact, exact
from expectations.ke_anonymity import KEAnonymity
from expectations.model import PrivacyModel, plain
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Column, Microdata
from tasks.partitions.merging import until_kept
from tasks.partitions.parameters import KEParameters
from tasks.partitions.partition import Partition, by_stratum

_WORTH_COMPILING = 100_000


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: KEParameters,
    randomness: Randomness,
) -> Partition:
    """Group each stratum's rows so that every group has k distinct values spanning at least e.

    k and e are the largest that any (k,e)-promise asks for. Which of several equal values goes to
    which of two touching groups is drawn at random. Groups that break another promise are merged
    with their neighbours.

    Raises:
        PromiseError: where a stratum has fewer than k distinct values, or a range below e.
    """
    wanted = [promise for promise in promises if isinstance(promise, KEAnonymity)]
    k, e = max(promise.k for promise in wanted), max(promise.e for promise in wanted)
    column = microdata[str(wanted[0].sensitive)]
    numbers = exact(column.values, column.name)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    total, stratum = 0, list[int]()
    for number, rows in enumerate(by_stratum(microdata, strata)):
        bounds, cost = _cut(column, rows, numbers, k, e)
        assigned = _assign(column.codes[rows], len(column.values), bounds, randomness)
        group[rows] = len(stratum) + assigned
        stratum += [number] * (len(bounds) - 1)
        total += cost
    seen = count(group, max(len(stratum), 1), {column.name: column.coded()})
    into = until_kept(seen, np.array(stratum, dtype=np.int64), promises)
    groups = int(into.max(initial=-1)) + 1
    facts = {
        "objective": parameters.objective,
        "least_sum_of_ranges": str(plain(numbers.fraction(total))),
        "groups": groups,
        "merged_for_other_promises": len(stratum) - groups,
    }
    return Partition(into[group], facts=facts)


def _cut(
    column: Column, rows: np.ndarray, numbers: Exact, k: int, e: Decimal
) -> tuple[np.ndarray, int]:
    counts = np.bincount(column.codes[rows], minlength=len(column.values))
    present = counts > 0
    cut = minimum_sum(numbers.units[present], counts[present], k, numbers.at_least(e))
    if cut is None:
        raise PromiseError(
            f"({k},{plain(e)})-anonymity of {column.name!r} cannot be kept: a stratum of "
            f"{len(rows)} rows has too few distinct values or too small a range"
        )
    return cut


def minimum_sum(
    values: np.ndarray, counts: np.ndarray, k: int, e: int
) -> tuple[np.ndarray, int] | None:
    """Cut a sorted multiset into runs of k distinct values spanning e, at the least sum of ranges.

    Among the optima one with the most runs is chosen. O(distinct values).

    Args:
        values: distinct, ascending, int64 or Python integers; differences must not overflow.
        counts: how often each value occurs, at least once.
        k: smallest number of distinct values in a run.
        e: smallest range of a run.

    Returns:
        The positions where runs begin in the sorted multiset, with its size at the end, and the
        sum of the ranges; None where no cut keeps the promise.

    >>> values, counts = np.unique([54, 55, 56, 65, 70, 75, 75, 80, 85], return_counts=True)
    >>> minimum_sum(values, counts, k=3, e=2)
    (array([0, 3, 6, 9]), 22)
    """
    if k == 1 and e == 0:
        return np.arange(int(counts.sum()) + 1), 0
    if len(values) < k or int(values[-1]) - int(values[0]) < e:
        return None
    # Two runs can share a value, three cannot: where in its copies they part makes no difference.
    copies = np.minimum(counts, 2)
    points = values - values[0]
    if copies.max() > 1:
        points = np.repeat(points, copies)
    cost = np.empty(len(points) + 1, dtype=points.dtype)
    cost[0] = 0
    runs, start = np.zeros((2, len(points) + 1), dtype=np.int32)
    scan = _compiled() if len(points) >= _WORTH_COMPILING and points.dtype != object else _scan
    scan(points, k, e, cost, runs, start)
    return _bounds(_starts(start), copies, counts), int(cost[-1])


def _bounds(starts: np.ndarray, copies: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Where runs begin in the whole multiset, given where they begin among the first copies."""
    ends = np.cumsum(copies)
    value = np.searchsorted(ends, starts, side="right")
    inner = starts - (ends[value] - copies[value])
    below = np.cumsum(counts)
    return np.append(below[value] - counts[value] + inner, below[-1])


def _scan(
    points: np.ndarray, k: int, e: int, cost: np.ndarray, runs: np.ndarray, start: np.ndarray
) -> None:
    """Fill, for each end, the least cost, the most runs, and where the last run starts.

    Invariants: `candidate` is the first start not yet admissible, `distinct` counts the different
    points in [candidate, end), `gain` and `most` belong to the best admissible start. An end that
    no run reaches has no runs; its cost is never read.
    """
    candidate, distinct = 0, 0
    best, gain, most = -1, points[0], 0
    for end in range(1, len(points) + 1):
        last = points[end - 1]
        if end == 1 or last != points[end - 2]:
            distinct += 1
        while distinct >= k and last - points[candidate] >= e:
            if candidate == 0 or runs[candidate] > 0:
                offered = cost[candidate] - points[candidate]
                if best < 0 or offered < gain or (offered == gain and runs[candidate] > most):
                    best, gain, most = candidate, offered, runs[candidate]
            candidate += 1
            if candidate == end or points[candidate] != points[candidate - 1]:
                distinct -= 1
        if best >= 0:
            cost[end] = gain + last
            runs[end] = most + 1
            start[end] = best


def _starts(start: np.ndarray) -> np.ndarray:
    """Where the runs of an optimum begin, read backwards from its end."""
    chain = [int(start[-1])]
    while chain[-1]:
        chain.append(int(start[chain[-1]]))
    return np.array(chain[::-1])


@cache
def _compiled() -> Callable[..., Any]:
    from numba import njit  # imported where it pays: compiling takes seconds

    return njit(cache=True)(_scan)


def _assign(
    codes: np.ndarray, values: int, bounds: np.ndarray, randomness: Randomness
) -> np.ndarray:
    """The run of each row, given where runs begin among the sorted codes.

    Only rows whose value two runs share need an order, and get a random one.
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
