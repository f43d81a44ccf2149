"""The values of groups: their sums, how many match, and which do."""

from dataclasses import dataclass
from functools import cached_property
from math import lcm

import numpy as np

from sfumato.expectations.exact import INT64_MAX, exact
from sfumato.expectations.sorting import lengths, stable_order, starts
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.numbers import Units, largest, product, sums_by
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns

_LONGEST = 1 << 40  # units that can be added up quickly


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """Each group's values: how many there are (int64, one per group), and their sum."""

    sizes: np.ndarray
    sums: Units

    @cached_property
    def means(self) -> "GroupMeans":
        """The mean of each group, of one denominator where no number gets too long by it."""
        sizes = np.flatnonzero(np.bincount(self.sizes))
        denominator = lcm(*sizes.tolist())
        if denominator * max(largest(self.sums.units), 1) <= _LONGEST:
            units = self.sums.units * (denominator // np.maximum(self.sizes, 1))
            return GroupMeans(units, None, np.array([denominator]), self.sums.digits)
        rank = np.zeros(int(self.sizes.max()) + 1, dtype=np.int64)
        rank[sizes] = np.arange(len(sizes))
        return GroupMeans(self.sums.units, rank[self.sizes], sizes, self.sums.digits)


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """Fractions, one per group: units by 10**digits, and by a denominator.

    `rank` says which of the denominators each group has (int64, one per group); None where there is
    one for all.
    """

    units: np.ndarray
    rank: np.ndarray | None
    denominators: np.ndarray
    digits: int


@dataclass(frozen=True, eq=False)
class MatchingValues:
    """The values of groups that match, each once in its group, by group and ascending.

    Attributes:
        code: of each (integers).
        times: how often it occurs (int64).
        below: how many values of its group are below it (int64).
        start: where each group's first one is, and the number of all (int64, groups + 1).
        number: how many values of each group match (int64, one per group).
    """

    code: np.ndarray
    times: np.ndarray
    below: np.ndarray
    start: np.ndarray
    number: np.ndarray


def totals_of_values(
    table: PublishedColumns, name: str, times: np.ndarray | None, sizes: np.ndarray
) -> GroupTotals:
    """The sums of all values of each group, from the values themselves."""
    column = table.coded(name)
    numbers = exact(column.values, name)
    units = numbers.units[column.codes]
    whole = units if times is None else product(units, times)
    return GroupTotals(sizes, Units(sums_by(table.group, len(sizes), whole), numbers.digits))


def count_matching(
    table: PublishedColumns,
    matches: np.ndarray,
    times: np.ndarray | None,
    groups: int,
) -> np.ndarray:
    """How many values of each group are in rows that match (int64, one per group).

    Raises:
        NotDirectError: where there are more groups.
    """
    if table.groups > groups:
        raise NotDirectError
    group = table.group[matches]
    if times is None:
        return np.bincount(group, minlength=groups)
    return sums_by(group, groups, times[matches])


def matching_values(
    table: PublishedColumns, name: str, matches: np.ndarray, times: np.ndarray | None, groups: int
) -> MatchingValues:
    """The values of a column in the rows that match (positions).

    Raises:
        NotDirectError: where there are more groups, or too many with their values.
    """
    if table.groups > groups:
        raise NotDirectError
    column = table.coded(name)
    values = max(len(column.values), 1)
    if groups * values > INT64_MAX:
        raise NotDirectError
    narrow = np.int32 if groups * values <= np.iinfo(np.int32).max else np.int64
    pairs = table.group[matches].astype(narrow) * narrow(values)
    pairs += column.codes[matches].astype(narrow)
    distinct, number = _counted(pairs, None if times is None else times[matches])
    group = distinct // narrow(values)
    start = np.append(0, np.cumsum(np.bincount(group, minlength=groups)))
    before = np.append(0, np.cumsum(number))
    below = before[:-1] - before[start[group]]
    return MatchingValues(
        distinct - group * narrow(values),
        number,
        below,
        start,
        before[start[1:]] - before[start[:-1]],
    )


def _counted(pairs: np.ndarray, times: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Each pair once, ascending, and how often it occurs."""
    if times is None:
        ordered = np.sort(pairs)
    elif (pairs[1:] >= pairs[:-1]).all():
        ordered = pairs
    else:
        order = stable_order(pairs)
        ordered, times = pairs[order], times[order]
    at = starts(ordered)
    if times is None:
        return ordered[at], lengths(at, len(ordered))
    return ordered[at], np.add.reduceat(times, at) if len(at) else times
