"""Skewness attack: groups that have a value much more often than all people do.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007), §3.1: two values that half of a group
has each are diverse, but an attacker learns much if one of them is rare among all people.
"""

from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare

_TIMES = (2, 10)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Measure how many people's own value is likelier by their group than by all people."""
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
    """Return the share of people whose value is `times` as likely; None if none are shown."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return None
    return SuccessShare(int(counts.sizes.sum()), share_as_likely(counts, times))


def share_as_likely(counts: Counts, times: float) -> float:
    """Return the share of people whose value is at least `times` as likely in their group."""
    people, least = int(counts.sizes.sum()), Fraction(str(times))
    fits = people**2 * least.numerator < 1 << 63  # otherwise products need Python's integers
    count, size = (
        array.astype(np.int64 if fits else object) for array in (counts.count, counts.sizes)
    )
    likely = count * people * least.denominator
    before = counts.totals[counts.value] * size[counts.group] * least.numerator
    return int(counts.count[likely >= before].sum()) / people
