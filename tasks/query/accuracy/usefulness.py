"""The width of bounds relative to the width without the release.

A group shows the multiset v_1 ≤ … ≤ v_N. If a selection takes a twentieth of its rows, their sum
lies between the sums of the N / 20 least and of the N / 20 greatest values; the last of these
values may count in part. Widths add up over groups, and the width of the mean is the sum of the
widths divided by a twentieth of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, Literal

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.query.accuracy.parameters import Goal
from sfumato.tasks.query.accuracy.scores import Measured

TRIVIAL = Fraction(9, 10)
"""Answers that are as wide as this share of the width without the release are of little use."""
ONE_GROUP = "all rows are in one group: no answer tells some people from others"
PART = 20
"""A selection takes one in this many rows of each group."""


@dataclass(frozen=True)
class Usefulness:
    """A judgement on a release by the width of its bounds; it does not depend on a truth.

    Attributes:
        warnings: reasons why the release may be of no use, in words.
        goal: whether the goal of the spec is met; None if the spec has none.
        missed: in words, by how much the goal is missed; empty if it is not.
    """

    warnings: tuple[str, ...] = ()
    goal: Literal["met", "below-goal"] | None = None
    missed: str = ""

    def document(self) -> dict[str, Any]:
        """Return the judgement as JSON, without empty entries."""
        fields = {"goal": self.goal, "missed": self.missed, "warnings": list(self.warnings)}
        return {name: value for name, value in fields.items() if value}


NOT_JUDGED = Usefulness()


@dataclass(frozen=True)
class PublicationFault:
    """A reason that keeps a release from being published.

    It is given in public words, and in words for the owner.
    """

    reason: str
    told: str


@dataclass(frozen=True)
class MeasuredBounds:
    """The measured accuracy of a release.

    Attributes:
        public: the part that may be published, by workload and level.
        useful: the judgement on its usefulness.
        fault: the reason that keeps it from being published.
        notices: private reports that could not be written, in words.
    """

    public: list[dict[str, Any]]
    useful: Usefulness = NOT_JUDGED
    fault: PublicationFault | None = None
    notices: tuple[str, ...] = ()


def judge_usefulness(
    measured: Sequence[Measured], goal: Goal | None, *, one_group: bool
) -> Usefulness:
    """Judge a release by the widths of its answers.

    The release is of little use if the median width is at least nine tenths of the width without
    it. That is all rows for a count, the range of the published values for a mean, both for a sum.

    Args:
        measured: the queries of its workloads.
        goal: of its spec.
        one_group: whether all its rows are in one group.
    """
    warnings: tuple[str, ...] = (ONE_GROUP,) if one_group else ()
    shares = [query.share_of_known for query in measured if query.share_of_known is not None]
    if shares and (share := median(shares)) >= TRIVIAL:
        warnings += (
            f"half of the answers are {share:.0%} as wide as what is known without the release, or "
            "wider",
        )
    if goal is None:
        return Usefulness(warnings)
    widths = [query.relative_width for query in measured if query.relative_width is not None]
    limit = goal.median_relative_width
    if not widths:
        missed = "no answer of the workloads has a relative width"
    elif (width := median(widths)) > limit:
        missed = f"the median relative width is {width:.3g}, but at most {limit:.3g} is required"
    else:
        return Usefulness(warnings, "met")
    return Usefulness(warnings, "below-goal", missed)


def mean_by_range(counts: Counts) -> Fraction | None:
    """Return the width of the mean of a twentieth of each group, by the range of all values.

    Returns None if values are not numbers, or all equal. O(entries), exact.

    >>> from sfumato.expectations.shared.exact import Exact
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
    """Return the weight of each entry in the width, in twentieths of a row.

    It is the number of the entry's rows at the upper end minus the number at the lower end.

    Among the x rows nearest to an end of a group of N rows, min(x, N / 20) are selected.
    """
    sizes = np.repeat(counts.sizes, counts.distinct)
    from_below, from_above = counts.up_to, sizes - counts.up_to + counts.count
    upper, lower = (
        np.minimum(PART * x, sizes) - np.minimum(PART * (x - counts.count), sizes)
        for x in (from_above, from_below)
    )
    return np.asarray(upper - lower)
