"""How often the values of a column occur in the files, as a few bars: each value, or intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.expectations.errors import InputError
from sfumato.expectations.exact import Exact, exact, is_ordered
from sfumato.expectations.numbers import plain
from sfumato.tasks.report.codebook.standing_values import StandingValues
from sfumato.tasks.report.plots.axes import nice_step, spoken
from sfumato.tasks.report.plots.plot import coordinate, plural

_BARS = 12
_DAY = 86_400
_LONGEST = 60  # characters of a value; what is longer is cut


@dataclass(frozen=True)
class MarginalBar:
    """Some values, how often they occur, and the length of the bar, 100 at most."""

    label: str
    count: int
    length: str


@dataclass(frozen=True)
class Marginal:
    """A column's values in the files.

    Attributes:
        extent: how many different ones there are and, where they have an order, between which two.
        bars: how often they occur, those of missing values last.
    """

    extent: str
    bars: tuple[MarginalBar, ...]


def marginal(of: StandingValues, kind: str) -> Marginal:
    """The values of a column of this type, at most a dozen bars and one for missing ones."""
    numbers = _numbers(of)
    counts = list(_ordered(of, numbers, kind) if numbers else _listed(of))
    if of.missing:
        counts.append(("missing", of.missing))
    longest = max((count for _, count in counts), default=1)
    bars = (MarginalBar(n, c, coordinate(Fraction(100 * c, longest))) for n, c in counts)
    return Marginal(_extent(of, numbers, kind), tuple(bars))


def _numbers(of: StandingValues) -> Exact | None:
    """The values as exact numbers, where all of them have a place in an order."""
    if of.ranged or not len(of.values) or not is_ordered(of.values.type):
        return None
    try:
        return exact(of.values, "")
    except InputError:
        return None


def _extent(of: StandingValues, numbers: Exact | None, kind: str) -> str:
    noun = "different range" if of.ranged else "different value"
    if numbers is None:
        return plural(len(of.values), noun)
    low, high = (_written(numbers.fraction(numbers.units[i]), kind) for i in (0, -1))
    return f"{plural(len(of.values), noun)}, from {low} to {high}"


def _written(value: Fraction, kind: str) -> str:
    return spoken(value, kind) if kind in ("date", "timestamp") else str(plain(value))


def _ordered(of: StandingValues, numbers: Exact, kind: str) -> Iterator[tuple[str, int]]:
    """Each value where they are few, or else intervals of one width."""
    if len(of.values) <= _BARS:
        for units, count in zip(numbers.units, of.times.tolist(), strict=True):
            yield _written(numbers.fraction(units), kind), count
        return
    by_day = kind == "timestamp"
    grid = [int(units) for units in numbers.units]
    digits = numbers.digits
    if by_day:
        grid, digits, kind = [units // (_DAY * 10**digits) for units in grid], 0, "date"
    width = int(max(nice_step(Fraction(grid[-1] - grid[0] + 1, _BARS - 1)), Fraction(1)))
    bins: dict[int, int] = {}
    for units, count in zip(grid, of.times.tolist(), strict=True):
        bins[units // width] = bins.get(units // width, 0) + count
    for place in range(grid[0] // width, grid[-1] // width + 1):
        yield _interval(place * width, width, digits, kind), bins.get(place, 0)


def _interval(low: int, width: int, digits: int, kind: str) -> str:
    unit = 10**digits
    first = _written(Fraction(low, unit), kind)
    if digits:
        return f"{first} to less than {_written(Fraction(low + width, unit), kind)}"
    last = _written(Fraction(low + width - 1, unit), kind)
    return first if width == 1 else f"{first} to {last}"


def _listed(of: StandingValues) -> Iterator[tuple[str, int]]:
    """The values that occur most often, and all others together; ranges stay in their order."""
    if len(of.values) <= _BARS:
        shown = np.arange(len(of.values))
    else:
        shown = np.argsort(-of.times, kind="stable")[: _BARS - 1]
    shown = np.sort(shown) if of.ranged else shown[np.argsort(-of.times[shown], kind="stable")]
    for label, position in zip(_labels(of, shown), shown.tolist(), strict=True):
        yield label, int(of.times[position])
    if rest := len(of.values) - len(shown):
        noun = "range" if of.ranged else "value"
        yield f"{plural(rest, f'other {noun}')}", int(of.times.sum() - of.times[shown].sum())


def _labels(of: StandingValues, shown: np.ndarray) -> Sequence[str]:
    low = [_text(value) for value in of.values.take(shown).to_pylist()]
    if of.upper is None:
        return low
    high = [_text(value) for value in of.upper.take(shown).to_pylist()]
    return [a if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)]


def _text(value: object) -> str:
    """A value as the CSV files write it, cut where it is long."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
