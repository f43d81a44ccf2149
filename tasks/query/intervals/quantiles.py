"""The law of a quantile: the values whose places among the selected rows may be its place.

How many selected rows have a value, or one below, is expected of groups, and so is how far that may
be off near the quantile. The interval has the values whose expected places are within that of the
place which is asked for (Woodruff, Confidence intervals for medians and other position measures,
Journal of the American Statistical Association 47, 1952).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.tasks.query.intervals.spread import SelectedSize

_SAME = 1e-9  # places, between which rounding alone tells apart


@dataclass(frozen=True, eq=False)
class ExpectedPlaces:
    """The places of values among those of the selected rows, as they are expected.

    A value has the places from `upto` of the one before it to its own.

    Attributes:
        codes: of the values that may be there, ascending (int64).
        upto: how many are expected that are not above each (float64, one per value).
    """

    codes: np.ndarray
    upto: np.ndarray

    @property
    def rows(self) -> float:
        """How many are expected in all."""
        return float(self.upto[-1])

    def of(self, code: int) -> float:
        """How many are expected that are not above a value."""
        at = int(np.searchsorted(self.codes, code, side="right"))
        return float(self.upto[at - 1]) if at else 0.0

    def first(self, place: float) -> int:
        """The first value that has a place, as a position; the last one beyond all places."""
        found = int(np.searchsorted(self.upto, place - _SAME))
        return min(found, len(self.codes) - 1)

    def last(self, place: float) -> int:
        """The last value that has a place, which may be the end of one and the start of another."""
        found = int(np.searchsorted(self.upto, place + _SAME, side="right"))
        return min(found, len(self.codes) - 1)

    def away(self, position: int, place: float) -> float:
        """How far a place is from those of a value."""
        before = self.upto[position - 1] if position else 0.0
        return float(max(before - place, place - self.upto[position], 0.0))


def expected_places(times: np.ndarray) -> ExpectedPlaces:
    """The places of values that are expected so many times (float64, by code)."""
    codes = np.flatnonzero(times > 0)
    return ExpectedPlaces(codes, np.cumsum(times[codes]))


@dataclass(frozen=True, eq=False)
class QuantileSpread:
    """The law of a quantile.

    Attributes:
        size: what the query selects.
        places: of the values.
        place: that of the quantile, within them.
        width: how far from it 95 % of the law end; 0 where the quantile is known.
        numbers: the values by their codes, ascending (float64).
        shown: what shows a value by its code.
    """

    size: SelectedSize
    places: ExpectedPlaces
    place: float
    width: float
    numbers: np.ndarray
    shown: Callable[[int], Any]

    @property
    def estimate(self) -> Any:
        """The value that has the place."""
        return self._shown(self.places.first(self.place))

    @property
    def is_exact(self) -> bool:
        """True where nothing is open."""
        return self.width <= 0

    def interval(self, factor: float) -> tuple[Any, Any]:
        """The values whose places are up to `factor` times as far away."""
        reach = factor * self.width
        low, high = self.places.first(self.place - reach), self.places.last(self.place + reach)
        return self._shown(low), self._shown(high)

    def score(self, truth: float) -> float:
        """The least factor whose interval has the truth; infinite where no two values are about it.

        A quantile may lie between two values: then both are in such an interval.
        """
        numbers = self.numbers[self.places.codes]
        at = int(np.searchsorted(numbers, truth, side="right")) - 1
        if at < 0 or (numbers[at] < truth and at == len(numbers) - 1):
            return math.inf
        is_one = numbers[at] == truth
        end = abs(self.place - float(self.places.upto[at]))
        missed = self.places.away(at, self.place) if is_one else end
        if self.width > 0:
            return missed / self.width
        return math.inf if missed else 0.0

    def _shown(self, position: int) -> Any:
        return self.shown(int(self.places.codes[position]))


@dataclass(frozen=True)
class AskedPlace:
    """Which quantile is asked for.

    Attributes:
        share: of the values that are below it, from 0 to 1.
        between: whether it may lie between two values.
    """

    share: Fraction
    between: bool

    def among(self, rows: float) -> float:
        """Its place among so many values: the middle of those that the value there has.

        >>> AskedPlace(Fraction(1, 2), True).among(5), AskedPlace(Fraction(1, 4), False).among(8)
        (2.5, 1.5)
        """
        if self.between:
            return float(self.share) * max(rows - 1, 0.0) + 0.5
        return max(math.ceil(float(self.share) * rows - _SAME), 1) - 0.5

    def is_known(self, below: tuple[int, int], above: tuple[int, int]) -> bool:
        """Decide whether it surely is some value.

        Args:
            below: how many values may be below it, at most, and how many there are in all then.
            above: the same of those above it.
        """
        first, last = self._ranks(below[1])[0], self._ranks(above[1])[1]
        return first >= below[0] and last < above[1] - above[0]

    def _ranks(self, rows: int) -> tuple[int, int]:
        """The ranks of the values that it is of, or between; they count from 0."""
        if self.between:
            place = self.share * max(rows - 1, 0)
            return math.floor(place), math.ceil(place)
        rank = max(math.ceil(self.share * rows), 1) - 1
        return rank, rank
