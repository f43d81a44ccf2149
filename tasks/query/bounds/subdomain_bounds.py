"""The bounds of each cell of an answer, from the subdomains that its rows may have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import Exact
from sfumato.tasks.query.bounds.bounds import Bounds, Value, within
from sfumato.tasks.query.bounds.subdomain_extremes import Held, Selected
from sfumato.tasks.query.bounds.values import sum_of, value_of
from sfumato.tasks.query.question.aggregate import Function

Ends = Sequence[tuple[Fraction, Fraction]]


@dataclass(frozen=True, eq=False)
class Expected:
    """How many rows of each cell are expected to count, and which sum is expected of them."""

    rows: np.ndarray
    sums: np.ndarray


class Cells:
    """Cells that select rows of groups, whose values count where a condition holds.

    Attributes:
        least: how many rows of each cell count at least.
        most: how many at most.
    """

    def __init__(
        self,
        held: Held,
        selected: Selected,
        values: pa.Array,
        numbers: Exact | None,
        expected: Expected | None = None,
    ) -> None:
        """Count what each cell has.

        Args:
            held: what the groups show, by the ranks of the values.
            selected: what the cells select.
            values: of the domain, ascending.
            numbers: the same as numbers, None where they are none.
            expected: of the cells, None without estimates.
        """
        self.least, self.most = held.counts(selected)
        self._held, self._selected, self._values = held, selected, values
        self._numbers, self._expected = numbers, expected

    def bounds(self, function: Function) -> list[Bounds]:
        """The bounds of an aggregate in each cell; COUNT, MIN, MAX, of numbers SUM and AVG."""
        if function == "count":
            return self._counts()
        found = self._extremes(function) if function in ("min", "max") else self._numeric(function)
        return [
            replace(bounds, may_be_empty=bool(low == 0)) if high else Bounds(None, None, None)
            for bounds, low, high in zip(found, self.least, self.most, strict=True)
        ]

    def _counts(self) -> list[Bounds]:
        pairs = list(zip(self.least.tolist(), self.most.tolist(), strict=True))
        rows = self._expected.rows if self._expected else None
        near = self._near(rows, [(Fraction(low), Fraction(high)) for low, high in pairs])
        return [Bounds(*pair, of) for pair, of in zip(pairs, near, strict=True)]

    def _extremes(self, function: Function) -> list[Bounds]:
        """The bounds of MIN or MAX."""
        low, high, selected = self._held.low, self._held.high, self._selected
        first, last = (low.outer, high.inner) if function == "min" else (low.inner, high.outer)
        lower, upper = first(selected), len(self._values) - 1 - last(selected)
        return [Bounds(*pair) for pair in zip(self._at(lower), self._at(upper), strict=True)]

    def _at(self, ranks: np.ndarray) -> list[Value]:
        shown = self._values.take(pa.array(np.clip(ranks, 0, len(self._values) - 1)))
        return [value_of(value, self._whole) for value in shown.to_pylist()]

    @cached_property
    def _whole(self) -> bool:
        return bool(pa.types.is_integer(self._values.type))

    def _numeric(self, function: Function) -> list[Bounds]:
        """The bounds of SUM or AVG, and what is expected."""
        ends, expected = self._sums() if function == "sum" else self._means(), None
        if self._expected:
            some = np.where(self._expected.rows > 0, self._expected.rows, np.nan)
            expected = self._expected.sums / (1 if function == "sum" else some)
        whole = self._whole and function == "sum"
        return [
            Bounds(sum_of(low, whole), sum_of(high, whole), of)
            for (low, high), of in zip(ends, self._near(expected, ends), strict=True)
        ]

    def _sums(self) -> Ends:
        low = self._held.low.least_sum(self._selected)
        high = -self._held.high.least_sum(self._selected)
        return [(self._number(a), self._number(b)) for a, b in zip(low, high, strict=True)]

    def _means(self) -> Ends:
        low = zip(*self._held.low.least_mean(self._selected), strict=True)
        high = zip(*self._held.high.least_mean(self._selected), strict=True)
        return [
            (self._number(a) / int(rows), -self._number(b) / int(others))
            for (a, rows), (b, others) in zip(low, high, strict=True)
        ]

    def _number(self, units: int) -> Fraction:
        return Fraction(int(units), 10**self._numbers.digits if self._numbers else 1)

    def _near(self, expected: np.ndarray | None, ends: Ends) -> list[Fraction | None]:
        """What is expected, within the bounds; None where nothing is."""
        if expected is None:
            return [None] * len(ends)
        known = (None if np.isnan(of) else Fraction(float(of)) for of in expected)
        return [within(of, *pair) for of, pair in zip(known, ends, strict=True)]
