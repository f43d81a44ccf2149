"""Plot the groups' ranges: from the lowest to the highest sensitive value of each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.expectations.exact import Exact
from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.report.plots.axes import Axis, axis, spoken, thousands
from sfumato.tasks.report.plots.plot import Plot, Slots, Words, above, plural

_BARS = 140  # so many ranges can be told apart
_HARD = 6  # a place this wide has room for hard edges


@dataclass(frozen=True)
class _Bar:
    """A range to draw; where it stands for several groups, `inner` is the narrowest of them."""

    low: Fraction
    high: Fraction
    inner: tuple[Fraction, Fraction]


def ranges_plot(name: str, kind: str, counts: Counts, numbers: Exact, e: Fraction | None) -> Plot:
    """The groups' ranges, in the order of their lowest value.

    Args:
        name: of the sensitive attribute.
        kind: its column type.
        counts: of its values in each group, at least one group.
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
        y_title=above(name, scale),
    )
    return _drawn(words, scale, bars, bundle, _ruler(scale, e, kind))


def distance_text(distance: Fraction, kind: str) -> str:
    """A difference of two values of a column type, with its unit where it has one.

    >>> distance_text(Fraction(500), "integer"), distance_text(Fraction(1), "date")
    ('500', '1 day')
    """
    unit = {"date": "day", "timestamp": "second"}.get(kind)
    if unit is None:
        return thousands(distance)
    return f"{thousands(distance)} {unit}{'' if distance == 1 else 's'}"


def _ranges(counts: Counts, numbers: Exact) -> tuple[np.ndarray, np.ndarray]:
    """Each group's lowest and highest value, ordered by both."""
    ends = np.append(counts.starts[1:], len(counts.group)) - 1
    low = numbers.units[counts.value[counts.starts]]
    high = numbers.units[counts.value[ends]]
    order = np.argsort(high, kind="stable")
    order = order[np.argsort(low[order], kind="stable")]
    return low[order], high[order]


def _bars(low: np.ndarray, high: np.ndarray, bundle: int, numbers: Exact) -> Iterator[_Bar]:
    """A bar for each so many consecutive groups."""
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
        f"{plural(len(low), 'group')}, from {spoken(numbers.fraction(low.min()), kind)} to "
        f"{spoken(numbers.fraction(high.max()), kind)}. Range of a group: narrowest {narrowest}, "
        f"median {median}, widest {widest}."
    )


def _ruler(scale: Axis, e: Fraction | None, kind: str) -> tuple[Fraction, str] | None:
    if e is None or not 0 < e <= scale.high - scale.low:
        return None
    return e, f"e = {distance_text(e, kind)}"


def _drawn(
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
        slots.left,
        slots.ticks(),
        "".join(slots.box(n, bar.low, bar.high) for n, bar in enumerate(bars)),
        "".join(edges),
        inner="".join(inner),
        ruler=None if ruler is None else (slots.ruler(ruler[0]), ruler[1]),
        bundle=bundle,
    )
