"""Bounds of questions about people and their related rows, where numbers of rows are published.

Beside what `tasks.query.bounds.related` knows of a group, everybody knows how many rows each person
has (*published*), or these numbers and not whose they are (*shuffled*). A world gives each row to a
person, so that the numbers are as published.

With published numbers the rows of hit people, A, are one number. Shuffled, A is between the sum of
the h smallest and of the h largest numbers, and not every number between them is possible: counts
are attained at these ends, and a sum or mean where it does not lie between. All other bounds here
are attained. They are proved in the guide's page on related tables and held against all worlds of
small groups. Arrays have one entry per group (int64) unless said.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import add_up
from sfumato.tasks.query.bounds.related import Ends, HitGroups, RowChoices


@dataclass(frozen=True, eq=False)
class RowNumbers:
    """Numbers of related rows of people, by group.

    Attributes:
        group: the group of each entry, as a place among some groups (int64, ascending).
        number: the rows of each of its people, descending within a group (int64).
        people: the people of the group who have so many rows (int64).
        groups: the number of groups.
    """

    group: np.ndarray
    number: np.ndarray
    people: np.ndarray
    groups: int

    @classmethod
    def count(
        cls, group: np.ndarray, number: np.ndarray, people: np.ndarray, groups: int
    ) -> "RowNumbers":
        """Return numbers of people, each with a group and how many people it is of, in order."""
        group, number, people = add_up([group, number], people)
        order = np.lexsort((-number, group))
        return cls(group[order], number[order], people[order], groups)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first entry of each group, and the end of all (int64, groups + 1)."""
        return np.searchsorted(self.group, np.arange(self.groups + 1))

    def of_groups(self, chosen: np.ndarray) -> "RowNumbers":
        """Return the numbers of some groups (int64), in their order."""
        first = self.starts[chosen]
        entries = self.starts[chosen + 1] - first
        place = np.repeat(np.arange(len(chosen)), entries)
        entry = np.arange(len(place)) + np.repeat(first - np.cumsum(entries) + entries, entries)
        return RowNumbers(place, self.number[entry], self.people[entry], len(chosen))

    def total(self) -> np.ndarray:
        """Return the rows of all these people."""
        return self._sum(self.number * self.people)

    def people_with(self, times: int) -> np.ndarray:
        """Return the people who have at least so many rows."""
        return self._sum(self.people * (self.number >= times))

    def rows_up_to(self, most: int) -> np.ndarray:
        """Return the rows of all these people, at most so many of each counted."""
        return self._sum(np.minimum(self.number, most) * self.people)

    def largest(self, people: np.ndarray) -> np.ndarray:
        """Return the sum of the largest numbers of so many people of each group."""
        chosen = np.clip(people[self.group] - self._sum_before(self.people), 0, self.people)
        return self._sum(self.number * chosen)

    def fewest_reaching(self, rows: np.ndarray, beyond: int) -> np.ndarray:
        """Return the fewest people whose rows beyond a number come to at least some rows.

        Args:
            rows: the rows to come to; none are needed where it is 0 or below.
            beyond: the rows of each person that do not count.

        Returns:
            The people with the largest numbers who are needed, all of them if they are too few.
        """
        gain = np.maximum(self.number - beyond, 0)
        missing = rows[self.group] - self._sum_before(gain * self.people)
        needed = -(-missing // np.maximum(gain, 1))
        return self._sum(np.clip(needed, 0, np.where(gain > 0, self.people, 0)))

    def _sum(self, each: np.ndarray) -> np.ndarray:
        """Return the sums of an entry's numbers by group, exact."""
        total = np.zeros(self.groups, dtype=np.int64)
        np.add.at(total, self.group, each)
        return total

    def _sum_before(self, each: np.ndarray) -> np.ndarray:
        """Return the sum of the entries of the same group before each one."""
        until = np.cumsum(each) - each
        return np.asarray(until - until[self.starts[self.group]])


@dataclass(frozen=True, eq=False)
class PublishedHits(HitGroups):
    """The people and rows that a question hits in groups whose numbers of rows are published.

    Attributes:
        own: the numbers of rows of the people that it hits.
    """

    own: RowNumbers

    @cached_property
    def totals(self) -> Ends:
        """The related rows that hit people have together, twice."""
        rows = self.own.total()
        return rows, rows

    def people_with(self, times: int) -> Ends:
        """Return the hit people who can have at least so many of the hit rows (times ≥ 1)."""
        without = self.rows - self.own.total() + self.own.rows_up_to(times - 1)
        least = self.own.fewest_reaching(self.hit_rows - without, times - 1)
        return least, np.minimum(self.own.people_with(times), self.hit_rows // times)

    def choices(self) -> RowChoices:
        """Return how many of the hit rows hit people can have: each number that some world has."""
        return _one_range(self.shared_rows())


@dataclass(frozen=True, eq=False)
class ShuffledHits(HitGroups):
    """The people and rows that a question hits in groups whose numbers of rows are shuffled.

    Attributes:
        everyone: the numbers of rows of all people of the groups.
    """

    everyone: RowNumbers

    @cached_property
    def totals(self) -> Ends:
        """The related rows that hit people can have together: least and greatest."""
        others = self.everyone.largest(self.people - self.hit_people)
        return self.rows - others, self.everyone.largest(self.hit_people)

    def people_with(self, times: int) -> Ends:
        """Return the hit people who can have at least so many of the hit rows (times ≥ 1).

        Fewest are hit if all who are not, and those who are counted, have the largest numbers.
        """
        without = self.everyone.rows_up_to(times - 1)
        free = self.everyone.fewest_reaching(self.hit_rows - without, times - 1)
        least = np.maximum(free - (self.people - self.hit_people), 0)
        having = np.minimum(self.everyone.people_with(times), self.hit_rows // times)
        return least, np.minimum(self.hit_people, having)

    def choices(self) -> RowChoices:
        """Return how many of the hit rows hit people can have, and perhaps more numbers."""
        return _one_range(self.shared_rows())

    def sure_choices(self) -> RowChoices:
        """Return numbers of hit rows that hit people have in some world: not all such numbers."""
        missing = self.rows - self.hit_rows
        fewest, most = (
            (np.maximum(rows - missing, 0), np.minimum(self.hit_rows, rows)) for rows in self.totals
        )
        return RowChoices(fewest, most)


def _one_range(ends: Ends) -> RowChoices:
    none = np.zeros(len(ends[0]), dtype=np.int64)
    return RowChoices(ends, (none, none - 1))


def chances_by_numbers(times: int, hits: HitGroups, numbers: RowNumbers) -> np.ndarray:
    """Return the mean chance of some people of a group to have at least so many hit rows each.

    Each row may be of any person alike, as far as numbers of rows admit it. So somebody with n of s
    rows has as many of the c hit rows as there are among n that are drawn without putting any back.

    Args:
        times: the number of rows, at least 1.
        hits: the groups.
        numbers: the numbers of rows of these people.

    Returns:
        float64, one per group; 0 without such people.
    """
    rows, hit_rows = hits.rows[numbers.group], hits.hit_rows[numbers.group]
    cases, place = np.unique(
        np.stack([rows, hit_rows, numbers.number], axis=1), axis=0, return_inverse=True
    )
    fewer = np.zeros(len(cases))
    for number in range(times):
        fewer += _chance_of(number, cases)
    chance = np.clip(1 - fewer, 0.0, 1.0)[place.reshape(-1)]
    people = np.bincount(numbers.group, numbers.people, numbers.groups)
    total = np.bincount(numbers.group, numbers.people * chance, numbers.groups)
    return np.asarray(total / np.maximum(people, 1))


def _chance_of(taken: int, cases: np.ndarray) -> np.ndarray:
    """Return the chance of so many hits, by rows, hit rows, and rows of a person (float64)."""
    rows, hit_rows, number = cases.T
    possible = (taken <= hit_rows) & (taken <= number) & (number - taken <= rows - hit_rows)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(rows.max(initial=0)) + 1)))])

    def ways(total: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        inside = np.where(possible, chosen, 0)
        among = np.where(possible, total, 0)
        return np.asarray(logs[among] - logs[inside] - logs[among - inside])

    each = np.full(len(cases), taken)
    exponent = ways(hit_rows, each) + ways(rows - hit_rows, number - each) - ways(rows, number)
    return np.where(possible, np.exp(exponent), 0.0)
