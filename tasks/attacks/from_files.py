"""What everybody can work out of a release: attacks that nothing but its tables scores."""

from collections.abc import Mapping, Sequence

from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.dealt import beside_dealt
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

FROM_FILES: Mapping[str, Attack] = {
    "homogeneity": homogeneity.attack,
    "background": background.attack,
    "small-range": small_range.attack,
    "similarity": similarity.attack,
    "skewness": skewness.attack,
}
"""The attacks that are scored by how often values occur in groups, which forms show."""


BESIDE_DEALT: Mapping[str, Attack] = {
    name: beside_dealt(attack) for name, attack in FROM_FILES.items()
}
"""The same, with the scores of values that are dealt to groups at random beside theirs."""


Guesses = Mapping[str, Mapping[str, Sequence[Score]]]
"""What is guessed of each sensitive column, by the names of attacks that find something."""


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
