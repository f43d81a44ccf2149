"""What everybody can work out of a release: attacks that nothing but its tables scores."""

from collections.abc import Mapping

from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.group import (
    background,
    homogeneity,
    similarity,
    skewness,
    small_range,
)
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.declaration.assessment import SeenGroups
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata

FROM_FILES: Mapping[str, Attack] = {
    "homogeneity": homogeneity.attack,
    "background": background.attack,
    "small-range": small_range.attack,
    "similarity": similarity.attack,
    "skewness": skewness.attack,
}
"""The attacks that are scored by how often values occur in groups, which forms show."""


def guess_from_files(
    declared: Declared, tables: Tables, seen: SeenGroups, *, learns: bool
) -> dict[str, list[Score]]:
    """What can be worked out of each sensitive column, by name, where values are shown.

    Shares are of the published rows; none where some of these are nobody's.

    Args:
        declared: what the release declares.
        tables: what it shows.
        seen: the groups of the tables.
        learns: whether it is told, too, what is expected to be guessed by who learns from all.
    """
    if declared.composed or declared.parts is not None or declared.rows.fakes:
        return {}
    nobody, named = Microdata((), 0), declared.named("sensitive")
    targets = [AttackedRelease(declared, tables, nobody, name, seen) for name in named]
    attacks = [*FROM_FILES.values(), *([definetti.expect_hits] if learns else [])]
    found = {
        one.sensitive: [score for attack in attacks for score in attack(one)] for one in targets
    }
    return {name: scores for name, scores in found.items() if scores}
