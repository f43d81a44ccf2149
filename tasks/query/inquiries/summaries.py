"""Summaries of the rows of an answer: how many there are, and sums, means and extremes.

A row that may not be in the answer, or whose value may be null, is optional. The bounds are those
over all choices of optional rows and all values within the bounds of each row. Rows are treated as
independent, so the bounds may be wider than necessary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import isfinite
from typing import Any

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import NULL, UNBOUNDED, number, whole
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate, with_estimate
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.inquiries.ordering import guess_of
from sfumato.tasks.query.intervals.shapes import with_reason
from sfumato.tasks.query.question.inquiry import RowSummary
from sfumato.tasks.sql.parse import quote_name

Numbers = Sequence[Fraction]
_ZERO = Fraction(0)


@dataclass(frozen=True)
class BoundedNumber:
    """A number within bounds; it is summarized only if it is there, and sure ones always are."""

    low: Fraction
    high: Fraction
    guess: Fraction
    sure: bool


def summarize_rows(answer: Answer, summaries: Sequence[RowSummary], beside: bool) -> Answer:
    """Return the answer of one row that summarizes the rows of an answer.

    If `beside`, each summary has the reason why it has no likely interval.

    Raises:
        QueryError: where hidden values may be several rows, or a column has no numbers.
    """
    if any(answer.rest):
        raise QueryError(
            "an aggregate of groups is not possible here, because hidden values (*) may be "
            "several groups. Leave them out with WHERE"
        )
    row = {summary.label: _summary(answer, summary) for summary in summaries}
    if beside:
        row = {label: with_reason(bounds) for label, bounds in row.items()}
    return replace(
        answer,
        columns=tuple(row),
        rows=(row,),
        certain=(True,),
        rest=(False,),
        by_estimate=False,
    )


def _summary(answer: Answer, summary: RowSummary) -> Bounds:
    column = summary.column
    if column is None:
        return _count(sum(answer.certain), len(answer.rows))
    cells = [
        (row[column], is_certain)
        for row, is_certain in zip(answer.rows, answer.certain, strict=True)
    ]
    if summary.name == "count":
        sure = sum(is_certain and not _may_be_null(cell) for cell, is_certain in cells)
        return _count(sure, sum(not _is_null(cell) for cell, _ in cells))
    if any(isinstance(cell, Bounds) and cell.unbounded for cell, _ in cells):
        return UNBOUNDED
    return summarize_numbers(
        summary.name,
        [
            bounded_number(cell, column, is_certain)
            for cell, is_certain in cells
            if not _is_null(cell)
        ],
    )


def _count(sure: int, possible: int) -> Bounds:
    return with_estimate(Bounds(sure, possible, attained=sure == possible))


def _is_null(cell: Any) -> bool:
    """Decide whether a value is surely null."""
    return cell is None or (isinstance(cell, Bounds) and cell.lower is None and not cell.unbounded)


def _may_be_null(cell: Any) -> bool:
    return cell is None or (isinstance(cell, Bounds) and (cell.lower is None or cell.may_be_empty))


def bounded_number(cell: Any, column: str, is_certain: bool) -> BoundedNumber:
    """Return a value of a row as a number.

    Args:
        cell: the value, or its bounds; not null.
        column: its name.
        is_certain: whether the row is surely there.

    Raises:
        QueryError: if it is no number.
    """
    bounds = cell if isinstance(cell, Bounds) else Bounds(cell, cell)
    low, high, guess = (_number(v, column) for v in (bounds.lower, bounds.upper, guess_of(cell)))
    return BoundedNumber(low, high, guess, is_certain and not bounds.may_be_empty)


def _number(value: Any, column: str) -> Fraction:
    if isinstance(value, float) and isfinite(value):
        return Fraction(value)
    if isinstance(value, bool | float):
        raise QueryError(
            f"an aggregate of groups needs numbers, and {quote_name(column)} has other values"
        )
    return number(value)


def summarize_numbers(name: str, numbers: Sequence[BoundedNumber]) -> Bounds:
    """Bound the sum, mean, minimum or maximum of the numbers that are there.

    >>> ten = BoundedNumber(Fraction(10), Fraction(10), Fraction(10), sure=True)
    >>> optional = BoundedNumber(Fraction(2), Fraction(4), Fraction(3), sure=False)
    >>> bounds = summarize_numbers("sum", [ten, optional])
    >>> bounds.lower, bounds.upper
    (10, 14)
    """
    if not numbers:
        return NULL
    least, least_of_negatives = _LEAST[name]
    low = least([n.low for n in numbers if n.sure], [n.low for n in numbers if not n.sure])
    high = -least_of_negatives(
        [-n.high for n in numbers if n.sure], [-n.high for n in numbers if not n.sure]
    )
    estimate = clamp_estimate(least([n.guess for n in numbers], []), low, high)
    may_be_empty = not any(n.sure for n in numbers)
    attained = low == high and not may_be_empty
    return Bounds(whole(low), whole(high), estimate, may_be_empty, attained=attained)


def _least_sum(sure: Numbers, optional: Numbers) -> Fraction:
    negative = [value for value in optional if value < 0]
    if not sure and not negative:
        return min(optional)  # a sum of no rows is null
    return sum((*sure, *negative), Fraction(0))


def _least_mean(sure: Numbers, optional: Numbers) -> Fraction:
    """Return the least mean, that of the sure numbers and the smallest of the optional ones."""
    values = [*sure, *sorted(optional)]
    means = [total / size for size, total in enumerate(accumulate(values), 1)]
    return min(means[max(len(sure), 1) - 1 :])


def _least_minimum(sure: Numbers, optional: Numbers) -> Fraction:
    return min((*sure, *optional))


def _least_maximum(sure: Numbers, optional: Numbers) -> Fraction:
    return max(sure) if sure else min(optional)


_LEAST: Mapping[
    str,
    tuple[Callable[[Numbers, Numbers], Fraction], Callable[[Numbers, Numbers], Fraction]],
] = {
    "sum": (_least_sum, _least_sum),
    "avg": (_least_mean, _least_mean),
    "min": (_least_minimum, _least_maximum),
    "max": (_least_maximum, _least_minimum),
}
"""The least value of each aggregate, and that of minus the aggregate of the negative numbers."""


@dataclass
class RunningSum:
    """A sum that grows number by number; its bounds are those of `summarize_numbers`.

    Attributes:
        numbers: how many there are.
        sure: how many of them are surely there.
        low: the sum of lower bounds of sure numbers, and of negative ones of the others.
        high: the sum of upper bounds of sure numbers, and of positive ones of the others.
        guess: the sum of the estimates.
        negative: how many others may be negative.
        positive: how many others may be positive.
        least: the least lower bound of the others; None without any.
        greatest: the greatest upper bound of the others; None without any.
    """

    numbers: int = 0
    sure: int = 0
    low: Fraction = _ZERO
    high: Fraction = _ZERO
    guess: Fraction = _ZERO
    negative: int = 0
    positive: int = 0
    least: Fraction | None = None
    greatest: Fraction | None = None

    def add(self, added: BoundedNumber) -> None:
        """Add a number."""
        self.numbers += 1
        self.guess += added.guess
        if added.sure:
            self.sure += 1
            self.low += added.low
            self.high += added.high
            return
        self.negative += added.low < 0
        self.positive += added.high > 0
        self.low += min(added.low, _ZERO)
        self.high += max(added.high, _ZERO)
        self.least = added.low if self.least is None else min(self.least, added.low)
        self.greatest = added.high if self.greatest is None else max(self.greatest, added.high)

    def bounds(self, there: BoundedNumber | None = None) -> Bounds:
        """Return the bounds of the sum.

        Args:
            there: one of the numbers that may be missing, if this one is there.
        """
        if not self.numbers:
            return NULL
        low, high, sure = self.low, self.high, self.sure
        if there is not None:
            low += max(there.low, _ZERO)
            high += min(there.high, _ZERO)
            sure += 1
        if not sure:  # a sum of no numbers is null
            low = low if self.negative or self.least is None else self.least
            high = high if self.positive or self.greatest is None else self.greatest
        estimate = clamp_estimate(self.guess, low, high)
        attained = low == high and sure > 0
        return Bounds(whole(low), whole(high), estimate, sure == 0, attained=attained)
