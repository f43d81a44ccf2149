"""All attacks by their names."""

from collections.abc import Mapping

from sfumato.tasks.attacks import definetti, homogeneity, small_range
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata

ATTACKS: Mapping[str, Attack] = {
    "homogeneity": homogeneity.attack,
    "small-range": small_range.attack,
    "definetti": definetti.attack,
}


def attack_release(declared: Declared, tables: Tables, people: Microdata) -> dict[str, list[Score]]:
    """What attackers guess of each sensitive column, by all attacks.

    Args:
        declared: what the release declares.
        tables: what it shows.
        people: the rows that it represents, as they are, for the scores.
    """
    return {
        name: [
            score
            for attack in ATTACKS.values()
            for score in attack(AttackedRelease(declared, tables, people, name))
        ]
        for name in declared.named("sensitive")
    }
