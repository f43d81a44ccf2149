"""The law of a quantile: the values whose places among the selected rows may be its place.

The number of selected rows with a value or one below is expected from the groups, and so is its
error near the quantile. The interval contains the values whose expected places are within that
error of the quantile's place (Woodruff, Confidence intervals for medians and other position
measures, Journal of the American Statistical Association 47, 1952).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.tasks.query.intervals.spread import SelectedSize

SAME = 1e-9
"""Places; smaller differences are rounding."""


@dataclass(frozen=True, eq=False)
class ExpectedPlaces:
    """The expected places of values among those of the selected rows.

    A place is a number of values, which may be a fraction. A value has the places from `upto` of
    the value before it to its own `upto`.

    Attributes:
        codes: the codes of the values that may be there, ascending (int64).
        upto: the expected number of values that are not above each (float64, one per value).
    """

    codes: np.ndarray
    upto: np.ndarray

    @property
    def rows(self) -> float:
        """The expected number of all values."""
        return float(self.upto[-1])

    def count_upto(self, code: int) -> float:
        """Return the expected number of values not above a value."""
        end = int(np.searchsorted(self.codes, code, side="right"))
        return float(self.upto[end - 1]) if end else 0.0

    def first(self, place: float) -> int:
        """Return the position of the first value with a place; the last one beyond all places."""
        position = int(np.searchsorted(self.upto, place - SAME))
        return min(position, len(self.codes) - 1)

    def last(self, place: float) -> int:
        """Return the position of the last value with a place.

        Where the places of a value end, those of the next one start, so two values have that place.
        """
        position = int(np.searchsorted(self.upto, place + SAME, side="right"))
        return min(position, len(self.codes) - 1)

    def away(self, position: int, place: float) -> float:
        """Return the distance of a place from the places of the value at a position."""
        before = self.upto[position - 1] if position else 0.0
        return float(max(before - place, place - self.upto[position], 0.0))


def expected_places(times: np.ndarray) -> ExpectedPlaces:
    """Return the places of values, given how often each is expected (float64, by code)."""
    codes = np.flatnonzero(times > 0)
    return ExpectedPlaces(codes, np.cumsum(times[codes]))


@dataclass(frozen=True, eq=False)
class QuantileSpread:
    """The law of a quantile.

    Attributes:
        size: the rows and groups that the query selects.
        places: the expected places of the values.
        place: the place of the quantile among these.
        width: the distance from it to both ends of the 95 % range; 0 if the quantile is known.
        numbers: the values by their codes, ascending (float64).
        show: returns a value by its code, as answers show it.
    """

    size: SelectedSize
    places: ExpectedPlaces
    place: float
    width: float
    numbers: np.ndarray
    show: Callable[[int], Any]

    @property
    def estimate(self) -> Any:
        """The value that has the place."""
        return self._value_at(self.places.first(self.place))

    @property
    def is_exact(self) -> bool:
        """True if the quantile is known."""
        return self.width <= 0

    def interval(self, factor: float) -> tuple[Any, Any]:
        """Return the values at the ends of the 95 % range, made `factor` times as wide."""
        reach = factor * self.width
        low, high = self.places.first(self.place - reach), self.places.last(self.place + reach)
        return self._value_at(low), self._value_at(high)

    def score(self, truth: float) -> float:
        """Return the least factor whose interval contains the truth; infinite if no value does.

        A quantile may lie between two values; then the interval must contain both.
        """
        numbers = self.numbers[self.places.codes]
        position = int(np.searchsorted(numbers, truth, side="right")) - 1
        if position < 0 or (numbers[position] < truth and position == len(numbers) - 1):
            return math.inf
        is_value = numbers[position] == truth
        end = abs(self.place - float(self.places.upto[position]))
        missed = self.places.away(position, self.place) if is_value else end
        if self.width > 0:
            return missed / self.width
        return math.inf if missed else 0.0

    def _value_at(self, position: int) -> Any:
        return self.show(int(self.places.codes[position]))


@dataclass(frozen=True)
class QuantilePlace:
    """The quantile that a query asks for.

    Attributes:
        share: the share of the values that are below it, from 0 to 1.
        between: whether it may lie between two values.
    """

    share: Fraction
    between: bool

    def place_among(self, rows: float) -> float:
        """Return its place among a number of values, in the middle of the places of its value.

        >>> QuantilePlace(Fraction(1, 2), True).place_among(5)
        2.5
        >>> QuantilePlace(Fraction(1, 4), False).place_among(8)
        1.5
        """
        if self.between:
            return self._share * max(rows - 1, 0.0) + 0.5
        return max(math.ceil(self._share * rows - SAME), 1) - 0.5

    @property
    def _share(self) -> float:
        return self.share.numerator / self.share.denominator

    def is_known(self, below: tuple[int, int], above: tuple[int, int]) -> bool:
        """Decide whether the quantile surely is a given value.

        Args:
            below: the most values that may be below that value, and the number of all values then.
            above: the most values that may be above it, and the number of all values then.
        """
        # even with as many values below as possible its rank is not below the given value's ranks,
        # and with as many above as possible it is not above them
        first, last = self._ranks(below[1])[0], self._ranks(above[1])[1]
        return first >= below[0] and last < above[1] - above[0]

    def _ranks(self, rows: int) -> tuple[int, int]:
        """Return the ranks, from 0, of the two values that it is or lies between."""
        part, whole = self.share.numerator, self.share.denominator
        if self.between:
            place = part * max(rows - 1, 0)
            return place // whole, -(-place // whole)
        rank = max(-(-part * rows // whole), 1) - 1
        return rank, rank
