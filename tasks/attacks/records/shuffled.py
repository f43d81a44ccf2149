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

import numpy as np

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
        places, times = self._counted
        wanted = group * self._values + value
        at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
        return np.where((places[at] == wanted) & (value < self._values), times[at], 0)

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
        people = Counter(self._misses(shown, own, value))
        missed = {misses: prod(map(_missed, misses), start=Fraction(1)) for misses in people}
        return sum((people[misses] * (1 - of) for misses, of in missed.items()), Fraction(0))

    @cached_property
    def _values(self) -> int:
        return int(self.cells.max()) + 1

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(self.group * self._values + self.cells, return_counts=True)

    def _misses(self, shown: np.ndarray, own: np.ndarray, value: np.ndarray) -> Iterator[_Misses]:
        """Of each person, the rows of the groups that could show them and what there is of both.

        The fewer of the rows like theirs and of the values like theirs stand before the others.
        """
        _, numbers = np.unique(np.append(shown, own), return_inverse=True)
        vector, wanted = numbers[: len(shown)], numbers[len(shown) :]
        known = shown >= 0
        place = vector[known] * len(self.sizes) + self.group[known]
        place, rows = np.unique(place, return_counts=True)
        of_vector, group = np.divmod(place, len(self.sizes))
        first, last = (np.searchsorted(of_vector, wanted, side) for side in ("left", "right"))
        person, entry = _spread(first, last)
        times = self.times(group[entry], value[person])
        few, many = np.minimum(rows[entry], times), np.maximum(rows[entry], times)
        there = times > 0
        found = np.stack([person, self.sizes[group[entry]], few, many])[:, there]
        found = found[:, np.lexsort(found[::-1])]
        ends = np.searchsorted(found[0], np.arange(len(own)), "right").tolist()
        terms = list(zip(*found[1:].tolist(), strict=True))
        return (tuple(terms[start:end]) for start, end in zip([0, *ends], ends, strict=False))


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


def _spread(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All places of some spans: whose each is, and the place (int64)."""
    length = last - first
    whose = np.repeat(np.arange(len(first)), length)
    return whose, np.arange(len(whose)) + (first - np.cumsum(length) + length)[whose]
