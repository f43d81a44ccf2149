"""The outcome of a random query: bounds, and the truth over the represented rows."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.accuracy.truth import as_fraction
from sfumato.tasks.query.bounds.bounds import Bounds


class Outcome(NamedTuple):
    """Bounds, the truth, whether the bounds allow for there being none, and an estimate."""

    lower: Fraction | None
    upper: Fraction | None
    truth: Fraction | None
    may_be_empty: bool = False
    estimate: Fraction | None = None


def outcome_of(bounds: Bounds, truth: Fraction | None) -> Outcome:
    """The outcome of a query, by an answer and the truth."""
    limits = as_fraction(bounds.lower), as_fraction(bounds.upper)
    return Outcome(*limits, truth, bounds.may_be_empty, as_fraction(bounds.estimate))


class Queries(Protocol):
    """Random queries of a workload."""

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """Lower bound, upper bound and truth of one more query; None where nothing can be asked."""
        ...


class OriginalColumn:
    """A column of the original, whose values are looked up."""

    def __init__(self, column: Column) -> None:
        self._values = _ordered(column.values)
        self._codes = column.codes

    def between(self, low: Any, high: Any) -> np.ndarray:
        """The rows that have a value from low to high (bool, one per row)."""
        first, end = bisect_left(self._values, low), bisect_right(self._values, high)
        return (self._codes >= first) & (self._codes < end)

    def there(self) -> np.ndarray:
        """The rows that have a value (bool, one per row)."""
        found: np.ndarray = self._codes >= 0
        return found

    def among(self, values: Sequence[Any]) -> np.ndarray:
        """The rows that have one of these values (bool, one per row)."""
        wanted = set(values)
        known = np.array([*(value in wanted for value in self._values), False])
        found: np.ndarray = known[self._codes]
        return found


def _ordered(values: pa.Array) -> list[Any]:
    """Ascending values without NaN, which is in no window; their positions are their codes."""
    return [value for value in values.to_pylist() if value == value]
