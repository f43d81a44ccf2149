"""All attacks by their names."""

from collections.abc import Callable, Mapping, Sequence

from sfumato.tasks.attacks import beside, subdomains
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs
from sfumato.tasks.attacks.group import (
    background,
    homogeneity,
    similarity,
    skewness,
    small_range,
)
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.minimal import minimality
from sfumato.tasks.declaration.assessment import SeenGroups
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata

ATTACKS: Mapping[str, Attack] = {
    "homogeneity": homogeneity.attack,
    "background": background.attack,
    "small-range": small_range.attack,
    "similarity": similarity.attack,
    "skewness": skewness.attack,
    "minimality": minimality.attack,
    "definetti": definetti.attack,
    "beside": beside.attack,
    "subdomains": subdomains.attack,
}
"""What measures how well each attack does."""

FROM_FILES = ("homogeneity", "background", "small-range", "similarity", "skewness")
"""The attacks that are scored by what is published alone: by how often values occur in groups."""

BELIEFS: Mapping[str, Callable[[AttackedRelease, int], OwnValueBeliefs | None]] = {
    "homogeneity": lambda of, _: homogeneity.beliefs(of),
    "background": background.beliefs,
    "definetti": lambda of, _: definetti.beliefs(of),
    "subdomains": lambda of, _: subdomains.beliefs(of),
}
"""What attackers believe, where there are bars on it; `background` with values ruled out."""


def targets_of(
    declared: Declared, tables: Tables, people: Microdata
) -> tuple[AttackedRelease, ...]:
    """A release as a target, once for each of its sensitive columns.

    Args:
        declared: what the release declares.
        tables: what it shows.
        people: the rows that it represents, as they are, for the scores.
    """
    named = declared.named("sensitive")
    return tuple(AttackedRelease(declared, tables, people, name) for name in named)


def guess_from_files(
    declared: Declared, tables: Tables, seen: SeenGroups
) -> dict[str, list[Score]]:
    """What everybody can work out of each sensitive column, by name, where values are shown.

    Shares are of the published rows; none where some of these are nobody's.

    Args:
        declared: what the release declares.
        tables: what it shows.
        seen: the groups of the tables.
    """
    if declared.composed or declared.parts is not None or declared.rows.fakes:
        return {}
    nobody, named = Microdata((), 0), declared.named("sensitive")
    targets = [AttackedRelease(declared, tables, nobody, name, seen) for name in named]
    found = {
        one.sensitive: [score for name in FROM_FILES for score in ATTACKS[name](one)]
        for one in targets
    }
    return {name: scores for name, scores in found.items() if scores}


def attack_release(targets: Sequence[AttackedRelease]) -> dict[str, list[Score]]:
    """What attackers guess of each sensitive column, by all attacks."""
    return {
        target.sensitive: [score for attack in ATTACKS.values() for score in attack(target)]
        for target in targets
    }
