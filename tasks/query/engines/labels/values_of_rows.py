"""Values that rows have in a column, known or between two limits, and what is made of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import Exact
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.counted_values import ArrowValues, CountedValues, estimate_of
from sfumato.tasks.query.engines.labels.attendance import Attendance, Meant
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.aggregates.kind import AggregateKind


@dataclass(frozen=True, eq=False)
class ValuesOfRows:
    """The least and the greatest value that each row may have in a column.

    Attributes:
        values: ascending, each once.
        exact: makes exact numbers of them.
        low: the position of each row's least value (int64), -1 where it has none.
        high: the position of its greatest.
        expected: how often each value is expected (float64), by rows (int64) and their chances.
        attained: whether each row may have both, whatever else is known of it.
    """

    values: pa.Array
    exact: Callable[[], Exact]
    low: np.ndarray
    high: np.ndarray
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
    attained: bool = True

    def bounds(self, aggregate: Aggregate, meant: Meant, attendance: Attendance) -> Bounds:
        """The aggregate over rows: all that must count, and any of the others."""
        kind = aggregate.kind
        meant = meant.where(self.low[meant.rows] >= 0)
        least, most = attendance.counts(meant)
        if most < kind.fewest:
            return Bounds(None, None, None)
        if kind.of_choices is not None:
            return self._of_choices(kind, meant, attendance)
        bounds = aggregate.bounds_over(self._counted(meant, attendance))
        attained = bounds.attained and self.attained
        return replace(bounds, may_be_empty=least < kind.fewest, attained=attained)

    def _of_choices(self, kind: AggregateKind, meant: Meant, attendance: Attendance) -> Bounds:
        """Bounds with what is expected of how far values are from their mean."""
        if kind.of_choices is None:
            raise TypeError(kind.name)
        numbers = self.exact()
        low, high = (
            attendance.choices(meant, numbers.units[ends[meant.rows]], numbers.digits)
            for ends in (self.low, self.high)
        )
        bounds = kind.of_choices(replace(low, high=high.high))
        squares = self._counted(meant, attendance)
        expected = squares.expected_squares
        if kind.of_squares is None or expected is None:
            return bounds
        if not isinstance(bounds.lower, Fraction) or not isinstance(bounds.upper, Fraction):
            return bounds
        estimate = estimate_of(kind.of_squares(expected, float(squares.expected_rows)))
        return replace(bounds, estimate=within(estimate, bounds.lower, bounds.upper))

    def _counted(self, meant: Meant, attendance: Attendance) -> CountedValues:
        """The least values, as far as lower bounds go, and the greatest for upper bounds."""
        size, chance = len(self.values), attendance.chances(meant)
        low, high = (
            attendance.countings(meant, ends[meant.rows], size)[side]
            for side, ends in enumerate((self.low, self.high))
        )
        return CountedValues(
            values=ArrowValues(self.values),
            exact=self.exact,
            low=low,
            high=high,
            whole=bool(pa.types.is_integer(self.values.type)),
            expected=self.expected(meant.rows, chance),
            expected_rows=chance.sum(),
        )


def known_values(column: Column, exact_of: Callable[[Column], Exact]) -> ValuesOfRows:
    """The values of a column that is published as it is."""
    codes = column.codes

    def expected(rows: np.ndarray, chance: np.ndarray) -> np.ndarray:
        return np.bincount(codes[rows], chance, len(column.values))

    return ValuesOfRows(column.values, lambda: exact_of(column), codes, codes, expected)
