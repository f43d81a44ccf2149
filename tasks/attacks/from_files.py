"""Attacks that only a release's tables score, beside values that are dealt at random.

Groups are as large as they are, and the same values are in them together. It is the reference of
all scores that count groups of some kind: some are of that kind by chance. One deal is made, which
for many people is as good as all, and always the same one: pages tell of it, and must be checked by
software to come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.sorting import starts
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.group import (
    background,
    homogeneity,
    similarity,
    skewness,
    small_range,
)
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.terms import Declared

_MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_NAME = "dealt"
DEALT = "where values are dealt to groups at random"
FROM_FILES: Mapping[str, Attack] = {
    "homogeneity": homogeneity.attack,
    "background": background.attack,
    "small-range": small_range.attack,
    "similarity": similarity.attack,
    "skewness": skewness.attack,
}
"""The attacks that are scored by how often values occur in groups, which forms show."""
Guesses = Mapping[str, Mapping[str, Sequence[Score]]]
"""What is guessed of each sensitive column, by the names of attacks that find something."""


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


BESIDE_DEALT: Mapping[str, Attack] = {
    name: beside_dealt(attack) for name, attack in FROM_FILES.items()
}
"""The same, with the scores of values that are dealt to groups at random beside theirs."""


def attacks_from_files(*, beside: bool, learns: bool) -> Mapping[str, Attack]:
    """The attacks that a page tells of.

    Args:
        beside: whether it tells, too, how they would do if groups told nothing.
        learns: whether it tells what is expected to be guessed by who learns from all groups.
    """
    of_groups = BESIDE_DEALT if beside else FROM_FILES
    return {**of_groups, **({"definetti": definetti.expect_hits} if learns else {})}


def guess_from_files(
    declared: Declared, tables: Tables, seen: SeenGroups, attacks: Mapping[str, Attack]
) -> Guesses:
    """What can be worked out of each sensitive column, by name, where values are shown.

    Shares are of the published rows; none where some of these are nobody's.

    Args:
        declared: what the release declares.
        tables: what it shows.
        seen: the groups of the tables.
        attacks: by which attacks, by their names.
    """
    if declared.composed or declared.parts is not None or declared.rows.fakes:
        return {}
    nobody, named = Microdata((), 0), declared.named("sensitive")
    targets = [AttackedRelease(declared, tables, nobody, name, seen) for name in named]
    found = {one.sensitive: _what_is_found(one, attacks) for one in targets}
    return {name: scores for name, scores in found.items() if scores}


def _what_is_found(
    target: AttackedRelease, attacks: Mapping[str, Attack]
) -> dict[str, tuple[Score, ...]]:
    found = {name: attack(target) for name, attack in attacks.items()}
    return {name: scores for name, scores in found.items() if scores}
