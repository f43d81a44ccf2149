"""The extremes of an aggregate over values of which some surely count and others possibly do.

Exact, in Python's integers. Values are ascending, each once; counts are parallel to them. Which
copies surely count may differ from below and from above, where it is open whose they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Counts = Sequence[int]


@dataclass(frozen=True)
class Counting:
    """How many copies of each value surely count and possibly do, besides."""

    sure: Counts
    maybe: Counts

    @property
    def some(self) -> bool:
        """Whether any copy surely counts."""
        return any(self.sure)

    @property
    def possible(self) -> bool:
        """Whether any copy counts at all."""
        return self.some or any(self.maybe)


def least(low: Counting, high: Counting) -> tuple[int, int]:
    """The positions of the lowest and of the highest minimum of at least one value."""
    first = min(_places(low.sure, low.maybe))
    return first, min(_places(high.sure)) if high.some else max(_places(high.maybe))


def greatest(low: Counting, high: Counting) -> tuple[int, int]:
    """The positions of the lowest and of the highest maximum of at least one value."""
    last = max(_places(high.sure, high.maybe))
    return max(_places(low.sure)) if low.some else min(_places(low.maybe)), last


def total(values: Sequence[int], low: Counting, high: Counting) -> tuple[int, int]:
    """The least and the greatest sum of at least one value."""
    least_sum = _sum(values, low.sure) + _sum([min(v, 0) for v in values], low.maybe)
    greatest_sum = _sum(values, high.sure) + _sum([max(v, 0) for v in values], high.maybe)
    if not low.some:
        smallest = values[min(_places(low.maybe))]
        least_sum = least_sum if smallest < 0 else smallest
    if not high.some:
        largest = values[max(_places(high.maybe))]
        greatest_sum = greatest_sum if largest > 0 else largest
    return least_sum, greatest_sum


def mean(values: Sequence[int], low: Counting, high: Counting) -> tuple[Fraction, Fraction]:
    """The least and the greatest mean of at least one value."""
    negated = [-value for value in reversed(values)]
    from_above = Counting(high.sure[::-1], high.maybe[::-1])
    return _least_mean(values, low), -_least_mean(negated, from_above)


def _least_mean(values: Sequence[int], counting: Counting) -> Fraction:
    """One that is below the mean so far lowers it, with all its copies; then none does."""
    sum_, rows = _sum(values, counting.sure), sum(counting.sure)
    for value, copies in zip(values, counting.maybe, strict=True):
        if copies and rows and value * rows >= sum_:
            break
        if copies and not rows:
            return Fraction(value)
        sum_, rows = sum_ + value * copies, rows + copies
    return Fraction(sum_, rows)


def _sum(values: Sequence[int], counts: Counts) -> int:
    return sum(value * count for value, count in zip(values, counts, strict=True) if count)


def _places(*counts: Counts) -> list[int]:
    return [place for place, of in enumerate(zip(*counts, strict=True)) if any(of)]
