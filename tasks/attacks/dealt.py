"""What attacks on groups would find if groups told nothing: values dealt to them at random.

Groups are as large as they are, and the same values are in them together. It is the reference of
all scores that count groups of some kind: some are of that kind by chance. One deal is made, which
for many people is as good as all.
"""

from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.sorting import starts
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score

_NAME = "dealt"
DEALT = "where values are dealt to groups at random"


def beside_dealt(attack: Attack) -> Attack:
    """An attack on groups whose scores stand beside those of values that are dealt at random."""

    def scored(target: AttackedRelease) -> tuple[Score, ...]:
        found = attack(target)
        if not found:
            return ()
        dealt = {score.measure: score.share for score in attack(_dealt(target))}
        return tuple(
            replace(score, references={**score.references, DEALT: dealt[score.measure]})
            for score in found
        )

    return scored


def deal(counts: Counts, drawing: np.random.Generator) -> Counts:
    """The same values in the same groups, each in any of them."""
    group = np.repeat(counts.group, counts.count.astype(np.int64))
    value = drawing.permutation(np.repeat(counts.value, counts.count.astype(np.int64)))
    place = np.sort(group * counts.values + value)
    first = starts(place)
    group, value = np.divmod(place[first], counts.values)
    return replace(counts, group=group, value=value, count=np.diff(np.append(first, len(place))))


def _dealt(target: AttackedRelease) -> AttackedRelease:
    counts = target.groups()
    if _NAME not in target.learned and counts is not None:
        target.learned[_NAME] = deal(counts, target.drawing(_NAME))
    return replace(target, counted=target.learned[_NAME])
