"""Known people: an attacker who knows the values of some others of a person's group.

Source: Martin, Kifer, Machanavajjhala, Gehrke, Halpern, Worst-case background knowledge for
privacy-preserving data publishing (ICDE 2007). The rows of known people are taken out of the group.
The worst case is taken: for each person the known others have a value that is not theirs.
"""

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.shared.attack import SURE, AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import TrueBeliefs

_PEOPLE = (1, 2)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Take one other person out of each person's group, then two."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    alone = _beliefs_without(counts, 0)
    return tuple(
        Score(
            f"own value {words} once {number} other{'s' if number > 1 else ''} of the group "
            f"{'are' if number > 1 else 'is'} known",
            _beliefs_without(counts, number).share_above(least),
            {"from the group alone": alone.share_above(least)},
        )
        for number in _PEOPLE
        for words, least in (("certain", 1.0), (f"believed with {SURE:.0%} or more", SURE))
    )


def beliefs(target: AttackedRelease, known_others: int) -> TrueBeliefs | None:
    """Return the beliefs once some others of the group are known; None if no values are shown."""
    counts = target.groups()
    return (
        None if counts is None or not len(counts.sizes) else _beliefs_without(counts, known_others)
    )


def take_out(counts: Counts, known_others: int) -> np.ndarray:
    """Return the belief in the own value of a person who has it (float64, per entry of `counts`).

    Args:
        counts: the values of each group.
        known_others: the number of known people with other values, as far as there are any.
    """
    others = counts.sizes[counts.group] - counts.count
    return np.asarray(counts.count / (counts.count + np.maximum(others - known_others, 0)))


def _beliefs_without(counts: Counts, known_others: int) -> TrueBeliefs:
    return TrueBeliefs(counts.count, take_out(counts, known_others))
