"""Plot whole numbers of the groups, such as their sizes: how often each occurs."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.tasks.report.plots.axes import nice_step, number_axis
from sfumato.tasks.report.plots.plot import (
    CHARACTER,
    Plot,
    Slots,
    Tick,
    Words,
    above,
    coordinate,
    plural,
)

_SINGLY = 20  # so many groups get a bar each
_VALUES = 24  # so many different numbers get a bar each
_BINS = 16


@dataclass(frozen=True)
class _Bin:
    low: int
    high: int
    count: int

    @property
    def label(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


def sizes_plot(values: np.ndarray, title: str, noun: str) -> Plot:
    """The numbers of so many groups: one by one where they are few, else as a histogram.

    Args:
        values: positive integers, one per group, at least one.
        title: of the plot.
        noun: what is counted in a group, such as 'row'.
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
    words = Words(title, summary, "groups, smallest first", above(f"{noun}s", slots.scale))
    table = ((f"group {n}", plural(v, noun)) for n, v in enumerate(values, start=1))
    return Plot(words, slots.left, slots.ticks(), *_boxes(slots, values), table=tuple(table))


def _histogram(bins: list[_Bin], title: str, summary: str, noun: str) -> Plot:
    counts = [b.count for b in bins]
    slots = _slots(counts)
    words = Words(title, summary, f"{noun}s in a group", above("groups", slots.scale))
    table = ((f"{b.label} {noun}s", plural(b.count, "group")) for b in bins if b.count)
    return Plot(
        words,
        slots.left,
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
    """As many as fit: below single values, and at the lower edges of bins."""
    single = all(b.low == b.high for b in bins)
    shift = slots.width / 2 if single else Fraction(0)
    longest = max(len(f"{b.low:,}") for b in bins) + 2
    every = -(-longest * CHARACTER // max(int(slots.width), 1))
    return tuple(
        Tick(coordinate(slots.start(position) + shift), f"{bins[position].low:,}")
        for position in range(0, len(bins), every)
    )


def _bins(ordered: np.ndarray) -> list[_Bin]:
    """Bins of one value, of equal width, or doubling where sizes differ by orders of magnitude."""
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
