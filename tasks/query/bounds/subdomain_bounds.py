"""The bounds of each cell of an answer, from the subdomains that its rows may have."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import QueryError
from sfumato.expectations.exact import Exact
from sfumato.tasks.query.bounds.bounds import Bounds, Value, within
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.bounds.subdomain_choices import choices_of_cells
from sfumato.tasks.query.bounds.subdomain_extremes import Held, Selected
from sfumato.tasks.query.bounds.values import sum_of, value_of

Ends = Sequence[tuple[Fraction, Fraction]]


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected number of each cell's rows that count, and their expected sum (float64)."""

    rows: np.ndarray
    sums: np.ndarray


class OfCells(Protocol):
    """An aggregate: its bounds in every cell, and of how many values it is at least."""

    @property
    def called(self) -> str:
        """Its name in messages."""
        ...

    @property
    def of_cells(self) -> Callable[["Cells"], list[Bounds]] | None:
        """Gives the bounds in every cell, None where it knows none."""
        ...

    @property
    def fewest(self) -> int:
        """The smallest number of values that have an answer."""
        ...


class Cells:
    """Cells that select rows of groups, whose values count where a condition holds.

    Attributes:
        most: how many rows of each cell count at most.
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
        self._least, self.most = held.counts(selected)
        self._held, self._selected, self._values = held, selected, values
        self._numbers, self._expected = numbers, expected

    def counts(self) -> list[Bounds]:
        """The bounds of how many rows count."""
        pairs = list(zip(self._least.tolist(), self.most.tolist(), strict=True))
        rows = self._expected.rows if self._expected else None
        near = self._near(rows, [(Fraction(low), Fraction(high)) for low, high in pairs])
        return [Bounds(*pair, of) for pair, of in zip(pairs, near, strict=True)]

    def least(self) -> list[Bounds]:
        """The bounds of the least value that counts."""
        low, high = self._held.low, self._held.high
        return self._ranked(low.outer(self._selected), high.inner(self._selected))

    def greatest(self) -> list[Bounds]:
        """The bounds of the greatest value that counts."""
        low, high = self._held.low, self._held.high
        return self._ranked(low.inner(self._selected), high.outer(self._selected))

    def _ranked(self, lower: np.ndarray, from_above: np.ndarray) -> list[Bounds]:
        ends = self._at(lower), self._at(len(self._values) - 1 - from_above)
        return [Bounds(*pair) for pair in zip(*ends, strict=True)]

    def sums(self) -> list[Bounds]:
        """The bounds of the sum of what counts, and what is expected of it."""
        low = self._held.low.least_sum(self._selected)
        high = -self._held.high.least_sum(self._selected)
        ends = [(self._number(a), self._number(b)) for a, b in zip(low, high, strict=True)]
        expected = self._expected.sums if self._expected else None
        near = self._near(expected, ends)
        whole = self._whole
        return [
            Bounds(sum_of(low, whole), sum_of(high, whole), of)
            for (low, high), of in zip(ends, near, strict=True)
        ]

    def means(self) -> list[Bounds]:
        """The bounds of the mean of what counts, and what is expected of it."""
        low = zip(*self._held.low.least_mean(self._selected), strict=True)
        high = zip(*self._held.high.least_mean(self._selected), strict=True)
        ends = [
            (self._number(a) / int(rows), -self._number(b) / int(others))
            for (a, rows), (b, others) in zip(low, high, strict=True)
        ]
        expected = None
        if self._expected:
            some = np.where(self._expected.rows > 0, self._expected.rows, np.nan)
            expected = self._expected.sums / some
        near = self._near(expected, ends)
        return [Bounds(*pair, of) for pair, of in zip(ends, near, strict=True)]

    def choices(self) -> Iterator[Choices]:
        """The choices of each cell among its groups' subdomains, as intervals of numbers."""
        digits = self._numbers.digits if self._numbers else 0
        return choices_of_cells(self._held, self._selected, digits)

    def bounds(self, kind: "OfCells") -> list[Bounds]:
        """The bounds of an aggregate in each cell: of fewer values than its fewest it is null.

        Raises:
            QueryError: where it has no bounds here.
        """
        of_cells = require_bounds(kind)
        return [
            replace(bounds, may_be_empty=bool(low < kind.fewest))
            if high >= kind.fewest
            else Bounds(None, None, None)
            for bounds, low, high in zip(of_cells(self), self._least, self.most, strict=True)
        ]

    def _at(self, ranks: np.ndarray) -> list[Value]:
        shown = self._values.take(pa.array(np.clip(ranks, 0, len(self._values) - 1)))
        return [value_of(value, self._whole) for value in shown.to_pylist()]

    @cached_property
    def _whole(self) -> bool:
        return bool(pa.types.is_integer(self._values.type))

    def _number(self, units: int) -> Fraction:
        return Fraction(int(units), 10**self._numbers.digits if self._numbers else 1)

    def _near(self, expected: np.ndarray | None, ends: Ends) -> list[Fraction | None]:
        """The expected numbers, moved within the bounds; None where nothing is expected."""
        if expected is None:
            return [None] * len(ends)
        known = (None if np.isnan(of) else Fraction(float(of)) for of in expected)
        return [within(of, *pair) for of, pair in zip(known, ends, strict=True)]


def require_bounds(kind: OfCells) -> Callable[[Cells], list[Bounds]]:
    """Return what bounds an aggregate in every cell.

    Raises:
        QueryError: where nothing does.
    """
    if kind.of_cells is None:
        raise QueryError(
            f"{kind.called} has no bounds where ranges stand for sensitive values. AVG, MIN, MAX "
            "and COUNT(*) FILTER (WHERE …) have"
        )
    return kind.of_cells
