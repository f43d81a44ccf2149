"""Rows and people by the numbers that they have in a column: counted at once, listed where few."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.shared.sorting import stable_order

Span = tuple[int, int]
"""A range of numbers: the first, and the first one after it."""
Spans = Sequence[Span]
"""Ranges of numbers without one in common."""


@dataclass(frozen=True, eq=False)
class PlacedNumbers:
    """The numbers of rows, or of people, in a column.

    Attributes:
        numbers: the number of each (int16 or int32, from 0).
    """

    numbers: np.ndarray

    @cached_property
    def _ends(self) -> np.ndarray:
        """How many have a number below 0, 1, and so on (int64)."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.numbers))])

    @cached_property
    def _order(self) -> np.ndarray:
        """The places in ascending order of their numbers (int32 where that suffices)."""
        narrow = np.int32 if len(self.numbers) <= np.iinfo(np.int32).max else np.int64
        return stable_order(self.numbers).astype(narrow)

    def times(self, bound: int) -> np.ndarray:
        """Return how many places have each number below a bound, above all numbers (int64)."""
        times = np.diff(self._ends)
        return np.concatenate([times, np.zeros(bound - len(times), dtype=np.int64)])

    def count(self, spans: Spans) -> int:
        """Count the places whose number is in one of some ranges."""
        return sum(end - begin for begin, end in self._limits(spans))

    def within(self, spans: Spans) -> np.ndarray:
        """Return the places whose number is in one of some ranges (int32 or int64, in no order)."""
        limits = self._limits(spans)
        parts = [self._order[begin:end] for begin, end in limits]
        return parts[0] if len(parts) == 1 else np.concatenate([self._order[:0], *parts])

    def are_within(self, places: np.ndarray, spans: Spans) -> np.ndarray:
        """Decide for each of some places whether its number is in one of some ranges (bool)."""
        numbers = self.numbers[places]
        inside = np.zeros(len(numbers), dtype=bool)
        for low, high in spans:
            inside |= (numbers >= low) & (numbers < high)
        return inside

    def _limits(self, spans: Spans) -> list[tuple[int, int]]:
        most = len(self._ends) - 1
        return [
            (int(self._ends[min(low, most)]), int(self._ends[min(high, most)]))
            for low, high in spans
        ]


def common_places(conditions: Sequence[tuple[PlacedNumbers, Spans]]) -> tuple[np.ndarray, int]:
    """Return the places that meet all conditions, and how many were listed to find them.

    The condition that the fewest places meet lists them, and the others are tested on these alone.

    Args:
        conditions: columns, and the ranges of numbers wanted in each; at least one.
    """
    counts = [numbers.count(spans) for numbers, spans in conditions]
    first, *others = sorted(range(len(conditions)), key=counts.__getitem__)
    numbers, spans = conditions[first]
    places = numbers.within(spans)
    for numbers, spans in (conditions[index] for index in others):
        places = places[numbers.are_within(places, spans)]
    return places, counts[first]


def runs_of(admitted: np.ndarray) -> Spans:
    """Return the ranges of numbers that are admitted (bool, by number).

    >>> runs_of(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], admitted, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
