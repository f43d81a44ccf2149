"""The values of a column of which some surely count in an answer and others possibly do."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import Exact
from sfumato.tasks.query.bounds.bounds import Value
from sfumato.tasks.query.bounds.extremes import Counting, expected_sum
from sfumato.tasks.query.bounds.values import value_of

_EVEN = np.log(2)  # so many copies are expected among those of which none counts by even chances


class Values(Protocol):
    """Values by their positions."""

    def __getitem__(self, position: int, /) -> Any:
        """The value at a position."""
        ...


class ArrowValues:
    """Values of an Arrow array, each made when it is looked up."""

    def __init__(self, values: pa.Array) -> None:
        """Take the values, ascending, each once."""
        self._values = values

    def __getitem__(self, position: int) -> Any:
        """The value at a position."""
        return self._values[position].as_py()


@dataclass(frozen=True, eq=False)
class CountedValues:
    """Values, ascending, and how many of their copies count, from below and from above.

    Attributes:
        values: each once.
        exact: makes exact numbers of them.
        low: how many copies count, as far as lower bounds go.
        high: the same for upper bounds.
        whole: whether the values are integers.
        expected: how many copies are expected to count (float64), None without estimates.
        expected_rows: how many are expected in all.
    """

    values: Values
    exact: Callable[[], Exact]
    low: Counting
    high: Counting
    whole: bool
    expected: np.ndarray | None
    expected_rows: float

    def at(self, position: int) -> Value:
        """The value at a position."""
        return value_of(self.values[position], self.whole)

    @cached_property
    def numbers(self) -> Exact:
        """The values as exact numbers."""
        return self.exact()

    def expected_end(self, first: int, last: int, *, greatest: bool) -> Value:
        """The least or the greatest value that is expected, between two positions.

        It is the one that is passed with even chances, where copies count independently of each
        other. None without estimates.
        """
        if self.expected is None or np.isnan(self.expected).any():
            return None
        ordered = self.expected[::-1] if greatest else self.expected
        passed = int(np.searchsorted(np.cumsum(ordered), _EVEN))
        place = len(ordered) - 1 - passed if greatest else passed
        return self.at(min(max(place, first), last))

    @cached_property
    def expected_squares(self) -> float | None:
        """The sum of squared deviations from the mean that is expected, None without estimates."""
        if self.expected is None or not self.expected_rows > 0:
            return None
        scale = 10**self.numbers.digits
        numbers = np.array([int(unit) / scale for unit in self.numbers.units], dtype=np.float64)
        mean = float((numbers * self.expected).sum()) / self.expected_rows
        return float(((numbers - mean) ** 2 * self.expected).sum())

    @cached_property
    def expected_sum(self) -> float | None:
        """The sum that is expected, None without estimates."""
        if self.expected is None:
            return None
        total = expected_sum(self.numbers.units, self.expected)
        return float(total / 10**self.numbers.digits)


def estimate_of(number: float | None) -> Fraction | None:
    """A number as an estimate; None where nothing is known."""
    return None if number is None or not np.isfinite(number) else Fraction(float(number))
