"""The extremes of an aggregate over values of which some surely count and others possibly do.

Results are exact, in integers. Values ascend, each once, and counts are parallel to them; `units`
are values as integers (int64 or Python integers). The copies that surely count may differ for lower
bounds (`low`) and upper bounds (`high`), if it is open which people they belong to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.exact import INT64_MAX, Exact
from sfumato.tasks.query.bounds.bounds import Value, value_of

_EVEN = np.log(2)  # if this many copies are expected to count, the chance that none does is 1/2


@dataclass(frozen=True, eq=False)
class Counting:
    """The copies of each value that surely count, and the further copies that may count.

    Both are int64, one per value.
    """

    sure: np.ndarray
    maybe: np.ndarray

    @property
    def some(self) -> bool:
        """True if some copy surely counts."""
        return bool(self.sure.any())

    @property
    def all(self) -> np.ndarray:
        """The greatest number of copies of each value that count (int64, one per value)."""
        together: np.ndarray = self.sure + self.maybe
        return together


def least(low: Counting, high: Counting) -> tuple[int, int]:
    """Return the positions of the lowest and of the highest minimum of at least one value."""
    return _first(low.all), _first(high.sure) if high.some else _last(high.maybe)


def greatest(low: Counting, high: Counting) -> tuple[int, int]:
    """Return the positions of the lowest and of the highest maximum of at least one value."""
    return _last(low.sure) if low.some else _first(low.maybe), _last(high.all)


def total(units: np.ndarray, low: Counting, high: Counting) -> tuple[int, int]:
    """Return the least and the greatest sum of at least one value, in `units` (ascending)."""
    units = _summable(units, low, high)
    bottom = int((units * low.sure).sum() + (np.minimum(units, 0) * low.maybe).sum())
    top = int((units * high.sure).sum() + (np.maximum(units, 0) * high.maybe).sum())
    if not low.some and units[_first(low.maybe)] > 0:
        bottom = int(units[_first(low.maybe)])
    if not high.some and units[_last(high.maybe)] < 0:
        top = int(units[_last(high.maybe)])
    return bottom, top


def mean(units: np.ndarray, low: Counting, high: Counting) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest mean of at least one value, in `units` (ascending)."""
    units = _summable(units, low, high)
    from_above = Counting(high.sure[::-1], high.maybe[::-1])
    return _least_mean(units, low), -_least_mean(-units[::-1], from_above)


def _least_mean(units: np.ndarray, counting: Counting) -> Fraction:
    """Return the least mean of the sure copies and of the best possible ones.

    Values ascend. Each value below the mean so far lowers it, with all its copies; the first value
    that is not below it ends the search.
    """
    if not counting.some:
        return Fraction(int(units[_first(counting.maybe)]))
    sure, maybe = counting.sure, counting.maybe
    totals = np.insert(np.cumsum(units * maybe), 0, 0) + (units * sure).sum()
    rows = np.insert(np.cumsum(maybe), 0, 0) + sure.sum()
    # value >= total / rows, multiplied out
    raises = (maybe > 0) & (units * rows[:-1] >= totals[:-1])
    end = int(np.argmax(np.append(raises, True)))
    return Fraction(int(totals[end]), int(rows[end]))


def expected_sum(units: np.ndarray, expected: np.ndarray) -> float:
    """Return the sum of `units` times `expected` numbers (float64, one per value).

    The sum is NaN if an expected number is NaN (unknown).
    """
    counted = expected != 0
    return float((units[counted].astype(np.float64) * expected[counted]).sum())


def _summable(units: np.ndarray, *countings: Counting) -> np.ndarray:
    """Return the units, as Python integers if sums over the rows or their products may overflow."""
    largest = max(abs(int(units[0])), abs(int(units[-1])))
    rows = max(int(counting.all.sum()) for counting in countings)
    return units if largest * rows <= INT64_MAX else units.astype(object)


def _first(counts: np.ndarray) -> int:
    return int(np.flatnonzero(counts)[0])


def _last(counts: np.ndarray) -> int:
    return int(np.flatnonzero(counts)[-1])


class Values(Protocol):
    """Values by their positions."""

    def __getitem__(self, position: int, /) -> Any:
        """Return the value at a position."""
        ...


class ArrowValues:
    """Values of an Arrow array, each converted when it is looked up."""

    def __init__(self, values: pa.Array) -> None:
        """Take the values, ascending, each once."""
        self._values = values

    def __getitem__(self, position: int) -> Any:
        """Return the value at a position."""
        return self._values[position].as_py()


@dataclass(frozen=True, eq=False)
class CountedValues:
    """Values, ascending, and the copies that count, for lower and for upper bounds.

    Attributes:
        values: the values, each once.
        exact: converts the values to exact numbers.
        low: the copies that count for lower bounds.
        high: the copies that count for upper bounds.
        whole: whether the values are integers.
        expected: the expected number of copies that count (float64); None without estimates.
        expected_rows: the expected number of copies of all values that count.
    """

    values: Values
    exact: Callable[[], Exact]
    low: Counting
    high: Counting
    whole: bool
    expected: np.ndarray | None
    expected_rows: float

    def value_at(self, position: int) -> Value:
        """Return the value at a position."""
        return value_of(self.values[position], self.whole)

    @cached_property
    def numbers(self) -> Exact:
        """The values as exact numbers."""
        return self.exact()

    def expected_end(self, first: int, last: int, *, greatest: bool) -> Value:
        """Return an estimate of the least or of the greatest value that counts.

        It is the first value, from below or from above, up to which some copy counts with a chance
        of at least 1/2, if copies count independently of each other. It is moved to the nearest
        position from `first` to `last`. None without estimates, or if some are unknown.
        """
        if self.expected is None or np.isnan(self.expected).any():
            return None
        ordered = self.expected[::-1] if greatest else self.expected
        passed = int(np.searchsorted(np.cumsum(ordered), _EVEN))
        place = len(ordered) - 1 - passed if greatest else passed
        return self.value_at(min(max(place, first), last))

    @cached_property
    def expected_squares(self) -> float | None:
        """The expected sum of squared deviations from the mean; None without estimates."""
        if self.expected is None or not self.expected_rows > 0:
            return None
        scale = 10**self.numbers.digits
        numbers = np.array([int(unit) / scale for unit in self.numbers.units], dtype=np.float64)
        mean = float((numbers * self.expected).sum()) / self.expected_rows
        return float(((numbers - mean) ** 2 * self.expected).sum())

    @cached_property
    def expected_sum(self) -> float | None:
        """The expected sum; None without estimates."""
        if self.expected is None:
            return None
        total = expected_sum(self.numbers.units, self.expected)
        return float(total / 10**self.numbers.digits)


def estimate_of(number: float | None) -> Fraction | None:
    """Return a number as an estimate; None if it is unknown."""
    return None if number is None or not np.isfinite(number) else Fraction(float(number))
