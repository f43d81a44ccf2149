"""Groups of rows with different sensitive values: anatomy.

Source: Xiao, Tao, Anatomy: simple and effective privacy preservation (VLDB 2006). While at least l
values have rows left, a group takes one random row from each of the l values with the most; ties
are broken at random. Fewer than l rows are left, of different values, and each joins a random group
that lacks its value. Every group has l rows or more, all of different values.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.anatomy.alike import alike_sets, bands_of, count_with_noise, deal
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.merging import merge_in_order
from sfumato.tasks.partitions.shared.thresholds import about_the_first, largest_l, needed_promises

_WORTH_COMPILING = 20_000  # rows
_L_DIVERSITY = (DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity)


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: AnatomyParameters,
    randomness: Randomness,
) -> Partition:
    """Group each stratum's rows so that every group has l different sensitive values, each once.

    l is the largest that any l-diversity promise about the sensitive attribute of the first one
    asks for, rounded up. Groups that break another promise are merged.

    Raises:
        PromiseError: where there is no l-diversity promise, where a value has more than 1/l of a
            stratum's rows, or where another promise cannot be kept by merging.
    """
    wanted = needed_promises(_L_DIVERSITY, promises, parameters)
    name, l = str(wanted[0].sensitive), largest_l(about_the_first(wanted))
    codes, values = microdata[name].category()
    parts = list(by_stratum(microdata, strata))
    counts = [np.bincount(codes[rows], minlength=values) for rows in parts]
    broken = sum(int(of.max(initial=0)) * l > int(of.sum()) for of in counts)
    if broken:
        raise PromiseError(
            f"anatomy with l = {l} needs every value of {name!r} in at most 1/{l} of the rows of a "
            f"stratum: {broken} of {len(parts)} strata have a more frequent one"
        )
    draw = _drawing(microdata, codes, values, parameters, randomness)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    stratum = list[int]()
    for number, rows in enumerate(parts):
        found = draw(codes[rows], l, randomness)
        group[rows] = len(stratum) + found
        stratum += [number] * (int(found.max(initial=-1)) + 1)
    merged = merge_in_order(microdata, group, np.array(stratum, dtype=np.int64), promises)
    groups = int(merged.max(initial=-1)) + 1
    facts = {"l": l, "groups": groups, "merged_for_other_promises": len(stratum) - groups}
    return Partition(merged, facts=facts)


def _drawing(
    microdata: Microdata,
    codes: np.ndarray,
    values: int,
    parameters: AnatomyParameters,
    randomness: Randomness,
) -> Callable[[np.ndarray, int, Randomness], np.ndarray]:
    """How the rows of a stratum are grouped, given the sensitive value of each row of the table."""
    if parameters.draw == "round-robin":
        return deal
    if parameters.alike is None:
        return of_codes
    bands = [bands_of(column) for column in microdata.with_roles("quasi-identifier")]
    counts = count_with_noise(bands, codes, values, float(parameters.alike.epsilon), randomness)
    return partial(of_alike_codes, counts)


def of_alike_codes(
    counts: Sequence[np.ndarray], codes: np.ndarray, l: int, randomness: Randomness
) -> np.ndarray:
    """The same as `of_codes`, where groups have sets of values that are alike by these counts.

    `counts` (kinds x values, for each quasi-identifier) say which values are: see `alike_sets`.
    """
    times = np.bincount(codes, minlength=counts[0].shape[1]) if len(counts) else np.bincount(codes)
    return of_codes(codes, l, randomness, alike_sets(counts, times, l))


def of_codes(
    codes: np.ndarray,
    l: int,
    randomness: Randomness,
    sets: Iterable[tuple[np.ndarray, int]] = (),
) -> np.ndarray:
    """Group rows so that each group has at least l rows, all of different codes. O(n log n).

    Args:
        codes: the sensitive value of each row (integers from 0), each in at most 1/l of them.
        l: smallest size of a group.
        randomness: where every choice comes from.
        sets: the l codes of the first groups (int64), with the number of groups that have them.

    Returns:
        The group of each row (int64), 0, 1, ….
    """
    first = np.concatenate([np.zeros(0, dtype=np.int64), *(np.tile(of, n) for of, n in sets)])
    counts = np.bincount(codes)
    counts = counts - np.bincount(first, minlength=len(counts))
    order = np.argsort(-counts, kind="stable")
    left, value = counts[order], order.copy()
    others = np.full((len(codes) - len(first)) // l * l, -1, dtype=np.int64)
    keys = _choices(len(codes), randomness)
    scan = _compiled() if len(codes) >= _WORTH_COMPILING else _take
    groups = len(first) // l + scan(left, value, l, keys, others)
    taken = np.append(first, others)[: groups * l]
    rest = value[left > 0]  # each has one row left
    group = np.repeat(np.arange(groups), l)
    joined = _placed(taken, group, groups, rest, _choices(len(rest), randomness))
    return _rows(codes, np.append(taken, rest), np.append(group, joined), randomness)


def _choices(n: int, randomness: Randomness) -> np.ndarray:
    return (randomness(n) >> np.uint64(1)).astype(np.int64)


def _take(left: Any, value: Any, l: int, keys: Any, taken: Any) -> int:
    """Write the values of each group's l rows; returns the number of groups.

    `left` has the number of rows left of each `value`, descending: where a group takes from only
    some of several equal ones, those are brought to the end of their equals.
    """
    groups = 0
    while l <= len(left) and left[l - 1] > 0:
        least = left[l - 1]
        first, last = l - 1, _last(left, least, l - 1)
        while first > 0 and left[first - 1] == least:
            first -= 1
        chosen = last + 1 - (l - first)
        for at in range(last, chosen - 1, -1):
            other = first + keys[groups * l + last - at] % (at + 1 - first)
            value[at], value[other] = value[other], value[at]
            left[at] -= 1
            taken[groups * l + first + last - at] = value[at]
        for at in range(first):
            left[at] -= 1
            taken[groups * l + at] = value[at]
        groups += 1
    return groups


def _last(left: Any, least: int, low: int) -> int:
    """The last place with at least `least` left, from a place that has them."""
    high = len(left)
    while high - low > 1:
        middle = (low + high) // 2
        if left[middle] >= least:
            low = middle
        else:
            high = middle
    return low


def _placed(
    taken: np.ndarray, group: np.ndarray, groups: int, rest: np.ndarray, keys: np.ndarray
) -> np.ndarray:
    """A random group that lacks the value, for each leftover row's value (int64)."""
    placed = np.empty(len(rest), dtype=np.int64)
    for at, value in enumerate(rest):
        lacks = np.ones(groups, dtype=bool)
        lacks[group[taken == value]] = False
        open_ = np.flatnonzero(lacks)
        placed[at] = open_[keys[at] % len(open_)]
    return placed


def _rows(
    codes: np.ndarray, taken: np.ndarray, group: np.ndarray, randomness: Randomness
) -> np.ndarray:
    """The group of each row (int64), where each value's rows are taken in random order."""
    result = np.empty(len(codes), dtype=np.int64)
    order = np.lexsort((randomness(len(codes)), codes))
    result[order] = group[stable_order(taken)]
    return result


@cache
def _compiled() -> Loop:
    return compile_loop(_last, _take)
