"""Charts as geometry: axes in exact arithmetic, and shapes over two of them.

A page is compared byte by byte with the one rendered elsewhere, so nothing here may depend on a
machine's floating point, on a locale or on a library's version. Coordinates are user units of an
SVG, rounded exactly. Colours come from classes of the stylesheet: pages allow no other styles.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.tasks.report.numbers import rough, thousands

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


def number_axis(low: Fraction, high: Fraction, *, whole: bool, steps: int = _TICKS) -> Axis:
    """Return an axis whose ticks are multiples of 1, 2 or 5 times a power of ten.

    Args:
        low: the least value.
        high: the largest one.
        whole: whether the ticks are whole numbers.
        steps: the number of steps between ticks, at most.

    >>> [label for _, label in number_axis(Fraction(0), Fraction(3100), whole=True).ticks]
    ['0', '1,000', '2,000', '3,000', '4,000']
    """
    span = high - low or abs(low) / 10 or Fraction(1)
    step = nice_step(span / (steps - 1))
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
    return text if len(text) <= _LONGEST else rough(float(value))


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


WIDTH = 440
CHARACTER = 8  # width of a tick's character, generously
_ROOM = 28  # characters above a chart
RIGHT = WIDTH - 40  # of a chart: half of the last label lies right of it
_TOP = 24  # below the text above the vertical axis
_BELOW = 42  # for the labels and the title of the horizontal axis
_GAP = 2  # characters between labels


@dataclass(frozen=True)
class Tick:
    """A tick at a coordinate, and what is written there."""

    at: str
    label: str


@dataclass(frozen=True)
class Words:
    """The words of a plot: its heading, its text alternative, and the titles of its axes."""

    title: str
    summary: str
    x_title: str
    y_title: str


def coordinate(number: Fraction) -> str:
    """Return a coordinate with at most two decimals.

    >>> coordinate(Fraction(10, 3)), coordinate(Fraction(-1, 2)), coordinate(Fraction(7))
    ('3.33', '-0.5', '7')
    """
    hundredths = round(number * 100)
    text = f"{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if hundredths < 0 else text


def text_above_axis(name: str, scale: Axis) -> str:
    """Return the text above a vertical axis, cut to fit; wide letters count twice."""
    text = f"{name} {scale.factor}".strip()
    room = _ROOM
    for position, letter in enumerate(text):
        room -= 1 if letter.isascii() else 2
        if room < 0:
            return f"{text[:position]}… {scale.factor}".strip()
    return text


@dataclass(frozen=True)
class Dot:
    """A dot at a place, with a text that a pointer shows."""

    x: str
    y: str
    text: str = ""


@dataclass(frozen=True)
class Chart:
    """Geometry and words of a chart.

    Attributes:
        words: its texts.
        height: the height of the picture.
        left: the left edge of what is inside the axes.
        x_ticks: the ticks of the horizontal axis.
        y_ticks: the ticks of the vertical axis.
        shapes: paths with their classes, in the order in which they are drawn.
        dots: the dots above them.
    """

    words: Words
    height: int
    left: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    shapes: tuple[tuple[str, str], ...]
    dots: tuple[Dot, ...] = field(default=())

    width, right = WIDTH, RIGHT

    @property
    def bottom(self) -> int:
        """The lower edge of what is inside the axes."""
        return self.height - _BELOW


@dataclass(frozen=True)
class Frame:
    """Places of values inside the axes of a chart."""

    x: Axis
    y: Axis
    height: int
    right: Fraction = Fraction(RIGHT)

    @property
    def left_edge(self) -> int:
        """The left edge, after the labels of the vertical axis."""
        return 14 + CHARACTER * max(len(label) for _, label in self.y.ticks)

    @property
    def bottom(self) -> int:
        """The lower edge."""
        return self.height - _BELOW

    def x_place(self, value: Fraction) -> Fraction:
        """Return the horizontal place of a value."""
        return self.left_edge + self.x.place(value) * (self.right - self.left_edge)

    def y_place(self, value: Fraction) -> Fraction:
        """Return the vertical place of a value."""
        return self.bottom - self.y.place(value) * (self.bottom - _TOP)

    def box(self, start: Fraction, end: Fraction, value: Fraction) -> str:
        """Return a filled box between two horizontal places, from the axis to a value."""
        top = min(self.y_place(value), Fraction(self.bottom - 1))
        edges = coordinate(start), coordinate(end)
        return f"M{edges[0]} {self.bottom}V{coordinate(top)}H{edges[1]}V{self.bottom}z"

    def line(self, points: Iterable[tuple[Fraction, Fraction]]) -> str:
        """Return a line through points, each a horizontal and a vertical value."""
        places = (f"{coordinate(self.x_place(x))} {coordinate(self.y_place(y))}" for x, y in points)
        return f"M{'L'.join(places)}"

    def dot(self, x: Fraction, y: Fraction, text: str) -> Dot:
        """Return a dot at two values."""
        return Dot(coordinate(self.x_place(x)), coordinate(self.y_place(y)), text)

    def chart(
        self,
        words: Words,
        x_ticks: Sequence[Tick],
        shapes: Iterable[tuple[str, str]],
        dots: Iterable[Dot] = (),
    ) -> Chart:
        """Return the chart of these axes; the factor of its labels stands above the vertical one.

        Args:
            words: its texts.
            x_ticks: the ticks of the horizontal axis.
            shapes: classes and paths, of which empty ones are left out.
            dots: the dots above them.
        """
        above = text_above_axis(words.y_title, self.y)
        return Chart(
            Words(words.title, words.summary, words.x_title, above),
            self.height,
            self.left_edge,
            tuple(x_ticks),
            tuple(Tick(coordinate(self.y_place(value)), label) for value, label in self.y.ticks),
            tuple((name, path) for name, path in shapes if path),
            tuple(dots),
        )


def ticks_with_room(places: Sequence[tuple[Fraction, str]]) -> tuple[Tick, ...]:
    """Return the ticks at places from left to right, as many as have room: each n-th.

    >>> [tick.label for tick in ticks_with_room([(Fraction(20 * n), f"{n}00") for n in range(5)])]
    ['000', '200', '400']
    """
    if len(places) < 2:
        return tuple(Tick(coordinate(place), label) for place, label in places)
    apart = (places[-1][0] - places[0][0]) / (len(places) - 1)
    longest = (max(len(label) for _, label in places) + _GAP) * CHARACTER
    every = max(-(-longest // max(apart, Fraction(1))), 1)
    return tuple(Tick(coordinate(place), label) for place, label in places[:: int(every)])
