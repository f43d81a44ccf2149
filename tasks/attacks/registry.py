"""All attacks by their names."""

from collections.abc import Callable, Mapping, Sequence

from sfumato.tasks.attacks import beside, subdomains
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs
from sfumato.tasks.attacks.dealt import beside_dealt
from sfumato.tasks.attacks.from_files import FROM_FILES
from sfumato.tasks.attacks.group import (
    background,
    distance,
    homogeneity,
    known_people,
    several_rows,
)
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.minimal import minimality
from sfumato.tasks.attacks.records import matches, nearest, singling_out
from sfumato.tasks.declaration.people.whose import WhoseRows
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata

ATTACKS: Mapping[str, Attack] = {
    **{name: beside_dealt(attack) for name, attack in FROM_FILES.items()},
    "distance": beside_dealt(distance.attack),
    "known-people": beside_dealt(known_people.attack),
    "several-rows": several_rows.attack,
    "minimality": minimality.attack,
    "definetti": definetti.attack,
    "beside": beside.attack,
    "matches": matches.attack,
    "singling-out": singling_out.attack,
    "linkability": nearest.link_halves,
    "inference": nearest.infer,
    "subdomains": subdomains.attack,
}
"""What measures how well each attack does."""

BELIEFS: Mapping[str, Callable[[AttackedRelease, int], OwnValueBeliefs | None]] = {
    "homogeneity": lambda of, _: homogeneity.beliefs(of),
    "background": background.beliefs,
    "several-rows": lambda of, _: several_rows.beliefs(of),
    "minimality": lambda of, _: minimality.beliefs(of),
    "definetti": lambda of, _: definetti.beliefs(of),
    "subdomains": lambda of, _: subdomains.beliefs(of),
}
"""What attackers believe, where there are bars on it; `background` with values ruled out."""


def targets_of(
    declared: Declared,
    tables: Tables,
    people: Microdata,
    whose: WhoseRows | None = None,
    digest: str = "",
) -> tuple[AttackedRelease, ...]:
    """A release as a target, once for each of its sensitive columns.

    Args:
        declared: what the release declares.
        tables: what it shows.
        people: the rows that it represents, as they are, for the scores.
        whose: whose they are and where they stand, where people have several and it is known.
        digest: of the release, by which samples of its people are drawn.
    """
    named = declared.named("sensitive")
    return tuple(
        AttackedRelease(declared, tables, people, name, whose=whose, digest=digest)
        for name in named
    )


def attack_release(targets: Sequence[AttackedRelease]) -> dict[str, list[Score]]:
    """What attackers guess of each sensitive column, by all attacks."""
    return {
        target.sensitive: [score for attack in ATTACKS.values() for score in attack(target)]
        for target in targets
    }
