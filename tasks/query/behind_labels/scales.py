"""Values of ordered types as whole numbers in their order."""

import math
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.schema.published import DeclaredColumn

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive, as the values are
_DAY = 86_400 * 10**6  # microseconds
_UNROUNDED = Context(prec=100)  # more digits than a decimal has
_EXACT = 2**50  # up to this size, different numbers are different as floats

Numbers = np.ndarray
"""Whole numbers: int64, or Python integers where differences of them might not fit."""


@dataclass(frozen=True)
class Scale:
    """Values of an ordered type as whole numbers from `lowest` to `highest`, in their order.

    Attributes:
        whole: returns the number of a value.
        value: returns the value of a number.
        near: returns the numbers at a constant and next to it; None if comparisons with it round.
        lengths: returns the lengths of intervals of numbers, both ends included (float64, one per
            pair).
        lowest: the least number.
        highest: the greatest number.
    """

    whole: Callable[[Any], int]
    value: Callable[[int], Any]
    near: Callable[[Any], Iterable[int] | None]
    lengths: Callable[[Numbers, Numbers], np.ndarray]
    lowest: int
    highest: int


def scale_of(column: DeclaredColumn) -> Scale | None:
    """Return the number line of a column's type; None for a type without an order."""
    match column.type:
        case "float":
            return _FLOATS
        case "decimal":
            return _decimals(column.scale or 0)
        case "integer":
            return _INTEGERS
        case "date":
            return _DATES
        case "timestamp":
            return _TIMESTAMPS
    return None


def _steps(
    whole: Callable[[Any], int],
    value: Callable[[int], Any],
    exact: Callable[[Any], Fraction],
    limits: tuple[int, int],
) -> Scale:
    """Return a scale of steps of equal length.

    `exact` returns the place of a constant, which may lie between numbers, and `limits` are the
    least and the greatest number.
    """

    def marks(constant: Any) -> Iterable[int] | None:
        if isinstance(constant, float) and not math.isfinite(constant):
            return ()
        place = exact(constant)
        if isinstance(constant, float) and abs(place) > _EXACT:
            return None
        return range(math.floor(place) - 1, math.ceil(place) + 2)

    return Scale(whole, value, marks, lambda low, high: (high - low + 1).astype(float), *limits)


def _decimals(digits: int) -> Scale:
    return _steps(
        lambda value: int(value.scaleb(digits, _UNROUNDED)),
        lambda number: Decimal(number).scaleb(-digits, _UNROUNDED),
        lambda constant: Fraction(constant) * 10**digits,
        (1 - 10**38, 10**38 - 1),
    )


def _days(moment: date) -> Fraction:
    return Fraction(_microseconds(moment), _DAY)


def _microseconds(moment: date) -> int:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    return (moment - _EPOCH) // timedelta(microseconds=1)


_INTEGERS = _steps(int, int, Fraction, (-INT64_MAX - 1, INT64_MAX))
_DATES = _steps(
    lambda day: (day - _EPOCH.date()).days,
    lambda number: _EPOCH.date() + timedelta(days=number),
    _days,
    ((date.min - _EPOCH.date()).days, (date.max - _EPOCH.date()).days),
)
_TIMESTAMPS = _steps(
    _microseconds,
    lambda number: _EPOCH + timedelta(microseconds=number),
    lambda moment: Fraction(_microseconds(moment)),
    (_microseconds(datetime.min), _microseconds(datetime.max)),  # noqa: DTZ901
)


def _ordinal(value: float) -> int:
    """Return the number of a float: its place among all floats; 0 has the place 0."""
    bits = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return int(bits if bits >= 0 else -(bits & INT64_MAX))


def _floats(ordinals: Numbers) -> np.ndarray:
    """Return the floats of numbers (float64)."""
    places = ordinals.astype(np.int64)
    magnitudes = np.abs(places).view(np.float64)
    return np.where(places >= 0, magnitudes, -magnitudes)


def _float_lengths(low: Numbers, high: Numbers) -> np.ndarray:
    apart = _floats(high) - _floats(low)
    return np.where(apart == 0, _float(1), apart)


def _float(ordinal: int) -> float:
    magnitude: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return magnitude if ordinal >= 0 else -magnitude


_LARGEST: int = _ordinal(sys.float_info.max)
_FLOATS = Scale(
    _ordinal,
    _float,
    lambda constant: range(_ordinal(float(constant)) - 2, _ordinal(float(constant)) + 3),
    _float_lengths,
    -_LARGEST,
    _LARGEST,
)
