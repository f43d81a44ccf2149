"""Plots of groups: the ranges of their sensitive values, and their sizes.

A plot is geometry: paths, ticks and words, for the page's template to draw, in user units of an SVG
that is `WIDTH` by `HEIGHT`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.exact import Exact
from sfumato.tasks.report.charts import (
    CHARACTER,
    WIDTH,
    Axis,
    Tick,
    Words,
    axis,
    coordinate,
    nice_step,
    number_axis,
    text_above_axis,
)
from sfumato.tasks.report.numbers import distance_text, plural, range_text, thousands, value_text

HEIGHT = 290
TOP, BOTTOM, RIGHT = 34, HEIGHT - 50, WIDTH - 30  # the edges of what is inside the axes
_BARS = 140  # ranges that can be distinguished in a plot
_HARD = 6  # a place this wide has room for hard edges
_SINGLY = 20  # groups that get a bar each
_VALUES = 24  # different numbers that get a bar each
_BINS = 16


@dataclass(frozen=True)
class Plot:
    """Geometry and words that the template needs to draw and describe a plot.

    Attributes:
        words: its texts.
        left: the left edge of what is inside the axes.
        y_ticks: the ticks of the vertical axis.
        body: the filled boxes.
        edges: the hard lines at their ends.
        x_ticks: the ticks of the horizontal axis.
        inner: the filled boxes within those of `body`.
        ruler: a length to compare with, and its label.
        bundle: the number of groups in a box.
        table: the numbers shown, as a label and a number each.
    """

    words: Words
    left: int
    y_ticks: tuple[Tick, ...]
    body: str
    edges: str
    x_ticks: tuple[Tick, ...] = ()
    inner: str = ""
    ruler: tuple[str, str] | None = None
    bundle: int = 1
    table: tuple[tuple[str, str], ...] = ()

    width, height, top, bottom, right = WIDTH, HEIGHT, TOP, BOTTOM, RIGHT


@dataclass(frozen=True)
class Slots:
    """Places for so many boxes side by side, right of a vertical axis."""

    scale: Axis
    number: int

    @property
    def left_edge(self) -> int:
        """The left edge of the first place, after the labels of the axis."""
        return 14 + CHARACTER * max(len(label) for _, label in self.scale.ticks)

    @property
    def width(self) -> Fraction:
        """The width of a place."""
        return Fraction(RIGHT - self.left_edge, self.number)

    @property
    def half(self) -> Fraction:
        """Half the width of a box."""
        return min(self.width * Fraction(2, 5), Fraction(22))

    def start(self, position: int) -> Fraction:
        """Return the left edge of a place."""
        return self.left_edge + self.width * position

    def box(self, position: int, low: Fraction, high: Fraction) -> str:
        """Return a filled box from one value to another, always high enough to be visible."""
        bottom, top = self._y(low), self._y(high)
        if bottom - top < 1:
            bottom, top = bottom + Fraction(1, 2), top - Fraction(1, 2)
        edges = coordinate(bottom), coordinate(top)
        return f"M{self._x(position)} {edges[0]}V{edges[1]}h{self._box_width()}V{edges[0]}z"

    def edge(self, position: int, value: Fraction) -> str:
        """Return a line across a place."""
        return f"M{self._x(position)} {coordinate(self._y(value))}h{self._box_width()}"

    def ticks(self) -> tuple[Tick, ...]:
        """Return the vertical axis' ticks."""
        return tuple(Tick(coordinate(self._y(v)), label) for v, label in self.scale.ticks)

    def ruler(self, length: Fraction) -> str:
        """Return a measure of some length beside the boxes, in the middle of their height."""
        middle = (self.scale.low + self.scale.high) / 2
        low, high = (coordinate(self._y(middle + sign * length / 2)) for sign in (-1, 1))
        return f"M{RIGHT + 11} {low}h10m-5 0V{high}m-5 0h10"

    def _x(self, position: int) -> str:
        return coordinate(self.start(position) + self.width / 2 - self.half)

    def _box_width(self) -> str:
        return coordinate(2 * self.half)

    def _y(self, value: Fraction) -> Fraction:
        return BOTTOM - self.scale.place(value) * (BOTTOM - TOP)


