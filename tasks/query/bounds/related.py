"""Bounds of questions about people and their related rows, where a group alone links the two.

Of a group everybody knows its m people, its s related rows, the most rows M of one person, and the
values of people and of rows. A world gives each row to a person, so that somebody has M rows and
nobody has more. A question hits h of the people, H, and c of the rows, C. Groups are independent of
each other, so that bounds over several groups are sums of each group's, and attained if those are.

All bounds here are attained, proved in the guide's page on related tables and held against all
worlds of small groups. Arrays have one entry per group (int64).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sfumato.expectations.shared.exact import INT64_MAX

Ends = tuple[np.ndarray, np.ndarray]
"""The least and the greatest number of each group (int64)."""


@dataclass(frozen=True, eq=False)
class HitGroups:
    """The people and the related rows that a question hits in each group.

    Attributes:
        people: the people of each group, m.
        rows: their related rows, s.
        most: the rows of whoever has the most, M.
        hit_people: the people that the question hits, h.
        hit_rows: the rows that it hits, c.
    """

    people: np.ndarray
    rows: np.ndarray
    most: np.ndarray
    hit_people: np.ndarray
    hit_rows: np.ndarray

    @cached_property
    def totals(self) -> Ends:
        """The related rows that hit people can have together: least and greatest."""
        others = self.people - self.hit_people
        least = np.maximum(self.rows - others * self.most, 0)
        return least, np.minimum(self.hit_people * self.most, self.rows)

    def shared_rows(self) -> Ends:
        """Return the hit rows that hit people can have: least and greatest."""
        least, greatest = self.totals
        missing = self.rows - self.hit_rows
        return np.maximum(least - missing, 0), np.minimum(self.hit_rows, greatest)

    def people_with(self, times: int) -> Ends:
        """Return the hit people who can have at least so many of the hit rows (times ≥ 1).

        Of the greatest number, whoever has M rows needs only `times` of them.
        """
        people, rows, most = self.people, self.rows, self.most
        hit, matching = self.hit_people, self.hit_rows
        fewer = np.minimum(most, times - 1)  # rows of a hit person who is not counted
        over = matching - (people - hit) * most - hit * fewer
        gain = np.maximum(most - fewer, 1)
        least = np.where(over > 0, -(-over // gain), 0)
        surely = (hit == people) & (most - (rows - matching) >= times)
        least = np.maximum(least, surely)
        greatest = np.minimum(np.minimum(hit, matching // times), (rows - most) // times + 1)
        return least, np.where(most < times, 0, greatest)

    def choices(self) -> "RowChoices":
        """Return how many of the hit rows hit people can have: each number that some world has."""
        (least, greatest), missing = self.totals, self.rows - self.hit_rows
        some, all_ = self.hit_people > 0, self.hit_people == self.people
        # without the person who has M rows: at most s - M; with that person: at least M
        fewer = np.minimum(self.rows - self.most, greatest)
        without = np.maximum(least - missing, 0), np.minimum(self.hit_rows, fewer)
        least_with = np.maximum(np.maximum(least, self.most) - missing, 0)
        with_ = least_with, np.minimum(self.hit_rows, greatest)
        return RowChoices(
            _unless(all_ & (self.rows > 0), without),
            _unless(~some | (self.rows == 0), with_),
        )


def _unless(never: np.ndarray, ends: Ends) -> Ends:
    """Return ends, (0, -1) where nothing is possible."""
    impossible = never | (ends[0] > ends[1])
    return np.where(impossible, 0, ends[0]), np.where(impossible, -1, ends[1])


@dataclass(frozen=True, eq=False)
class RowChoices:
    """The numbers of hit rows that hit people can have: those of two ranges, of which one exists.

    An end below its start means that a range does not exist.
    """

    first: Ends
    second: Ends


def choices_between(fewest: HitGroups, most: HitGroups) -> RowChoices:
    """Return choices that hold if between the fewest and the most people are hit.

    In groups in which it is not known how many are hit, each number between the ends is taken as
    possible, although some may not be: bounds hold, and may be wider than need be.
    """
    exact, certain = most.choices(), fewest.hit_people == most.hit_people
    between, none = (fewest.shared_rows()[0], most.shared_rows()[1]), (0, -1)
    return RowChoices(_either(certain, exact.first, between), _either(certain, exact.second, none))


def _either(chosen: np.ndarray, ends: Ends, others: tuple[ArrayLike, ArrayLike]) -> Ends:
    """Return ends of the chosen groups, and other ones of all others."""
    return np.where(chosen, ends[0], others[0]), np.where(chosen, ends[1], others[1])


@dataclass(frozen=True, eq=False)
class HitValues:
    """The values of the hit rows of groups, whole numbers in units of one scale.

    Attributes:
        group: the group of each value (int64, ascending).
        units: the values, ascending in each group (int64).
        groups: the number of groups.
    """

    group: np.ndarray
    units: np.ndarray
    groups: int

    @cached_property
    def starts(self) -> np.ndarray:
        """The first value of each group, and the end of all (int64, groups + 1)."""
        return np.searchsorted(self.group, np.arange(self.groups + 1))

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of all values before each (int64, one more than values), exact."""
        largest = int(np.abs(self.units).max(initial=0)) * max(len(self.units), 1)
        kind = np.int64 if largest <= INT64_MAX else object
        return np.concatenate([np.zeros(1, dtype=kind), np.cumsum(self.units.astype(kind))])

    def count_below(self, limit: int) -> np.ndarray:
        """Return how many values of each group are below a number (int64)."""
        return np.bincount(self.group[self.units < limit], minlength=self.groups)

    def lowest(self, number: np.ndarray) -> np.ndarray:
        """Return the sum of the lowest so many values of each group."""
        first = self.starts[:-1]
        return np.asarray(self.sums[first + number] - self.sums[first])

    @property
    def with_opposite_sign(self) -> "HitValues":
        """The values with the other sign, ascending again."""
        order = np.lexsort((-self.units, self.group))
        return HitValues(self.group, -self.units[order], self.groups)


