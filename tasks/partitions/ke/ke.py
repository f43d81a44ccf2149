"""(k,e)-anonymous groups of neighbouring sensitive values, by the objective that a spec names.

A group is (k,e)-anonymous if it has at least k distinct sensitive values, and these span a range of
at least e. A run is a set of rows that follow each other once they are sorted by value.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
The minimum-sum objective is the plain sum of the groups' ranges. Two groups whose ranges intersect
can be merged at no extra cost, so some optimum among all partitions consists of runs of the sorted
values; the paper's recurrence over those runs takes O(n) because the admissible starts of a run
only grow with its end, so that a running minimum replaces the inner loop.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import count, dense
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import Exact, exact
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.ke.largest import minimum_max
from sfumato.tasks.partitions.ke.overlapping import minimum_max_overlapping
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.ke.runs import (
    WORTH_COMPILING,
    assign,
    at_random,
    bounds_of,
    feasible,
    starts_of,
)
from sfumato.tasks.partitions.ke.weighted import minimum_weighted
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.merging import merge_in_order
from sfumato.tasks.partitions.shared.thresholds import needed_promises, strictest_ke

_WORTH_COMPILING = 100_000  # values, for the sum of ranges


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: KEParameters,
    randomness: Randomness,
) -> Partition:
    """Group each stratum's rows so that every group has k distinct values spanning at least e.

    k and e are the largest that any (k,e)-promise about the sensitive attribute of the first one
    asks for. Which of several equal values goes to which of two groups is drawn at random. Groups
    that break another promise are merged with their neighbours.

    Raises:
        PromiseError: if there is no (k,e)-promise, if a stratum has fewer than k distinct
            values or a range below e, or if another promise cannot be kept by merging.
    """
    promise = strictest_ke(needed_promises(KEAnonymity, promises, parameters))
    column = microdata[str(promise.sensitive)]
    numbers = exact(column.values, column.name)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    stratum, cuts = list[int](), list[_Cut]()
    for number, rows in enumerate(by_stratum(microdata, strata)):
        cut = _cut(column, rows, numbers, promise, parameters.objective, randomness)
        group[rows] = len(stratum) + cut.group
        stratum += [number] * (int(cut.group.max(initial=-1)) + 1)
        cuts.append(cut)
    merged = merge_in_order(microdata, group, np.array(stratum, dtype=np.int64), promises)
    facts = {
        "objective": str(parameters.objective),
        **_certificate(parameters.objective, cuts, numbers),
        **_objective_values(column, merged, numbers),
        "merged_for_other_promises": len(stratum) - int(merged.max(initial=-1)) - 1,
    }
    return Partition(merged, facts=facts)


class _Cut(NamedTuple):
    """The group of each row of a stratum (int64), and proven bounds by name, in exact units."""

    group: np.ndarray
    proven: Mapping[str, int]


def _cut(
    column: Column,
    rows: np.ndarray,
    numbers: Exact,
    promise: KEAnonymity,
    objective: str,
    randomness: Randomness,
) -> _Cut:
    """Return the groups of one stratum's rows (positions, int64), and the bounds proven for them.

    Raises:
        PromiseError: if the stratum has fewer than k distinct values, or a range below e.
    """
    codes, k, e = column.codes[rows], promise.k, numbers.at_least(promise.e)
    cut = None
    if objective == "random":
        group = at_random(codes, numbers.units, k, e, randomness)
        cut = None if group is None else _Cut(group, {})
    else:
        place, number = dense(codes)  # among the values of the stratum, not of all: they may be few
        units = np.empty(number, dtype=numbers.units.dtype)
        units[place] = numbers.units[codes]
        counts, all_rows = np.bincount(place), len(column.codes)
        cuts = _OBJECTIVES[objective](units, counts, k, e, all_rows)
        if cuts is not None:
            pieces = assign(place, number, cuts.bounds, randomness)
            group = pieces if cuts.group is None else cuts.group[pieces]
            cut = _Cut(group, cuts.proven)
    if cut is None:
        raise PromiseError(
            f"({k},{plain(promise.e)})-anonymity of {column.name!r} cannot be kept: a stratum of "
            f"{len(rows)} rows has too few different values or too small a range. "
            "Lower k or e, or use fewer strata"
        )
    return cut


class _FoundCuts(NamedTuple):
    """Cuts of the sorted values of a stratum.

    `bounds` are the positions where pieces begin, with the number of rows at the end (int64).
    `group` is the group of each piece, None if each piece is one; `proven` are bounds by name.
    """

    bounds: np.ndarray
    group: np.ndarray | None  # of each piece between bounds, where a group may have several
    proven: Mapping[str, int]


def _certificate(objective: str, cuts: Sequence[_Cut], numbers: Exact) -> dict[str, Any]:
    """Return the proven bounds of all strata together, by name, as text.

    Bounds of sums are added up over strata; of bounds of ranges the largest counts.
    """
    total = sum if objective in ("sum", "weighted") else max
    names = cuts[0].proven if cuts else ()
    return {
        name: str(plain(numbers.fraction(total(cut.proven[name] for cut in cuts))))
        for name in names
    }


def _objective_values(column: Column, group: np.ndarray, numbers: Exact) -> dict[str, Any]:
    """Return the value of each objective that the groups reach, after any merging."""
    groups = count(group, int(group.max(initial=0)) + 1, {column.name: column.counted_codes()})
    ranges = KEAnonymity(k=1, e=Decimal(0), sensitive=column.name).measure(groups)["e"]
    ranges, sizes = ranges.astype(object), groups.sizes.astype(object)
    reached = {
        "sum_of_ranges": ranges.sum(),
        "weighted_sum_of_ranges": (ranges * sizes).sum(),
        "largest_range": ranges.max(initial=0),
    }
    as_text = {name: str(plain(numbers.fraction(int(n)))) for name, n in reached.items()}
    return {**as_text, "groups": len(groups)}


def minimum_sum(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, worth: int | None = None
) -> tuple[np.ndarray, int] | None:
    """Cut a sorted multiset into runs of k distinct values spanning e, at the least sum of ranges.

    Among the optima one with the most runs is chosen. O(distinct values).

    Args:
        values: distinct, ascending, int64 or Python integers; differences must not overflow.
        counts: how often each value occurs (int64), at least once.
        k: smallest number of distinct values in a run.
        e: smallest range of a run.
        worth: from how many points on compiled loops pay, where that is not the usual number.

    Returns:
        The positions (int64) where runs begin in the sorted multiset, with its size at the end, and
        the sum of the ranges; None if no cut keeps the promise.

    >>> values, counts = np.unique([54, 55, 56, 65, 70, 75, 75, 80, 85], return_counts=True)
    >>> minimum_sum(values, counts, k=3, e=2)
    (array([0, 3, 6, 9]), 22)
    """
    if k == 1 and e == 0:
        return np.arange(int(counts.sum()) + 1), 0
    if not feasible(values, k, e):
        return None
    # Two runs can share a value, three cannot: where in its copies they part makes no difference.
    copies = np.minimum(counts, 2)
    points = values - values[0]
    if copies.max() > 1:
        points = np.repeat(points, copies)
    cost = np.empty(len(points) + 1, dtype=points.dtype)
    cost[0] = 0
    runs, start = np.zeros((2, len(points) + 1), dtype=np.int32)
    worth = _WORTH_COMPILING if worth is None else worth
    large = len(points) >= worth and points.dtype != object
    choose_loop(large, _scan, _compiled_loop)(points, k, e, cost, runs, start)
    return bounds_of(starts_of(start), copies, counts), int(cost[-1])


def _scan(
    points: np.ndarray, k: int, e: int, cost: np.ndarray, runs: np.ndarray, start: np.ndarray
) -> None:
    """Fill, for each end, the least cost, the most runs, and the start of the last run.

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


