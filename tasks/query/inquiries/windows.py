"""Ranks and running totals over the rows of an answer, with bounds.

A rank is 1 plus the number of rows that come before. Rows whose bounds overlap may come in either
order, and a row that may not be in the answer may not count: the bounds contain all cases. They
apply if the row itself is in the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import UNBOUNDED, number
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.inquiries.ordering import AnsweredRow, sort_key
from sfumato.tasks.query.inquiries.summaries import bounded_number, summarize_numbers
from sfumato.tasks.query.question.inquiry import Inquiry, OrderKey, RowWindow


@dataclass(frozen=True)
class Outcomes:
    """The possible orders of two values or rows."""

    before: bool
    equal: bool
    after: bool

    @property
    def surely_before(self) -> bool:
        """True if the first one comes before the second in every case."""
        return self.before and not self.equal and not self.after


def add_windows(inquiry: Inquiry, rows: Sequence[AnsweredRow]) -> list[AnsweredRow]:
    """Return the rows with the bounds of the inquiry's windows.

    Raises:
        QueryError: where hidden values may be several rows.
    """
    windows = inquiry.windows
    if any(row.rest for row in rows):
        raise QueryError(
            "a rank or a running total is not possible here, because hidden values (*) may be "
            "several rows of the answer. Leave them out with WHERE"
        )
    return [
        replace(row, bounds={**row.bounds, **{w: _bounds(w, place, rows) for w in windows}})
        for place, row in enumerate(rows)
    ]


def _bounds(window: RowWindow, place: int, rows: Sequence[AnsweredRow]) -> Bounds:
    """Return the bounds of a window in the row at a place, if this row is in the answer."""
    row = rows[place]
    others = [
        other
        for n, other in enumerate(rows)
        if n != place and _partition(window, other) == _partition(window, row)
    ]
    compared = [(other, compare_rows(other, row, window.order)) for other in others]
    if window.value is not None:
        earlier = [other for other, outcomes in compared if not outcomes.after]
        return _total(window, [replace(row, certain=True), *earlier])
    surely = sum(other.certain and outcomes.surely_before for other, outcomes in compared)
    ties = window.name == "row_number"
    possibly = sum(outcomes.before or (ties and outcomes.equal) for _, outcomes in compared)
    return with_estimate(Bounds(1 + surely, 1 + possibly, attained=surely == possibly))


def _partition(window: RowWindow, row: AnsweredRow) -> list[Any]:
    return sort_key([row.key[key] for key in window.partition])


def _total(window: RowWindow, rows: Sequence[AnsweredRow]) -> Bounds:
    """Return the bounds of the sum over rows."""
    if window.value is None:
        raise TypeError(window)
    cells = [(row.bounds[window.value], row.certain) for row in rows]
    if any(cell.unbounded for cell, _ in cells):
        return UNBOUNDED
    return summarize_numbers(
        "sum",
        [
            bounded_number(cell, window.name, is_certain)
            for cell, is_certain in cells
            if cell.lower is not None
        ],
    )


def compare_rows(first: AnsweredRow, second: AnsweredRow, order: Sequence[OrderKey]) -> Outcomes:
    """Return the possible orders of two rows."""
    before = after = False
    for key in order:
        outcomes = _compare(first, second, key)
        before |= outcomes.before
        after |= outcomes.after
        if not outcomes.equal:
            return Outcomes(before, False, after)
    return Outcomes(before, True, after)


def _compare(first: AnsweredRow, second: AnsweredRow, key: OrderKey) -> Outcomes:
    if isinstance(key.by, int):
        value, other = (Bounds(row.key[key.by], row.key[key.by]) for row in (first, second))
    else:
        value, other = first.bounds[key.by], second.bounds[key.by]
    return compare_bounds(value, other, key.descending, key.nulls_first)


def compare_bounds(first: Bounds, second: Bounds, descending: bool, nulls_first: bool) -> Outcomes:
    """Return the possible orders of two values within bounds.

    >>> compare_bounds(Bounds(1, 4), Bounds(4, 5), descending=False, nulls_first=False)
    Outcomes(before=True, equal=True, after=False)
    >>> compare_bounds(Bounds(None, None), Bounds(4, 5), descending=False, nulls_first=False)
    Outcomes(before=False, equal=False, after=True)
    """
    if first.unbounded or second.unbounded:
        return Outcomes(True, True, True)
    nulls = [bounds.lower is None or bounds.may_be_empty for bounds in (first, second)]
    values = [bounds.lower is not None for bounds in (first, second)]
    before = (nulls[0] and values[1] and nulls_first) or (
        values[0] and nulls[1] and not nulls_first
    )
    after = (values[0] and nulls[1] and nulls_first) or (nulls[0] and values[1] and not nulls_first)
    equal = all(nulls)
    if all(values):
        low, high = _comparable(first.lower), _comparable(first.upper)
        other_low, other_high = _comparable(second.lower), _comparable(second.upper)
        is_less, is_greater = low < other_high, high > other_low
        before |= is_greater if descending else is_less
        after |= is_less if descending else is_greater
        equal |= low <= other_high and other_low <= high
    return Outcomes(before, equal, after)


def _comparable(value: Any) -> Any:
    """Return a value that compares with others of its kind; NaN is above all numbers."""
    if isinstance(value, Fraction | Decimal):
        return sort_key([number(value)])
    return sort_key([value])
