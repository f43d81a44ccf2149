"""Plots of groups: the ranges of their sensitive values, and their sizes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.exact import Exact
from sfumato.tasks.report.axes import Axis, axis, nice_step, number_axis, thousands, value_text
from sfumato.tasks.report.plot import (
    CHARACTER,
    Plot,
    Slots,
    Tick,
    Words,
    coordinate,
    plural,
    text_above_axis,
)

_BARS = 140  # ranges that can be distinguished in a plot
_HARD = 6  # a place this wide has room for hard edges
_SINGLY = 20  # groups that get a bar each
_VALUES = 24  # different numbers that get a bar each
_BINS = 16


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


def distance_text(distance: Fraction, kind: str) -> str:
    """Return a difference of two values of a column type, with its unit if it has one.

    >>> distance_text(Fraction(500), "integer"), distance_text(Fraction(1), "date")
    ('500', '1 day')
    """
    unit = {"date": "day", "timestamp": "second"}.get(kind)
    if unit is None:
        return thousands(distance)
    return f"{thousands(distance)} {unit}{'' if distance == 1 else 's'}"


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
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


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
        f"smallest {low:,}, median {middle:,}, largest {high:,}."
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
    longest = max(len(f"{b.low:,}") for b in bins) + 2
    every = -(-longest * CHARACTER // max(int(slots.width), 1))
    return tuple(
        Tick(coordinate(slots.start(position) + shift), f"{bins[position].low:,}")
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
