"""Bounds: exact in memory, and as JSON with floats rounded outward, so that they still hold.

Values that DuckDB returned, as exact numbers.
"""

import math
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

Value = int | Fraction | Decimal | date | str | None
Json = int | float | str | None


@dataclass(frozen=True)
class Likely:
    """An interval that 95 % of queries like this one meet, without any guarantee for this one.

    Attributes:
        interval: its ends, None where there is none.
        reason: why there is none.
    """

    interval: tuple[Value, Value] | None
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON, beside the bounds."""
        if self.interval is None:
            return {"interval_95": None, "interval_95_reason": self.reason}
        low, high = self.interval
        return {"interval_95": [below(low), above(high)]}


@dataclass(frozen=True)
class Bounds:
    """A lower and an upper limit that surely contain the answer, and what is expected of it.

    All None where there is no answer: an aggregate of no rows. The estimate is None where none was
    asked for, and between texts. Where `may_be_empty`, it may be that no row is meant, and the
    answer is null. What is `likely` stands beside them in releases whose intervals were calibrated.

    Bounds that are not `attained` are calculated of others that may not come to their ends
    together: they hold, and may be wider than need be. Where a calculation is `unbounded`, it has
    no limits though it may have an answer.
    """

    lower: Value
    upper: Value
    estimate: Value = None
    may_be_empty: bool = False
    likely: Likely | None = None
    attained: bool = True
    unbounded: bool = False

    def document(self) -> dict[str, Any]:
        """As JSON: integers stay integers, other numbers become floats rounded outward."""
        bounds: dict[str, Any] = {
            "lower": below(self.lower),
            "upper": above(self.upper),
            "estimate": nearest(self.estimate),
        }
        bounds |= {"may_be_empty": True} if self.may_be_empty else {}
        bounds |= {} if self.attained else {"attained": False}
        bounds |= {"unbounded": True} if self.unbounded else {}
        return bounds | (self.likely.document() if self.likely else {})


def within(estimate: Fraction | None, lower: Fraction, upper: Fraction) -> Fraction | None:
    """The estimate, or the bound that it is beyond, for no rows count in it as nothing."""
    return None if estimate is None else min(max(estimate, lower), upper)


def with_estimate(bounds: Bounds) -> Bounds:
    """Bounds with an estimate: the answer where they meet, else their middle if there is none.

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
    """What is between two numbers or dates, None where they are neither."""
    if isinstance(lower, date) and isinstance(upper, date):
        return lower + (upper - lower) / 2
    numbers = [
        Fraction(end)
        for end in (lower, upper)
        if isinstance(end, int | Fraction | Decimal) and not isinstance(end, bool)
    ]
    return sum(numbers, Fraction(0)) / 2 if len(numbers) == 2 else None


def nearest(value: Value) -> Json:
    """The value as JSON holds it, at the nearest float where it is no integer."""
    if isinstance(value, Fraction | Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else value


def below(value: Value) -> Json:
    """The value as JSON, at the largest float that is not above it.

    >>> below(Decimal("0.1")), above(Decimal("0.1"))
    (0.09999999999999999, 0.1)
    """
    return _towards(value, -math.inf)


def above(value: Value) -> Json:
    """The value as JSON, at the smallest float that is not below it."""
    return _towards(value, math.inf)


def _towards(value: Value, end: float) -> Json:
    rounded = nearest(value)
    if not isinstance(value, Fraction | Decimal) or not isinstance(rounded, float):
        return rounded
    missed = Fraction(rounded) > Fraction(value) if end < 0 else Fraction(rounded) < Fraction(value)
    return math.nextafter(rounded, end) if missed else rounded


def sum_of(number: Fraction, whole: bool) -> Value:
    """A sum of numbers, as an integer where they are."""
    return int(number) if whole else number


def value_of(value: Any, whole: bool) -> Value:
    """The exact value that DuckDB returned: a float counts as the decimal number it prints as."""
    if whole:
        return int(value)
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Decimal | date | str | int):
        return value
    raise TypeError(type(value).__name__)
