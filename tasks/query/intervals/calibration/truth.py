"""The truths of random queries: any aggregate of a column of the original, over chosen rows."""

from fractions import Fraction
from functools import cached_property

import numpy as np

from sfumato.expectations.exact import Exact, exact
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.bounds.counted_values import ArrowValues, CountedValues
from sfumato.tasks.query.bounds.extremes import Counting
from sfumato.tasks.query.question.aggregate import Aggregate


class TruthOfColumn:
    """A column of the original, whose nulls are passed over."""

    def __init__(self, column: Column) -> None:
        """Take the column."""
        self._column = column

    def chosen(self, rows: np.ndarray) -> np.ndarray:
        """The codes of the values of chosen rows (int32); `rows` is bool, one per row."""
        codes: np.ndarray = self._column.codes[rows]
        return codes[codes >= 0]

    def answer(self, aggregate: Aggregate, codes: np.ndarray) -> float | None:
        """The aggregate over values, by their codes; None where there is none."""
        kind = aggregate.kind
        if kind.truth is not None:
            truth = kind.truth(self._numbers, codes)
            return None if truth is None else float(truth)
        if len(codes) < kind.fewest:
            return None
        if kind.of_squares is not None:
            numbers = self._floats[codes]
            return kind.of_squares(float(((numbers - numbers.mean()) ** 2).sum()), len(numbers))
        return self._quantile(aggregate, codes)

    def _quantile(self, aggregate: Aggregate, codes: np.ndarray) -> float:
        """Where it is known which values count, both bounds are the quantile."""
        times = np.bincount(codes, minlength=len(self._column.values)).astype(np.int64)
        known = Counting(times, np.zeros_like(times))
        values = ArrowValues(self._column.values)
        counted = CountedValues(
            values, lambda: self._numbers, known, known, False, None, len(codes)
        )
        found = aggregate.bounds_over(counted).lower
        return float(Fraction(found)) if isinstance(found, int | Fraction) else float("nan")

    @cached_property
    def _numbers(self) -> Exact:
        return exact(self._column.values, self._column.name)

    @cached_property
    def _floats(self) -> np.ndarray:
        floats: np.ndarray = self._numbers.units.astype(np.float64) / 10**self._numbers.digits
        return floats
