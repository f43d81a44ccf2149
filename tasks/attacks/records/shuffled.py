"""Averages over all ways to shuffle published values within their groups.

A permuted table is one draw of many. A lucky draw hides people whom the next one would show, so a
verdict on one draw would judge luck. Here each value of a group is equally likely in each of its
rows.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import perm, prod
from typing import Self

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.sorting import lengths, positions, starts, tally
from sfumato.tasks.attacks.records.columns import Spans

_AT_ONCE = 5_000_000  # pairs of a person and a group
_BITS = 192  # of the whole numbers that stand for chances, in units of 2 ** -_BITS
_MOST_STEPS = 12  # in which values are looked for in all groups together
_Term = tuple[int, int, int]
"""A group that could show a person: its rows, and the fewer and the more of two numbers.

The two numbers are its rows with the person's quasi-identifiers and its values that are the
person's.
"""
_Terms = tuple[_Term, ...]
"""All groups that could show a person, ascending."""


@dataclass(frozen=True, eq=False)
class OnlyRows:
    """Rows with the quasi-identifiers of people.

    Attributes:
        row: the only row that has a person's quasi-identifiers, below 0 for none or several
            (position, int64).
        times: how often that row's group has the person's value (int64).
    """

    row: np.ndarray
    times: np.ndarray


def only_rows(published: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the only row that has each person's quasi-identifiers (int64), -1 for none or several.

    Args:
        published: the quasi-identifiers of each row as a number, below 0 where they are labels
            (int64).
        own: the quasi-identifiers of each person in the same numbers (int64).
    """
    whole = np.flatnonzero(published >= 0)
    if not len(whole):
        return np.full(len(own), -1)
    row = np.full(1 + max(int(published.max()), int(own.max(initial=-1))), -1, dtype=np.int64)
    row[published[whole]] = whole
    is_other = row[published[whole]] != whole
    row[published[whole[is_other]]] = -1
    return np.asarray(row[own])


