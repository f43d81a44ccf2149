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

from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import stable_order
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
        PromiseError: if there is no l-diversity promise, if a value has more than 1/l of a
            stratum's rows, or if another promise cannot be kept by merging.
    """
    needed = needed_promises(_L_DIVERSITY, promises, parameters)
    name, l = str(needed[0].sensitive), largest_l(about_the_first(needed))
    codes, values = microdata[name].category()
    parts = list(by_stratum(microdata, strata))
    counts = [np.bincount(codes[rows], minlength=values) for rows in parts]
    broken = sum(
        int(value_counts.max(initial=0)) * l > int(value_counts.sum()) for value_counts in counts
    )
    if broken:
        raise PromiseError(
            f"anatomy with l = {l} allows a value of {name!r} in at most 1/{l} of the rows of a "
            f"stratum. {broken} of {len(parts)} strata have a more frequent value; "
            "use a smaller l or fewer strata"
        )
    draw = _draw_function(microdata, codes, values, parameters, randomness)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    stratum = list[int]()
    for number, rows in enumerate(parts):
        row_groups = draw(codes[rows], l, randomness)
        group[rows] = len(stratum) + row_groups
        stratum += [number] * (int(row_groups.max(initial=-1)) + 1)
    merged = merge_in_order(microdata, group, np.array(stratum, dtype=np.int64), promises)
    groups = int(merged.max(initial=-1)) + 1
    facts = {"l": l, "groups": groups, "merged_for_other_promises": len(stratum) - groups}
    return Partition(merged, facts=facts)


def _draw_function(
    microdata: Microdata,
    codes: np.ndarray,
    values: int,
    parameters: AnatomyParameters,
    randomness: Randomness,
) -> Callable[[np.ndarray, int, Randomness], np.ndarray]:
    """Return the function that groups the rows of a stratum.

    `codes` is the sensitive value of each row of the table.
    """
    if parameters.draw == "round-robin":
        return deal
    if parameters.alike is None:
        return draw_groups
    bands = [bands_of(column) for column in microdata.with_roles("quasi-identifier")]
    counts = count_with_noise(bands, codes, values, float(parameters.alike.epsilon), randomness)
    return partial(draw_alike_groups, counts)


def draw_alike_groups(
    counts: Sequence[np.ndarray], codes: np.ndarray, l: int, randomness: Randomness
) -> np.ndarray:
    """Group rows as `draw_groups` does, into groups with sets of alike values.

    `counts` (kinds x values, for each quasi-identifier) decide which values are alike: see
    `alike_sets`.
    """
    times = np.bincount(codes, minlength=counts[0].shape[1]) if len(counts) else np.bincount(codes)
    return draw_groups(codes, l, randomness, alike_sets(counts, times, l))


def draw_groups(
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
    first = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(np.tile(set_codes, n) for set_codes, n in sets)]
    )
    counts = np.bincount(codes)
    counts = counts - np.bincount(first, minlength=len(counts))
    order = np.argsort(-counts, kind="stable")
    remaining, value = counts[order], order.copy()
    others = np.full((len(codes) - len(first)) // l * l, -1, dtype=np.int64)
    keys = _choices(len(codes), randomness)
    scan = _compiled_loop() if len(codes) >= _WORTH_COMPILING else _take
    groups = len(first) // l + scan(remaining, value, l, keys, others)
    taken = np.append(first, others)[: groups * l]
    rest = value[remaining > 0]  # each has one row left
    group = np.repeat(np.arange(groups), l)
    joined = _place_leftover(taken, group, groups, rest, _choices(len(rest), randomness))
    return _rows(codes, np.append(taken, rest), np.append(group, joined), randomness)


def _choices(n: int, randomness: Randomness) -> np.ndarray:
    return (randomness(n) >> np.uint64(1)).astype(np.int64)


def _take(remaining: Any, value: Any, l: int, keys: Any, taken: Any) -> int:
    """Write the values of each group's l rows to `taken`; return the number of groups.

    `remaining` has the number of rows left of each `value`, descending. If a group takes from only
    some of several values with equally many rows left, these are drawn at random by `keys`, and
    brought to the end of their equals, so that the order stays right.
    """
    groups = 0
    while l <= len(remaining) and remaining[l - 1] > 0:
        # the values with as many rows left as the l-th are at the places from first to last
        least = remaining[l - 1]
        first, last = l - 1, _last(remaining, least, l - 1)
        while first > 0 and remaining[first - 1] == least:
            first -= 1
        chosen = last + 1 - (l - first)
        for place in range(last, chosen - 1, -1):
            other = first + keys[groups * l + last - place] % (place + 1 - first)
            value[place], value[other] = value[other], value[place]
            remaining[place] -= 1
            taken[groups * l + first + last - place] = value[place]
        for place in range(first):
            remaining[place] -= 1
            taken[groups * l + place] = value[place]
        groups += 1
    return groups


def _last(remaining: Any, least: int, low: int) -> int:
    """Return the last place with at least `least` left, from a place that has them."""
    high = len(remaining)
    while high - low > 1:
        middle = (low + high) // 2
        if remaining[middle] >= least:
            low = middle
        else:
            high = middle
    return low


def _place_leftover(
    taken: np.ndarray, group: np.ndarray, groups: int, rest: np.ndarray, keys: np.ndarray
) -> np.ndarray:
    """Return a random group that lacks the value, for each leftover row's value (int64)."""
    placed = np.empty(len(rest), dtype=np.int64)
    for index, value in enumerate(rest):
        lacks = np.ones(groups, dtype=bool)
        lacks[group[taken == value]] = False
        open_ = np.flatnonzero(lacks)
        placed[index] = open_[keys[index] % len(open_)]
    return placed


def _rows(
    codes: np.ndarray, taken: np.ndarray, group: np.ndarray, randomness: Randomness
) -> np.ndarray:
    """Return the group of each row (int64), with each value's rows taken in random order."""
    result = np.empty(len(codes), dtype=np.int64)
    order = np.lexsort((randomness(len(codes)), codes))
    result[order] = group[stable_order(taken)]
    return result


@cache
def _compiled_loop() -> Loop:
    return compile_loop(_last, _take)
