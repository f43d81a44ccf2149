"""All attacks by their names."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sfumato.tasks.attacks import beside
from sfumato.tasks.attacks.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import LimitedFigures
from sfumato.tasks.attacks.declared import Bar
from sfumato.tasks.attacks.from_files import BESIDE_DEALT, FROM_FILES, beside_dealt
from sfumato.tasks.attacks.group import (
    background,
    distance,
    homogeneity,
    known_people,
    several_rows,
    similarity,
    skewness,
    small_range,
    subdomains,
)
from sfumato.tasks.attacks.learning import definetti
from sfumato.tasks.attacks.linking import composition, linkage
from sfumato.tasks.attacks.minimal import minimality
from sfumato.tasks.attacks.records import matches, nearest, singling_out
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.terms import Declared

ATTACKS: Mapping[str, Attack] = {
    **BESIDE_DEALT,
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

_OF_GROUPS = (*FROM_FILES, "known-people")
_OF_RECORDS = ("matches", "singling-out", "linkability")


def attacks_on(target: AttackedRelease) -> Mapping[str, Attack]:
    """The attacks that a release is scored by.

    Composed versions show values of people who left, and of parts nobody's rows are at hand when
    they are judged: both are attacked by who finds groups, and the shares are of all values there.
    Where there is no value to guess, records are compared alone.
    """
    whole = target.people.rows and not target.declared.composed
    if not target.sensitive:
        return {name: ATTACKS[name] for name in _OF_RECORDS if whole}
    return ATTACKS if whole else {name: ATTACKS[name] for name in _OF_GROUPS}


FIGURES: Mapping[str, Callable[[AttackedRelease, Bar], LimitedFigures | None]] = {
    "homogeneity": lambda of, _: homogeneity.beliefs(of),
    "background": lambda of, bar: background.beliefs(of, bar.known or 0),
    "known-people": lambda of, bar: known_people.beliefs(of, bar.known or 0),
    "several-rows": lambda of, _: several_rows.beliefs(of),
    "small-range": lambda of, bar: small_range.beliefs(of, bar.width),
    "similarity": lambda of, bar: similarity.beliefs(of, bar.level or 1),
    "skewness": lambda of, bar: skewness.successes(of, bar.times or 1),
    "minimality": lambda of, _: minimality.beliefs(of),
    "definetti": lambda of, _: definetti.beliefs(of),
    "subdomains": lambda of, _: subdomains.beliefs(of),
    "linkage": lambda of, bar: linkage.own_rows(of, Path(bar.register_ or "")),
    "presence": lambda of, bar: linkage.presence(of, Path(bar.register_ or "")),
    "composition": lambda of, _: composition.successes(of),
    "matches": lambda of, _: matches.successes(of),
    "singling-out": lambda of, _: singling_out.successes(of),
    "linkability": lambda of, _: nearest.successes_of_halves(of),
    "inference": lambda of, _: nearest.successes_of_inference(of),
}
"""What bars are judged on; None where it cannot be had of a release."""


def targets_of(
    declared: Declared,
    tables: Tables,
    people: Microdata,
    whose: WhoseRows | None = None,
    digest: str = "",
) -> tuple[AttackedRelease, ...]:
    """A release as a target, once for each of its sensitive columns; once where it has none.

    Args:
        declared: what the release declares.
        tables: what it shows.
        people: the rows that it represents, as they are, for the scores.
        whose: whose they are and where they stand, where people have several and it is known.
        digest: of the release, by which samples of its people are drawn.
    """
    named = declared.named("sensitive") or [""]
    return tuple(
        AttackedRelease(declared, tables, people, name, whose=whose, digest=digest)
        for name in named
    )


def attack_release(targets: Sequence[AttackedRelease]) -> dict[str, list[Score]]:
    """What attackers guess of each sensitive column, or of whose row is which, by all attacks."""
    return {
        target.called: [score for attack in attacks_on(target).values() for score in attack(target)]
        for target in targets
    }
