"""The middle of an answer's law and how far 95 % of it reach, with tails that keep their digits.

Items are the values that may be among those of the selected rows, the best ones first: the greatest
for a maximum. The chance that none of the first ones is among them is all that an extreme depends
on. For shuffled groups it is known exactly: of a group with n values, of which the a best ones are
none of the h selected rows', the next one is not either with chance (n - a - h) / (n - a).
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from sfumato.tasks.query.accuracy.truth import as_fraction
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS

Z95 = NormalDist().inv_cdf(0.975)
"""How many standard deviations from the middle 95 % of a normal distribution end."""
_FAR = 35.0  # standard deviations, beyond which the tail is no float
_TINY = math.log(1e-280)


def log_tail(z: float) -> float:
    """The logarithm of the probability beyond `z` standard deviations above the middle."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z / math.sqrt(2)))
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi))


def deviations_of(log_probability: float) -> float:
    """How many standard deviations above the middle a tail begins; 0 where it is a half or more.

    >>> round(deviations_of(log_tail(3.0)), 6), round(deviations_of(log_tail(60.0)), 1)
    (3.0, 60.0)
    """
    if log_probability >= math.log(0.5):
        return 0.0
    if log_probability == -math.inf:
        return math.inf
    if log_probability > _TINY:
        return -NormalDist().inv_cdf(math.exp(log_probability))
    z = math.sqrt(-2 * log_probability)
    for _ in range(8):
        z = math.sqrt(-2 * (log_probability + math.log(z * math.sqrt(2 * math.pi))))
    return z


@dataclass(frozen=True, eq=False)
class ExtremeLaw:
    """The distribution of the best of some values.

    Attributes:
        codes: of the distinct values, the best one first (int64).
        none: the logarithm of the chance that no value as good is there (float64, one per value).
    """

    codes: np.ndarray
    none: np.ndarray

    @property
    def middle(self) -> int:
        """The place of the value that is reached with a chance of a half."""
        return int(np.argmax(self._reached >= math.log(0.5)))

    def within(self, factor: float) -> tuple[int, int]:
        """The places of the best and of the worst value of an interval, `factor` times as wide."""
        least = log_tail(Z95 * factor)
        best = int(np.argmax(self._reached > least))
        worst = int(len(self.codes) - 1 - np.argmax(self._not_exceeded[::-1] > least))
        return best, max(best, worst)

    def needed(self, place: int) -> float:
        """The least factor whose interval has the value at a place."""
        rarer = min(self._reached[place], self._not_exceeded[place])
        return deviations_of(float(rarer)) / Z95

    @property
    def _reached(self) -> np.ndarray:
        """The logarithm of the chance that a value as good is there."""
        with np.errstate(divide="ignore"):
            reached: np.ndarray = np.log(-np.expm1(self.none))
        return reached

    @property
    def _not_exceeded(self) -> np.ndarray:
        """The logarithm of the chance that no better one is there."""
        return np.append(0.0, self.none[:-1])


def extreme_law(codes: np.ndarray, missed: np.ndarray) -> ExtremeLaw:
    """The distribution where items are missed one by one.

    Args:
        codes: of the items' values, those of the best ones first (int64, one per item).
        missed: the logarithm of the chance that an item is not there, if no better one is
            (float64, one per item).
    """
    last = np.append(np.flatnonzero(np.diff(codes)), len(codes) - 1)
    with np.errstate(invalid="ignore"):
        none = np.cumsum(missed)[last]
    none = np.where(np.isnan(none), -np.inf, none)
    none[-1] = -np.inf  # some value is there
    return ExtremeLaw(codes[last].astype(np.int64), none)


def missed_of_groups(size: np.ndarray, better: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """The logarithm of the chance that an item of a shuffled group is no selected row's.

    Args:
        size: how many values its group has (int64, one per item).
        better: how many of these come before it (int64).
        selected: how many rows of its group are selected (int64).
    """
    left = size - better
    with np.errstate(divide="ignore"):
        missed: np.ndarray = np.log(np.maximum(left - selected, 0)) - np.log(left)
    return missed


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
