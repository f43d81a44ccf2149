"""What attacks on groups would find if groups told nothing: values dealt to them at random.

Groups are as large as they are, and the same values are in them together. It is the reference of
all scores that count groups of some kind: some are of that kind by chance. One deal is made, which
for many people is as good as all, and always the same one: pages tell of it, and must be checked by
software to come.
"""

from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.sorting import starts
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score

_MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
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


def deal(counts: Counts) -> Counts:
    """The same values in groups of the same sizes, each in any of them."""
    rows = counts.count.astype(np.int64)
    group = np.repeat(counts.group, rows)
    value = np.repeat(counts.value, rows)[shuffle_numbers(len(group))]
    place = np.sort(group * counts.values + value)
    first = starts(place)
    group, value = np.divmod(place[first], counts.values)
    return replace(counts, group=group, value=value, count=np.diff(np.append(first, len(place))))


def shuffle_numbers(number: int) -> np.ndarray:
    """The numbers from 0 as they stand after one thorough shuffle (int64), the same everywhere.

    They are sorted by SplitMix64's mixing of each (Steele, Lea, Flood, Fast splittable pseudorandom
    number generators, OOPSLA 2014), which no two share. Streams of NumPy may change.
    """
    mixed = np.arange(1, number + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in _MIXED:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)))


def _dealt(target: AttackedRelease) -> AttackedRelease:
    counts = target.groups()
    if _NAME not in target.learned and counts is not None:
        target.learned[_NAME] = deal(counts)
    return replace(target, counted=target.learned[_NAME])