@cache
def _compiled_loop() -> Loop:
    return compile_loop(_scan)


def _cut_sum(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, all_rows: int
) -> _FoundCuts | None:
    cut = minimum_sum(values, counts, k, e, _worth(all_rows, _WORTH_COMPILING))
    return None if cut is None else _FoundCuts(cut[0], None, {"least_sum_of_ranges": cut[1]})


def _cut_weighted(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, all_rows: int
) -> _FoundCuts | None:
    cut = minimum_weighted(values, counts, k, e, _worth(all_rows, WORTH_COMPILING))
    proven = "least_weighted_sum_of_ranges_of_runs"
    return None if cut is None else _FoundCuts(cut[0], None, {proven: cut[1]})


def _cut_max(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, all_rows: int
) -> _FoundCuts | None:
    cut = minimum_max(values, counts, k, e, _worth(all_rows, WORTH_COMPILING))
    return (
        None if cut is None else _FoundCuts(cut[0], None, {"least_largest_range_of_runs": cut[1]})
    )


def _cut_max_overlapping(
    values: np.ndarray, counts: np.ndarray, k: int, e: int, _: int
) -> _FoundCuts | None:
    overlapping = minimum_max_overlapping(values, counts, k, e)
    if overlapping is None:
        return None
    proven = {
        "largest_range_is_at_least": overlapping.bound,
        "largest_range_before_merging": overlapping.largest,
        "least_largest_range_of_runs": overlapping.apart,
    }
    return _FoundCuts(overlapping.bounds, overlapping.group, proven)


def _worth(all_rows: int, usual: int) -> int:
    """Return the points of one stratum from which compiled loops pay; strata share their cost."""
    return 0 if all_rows >= usual else usual


_Objective = Callable[[np.ndarray, np.ndarray, int, int, int], _FoundCuts | None]
_OBJECTIVES: Mapping[str, _Objective] = {
    "sum": _cut_sum,
    "weighted": _cut_weighted,
    "max": _cut_max,
    "max-overlapping": _cut_max_overlapping,
}
