"""Rows of a second table in groups of people: counted by group, and what is learnt of their owners.

A group has m people with s related rows, c of them with one value; whoever has the most has `most`.
A world gives each row to a person, so that somebody has `most` and nobody more. The theorems are
proved in the guide (related tables) and held against the enumeration of all worlds of small groups.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counting import Coded, count, count_people
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import HeldValues, People, RelatedRows
from sfumato.expectations.shared.sorting import distinct, starts


def count_related(
    group: np.ndarray,
    owner: np.ndarray,
    sensitive: Mapping[str, Coded],
    *,
    owners: bool = True,
) -> RelatedRows:
    """Count the related rows of groups.

    Args:
        group: the group of each related row's owner (int64).
        owner: the person to whom each related row belongs (integers from 0).
        sensitive: the attributes of related rows that are counted, by name.
        owners: whether the counts have the owners of rows.
    """
    occupied = distinct(group)
    inner = np.searchsorted(occupied, group)
    rows = count(inner, len(occupied), sensitive)
    of_person = np.bincount(owner) if len(owner) else owner
    most = np.zeros(len(occupied), dtype=np.int64)
    np.maximum.at(most, inner, of_person[owner])
    if owners:
        codes = {name: coded.codes for name, coded in sensitive.items()}
        rows = replace(rows, people=count_people(inner, owner, rows, codes))
    return RelatedRows(occupied, rows, most)


def most_common(related: RelatedRows, name: str) -> np.ndarray:
    """Return the rows with the most frequent value of an attribute (int64, one per entry)."""
    return related.rows.counts_of(name).largest


def surely_of_somebody(
    sizes: np.ndarray, related: RelatedRows, name: str, fewest: np.ndarray | int = 0
) -> np.ndarray:
    """Mark the groups in which somebody surely has a value, for who knows no numbers of rows.

    Whoever has the most rows in a group of m people with s rows, has so many; the others could have
    as many each. So everybody has at least s - (m - 1) · most rows, and surely one with a value if
    fewer rows lack it. Facts of people may show that everybody has more.

    Args:
        sizes: the people of each group (int64, one per group).
        related: their rows.
        name: the attribute.
        fewest: the rows that everybody has, at least, as facts show (int64, one per entry).

    Returns:
        bool, one per entry of `related`.
    """
    rows, others = related.rows.sizes, sizes[related.group] - 1
    least = np.maximum(rows - others * related.most, fewest)
    return np.asarray(most_common(related, name) + least > rows)


def fewest_rows(sizes: np.ndarray, related: RelatedRows) -> np.ndarray:
    """Return the rows that everybody of each group has, at least, by the owners of rows.

    Args:
        sizes: the people of each group (int64, one per group).
        related: their rows, with the owners.

    Returns:
        int64, one per entry of `related`; 0 where somebody has none.

    Raises:
        ValueError: where the owners are not known.
    """
    if related.rows.people is None:
        raise ValueError("without the owners of rows, the fewest of a person is not known")
    people = related.rows.people
    least = (
        np.minimum.reduceat(people.rows, starts(people.group)) if len(people.rows) else people.rows
    )
    return np.where(people.sizes < sizes[related.group], 0, least)


def had_by_everybody(sizes: np.ndarray, related: RelatedRows, name: str) -> np.ndarray:
    """Mark the groups of which everybody has a row with one and the same value.

    Whatever else is published of a group's people, not of each by name: while somebody has no such
    row, anybody may be that person, so that nobody surely has one.

    Args:
        sizes: the people of each group (int64, one per group).
        related: their rows, with the owners.
        name: the attribute.

    Returns:
        bool, one per entry of `related`.

    Raises:
        ValueError: where the owners are not known.
    """
    if related.rows.people is None:
        raise ValueError("without the owners of rows, nothing is known of who has a value")
    holdings, counts = related.rows.people.held[name], related.rows.counts_of(name)
    people = np.bincount(holdings.group * counts.values + holdings.value)
    most = np.zeros(len(related.group), dtype=np.int64)
    occurring = np.flatnonzero(people)
    np.maximum.at(most, occurring // counts.values, people[occurring])
    return np.asarray(most >= sizes[related.group])


def surely_of_owner(related: RelatedRows, name: str) -> np.ndarray:
    """Mark the groups in which somebody surely has a value, for who knows all numbers of rows.

    Of c rows with the value among s, whoever has n rows surely has one if c + n > s.

    Returns:
        bool, one per entry of `related`.
    """
    return np.asarray(most_common(related, name) + related.most > related.rows.sizes)


class Insiders:
    """Knowledge of people of a group about the others, from their own rows and all numbers of rows.

    An insider takes the own rows away. Whoever else has n of the rows that are left, surely has one
    with a value if n is more than the rows left without it.
    """

    def __init__(self, related: RelatedRows, name: str) -> None:
        """Take the owners of rows, and their values of an attribute.

        Raises:
            ValueError: where the owners are not known.
        """
        if related.rows.people is None:
            raise ValueError("without the owners of rows, nothing is known of insiders")
        self._people: People = related.rows.people
        self._counts, self._rows = related.rows.counts_of(name), related.rows.sizes
        self._held = _HeldByPeople(self._people, self._people.held[name], self._counts)

    def count_values(self) -> np.ndarray:
        """Return how many values somebody of each group may have, as the best insider sees it.

        It is 1 where an insider is sure of a value, otherwise the fewest values that are left for
        anybody else who has rows; where nobody else has, it is `NOBODY`.

        Returns:
            int64, one per entry of the related rows.
        """
        group = self._people.group
        others = self._most_of_others()
        without = self.rows_without()
        values = self._counts.distinct[group] - self._held.values_of_nobody_else()
        faced = np.where(others > without, 1, values)
        faced = np.where(others > 0, faced, NOBODY)
        return np.asarray(np.minimum.reduceat(faced, starts(group)) if len(group) else group)

    def rows_without(self) -> np.ndarray:
        """Return the rows without some value that each insider leaves, if it is the best one.

        Whoever else has more rows surely has one with that value.

        Returns:
            int64, one per pair of a group and a person with rows.
        """
        group, own = self._people.group, self._people.rows
        return np.asarray(self._rows[group] - own - self._held.most_left())

    def _most_of_others(self) -> np.ndarray:
        """Return the most rows of anybody else in the group of each person (int64)."""
        people = self._people
        descending = np.lexsort((-people.rows, people.group))
        first = starts(people.group)
        follows = np.append(first[1:], len(people.group)) - first > 1
        second = np.where(follows, people.rows[descending[first + follows]], 0)
        most = people.rows[descending[first]][people.group]
        has_most = np.zeros(len(people.group), dtype=bool)
        has_most[descending[first]] = True
        return np.asarray(np.where(has_most, second[people.group], most))


class _HeldByPeople:
    """The values that people hold, beside how often each occurs in their group.

    Results have one entry per pair of a group and a person, as `People` has them (int64).
    """

    def __init__(self, people: People, holdings: HeldValues, counts: Counts) -> None:
        keys = counts.group * counts.values + counts.value
        entry = np.searchsorted(keys, holdings.group * counts.values + holdings.value)
        self._counts, self._entry, self._group = counts, entry, people.group
        self._own, self._all = holdings.rows, counts.count[entry]
        pair = holdings.group * (int(people.person.max(initial=0)) + 1) + holdings.person
        self._first = starts(pair)

    def most_left(self) -> np.ndarray:
        """Return the rows of the most frequent value once the person's own rows are gone."""
        if not len(self._own):
            return self._own
        of_held = np.maximum.reduceat(self._all - self._own, self._first)
        return np.asarray(np.maximum(of_held, self._most_not_held()))

    def values_of_nobody_else(self) -> np.ndarray:
        """Return how many values only this person has."""
        if not len(self._own):
            return self._own
        return np.asarray(np.add.reduceat((self._all == self._own).astype(np.int64), self._first))

    def _most_not_held(self) -> np.ndarray:
        """Return the rows of the most frequent value that the person does not hold, 0 for none.

        A group's values are ranked by their counts. Of the ranks of what somebody holds, the first
        that is missing is that value's.
        """
        counts = self._counts
        descending = np.lexsort((-counts.count, counts.group))
        rank = np.empty(len(descending), dtype=np.int64)
        rank[descending] = np.arange(len(descending)) - counts.starts[counts.group]
        pair = np.repeat(
            np.arange(len(self._first)), np.diff(np.append(self._first, len(self._entry)))
        )
        of_held = rank[self._entry]
        along = np.lexsort((of_held, pair))
        rank_expected = np.arange(len(along)) - self._first[pair]
        misses = of_held[along] != rank_expected
        size = np.bincount(pair, minlength=len(self._first))
        missing = size.copy()  # where the first ranks are all held, it is the next one
        np.minimum.at(missing, pair[misses], rank_expected[misses])
        group = self._group
        exists = missing < counts.distinct[group]
        place = np.where(exists, counts.starts[group] + missing, 0)
        return np.where(exists, counts.count[descending[place]], 0)


NOBODY = np.iinfo(np.int64).max
"""Stands for any number of values, where there is nobody to have them."""