@dataclass(frozen=True)
class _Bar:
    """A range to draw; if it bundles several groups, `inner` is the narrowest of them."""

    low: Fraction
    high: Fraction
    inner: tuple[Fraction, Fraction]


def ranges_plot(name: str, kind: str, counts: Counts, numbers: Exact, e: Fraction | None) -> Plot:
    """Return a plot of the groups' ranges, in the order of their lowest value.

    Args:
        name: the name of the sensitive attribute.
        kind: its column type.
        counts: the counts of its values in each group, at least one group.
        numbers: its values.
        e: the range that every group was promised to have, drawn beside the bars.
    """
    low, high = _ranges(counts, numbers)
    scale = axis(numbers.fraction(low.min()), numbers.fraction(high.max()), kind)
    bundle = -(-len(low) // _BARS)
    bars = list(_bars(low, high, bundle, numbers))
    words = Words(
        title=f"Lowest to highest {name} in each group",
        summary=_summary(low, high, numbers, kind),
        x_title=f"{plural(len(low), 'group')}, ordered by lowest value",
        y_title=text_above_axis(name, scale),
    )
    return _plot_of_bars(words, scale, bars, bundle, _ruler(scale, e, kind))


def _ranges(counts: Counts, numbers: Exact) -> tuple[np.ndarray, np.ndarray]:
    """Return each group's lowest and highest value, ordered by both."""
    ends = np.append(counts.starts[1:], len(counts.group)) - 1
    low = numbers.units[counts.value[counts.starts]]
    high = numbers.units[counts.value[ends]]
    order = np.argsort(high, kind="stable")
    order = order[np.argsort(low[order], kind="stable")]
    return low[order], high[order]


def _bars(low: np.ndarray, high: np.ndarray, bundle: int, numbers: Exact) -> Iterator[_Bar]:
    """Yield a bar for each bundle of consecutive groups."""
    for start in range(0, len(low), bundle):
        lows, highs = low[start : start + bundle], high[start : start + bundle]
        narrowest = int(np.argmin(highs - lows))
        yield _Bar(
            numbers.fraction(lows.min()),
            numbers.fraction(highs.max()),
            (numbers.fraction(lows[narrowest]), numbers.fraction(highs[narrowest])),
        )


def _summary(low: np.ndarray, high: np.ndarray, numbers: Exact, kind: str) -> str:
    widths = np.sort(high - low)
    narrowest, median, widest = (
        distance_text(numbers.fraction(widths[i]), kind) for i in (0, (len(widths) - 1) // 2, -1)
    )
    return (
        f"{plural(len(low), 'group')}, from {value_text(numbers.fraction(low.min()), kind)} to "
        f"{value_text(numbers.fraction(high.max()), kind)}. Range of a group: narrowest "
        f"{narrowest}, median {median}, widest {widest}."
    )


def _ruler(scale: Axis, e: Fraction | None, kind: str) -> tuple[Fraction, str] | None:
    if e is None or not 0 < e <= scale.high - scale.low:
        return None
    return e, f"e = {distance_text(e, kind)}"


def _plot_of_bars(
    words: Words,
    scale: Axis,
    bars: Sequence[_Bar],
    bundle: int,
    ruler: tuple[Fraction, str] | None,
) -> Plot:
    slots = Slots(scale, len(bars))
    hard = slots.width >= _HARD
    edges = (slots.edge(n, y) for n, bar in enumerate(bars) for y in (bar.low, bar.high) if hard)
    inner = (slots.box(n, *bar.inner) for n, bar in enumerate(bars) if bundle > 1)
    return Plot(
        words,
        slots.left_edge,
        slots.ticks(),
        "".join(slots.box(n, bar.low, bar.high) for n, bar in enumerate(bars)),
        "".join(edges),
        inner="".join(inner),
        ruler=None if ruler is None else (slots.ruler(ruler[0]), ruler[1]),
        bundle=bundle,
    )


@dataclass(frozen=True)
class _Bin:
    low: int
    high: int
    count: int

    @property
    def label(self) -> str:
        return range_text(thousands(self.low), thousands(self.high))


def sizes_plot(values: np.ndarray, title: str, noun: str) -> Plot:
    """Return a plot of the groups' numbers, one by one if they are few, or as a histogram.

    Args:
        values: positive integers, one per group, at least one.
        title: the title of the plot.
        noun: the noun of what is counted, such as 'row'.
    """
    ordered = np.sort(values)
    low, middle, high = (int(ordered[i]) for i in (0, (len(ordered) - 1) // 2, -1))
    summary = (
        f"{plural(len(ordered), 'group')}. {noun.capitalize()}s in a group: "
        f"smallest {thousands(low)}, median {thousands(middle)}, largest {thousands(high)}."
    )
    if len(ordered) <= _SINGLY:
        return _one_bar_each(ordered.tolist(), title, summary, noun)
    return _histogram(_bins(ordered), title, summary, noun)


def _one_bar_each(values: list[int], title: str, summary: str, noun: str) -> Plot:
    slots = _slots(values)
    words = Words(
        title, summary, "groups, smallest first", text_above_axis(f"{noun}s", slots.scale)
    )
    table = ((f"group {n}", plural(v, noun)) for n, v in enumerate(values, start=1))
    return Plot(words, slots.left_edge, slots.ticks(), *_boxes(slots, values), table=tuple(table))


def _histogram(bins: list[_Bin], title: str, summary: str, noun: str) -> Plot:
    counts = [b.count for b in bins]
    slots = _slots(counts)
    words = Words(title, summary, f"{noun}s in a group", text_above_axis("groups", slots.scale))
    table = ((f"{b.label} {noun}s", plural(b.count, "group")) for b in bins if b.count)
    return Plot(
        words,
        slots.left_edge,
        slots.ticks(),
        *_boxes(slots, counts),
        x_ticks=_x_ticks(slots, bins),
        table=tuple(table),
    )


def _slots(heights: list[int]) -> Slots:
    return Slots(number_axis(Fraction(0), Fraction(max(heights)), whole=True), len(heights))


def _boxes(slots: Slots, heights: list[int]) -> tuple[str, str]:
    seen = [(position, Fraction(height)) for position, height in enumerate(heights) if height]
    return (
        "".join(slots.box(position, Fraction(0), height) for position, height in seen),
        "".join(slots.edge(position, height) for position, height in seen),
    )


def _x_ticks(slots: Slots, bins: list[_Bin]) -> tuple[Tick, ...]:
    """Return as many ticks as fit: below single values, and at the lower edges of bins."""
    single = all(b.low == b.high for b in bins)
    shift = slots.width / 2 if single else Fraction(0)
    longest = max(len(thousands(b.low)) for b in bins) + 2
    every = -(-longest * CHARACTER // max(int(slots.width), 1))
    return tuple(
        Tick(coordinate(slots.start(position) + shift), thousands(bins[position].low))
        for position in range(0, len(bins), every)
    )


def _bins(ordered: np.ndarray) -> list[_Bin]:
    """Return bins of one value, of equal width, or doubling if sizes differ greatly."""
    low, high = int(ordered[0]), int(ordered[-1])
    if high - low < _VALUES:
        edges = list(range(low, high + 2))
    elif high > 32 * max(low, 4):
        edges = [2**power for power in range(low.bit_length() - 1, high.bit_length() + 1)]
    else:
        width = int(max(nice_step(Fraction(high - low + 1, _BINS)), Fraction(1)))
        edges = list(range(low // width * width, high // width * width + width + 1, width))
    counts = np.diff(np.searchsorted(ordered, np.array(edges, dtype=np.int64)))
    return [_Bin(a, b - 1, int(n)) for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]
