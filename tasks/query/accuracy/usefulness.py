"""Whether anything is left: how much more answers tell than what is known without the release."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, Literal

from sfumato.tasks.query.accuracy.scores import Measured
from sfumato.tasks.query.accuracy.workloads.parameters import Goal

TRIVIAL = Fraction(9, 10)
"""Where answers are as wide as this share of what is known without a release, little is left."""
ONE_GROUP = "all rows are in one group: no answer tells some people from others"


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
