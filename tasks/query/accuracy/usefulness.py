"""How much narrower bounds are than what is known without the release.

A group shows the multiset v_1 ≤ … ≤ v_N. Of a selection that takes as many rows of it as a
twentieth, the sum lies between those of the least and of the greatest: of the i-th of either end
counts what is left of N / 20 rows after i - 1, one at most. Widths add up over groups, and the
width of the mean is the sum of them by a twentieth of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, Literal

import numpy as np

from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.query.accuracy.parameters import Goal
from sfumato.tasks.query.accuracy.scores import Measured

TRIVIAL = Fraction(9, 10)
"""Where answers are as wide as this share of what is known without a release, little is left."""
ONE_GROUP = "all rows are in one group: no answer tells some people from others"
PART = 20
"""A selection takes one in so many rows of each group."""


@dataclass(frozen=True)
class Usefulness:
    """What a release is good for; nothing in it depends on a truth.

    Attributes:
        warnings: why it may be of no use, in words.
        goal: whether the goal of the spec is met, None where it has none.
        missed: how it is missed, in words; empty where it is not.
    """

    warnings: tuple[str, ...] = ()
    goal: Literal["met", "below-goal"] | None = None
    missed: str = ""

    def document(self) -> dict[str, Any]:
        """What there is to say, for JSON; nothing where there is nothing."""
        said = {"goal": self.goal, "missed": self.missed, "warnings": list(self.warnings)}
        return {name: value for name, value in said.items() if value}


NOT_JUDGED = Usefulness()


@dataclass(frozen=True)
class BrokenWord:
    """What keeps a release from standing: in public words, and as the owner is told."""

    reason: str
    told: str


@dataclass(frozen=True)
class MeasuredBounds:
    """What was measured of a release.

    Attributes:
        public: what may be known of it, by workload and level.
        useful: what it is good for.
        fault: what keeps it from standing.
        notices: what could not be written beside the public record, in words.
    """

    public: list[dict[str, Any]]
    useful: Usefulness = NOT_JUDGED
    fault: BrokenWord | None = None
    notices: tuple[str, ...] = ()


def judge_usefulness(
    measured: Sequence[Measured], goal: Goal | None, *, one_group: bool
) -> Usefulness:
    """Judge a release by the widths of its answers.

    It tells little where the median width is nine tenths of what is known without it, or more: all
    rows for a count, the range of the published values for a mean, both for a sum.

    Args:
        measured: the queries of its workloads.
        goal: of its spec.
        one_group: whether all its rows are in one group.
    """
    warnings: tuple[str, ...] = (ONE_GROUP,) if one_group else ()
    shares = [one.share_of_known for one in measured if one.share_of_known is not None]
    if shares and (share := median(shares)) >= TRIVIAL:
        warnings += (
            f"half of the answers are {share:.0%} as wide as what is known without the release, or "
            "wider",
        )
    if goal is None:
        return Usefulness(warnings)
    widths = [one.relative_width for one in measured if one.relative_width is not None]
    wanted = goal.median_relative_width
    if not widths:
        missed = "no answer of its workloads has a size"
    elif (found := median(widths)) > wanted:
        missed = f"the median relative width is {found:.3g}, and {wanted:.3g} was asked for"
    else:
        return Usefulness(warnings, "met")
    return Usefulness(warnings, "below-goal", missed)


def mean_by_range(counts: Counts) -> Fraction | None:
    """The width of the mean of a twentieth of each group's rows, by the range of all values.

    None where values are no numbers, or all the same. O(entries), exact.

    >>> from sfumato.expectations.exact import Exact
    >>> both = np.array([0, 1]), np.array([1, 1])
    >>> numbers = Exact(np.array([0, 10]), 0)
    >>> mean_by_range(Counts(np.array([0, 0]), *both, 2, numbers))
    Fraction(1, 1)
    >>> mean_by_range(Counts(np.array([0, 1]), *both, 2, numbers))
    Fraction(0, 1)
    """
    if counts.numbers is None or not len(counts.value):
        return None
    units = counts.numbers.units
    low, high = int(units[counts.value].min()), int(units[counts.value].max())
    rows = int(counts.sizes.sum())
    if low == high or not rows:
        return None
    safe = PART * rows * (high - low) <= INT64_MAX
    above = (units[counts.value] - low).astype(np.int64 if safe else object)
    width = int((above * _at_the_ends(counts)).sum())
    return Fraction(width, rows * (high - low))


def _at_the_ends(counts: Counts) -> np.ndarray:
    """Of each entry's rows how many are at the upper end less those at the lower, in twentieths.

    Of the x rows nearest to an end of a group of N rows, min(x, N / 20) are selected.
    """
    sizes = np.repeat(counts.sizes, counts.distinct)
    from_below, from_above = counts.up_to, sizes - counts.up_to + counts.count
    upper, lower = (
        np.minimum(PART * x, sizes) - np.minimum(PART * (x - counts.count), sizes)
        for x in (from_above, from_below)
    )
    return np.asarray(upper - lower)
