"""Axes of plots: the values with ticks and their labels, in exact arithmetic.

A page is compared byte by byte with the one rendered elsewhere, so nothing here may depend on a
machine's floating point, on a locale or on a library's version.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.expectations.shared.numbers import plain

_TICKS = 6  # steps on an axis, at most
_LONGEST = 12  # characters of a tick's label
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_Unit = Literal["Y", "M", "D", "h", "m", "s"]
_Step = tuple[_Unit, int]
_YEARS: tuple[_Step, ...] = tuple(
    ("Y", digit * 10**power) for power in range(7) for digit in (1, 2, 5)
)
_DAYS: tuple[_Step, ...] = (
    *(("D", n) for n in (1, 2, 7, 14)),
    *(("M", n) for n in (1, 2, 3, 6)),
    *_YEARS,
)
_SECONDS: tuple[_Step, ...] = (
    *(("s", n) for n in (1, 2, 5, 10, 15, 30)),
    *(("m", n) for n in (1, 2, 5, 10, 15, 30)),
    *(("h", n) for n in (1, 2, 3, 6, 12)),
    *_DAYS,
)


@dataclass(frozen=True)
class Axis:
    """An interval of values, the ticks in it, and the power of ten their labels leave out."""

    low: Fraction
    high: Fraction
    ticks: tuple[tuple[Fraction, str], ...]
    exponent: int = 0

    def place(self, value: Fraction) -> Fraction:
        """Return the place of a value, from 0 at the low end to 1 at the high end."""
        return (value - self.low) / (self.high - self.low)

    @property
    def factor(self) -> str:
        """The factor by which the labels are to be multiplied, '' for none."""
        return f"×10{str(self.exponent).translate(_SUPERSCRIPT)}" if self.exponent else ""


def axis(low: Fraction, high: Fraction, kind: str) -> Axis:
    """Return an axis for values of a column type: calendar ticks for dates and timestamps."""
    if kind == "date":
        return _calendar(low, high, "D", _DAYS)
    if kind == "timestamp":
        return _calendar(low, high, "s", _SECONDS)
    return number_axis(low, high, whole=kind == "integer")


def number_axis(low: Fraction, high: Fraction, *, whole: bool) -> Axis:
    """Return an axis whose ticks are multiples of 1, 2 or 5 times a power of ten.

    >>> [label for _, label in number_axis(Fraction(0), Fraction(3100), whole=True).ticks]
    ['0', '1,000', '2,000', '3,000', '4,000']
    """
    span = high - low or abs(low) / 10 or Fraction(1)
    step = nice_step(span / (_TICKS - 1))
    if whole:
        step = max(step, Fraction(1))
    first, last = low // step, -((-high) // step)
    last = max(last, first + 1)
    values = [step * n for n in range(first, last + 1)]
    exponent = _exponent(max(abs(values[0]), abs(values[-1])))
    labels = [_label(value / Fraction(10) ** exponent) for value in values]
    return Axis(values[0], values[-1], tuple(zip(values, labels, strict=True)), exponent)


def nice_step(raw: Fraction) -> Fraction:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least `raw` (> 0).

    >>> nice_step(Fraction(13)), nice_step(Fraction(3, 10))
    (Fraction(20, 1), Fraction(1, 2))
    """
    power = Fraction(1)
    while power * 10 <= raw:
        power *= 10
    while power > raw:
        power /= 10
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= raw)


def thousands(number: Fraction | int) -> str:
    """Return a number with separators between thousands.

    >>> thousands(1427), thousands(Fraction(-24693, 2)), thousands(Fraction(1, 3))
    ('1,427', '-12,346.5', '1/3')
    """
    text = str(plain(Fraction(number)))
    if "/" in text:
        return text
    whole, dot, decimals = text.lstrip("-").partition(".")
    return f"{'-' if text.startswith('-') else ''}{int(whole):,}{dot}{decimals}"


def value_text(value: Fraction, kind: str) -> str:
    """Return a value of a column type as people write it.

    >>> value_text(Fraction(2), "date"), value_text(Fraction(90), "timestamp")
    ('1970-01-03', '1970-01-01 00:01:30')
    >>> value_text(Fraction(5), "float")
    '5'
    """
    if kind == "date":
        return str(np.datetime64(int(value // 1), "D"))
    if kind == "timestamp":
        return str(np.datetime64(int(value // 1), "s")).replace("T", " ")
    return thousands(value)


def _exponent(largest: Fraction) -> int:
    """Return a multiple of three that shortens labels, 0 where they are short already."""
    if largest >= 10**6:
        return (len(str(int(largest))) - 1) // 3 * 3
    exponent = 0
    while 0 < largest < Fraction(1, 100):
        largest, exponent = largest * 1000, exponent - 3
    return exponent


def _label(value: Fraction) -> str:
    text = thousands(value)
    return text if len(text) <= _LONGEST else f"{float(value):.6g}"


def _calendar(low: Fraction, high: Fraction, base: _Unit, steps: Sequence[_Step]) -> Axis:
    """Return an axis with ticks at whole days, months, years, … counted in `base` since 1970."""
    start, end = int(low // 1), max(int(-((-high) // 1)), int(low // 1) + 1)
    for unit, size in steps:
        first = _count(start, base, unit) // size * size
        if (_count(end, base, unit) - first) // size < _TICKS - 1:
            ticks = tuple(_calendar_ticks(first, end, base, unit, size))
            return Axis(ticks[0][0], ticks[-1][0], ticks)
    return number_axis(low, high, whole=True)


def _count(moment: int, base: _Unit, unit: _Unit) -> int:
    return int(np.datetime64(moment, base).astype(f"datetime64[{unit}]").astype(np.int64))


def _calendar_ticks(
    first: int, end: int, base: _Unit, unit: _Unit, size: int
) -> Iterator[tuple[Fraction, str]]:
    reached, number = None, first
    while reached is None or reached < end:
        moment = np.datetime64(number, unit)
        reached = int(moment.astype(f"datetime64[{base}]").astype(np.int64))
        yield Fraction(reached), _date_label(moment, unit)
        number += size


def _date_label(moment: np.datetime64, unit: str) -> str:
    text = str(moment.astype("datetime64[s]")) if unit in "hms" else str(moment)
    if unit == "s":
        return text.rpartition("T")[2]
    return text[5:16].replace("T", " ") if unit in "hm" else text
