"""What is likely of an answer: where its middle is, and how far 95 % of a law reach."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.tasks.query.accuracy.truth import as_fraction
from sfumato.tasks.query.intervals.laws.extremes import ExtremeLaw
from sfumato.tasks.query.intervals.shapes.limits import LEAST_GROUPS, LEAST_ROWS


@dataclass(frozen=True)
class SelectedSize:
    """How many rows a query selects, at least as is likely, and of how many groups."""

    rows: float
    groups: int

    @property
    def is_small(self) -> bool:
        """True where an interval could be about a few people."""
        return self.rows < LEAST_ROWS or self.groups < LEAST_GROUPS


class AnswerLaw(Protocol):
    """The law of an answer, as far as the published files tell it."""

    @property
    def size(self) -> SelectedSize:
        """What the query selects."""
        ...

    @property
    def estimate(self) -> Any:
        """The middle."""
        ...

    @property
    def is_exact(self) -> bool:
        """True where nothing is open."""
        ...

    def interval(self, factor: float) -> tuple[Any, Any]:
        """The interval that is `factor` times as wide as the law's own."""
        ...

    def score(self, truth: float) -> float:
        """The least factor whose interval has the truth."""
        ...


@dataclass(frozen=True)
class NumberSpread:
    """The law of a number.

    Attributes:
        size: what the query selects.
        estimate: the middle.
        below: how far below it 95 % of the law end.
        above: how far above it.
    """

    size: SelectedSize
    estimate: float
    below: float
    above: float

    @property
    def is_exact(self) -> bool:
        """True where nothing is open."""
        return self.below <= 0 and self.above <= 0

    def interval(self, factor: float) -> tuple[float, float]:
        """The interval that is `factor` times as wide."""
        return self.estimate - factor * self.below, self.estimate + factor * self.above

    def score(self, truth: float) -> float:
        """The distance of the truth from the middle by the width on its side."""
        missed = truth - self.estimate
        width = self.above if missed > 0 else self.below
        if missed == 0:
            return 0.0
        return abs(missed) / width if width > 0 else math.inf


@dataclass(frozen=True, eq=False)
class ExtremeSpread:
    """The law of a least or greatest value, and what shows a value by its code."""

    size: SelectedSize
    law: ExtremeLaw
    shown: Callable[[int], Any]

    @property
    def estimate(self) -> Any:
        """The value that is reached with a chance of a half."""
        return self.shown(int(self.law.codes[self.law.middle]))

    @property
    def is_exact(self) -> bool:
        """True where one value alone is reached."""
        return bool(self.law.none[0] == -math.inf)

    def interval(self, factor: float) -> tuple[Any, Any]:
        """The values of the interval's ends, the lesser one first."""
        ends = sorted(int(self.law.codes[at]) for at in self.law.within(factor))
        return self.shown(ends[0]), self.shown(ends[1])

    def score(self, truth: float) -> float:
        """The least factor whose interval has the truth; infinite where no item has it.

        Args:
            truth: a number; dates count days and timestamps count seconds since 1970.
        """
        best, worst = (self._number(at) for at in (0, -1))
        sign = 1 if best <= worst else -1
        places = range(len(self.law.codes))
        at = bisect_left(places, sign * truth, key=lambda place: sign * self._number(place))
        found = at < len(places) and self._number(at) == truth
        return self.law.needed(at) if found else math.inf

    def _number(self, place: int) -> float:
        return float(as_fraction(self.shown(int(self.law.codes[place]))) or 0)