def sum_of_hits(values: HitValues, choices: RowChoices) -> tuple[int, int] | None:
    """Return the least and the greatest sum of the hit values of hit people, in units.

    The sum is over all groups together, and over the worlds in which there is a value. Returns None
    if there is none in any world.
    """
    if not _possible(choices).any():
        return None
    return _least_sum(values, choices), -_least_sum(values.with_opposite_sign, choices)


def _least_sum(values: HitValues, choices: RowChoices) -> int:
    """Return the least sum: as many of the lowest values as are below 0, or as can be."""
    best = _best(values, choices, Fraction(0))
    if best.any():
        return int(values.lowest(best).sum())
    return int(values.lowest(_fewest(choices))[_possible(choices)].min())


def _possible(choices: RowChoices) -> np.ndarray:
    """Mark the groups of which hit people can have a hit row (bool)."""
    return np.asarray(np.maximum(choices.first[1], choices.second[1]) > 0)


def _fewest(choices: RowChoices) -> np.ndarray:
    """Return the least positive number of hit rows that hit people can have, 0 if there is none."""
    fewest = np.zeros(len(choices.first[0]), dtype=np.int64)
    for least, greatest in (choices.second, choices.first):
        positive = np.maximum(least, 1)
        better = (positive <= greatest) & ((fewest == 0) | (positive < fewest))
        fewest = np.where(better, positive, fewest)
    return fewest


def mean_of_hits(values: HitValues, choices: RowChoices) -> tuple[Fraction, Fraction] | None:
    """Return the least and the greatest mean of the hit values of hit people, in units.

    The mean is over all groups together, and over the worlds in which there is a value. Returns
    None if there is none in any world.
    """
    least = _least_mean(values, choices)
    greatest = _least_mean(values.with_opposite_sign, choices)
    return None if least is None or greatest is None else (least, -greatest)


def _least_mean(values: HitValues, choices: RowChoices) -> Fraction | None:
    """Return the least mean by Dinkelbach's method, exactly.

    For a mean λ each group takes the number of its lowest values for which their sum is least, λ
    taken off each. If the total is below 0, the mean of what was taken is a better one.
    """
    if not _possible(choices).any():
        return None
    most = np.maximum(np.maximum(choices.first[1], choices.second[1]), 0)
    mean = Fraction(int(values.lowest(most).sum()), int(most.sum()))
    while True:
        best = _best(values, choices, mean)
        taken = int(best.sum())
        if not taken:
            return mean
        better = Fraction(int(values.lowest(best).sum()), taken)
        if better >= mean:
            return mean
        mean = better


def _best(values: HitValues, choices: RowChoices, mean: Fraction) -> np.ndarray:
    """Return how many of its lowest values each group takes, so that sum - mean · number is least.

    Sums of the lowest values are convex in their number: the best one of a range is the number of
    values below the mean, or the end of the range that is nearest to it.
    """
    wished = values.count_below(-(-mean.numerator // mean.denominator))
    options = [np.clip(wished, ends[0], ends[1]) for ends in (choices.first, choices.second)]
    exist = [ends[0] <= ends[1] for ends in (choices.first, choices.second)]
    first, second = (np.maximum(option, 0) for option in options)
    both = exist[0] & exist[1] & (first != second)
    best = np.where(exist[0], first, second)
    if both.any():
        costs = [
            values.lowest(option).astype(object) * mean.denominator
            - option.astype(object) * mean.numerator
            for option in (first, second)
        ]
        best = np.where(both & (costs[1] < costs[0]).astype(bool), second, best)
    return np.asarray(best)
