"""Known people: an attacker who knows the values of some others of a person's group.

Source: Martin, Kifer, Machanavajjhala, Gehrke, Halpern, Worst-case background knowledge for
privacy-preserving data publishing (ICDE 2007). The rows of known people are taken out of the group;
the worst case is taken: of each person others are known whose value is not theirs.
"""

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import SURE, AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import TrueBeliefs

_PEOPLE = (1, 2)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Take one other person out of everybody's group, and two."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    alone = _known(counts, 0)
    return tuple(
        Score(
            f"own value {words} once {known} other{'s' if known > 1 else ''} of the group "
            f"{'are' if known > 1 else 'is'} known",
            _known(counts, known).believed(least),
            {"from the group alone": alone.believed(least)},
        )
        for known in _PEOPLE
        for words, least in (("certain", 1.0), (f"believed with {SURE:.0%} or more", SURE))
    )


def beliefs(target: AttackedRelease, known: int) -> TrueBeliefs | None:
    """What is believed once so many people are known; None where no values are shown."""
    counts = target.groups()
    return None if counts is None or not len(counts.sizes) else _known(counts, known)


def take_out(counts: Counts, known: int) -> np.ndarray:
    """The belief in each value of a group for who has it, others being known (float64, per entry).

    Args:
        counts: the values of each group.
        known: how many people of other values are known, as far as there are any.
    """
    others = counts.sizes[counts.group] - counts.count
    return np.asarray(counts.count / (counts.count + np.maximum(others - known, 0)))


def _known(counts: Counts, known: int) -> TrueBeliefs:
    return TrueBeliefs(counts.count, take_out(counts, known))
