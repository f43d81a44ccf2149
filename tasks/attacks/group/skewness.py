"""Skewness: groups that have a value much more often than all people have it.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007), §3.1: two values, each of half the
group, are diverse, and tell whoever knows that one of them is rare.
"""

from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare

_TIMES = (2, 10)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """See whose own value is likelier by the group than by all people, and by how much."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    return tuple(
        Score(
            f"own value {times} times as likely as without the release, or more",
            share_as_likely(counts, times),
        )
        for times in _TIMES
    )


def successes(target: AttackedRelease, times: float) -> SuccessShare | None:
    """Whose own value is so much likelier by their group; None where no values are shown."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return None
    return SuccessShare(int(counts.sizes.sum()), share_as_likely(counts, times))


def share_as_likely(counts: Counts, times: float) -> float:
    """The share of people whose value is so many times as likely in their group, or more."""
    people, least = int(counts.sizes.sum()), Fraction(str(times))
    fits = people**2 * least.numerator < 1 << 63
    count, size = (of.astype(np.int64 if fits else object) for of in (counts.count, counts.sizes))
    likely = count * people * least.denominator
    before = counts.totals[counts.value] * size[counts.group] * least.numerator
    return int(counts.count[likely >= before].sum()) / people
