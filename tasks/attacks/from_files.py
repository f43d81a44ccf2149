"""Attacks that need only a release's tables, compared with values dealt to groups at random.

A deal keeps the sizes of groups and all values together. It is the reference of all scores that
count groups of some kind, because some groups are of that kind by chance. Only one deal is made,
which for many people is as good as all deals. It is always the same deal: pages show its scores,
and later software must be able to check them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.sorting import sort, stable_order, starts
from sfumato.tasks.attacks.group import (
    background,
    homogeneity,
    similarity,
    skewness,
    small_range,
)
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.shared.attack import Attack, AttackedRelease, Score
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.terms.assessment import SeenGroups
from sfumato.tasks.terms.terms import Declared

# shifts and factors of SplitMix64, see `shuffle_numbers`
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
"""The attacks that need only the counts of values in groups."""
Guesses = Mapping[str, Mapping[str, Sequence[Score]]]
"""The scores on each sensitive column, by the names of attacks that give scores."""


def beside_dealt(attack: Attack) -> Attack:
    """Return an attack on groups whose scores have those on dealt values as a reference."""

    def attack_with_reference(target: AttackedRelease) -> tuple[Score, ...]:
        scores = attack(target)
        if not scores:
            return ()
        dealt = {score.measure: score.share for score in attack(_with_dealt_values(target))}
        return tuple(
            replace(score, references={**score.references, DEALT: dealt[score.measure]})
            for score in scores
        )

    return attack_with_reference


def deal(counts: Counts) -> Counts:
    """Deal all values to groups of the same sizes, in the fixed order of `shuffle_numbers`."""
    rows = counts.count.astype(np.int64)
    group = np.repeat(counts.group, rows)
    value = np.repeat(counts.value, rows)[shuffle_numbers(len(group))]
    place = sort(group * counts.values + value, len(counts.sizes) * counts.values)
    first = starts(place)
    group, value = np.divmod(place[first], counts.values)
    return replace(counts, group=group, value=value, count=np.diff(np.append(first, len(place))))


def shuffle_numbers(number: int) -> np.ndarray:
    """Return the numbers from 0 in one fixed shuffled order (int64), the same on all machines.

    Numbers are sorted by SplitMix64's mix of each (Steele, Lea, Flood, Fast splittable pseudorandom
    number generators, OOPSLA 2014), which differs for each number. NumPy's streams may change.
    """
    mixed = np.arange(1, number + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in _MIXED:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    high = (mixed >> np.uint64(32)).astype(np.int64)  # nearly all differ, and are sorted by digits
    order = stable_order(high)
    high = high[order]
    is_tied = np.zeros(number, dtype=bool)
    is_tied[1:] = high[1:] == high[:-1]
    is_tied[:-1] |= is_tied[1:]
    tied = order[is_tied]
    order[is_tied] = tied[np.argsort(mixed[tied])]
    return order


def _with_dealt_values(target: AttackedRelease) -> AttackedRelease:
    counts = target.groups()
    if _NAME not in target.learned and counts is not None:
        target.learned[_NAME] = deal(counts)
    return replace(target, counted=target.learned[_NAME])


BESIDE_DEALT: Mapping[str, Attack] = {
    name: beside_dealt(attack) for name, attack in FROM_FILES.items()
}
"""The attacks of `FROM_FILES`, with scores on values dealt to groups at random as references."""


def attacks_from_files(*, beside: bool, learns: bool) -> Mapping[str, Attack]:
    """Return the attacks that a page shows.

    Args:
        beside: whether each score has the score on dealt values as a reference.
        learns: whether the expected guesses of an attacker who learns across groups are added.
    """
    of_groups = BESIDE_DEALT if beside else FROM_FILES
    return {**of_groups, **({"definetti": definetti.expect_hits} if learns else {})}


def guess_from_files(
    declared: Declared, tables: Tables, seen: SeenGroups, attacks: Mapping[str, Attack]
) -> Guesses:
    """Return the scores of attacks on each sensitive column, by its name, if the form shows values.

    Shares are shares of the published rows. There are no scores of composed versions, of releases
    in parts, of related rows, or if some values are made up.

    Args:
        declared: the release's declaration.
        tables: its published tables.
        seen: the groups of the tables.
        attacks: the attacks to run, by their names.
    """
    unshown = declared.is_composed or declared.parts is not None or declared.rows.fakes
    if unshown or declared.has_related_rows:
        return {}
    nobody, named = Microdata((), 0), declared.names_with_roles("sensitive")
    targets = [AttackedRelease(declared, tables, nobody, name, seen) for name in named]
    guesses = {target.sensitive: _scores_by_attack(target, attacks) for target in targets}
    return {name: scores for name, scores in guesses.items() if scores}


def _scores_by_attack(
    target: AttackedRelease, attacks: Mapping[str, Attack]
) -> dict[str, tuple[Score, ...]]:
    results = {name: attack(target) for name, attack in attacks.items()}
    return {name: scores for name, scores in results.items() if scores}
