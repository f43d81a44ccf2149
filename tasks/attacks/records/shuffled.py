"""What published records tell on average over all ways to shuffle their values within groups.

A permuted table is one draw of many. A lucky draw hides people whom the next one would show, and
what is judged on it judges luck; so each value of a group is as likely in each of its rows.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import perm, prod
from typing import Self

import numpy as np

from sfumato.expectations.sorting import positions

_AT_ONCE = 5_000_000  # pairs of a person and a group
_Misses = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class ShuffledValues:
    """Values that may stand in any row of their group.

    Attributes:
        group: of each published row (int64, from 0).
        cells: the value that stands in each, as a number (int16 or int32, from 0).
    """

    group: np.ndarray
    cells: np.ndarray

    @cached_property
    def sizes(self) -> np.ndarray:
        """The rows of each group (int64)."""
        return np.bincount(self.group)

    def times(self, group: np.ndarray, value: np.ndarray) -> np.ndarray:
        """How often groups have values (int64), given in pairs (integers, one array each)."""
        return self._by_value.times(value, group)

    def draw(self, row: int, drawing: np.random.Generator) -> int:
        """The value of a row, as another shuffle has it."""
        group = self.group[row]
        at = self._starts[group] + drawing.integers(self.sizes[group])
        return int(self._in_order[at] % self._bound)

    def draw_tables(self, number: int, drawing: np.random.Generator) -> np.ndarray:
        """The values of all rows, in so many shuffles (int64, shuffles x rows)."""
        chance = self.group + drawing.random((number, len(self.group)))
        found = np.empty(chance.shape, dtype=np.int64)
        np.put_along_axis(
            found, chance.argsort(axis=1), self._in_order[np.newaxis] % self._bound, axis=1
        )
        return found

    def between(self, group: np.ndarray, span: tuple[int, int]) -> np.ndarray:
        """How many values of groups are from one number on and before another (int64)."""
        low, high = (np.searchsorted(self._in_order, group * self._bound + of) for of in span)
        return np.asarray(high - low)

    @cached_property
    def _bound(self) -> int:
        return int(self.cells.max(initial=0)) + 2

    @cached_property
    def _in_order(self) -> np.ndarray:
        """Groups times a bound, plus the values in them, as they ascend (int64)."""
        return np.asarray(np.sort(self.group * self._bound + self.cells))

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def share_of(self, rows: np.ndarray, value: np.ndarray) -> Fraction:
        """How likely the value of a row is there, on average over rows, at least one.

        Args:
            rows: some of them (positions, int64).
            value: of each (integers).
        """
        group = self.group[rows]
        return mean_share(self.times(group, value), self.sizes[group])

    def share_among(self, rows: np.ndarray, wanted: np.ndarray) -> Fraction:
        """How likely a wanted value is in a row, on average over rows, at least one.

        Args:
            rows: some of them (positions, int64).
            wanted: the published rows whose values are wanted (bool, one per row).
        """
        group = self.group[rows]
        return mean_share(
            np.bincount(self.group[wanted], minlength=len(self.sizes))[group], self.sizes[group]
        )

    def expected_records(self, shown: np.ndarray, own: np.ndarray, value: np.ndarray) -> Fraction:
        """How many of some people have a row with their quasi-identifiers and value, on average.

        In each group by the hypergeometric distribution; groups are shuffled each by itself.

        Args:
            shown: the quasi-identifiers of each row as a number, below 0 where they are labels
                (int64).
            own: those of each person in the same numbers (int64).
            value: theirs (integers).
        """
        _, numbers = np.unique(np.append(shown, own), return_inverse=True)
        vector, wanted = numbers[: len(shown)], numbers[len(shown) :]
        known = shown >= 0
        rows = PlacedItems.of(vector[known], self.group[known], len(self.sizes))
        people = Counter[_Misses]()
        for some in _at_once(np.minimum(rows.groups(wanted), self._by_value.groups(value))):
            people.update(self._misses(rows, wanted[some], value[some]))
        missed = {misses: prod(map(_missed, misses), start=Fraction(1)) for misses in people}
        return sum((people[misses] * (1 - of) for misses, of in missed.items()), Fraction(0))

    @cached_property
    def _by_value(self) -> "PlacedItems":
        return PlacedItems.of(self.cells, self.group, len(self.sizes))

    def _misses(
        self, rows: "PlacedItems", vector: np.ndarray, value: np.ndarray
    ) -> Iterator[_Misses]:
        """Of each person, the rows of the groups that could show them and what there is of both.

        The fewer of the rows like theirs and of the values like theirs stand before the others.
        """
        by_rows = rows.groups(vector) <= self._by_value.groups(value)
        found = []
        for of, items, wanted in ((by_rows, rows, vector), (~by_rows, self._by_value, value)):
            some = np.flatnonzero(of)
            at, group = items.spread(wanted[some])
            person = some[at]
            both = rows.times(vector[person], group), self.times(group, value[person])
            few, many = np.minimum(*both), np.maximum(*both)
            found.append(np.stack([person, self.sizes[group], few, many])[:, few > 0])
        pairs = np.concatenate(found, axis=1)
        pairs = pairs[:, np.lexsort(pairs[::-1])]
        ends = np.searchsorted(pairs[0], np.arange(len(vector)), "right").tolist()
        terms = list(zip(*pairs[1:].tolist(), strict=True))
        return (tuple(terms[start:end]) for start, end in zip([0, *ends], ends, strict=False))


@dataclass(frozen=True, eq=False)
class PlacedItems:
    """How often groups have items, sparse.

    Attributes:
        places: an item's number times the groups, plus a group, of each pair that occurs (int64,
            ascending).
        counts: how often it does (int64).
        bound: how many groups there are.
    """

    places: np.ndarray
    counts: np.ndarray
    bound: int

    @classmethod
    def of(cls, item: np.ndarray, group: np.ndarray, bound: int) -> Self:
        """From items and the groups that they are in (integers, one of each per row)."""
        places, counts = np.unique(item.astype(np.int64) * bound + group, return_counts=True)
        return cls(places, counts, bound)

    def times(self, item: np.ndarray, group: np.ndarray) -> np.ndarray:
        """How often groups have items (int64), given in pairs (integers, one array each)."""
        wanted = item.astype(np.int64) * self.bound + group
        at = np.minimum(positions(self.places, wanted), len(self.places) - 1)
        return np.where(self.places[at] == wanted, self.counts[at], 0) if len(at) else at

    def groups(self, item: np.ndarray) -> np.ndarray:
        """How many groups have each of some items (int64)."""
        first, last = self._span(item)
        return np.asarray(last - first)

    def spread(self, item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The groups that have some items: which of the items, and the group (both int64)."""
        first, last = self._span(item)
        length = last - first
        whose = np.repeat(np.arange(len(item)), length)
        entry = np.arange(len(whose)) + (first - np.cumsum(length) + length)[whose]
        return whose, self.places[entry] % self.bound

    def _span(self, item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = item.astype(np.int64) * self.bound
        return positions(self.places, wanted), positions(self.places, wanted + self.bound)


def _at_once(pairs: np.ndarray) -> Iterator[slice]:
    """Some people at a time, who have no more pairs together than are looked at at once."""
    number = np.cumsum(pairs) // _AT_ONCE
    ends = np.append(np.flatnonzero(np.diff(number)) + 1, len(pairs)).tolist()
    yield from (slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def mean_share(times: np.ndarray, of: np.ndarray) -> Fraction:
    """The mean of some shares, at least one, given as so many of so many (int64, one each)."""
    sizes, at = np.unique(of, return_inverse=True)
    found = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(found, at, times)
    shares = map(Fraction, found.tolist(), sizes.tolist())
    return sum(shares, Fraction(0)) / len(of)


def _missed(term: tuple[int, int, int]) -> Fraction:
    """How likely none of some rows of a group has one of some values, which are as likely in all.

    >>> _missed((4, 1, 2)), _missed((4, 2, 2)), _missed((4, 2, 3))
    (Fraction(1, 2), Fraction(1, 6), Fraction(0, 1))
    """
    size, few, many = term
    return Fraction(perm(size - many, few), perm(size, few))
