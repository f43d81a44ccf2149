"""The middle of an answer's law and its 95 % range, with tails that keep their precision.

Items are the values that selected rows may have, the best ones first (the greatest for a maximum).
The law of an extreme depends only on the chance that none of the first items is among them. For
shuffled groups this chance is exact. If no selected row of a group has any of its a best values, no
selected row has the next one either with chance (n - a - h) / (n - a), where the group has n values
and h selected rows.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from sfumato.tasks.query.engines.truth import as_fraction
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS

Z95 = NormalDist().inv_cdf(0.975)
"""The number of standard deviations around the middle with 95 % of a normal distribution."""
ROUNDING = 1e-9
"""The share of an answer that is rounding; a narrower law has only one value."""
_FAR = 35.0  # standard deviations, beyond which the tail is no float
_TINY = math.log(1e-280)  # below this, the inverse of the normal distribution is approximated


def log_tail(z: float) -> float:
    """Return the logarithm of the probability beyond `z` standard deviations above the middle."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z / math.sqrt(2)))
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi))


def deviations_of(log_probability: float) -> float:
    """Return the number of standard deviations above the middle at which a tail begins.

    The tail is given by the logarithm of its probability; the result is 0 for a half or more.

    >>> round(deviations_of(log_tail(3.0)), 6), round(deviations_of(log_tail(60.0)), 1)
    (3.0, 60.0)
    """
    if log_probability >= math.log(0.5):
        return 0.0
    if log_probability == -math.inf:
        return math.inf
    if log_probability > _TINY:
        return -NormalDist().inv_cdf(math.exp(log_probability))
    # `log_tail` beyond `_FAR`, solved for z step by step
    z = math.sqrt(-2 * log_probability)
    for _ in range(8):
        z = math.sqrt(-2 * (log_probability + math.log(z * math.sqrt(2 * math.pi))))
    return z


@dataclass(frozen=True, eq=False)
class ExtremeLaw:
    """The distribution of the best of some values.

    Attributes:
        codes: the codes of the distinct values, the best one first (int64).
        none: the logarithm of the chance that neither this value nor a better one is there
            (float64, one per value).
    """

    codes: np.ndarray
    none: np.ndarray

    @property
    def middle(self) -> int:
        """The place of the value that is reached with a chance of a half."""
        return int(np.argmax(self._log_reached >= math.log(0.5)))

    def interval_places(self, factor: float) -> tuple[int, int]:
        """Return the places of the best and worst value of an interval, `factor` times as wide.

        Both ends leave out a tail as probable as that beyond `factor` times the 95 % range of a
        normal distribution.
        """
        least = log_tail(Z95 * factor)
        best = int(np.argmax(self._log_reached > least))
        worst = int(len(self.codes) - 1 - np.argmax(self._not_exceeded[::-1] > least))
        return best, max(best, worst)

    def least_factor(self, place: int) -> float:
        """Return the least factor whose interval contains the value at a place."""
        rarer = min(self._log_reached[place], self._not_exceeded[place])
        return deviations_of(float(rarer)) / Z95

    @property
    def _log_reached(self) -> np.ndarray:
        """The logarithm of the chance that each value or a better one is there."""
        with np.errstate(divide="ignore"):
            reached: np.ndarray = np.log(-np.expm1(self.none))
        return reached

    @property
    def _not_exceeded(self) -> np.ndarray:
        """The logarithm of the chance that no better value than each is there."""
        return np.append(0.0, self.none[:-1])


def extreme_law(codes: np.ndarray, missed: np.ndarray) -> ExtremeLaw:
    """Return the distribution of the best value from the chance of missing each item.

    Args:
        codes: the codes of the items, the best ones first (int64, one per item).
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
    """Return the logarithm of the chance that no selected row has an item of a shuffled group.

    The chance (float64, one per item) is that under the condition that no selected row of the group
    has a better item.

    Args:
        size: the number of values of the item's group (int64, one per item).
        better: the number of better items of that group (int64).
        selected: the number of selected rows of that group (int64).
    """
    remaining = size - better
    with np.errstate(divide="ignore"):
        missed: np.ndarray = np.log(np.maximum(remaining - selected, 0)) - np.log(remaining)
    return missed


@dataclass(frozen=True)
class SelectedSize:
    """The number of rows that a query selects, and of their groups.

    If `rows` is not known, it is the lower end of its 95 % range.
    """

    rows: float
    groups: int

    @property
    def is_small(self) -> bool:
        """True if an interval could describe a few people."""
        return self.rows < LEAST_ROWS or self.groups < LEAST_GROUPS


class AnswerLaw(Protocol):
    """The law of an answer, as far as the published files determine it."""

    @property
    def size(self) -> SelectedSize:
        """The rows and groups that the query selects."""
        ...

    @property
    def estimate(self) -> Any:
        """The middle."""
        ...

    @property
    def is_exact(self) -> bool:
        """True if the answer is known exactly."""
        ...

    def interval(self, factor: float) -> tuple[Any, Any]:
        """Return the interval that is `factor` times as wide as the law's 95 % range."""
        ...

    def score(self, truth: float) -> float:
        """Return the least factor whose interval contains the truth."""
        ...


@dataclass(frozen=True)
class NumberSpread:
    """The law of a number.

    Attributes:
        size: the rows and groups that the query selects.
        estimate: the middle.
        below: the distance from the middle down to the end of the 95 % range.
        above: the distance from the middle up to the end of the 95 % range.
    """

    size: SelectedSize
    estimate: float
    below: float
    above: float

    @property
    def is_exact(self) -> bool:
        """True if the number is known exactly."""
        return max(self.below, self.above) <= ROUNDING * abs(self.estimate)

    def interval(self, factor: float) -> tuple[float, float]:
        """Return the interval that is `factor` times as wide as the 95 % range."""
        return self.estimate - factor * self.below, self.estimate + factor * self.above

    def score(self, truth: float) -> float:
        """Return the distance of the truth from the middle, divided by the width on its side."""
        missed = truth - self.estimate
        width = self.above if missed > 0 else self.below
        if missed == 0:
            return 0.0
        return abs(missed) / width if width > 0 else math.inf


@dataclass(frozen=True, eq=False)
class ExtremeSpread:
    """The law of a least or greatest value; `show` returns a value by its code."""

    size: SelectedSize
    law: ExtremeLaw
    show: Callable[[int], Any]

    @property
    def estimate(self) -> Any:
        """The value that is reached with a chance of a half."""
        return self.show(int(self.law.codes[self.law.middle]))

    @property
    def is_exact(self) -> bool:
        """True if only one value is reached."""
        return bool(self.law.none[0] == -math.inf)

    def interval(self, factor: float) -> tuple[Any, Any]:
        """Return the values of the interval's ends, the lesser one first."""
        ends = sorted(int(self.law.codes[place]) for place in self.law.interval_places(factor))
        return self.show(ends[0]), self.show(ends[1])

    def score(self, truth: float) -> float:
        """Return the least factor whose interval contains the truth; infinite if no item is it.

        Args:
            truth: a number; dates count days and timestamps count seconds since 1970.
        """
        best, worst = (self._number(position) for position in (0, -1))
        sign = 1 if best <= worst else -1
        places = range(len(self.law.codes))
        position = bisect_left(places, sign * truth, key=lambda place: sign * self._number(place))
        is_item = position < len(places) and self._number(position) == truth
        return self.law.least_factor(position) if is_item else math.inf

    def _number(self, place: int) -> float:
        return float(as_fraction(self.show(int(self.law.codes[place]))) or 0)
