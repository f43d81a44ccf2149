"""A sum that grows number by number, with the bounds of `summarize_numbers` after each."""

from dataclasses import dataclass
from fractions import Fraction

from sfumato.tasks.query.bounds.arithmetic import NULL, whole
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate
from sfumato.tasks.query.inquiries.summaries import BoundedNumber

_ZERO = Fraction(0)


@dataclass
class RunningSum:
    """The parts of a sum of numbers within bounds, of which some may be missing.

    Attributes:
        numbers: how many there are.
        sure: how many of them are surely there.
        low: the sum of lower bounds of sure numbers, and of negative ones of the others.
        high: the sum of upper bounds of sure numbers, and of positive ones of the others.
        guess: the sum of the estimates.
        negative: how many others may be negative.
        positive: how many others may be positive.
        least: the least lower bound of the others; None without any.
        greatest: the greatest upper bound of the others; None without any.
    """

    numbers: int = 0
    sure: int = 0
    low: Fraction = _ZERO
    high: Fraction = _ZERO
    guess: Fraction = _ZERO
    negative: int = 0
    positive: int = 0
    least: Fraction | None = None
    greatest: Fraction | None = None

    def add(self, added: BoundedNumber) -> None:
        """Add a number."""
        self.numbers += 1
        self.guess += added.guess
        if added.sure:
            self.sure += 1
            self.low += added.low
            self.high += added.high
            return
        self.negative += added.low < 0
        self.positive += added.high > 0
        self.low += min(added.low, _ZERO)
        self.high += max(added.high, _ZERO)
        self.least = added.low if self.least is None else min(self.least, added.low)
        self.greatest = added.high if self.greatest is None else max(self.greatest, added.high)

    def bounds(self, there: BoundedNumber | None = None) -> Bounds:
        """Return the bounds of the sum.

        Args:
            there: one of the numbers that may be missing, if this one is there.
        """
        if not self.numbers:
            return NULL
        low, high, sure = self.low, self.high, self.sure
        if there is not None:
            low += max(there.low, _ZERO)
            high += min(there.high, _ZERO)
            sure += 1
        if not sure:  # a sum of no numbers is null
            low = low if self.negative or self.least is None else self.least
            high = high if self.positive or self.greatest is None else self.greatest
        estimate = clamp_estimate(self.guess, low, high)
        attained = low == high and sure > 0
        return Bounds(whole(low), whole(high), estimate, sure == 0, attained=attained)
