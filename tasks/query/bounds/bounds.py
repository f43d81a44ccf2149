"""Bounds: exact in memory, and as JSON with floats rounded outward, so that they still hold.

It also converts values that DuckDB returned to exact numbers.
"""

import math
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

Value = int | Fraction | Decimal | date | str | None
Json = int | float | str | None


@dataclass(frozen=True)
class Likely:
    """An interval that contains the answers of 95 % of queries like this one.

    It does not guarantee anything for this query.

    Attributes:
        interval: its ends; None if there is no interval.
        reason: the reason why there is none.
    """

    interval: tuple[Value, Value] | None
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """Return the interval as JSON, to be shown beside the bounds."""
        if self.interval is None:
            return {"interval_95": None, "interval_95_reason": self.reason}
        low, high = self.interval
        return {"interval_95": [json_below(low), json_above(high)]}


@dataclass(frozen=True)
class Bounds:
    """A lower and an upper limit that surely contain the answer, with an estimate.

    The numbers are exact: integers, fractions or decimals; of dates and texts, values of that kind.

        5 in bounds          whether the answer may be 5
        float(bounds)        the estimate as a float
        bounds.is_exact      whether the answer is known

    Attributes:
        lower: the answer is not below it; None if there is no answer, as for an aggregate over no
            rows.
        upper: the answer is not above it; None as `lower`.
        estimate: the expected answer, without guarantee; None if none was asked for, or if the
            bounds are different texts.
        may_be_empty: possibly too few rows count, and the answer is null.
        likely: an interval that contains the answers of 95 % of such queries, or the reason why
            there is none; None for bounds alone.
        attained: some table that the release could come from has each bound as its answer.
            Otherwise they are computed from bounds that may not reach their ends together: they
            contain the answer, but may be wider than necessary.
        unbounded: a calculation has no limits, although it may have an answer.
    """

    lower: Value
    upper: Value
    estimate: Value = None
    may_be_empty: bool = False
    likely: Likely | None = None
    attained: bool = True
    unbounded: bool = False

    @property
    def is_exact(self) -> bool:
        """True if the answer is known: both bounds are the same, and it is surely not null."""
        same = self.lower is not None and self.lower == self.upper
        return same and not self.may_be_empty and not self.unbounded

    def __contains__(self, value: Any) -> bool:
        if self.unbounded:
            return True
        if value is None or self.lower is None:
            return value is None and (self.may_be_empty or self.lower is None)
        return bool(self.lower <= value <= self.upper)

    def __repr__(self) -> str:
        values = ((item, getattr(self, item.name)) for item in fields(self))
        parts = [f"{item.name}={value!r}" for item, value in values if value != item.default]
        return f"Bounds({', '.join(parts)})"

    def __float__(self) -> float:
        """Return the estimate, or the answer if both bounds are the same.

        Raises:
            ValueError: if there is no number.
        """
        number = self.lower if self.lower == self.upper else self.estimate
        if number is None or isinstance(number, str | date):
            raise ValueError("the bounds have no estimate that is a number")
        return float(number)

    def document(self) -> dict[str, Any]:
        """Return the bounds as JSON: integers stay, other numbers become floats rounded outward."""
        bounds: dict[str, Any] = {
            "lower": json_below(self.lower),
            "upper": json_above(self.upper),
            "estimate": json_nearest(self.estimate),
        }
        bounds |= {"may_be_empty": True} if self.may_be_empty else {}
        bounds |= {} if self.attained else {"attained": False}
        bounds |= {"unbounded": True} if self.unbounded else {}
        return bounds | (self.likely.document() if self.likely else {})


def clamp_estimate(estimate: Fraction | None, lower: Fraction, upper: Fraction) -> Fraction | None:
    """Return the estimate, or the bound that it lies beyond: it may expect less than one row."""
    return None if estimate is None else min(max(estimate, lower), upper)


def with_estimate(bounds: Bounds) -> Bounds:
    """Return bounds with an estimate: an exact answer, or their middle if none is given.

    >>> with_estimate(Bounds(2, 5)).estimate, with_estimate(Bounds("a", "a")).estimate
    (Fraction(7, 2), 'a')
    >>> with_estimate(Bounds("a", "b")).estimate is None
    True
    """
    if bounds.lower is None:
        return bounds
    if bounds.lower == bounds.upper:
        return replace(bounds, estimate=bounds.lower)
    if bounds.estimate is not None:
        return bounds
    return replace(bounds, estimate=_middle(bounds.lower, bounds.upper))


def _middle(lower: Value, upper: Value) -> Value:
    """Return the middle of two numbers or dates; None for other values."""
    if isinstance(lower, date) and isinstance(upper, date):
        return lower + (upper - lower) / 2
    numbers = [
        Fraction(end)
        for end in (lower, upper)
        if isinstance(end, int | Fraction | Decimal) and not isinstance(end, bool)
    ]
    return sum(numbers, Fraction(0)) / 2 if len(numbers) == 2 else None


def json_nearest(value: Value) -> Json:
    """Return the value as JSON; numbers that are not integers become the nearest float."""
    if isinstance(value, Fraction | Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else value


def json_below(value: Value) -> Json:
    """Return the value as JSON; numbers become the largest float that is not above them.

    >>> json_below(Decimal("0.1")), json_above(Decimal("0.1"))
    (0.09999999999999999, 0.1)
    """
    return _round_towards(value, -math.inf)


def json_above(value: Value) -> Json:
    """Return the value as JSON; numbers become the smallest float that is not below them."""
    return _round_towards(value, math.inf)


def _round_towards(value: Value, end: float) -> Json:
    rounded = json_nearest(value)
    if not isinstance(value, Fraction | Decimal) or not isinstance(rounded, float):
        return rounded
    missed = Fraction(rounded) > Fraction(value) if end < 0 else Fraction(rounded) < Fraction(value)
    return math.nextafter(rounded, end) if missed else rounded


def sum_of(number: Fraction, whole: bool) -> Value:
    """Return a sum, as an integer if `whole`."""
    return int(number) if whole else number


def value_of(value: Any, whole: bool) -> Value:
    """Return the exact value that DuckDB returned; a float is the decimal number it prints as.

    Args:
        value: the value, not null.
        whole: whether its column has integers.

    Raises:
        TypeError: if the value is of another type than an answer can have.
    """
    if whole:
        return int(value)
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Decimal | date | str | int):
        return value
    raise TypeError(type(value).__name__)
