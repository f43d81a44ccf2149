"""Vertical scales of plots: linear from nothing, or logarithmic."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

from sfumato.tasks.report.axes import number_axis

_DIGITS = (1, 2, 5)
_FEW = 2  # decades that get ticks between powers of ten


@dataclass(frozen=True)
class PlotScale:
    """Places of values between 0, at the bottom, and 1, and the ticks on it.

    Attributes:
        low: the value at the bottom.
        high: the value at the top.
        ticks: values with their labels.
        log: whether it is logarithmic.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool

    def at(self, value: float) -> float:
        """The place of a value; what is below the scale is at its bottom."""
        if self.log:
            return (log10(max(value, self.low)) - log10(self.low)) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def scale_of(values: Sequence[float], *, log: bool) -> PlotScale:
    """A scale that has room for some values; logarithmic if wished, and any value is above 0."""
    above = [value for value in values if value > 0]
    return _logarithmic(min(above), max(above)) if log and above else _linear(max(values))


def _linear(high: float) -> PlotScale:
    axis = number_axis(Fraction(0), Fraction(max(high, 1e-9)), whole=False)
    ticks = tuple(
        (float(value), f"{label}{axis.factor if value else ''}") for value, label in axis.ticks
    )
    return PlotScale(float(axis.low), float(axis.high), ticks, log=False)


def _logarithmic(low: float, high: float) -> PlotScale:
    """From the tick below the lowest value to the one above the highest."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    digits = _DIGITS if len(powers) - 1 <= _FEW else (1,)
    known = [digit * 10.0**power for power in powers for digit in digits]
    bottom = max((v for v in known if v <= low * 1.0001), default=known[0])
    top = min((v for v in known if v >= high * 0.9999 and v > bottom), default=known[-1])
    ticks = tuple((v, f"{v:,.10g}") for v in known if bottom <= v <= top)
    return PlotScale(bottom, top, ticks, log=True)