@dataclass(frozen=True, eq=False)
class ShuffledValues:
    """Values that may be in any row of their group.

    Attributes:
        group: the group of each published row (int64, from 0).
        cells: the value of each row, as a number (int16 or int32, from 0).
    """

    group: np.ndarray
    cells: np.ndarray

    @cached_property
    def sizes(self) -> np.ndarray:
        """The rows of each group (int64)."""
        return np.bincount(self.group)

    def times(self, group: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Count how often groups have values (int64), given in pairs (integers, one array each)."""
        value = np.minimum(value, self._bound - 1)
        sought = group * self._bound + value
        place = np.minimum(self._places(group, value), len(self._in_order) - 1)
        is_there = self._in_order[place] == sought
        return np.where(is_there, self._run_lengths[place], 0)

    def draw(self, rows: np.ndarray, drawing: np.random.Generator) -> np.ndarray:
        """Return the value of each of some rows in another shuffle, one of its own (int32)."""
        group = self.group[rows]
        place = self._starts[group] + drawing.integers(self.sizes[group])
        return np.asarray(self._cells_in_order[place])

    def count_between(
        self, group: np.ndarray, low: np.ndarray | int, high: np.ndarray | int
    ) -> np.ndarray:
        """Count the values of groups from a low end to before a high one (all int64).

        Ends may be above all values of rows.
        """
        return np.asarray(self._count_below(group, high) - self._count_below(group, low))

    def _count_below(self, group: np.ndarray, value: np.ndarray | int) -> np.ndarray:
        """Count the values of groups below an end (int64); most ends are below all, or above."""
        value = np.broadcast_to(value, group.shape)
        below = np.where(value <= 0, 0, self.sizes[group])
        some = np.flatnonzero((value > 0) & (value < self._bound - 1))
        below[some] = self._places(group[some], value[some]) - self._starts[group[some]]
        return below

    def _places(self, group: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return where values are, or would be inserted first, among those of groups (int64).

        Values below the bound are looked for in all groups together, which are small and so near.
        """
        sizes, place = self.sizes[group], self._starts[group]
        bits = int(sizes.max(initial=0)).bit_length()
        if bits > _MOST_STEPS:
            return positions(self._in_order, group * self._bound + value)
        end, last = place + sizes, len(self._in_order) - 1
        narrow, cells = value.astype(np.int32), self._cells_in_order
        for bit in reversed(range(bits)):
            tested = place + ((1 << bit) - 1)
            is_below = cells.take(np.minimum(tested, last)) < narrow
            is_below &= tested < end
            place += is_below.astype(np.int64) << bit
        return np.asarray(place)

    @cached_property
    def _bound(self) -> int:
        return int(self.cells.max(initial=0)) + 2

    @cached_property
    def _in_order(self) -> np.ndarray:
        """Groups times a bound, plus the values in them, ascending (int64)."""
        return np.asarray(np.sort(self.group * self._bound + self.cells))

    @cached_property
    def _cells_in_order(self) -> np.ndarray:
        """The values of all groups, ascending in each (int32)."""
        return (self._in_order % self._bound).astype(np.int32)

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def _run_lengths(self) -> np.ndarray:
        """The rows with the value at each place, of its group, where it is the first (int64)."""
        first = starts(self._in_order)
        times = np.zeros(len(self._in_order), dtype=np.int64)
        times[first] = lengths(first, len(times))
        return times

    def share_among(self, rows: np.ndarray, spans: Spans) -> Fraction:
        """Return the chance that a row's value is in a range, on average over rows, at least one.

        Args:
            rows: some published rows (positions, int64).
            spans: the ranges of values.
        """
        group, times = np.unique(self.group[rows], return_counts=True)
        matching = np.zeros(len(group), dtype=np.int64)
        for low, high in spans:
            matching += self.count_between(group, low, high)
        return mean_share(np.repeat(matching, times), np.repeat(self.sizes[group], times))

    def only_rows(self, row: np.ndarray, value: np.ndarray) -> OnlyRows:
        """Count how often the groups of only rows have people's values (see `OnlyRows`)."""
        times, person = np.zeros(len(row), dtype=np.int64), np.flatnonzero(row >= 0)
        times[person] = self.times(self.group[row[person]], value[person])
        return OnlyRows(row, times)

    def expected_share(
        self,
        published: np.ndarray,
        own: np.ndarray,
        value: np.ndarray,
        everyone: int,
        rows: OnlyRows | None = None,
    ) -> float:
        """Return the share of people whom some row shows with all their values, on average.

        A group shows a person by chance: the number of rows that match is hypergeometric, and
        groups are shuffled independently. The share is exact, and rounded once to a float.

        Args:
            published: the quasi-identifiers of each row as a number, below 0 where they are labels
                (int64).
            own: the quasi-identifiers of each person in the same numbers (int64).
            value: the value of each person (integers).
            everyone: the number of people of whom it is the share; all others have no such row.
            rows: the only rows of these people, if they were counted before.
        """
        if rows is None:
            rows = self.only_rows(only_rows(published, own), value)
        people = self._count_by_only_rows(rows)
        some = np.flatnonzero(rows.row < 0)
        return _share_shown(
            people + self._count_others(published, own[some], value[some]), everyone
        )

    def _count_by_only_rows(self, rows: OnlyRows) -> Counter[_Terms]:
        """Count the people whose only row could show them by the same term."""
        some = np.flatnonzero(rows.times)
        times = rows.times[some]
        bound = int(times.max(initial=0)) + 1
        size = self.sizes[self.group[rows.row[some]]]
        keys, number = tally(size * bound + times, (int(size.max(initial=0)) + 1) * bound)
        terms = zip(*(each.tolist() for each in (*np.divmod(keys, bound), number)), strict=True)
        return Counter({((size, 1, many),): people for size, many, people in terms})

    def _count_others(
        self, published: np.ndarray, own: np.ndarray, value: np.ndarray
    ) -> Counter[_Terms]:
        """Count the people who could be shown by the same terms, in any rows."""
        people = Counter[_Terms]()
        is_own = np.zeros(1 + max(int(published.max()), int(own.max(initial=-1))), dtype=bool)
        is_own[own] = True
        whole = np.flatnonzero(published >= 0)
        whole = whole[is_own[published[whole]]]
        if not len(whole):
            return people
        numbers, _ = dense(np.append(published[whole], own))
        vector, person_vector = numbers[: len(whole)], numbers[len(whole) :]
        rows = PlacedItems.from_rows(vector, self.group[whole], len(self.sizes))
        by_value = self._by_value.groups(value)
        for some in _slices(np.minimum(rows.groups(person_vector), by_value)):
            people += _count_alike(*self._terms(rows, person_vector[some], value[some]))
        return people

    @cached_property
    def _by_value(self) -> "PlacedItems":
        return PlacedItems.from_rows(self.cells, self.group, len(self.sizes))

    def _terms(
        self, rows: "PlacedItems", vector: np.ndarray, value: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the groups that could show each person.

        Args:
            rows: the published rows by their quasi-identifiers.
            vector: the quasi-identifiers of each person, as a number (int64).
            value: the value of each person (integers).

        Returns:
            The person of each (position, int64), and the numbers of `_Term` (int64, three rows).
        """
        # a person's groups are listed by rows or by values, whichever are in fewer groups
        by_rows = rows.groups(vector) <= self._by_value.groups(value)
        parts = []
        both = (rows, vector), (self._by_value, value)
        for mask, listed, looked_up in ((by_rows, *both), (~by_rows, *both[::-1])):
            (items, numbers), (others, other_numbers) = listed, looked_up
            some = np.flatnonzero(mask)
            place, group, times = items.spread(numbers[some])
            person = some[place]
            other = others.times(other_numbers[person], group)
            few, many = np.minimum(times, other), np.maximum(times, other)
            parts.append(np.stack([person, self.sizes[group], few, many])[:, few > 0])
        pairs = np.concatenate(parts, axis=1)
        return pairs[0], pairs[1:]


@dataclass(frozen=True, eq=False)
class PlacedItems:
    """Counts of items in groups, sparse.

    Attributes:
        places: for each pair of an item and a group that occurs, the item times the number of
            groups, plus the group (int64, ascending).
        counts: the count of each such pair (int64).
        bound: the number of groups.
    """

    places: np.ndarray
    counts: np.ndarray
    bound: int

    @classmethod
    def from_rows(cls, item: np.ndarray, group: np.ndarray, bound: int) -> Self:
        """Count items in groups (integers, one of each per row)."""
        most = (int(item.max(initial=0)) + 1) * bound
        return cls(*tally(item.astype(np.int64) * bound + group, most), bound)

    @cached_property
    def _starts(self) -> np.ndarray:
        """The first pair of each item, and twice the number of pairs at last (int64)."""
        ends = np.cumsum(np.bincount(self.places // self.bound))
        return np.concatenate([[0], ends, [len(self.places)]])

    def times(self, item: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Count how often groups have items (int64), given in pairs (integers, one array each)."""
        pair = item.astype(np.int64) * self.bound + group
        place = np.minimum(positions(self.places, pair), len(self.places) - 1)
        return np.where(self.places[place] == pair, self.counts[place], 0) if len(place) else place

    def groups(self, item: np.ndarray) -> np.ndarray:
        """Count the groups that have each of some items (int64)."""
        first, last = self._span(item)
        return np.asarray(last - first)

    def spread(self, item: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all pairs of an item, by its position, and a group that has it, with the count."""
        first, last = self._span(item)
        length = last - first
        whose = np.repeat(np.arange(len(item)), length)
        entry = np.arange(len(whose)) + (first - np.cumsum(length) + length)[whose]
        return whose, self.places[entry] % self.bound, self.counts[entry]

    def _span(self, item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        item = np.minimum(item, len(self._starts) - 2)  # of which no row has one
        return self._starts[item], self._starts[item + 1]


def _slices(pairs: np.ndarray) -> Iterator[slice]:
    """Yield slices of people with few enough pairs to look at together."""
    number = np.cumsum(pairs) // _AT_ONCE
    ends = np.append(np.flatnonzero(np.diff(number)) + 1, len(pairs)).tolist()
    yield from (slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def mean_share(times: np.ndarray, totals: np.ndarray) -> Fraction:
    """Return the mean of some shares `times / totals`, at least one (int64, one each)."""
    place, number = dense(totals)
    sizes = np.empty(number, dtype=np.int64)
    sizes[place] = totals
    sums = np.zeros(number, dtype=np.int64)
    np.add.at(sums, place, times)
    shares = map(Fraction, sums.tolist(), sizes.tolist())
    return sum(shares, Fraction(0)) / len(totals)


def _count_alike(person: np.ndarray, numbers: np.ndarray) -> Counter[_Terms]:
    """Count the people who could be shown by the same terms (see `ShuffledValues._terms`)."""
    if not len(person):
        return Counter[_Terms]()
    first_place, place = _alike_rows(numbers.T)
    terms = [tuple(term) for term in numbers[:, first_place].T.tolist()]
    # two runs that ascend are merged by a stable sort
    ordered = np.sort(person * len(terms) + place, kind="stable")
    person, place = np.divmod(ordered, len(terms))
    first = starts(person)
    length = np.diff(first, append=len(person))
    people = Counter[_Terms]()
    for of_each in np.unique(length).tolist():
        begin = first[length == of_each]
        places = place[begin[:, np.newaxis] + np.arange(of_each)]
        first_person, alike = _alike_rows(places)
        times = np.bincount(alike)
        for chosen, number in zip(places[first_person].tolist(), times.tolist(), strict=True):
            people[tuple(terms[position] for position in chosen)] += number
    return people


def _alike_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find equal rows of a matrix of non-negative numbers (int64, at least one), by columns.

    Returns:
        The first of each set of equal rows (position, int64), and the number of the set of each
        row (int64); sets are numbered in the order of their rows' numbers.
    """
    place = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        place, number = dense(place * (int(column.max()) + 1) + column)
    first = np.empty(number, dtype=np.int64)
    first[place[::-1]] = np.arange(len(rows))[::-1]
    return first, place


def _share_shown(people: Counter[_Terms], everyone: int) -> float:
    """Return the share of people who are expected to be shown, the exact one rounded once.

    It is computed in whole numbers of 192 bits, with a bound on their error. Only where that could
    round to two floats is it computed with fractions, whose denominators have thousands of bits in
    large groups.
    """
    least_missed = error = 0
    unit = 1 << _BITS
    at_least = cache(_least_chance_missed)
    for terms, number in people.items():
        chance = unit
        for term in terms:
            chance = chance * at_least(term) >> _BITS
        least_missed += number * chance
        error += number * sum(few + 1 for _, few, _ in terms)
    most_shown = people.total() * unit - least_missed
    ends = {float(Fraction(end, everyone * unit)) for end in (most_shown - error, most_shown)}
    return ends.pop() if len(ends) == 1 else float(expected_number(people) / everyone)


def expected_number(people: Counter[_Terms]) -> Fraction:
    """Return the number of people who are expected to be shown, by the terms that could do it."""
    missed = {terms: prod(map(_chance_missed, terms), start=Fraction(1)) for terms in people}
    return sum((people[terms] * (1 - chance) for terms, chance in missed.items()), Fraction(0))


def _least_chance_missed(term: _Term) -> int:
    """Return a chance (see `_chance_missed`) in units of 2 ** -_BITS.

    It is rounded down as often as the group has the fewer of both numbers, so it is less than that
    many units too small.
    """
    size, few, many = term
    chance = 1 << _BITS
    for place in range(few):
        chance = chance * max(size - many - place, 0) // (size - place)
    return chance


def _chance_missed(term: _Term) -> Fraction:
    """Return the chance that none of some rows of a group has one of some values.

    >>> _chance_missed((4, 1, 2)), _chance_missed((4, 2, 2)), _chance_missed((4, 2, 3))
    (Fraction(1, 2), Fraction(1, 6), Fraction(0, 1))
    """
    size, few, many = term
    return Fraction(perm(size - many, few), perm(size, few))
