"""All attacks by their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.tasks.attacks import beside
from sfumato.tasks.attacks.declared import Bar
from sfumato.tasks.attacks.from_files import BESIDE_DEALT, FROM_FILES, beside_dealt
from sfumato.tasks.attacks.group import (
    background,
    distance,
    few_columns,
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
from sfumato.tasks.attacks.shared.attack import Attack, AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import LimitedFigures
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.question.ways import facts_of
from sfumato.tasks.terms.assessment import SeenGroups
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
    "few-columns": few_columns.attack,
}
"""The attacks, each of which scores itself against the truth."""

_OF_GROUPS = (*FROM_FILES, "known-people")
_OF_RECORDS = ("matches", "singling-out", "linkability", "few-columns")


def attacks_on(target: AttackedRelease) -> Mapping[str, Attack]:
    """Return the attacks that score a release.

    Composed versions show values of people who left, and the rows of parts are not at hand when
    parts are judged. So both are attacked only by groups, with shares of all values there. Without
    a value to guess only records are compared. Related rows have attacks of their own.
    """
    if target.declared.has_related_rows:
        from sfumato.tasks.attacks.group import related_rows  # few releases have such rows

        if not target.sensitive or not facts_of(target.declared):
            return related_rows.ATTACKS if target.sensitive else {}
        from sfumato.tasks.attacks.group import related_facts

        return {**related_rows.ATTACKS, "related-facts": related_facts.by_facts}
    whole = target.people.rows and not target.declared.is_composed
    if not target.sensitive:
        return {name: ATTACKS[name] for name in _OF_RECORDS if whole}
    return ATTACKS if whole else {name: ATTACKS[name] for name in _OF_GROUPS}


FIGURES: Mapping[str, Callable[[AttackedRelease, Bar], LimitedFigures | None]] = {
    "homogeneity": lambda target, _: homogeneity.beliefs(target),
    "background": lambda target, bar: background.beliefs(target, bar.known or 0),
    "known-people": lambda target, bar: known_people.beliefs(target, bar.known or 0),
    "several-rows": lambda target, _: several_rows.beliefs(target),
    "small-range": lambda target, bar: small_range.beliefs(target, bar.width),
    "similarity": lambda target, bar: similarity.beliefs(target, bar.level or 1),
    "skewness": lambda target, bar: skewness.successes(target, bar.times or 1),
    "minimality": lambda target, _: minimality.figures(target),
    "definetti": lambda target, _: definetti.beliefs(target),
    "subdomains": lambda target, _: subdomains.beliefs(target),
    "linkage": lambda target, bar: linkage.own_rows(target, Path(bar.register_ or "")),
    "presence": lambda target, bar: linkage.presence(target, Path(bar.register_ or "")),
    "composition": lambda target, _: composition.successes(target),
    "matches": lambda target, _: matches.successes(target),
    "singling-out": lambda target, _: singling_out.successes(target),
    "linkability": lambda target, _: nearest.successes_of_halves(target),
    "inference": lambda target, _: nearest.successes_of_inference(target),
}
"""The figures that bars limit, by attack; None if they cannot be computed for a release."""


def targets_of(
    declared: Declared,
    tables: Tables,
    people: Microdata,
    whose: WhoseRows | None = None,
    digest: str = "",
) -> tuple[AttackedRelease, ...]:
    """Return a release as targets, one per sensitive column, or one if it has none.

    Args:
        declared: the release's declaration.
        tables: its published tables.
        people: the original rows that it represents, for the scores.
        whose: the person and the group of each row, if people have several rows and both are known.
        digest: the digest of the release, the seed of all samples.

    Facts of people beside related rows are attacked as sensitive columns of people alone.
    """
    named, facts = declared.names_with_roles("sensitive") or [""], facts_of(declared)
    seen, shared = SeenGroups(declared, tables), dict[str, Any]()
    targets = [
        AttackedRelease(declared, tables, people, name, seen, whose, digest, shared=shared)
        for name in named
        if name not in facts
    ]
    if not facts:
        return tuple(targets)
    from sfumato.tasks.query.question.facts import people_alone, tables_alone

    alone, of_people = people_alone(declared), replace(people, related=None)
    people_table, shared = tables_alone(tables, declared.form), dict[str, Any]()
    seen = SeenGroups(alone, people_table)
    return (
        *targets,
        *(
            AttackedRelease(
                alone, people_table, of_people, name, seen, digest=digest, shared=shared
            )
            for name in facts
        ),
    )


def attack_release(targets: Sequence[AttackedRelease]) -> dict[str, list[Score]]:
    """Run all attacks; return their scores by sensitive column, or by *identities*."""
    return {
        target.subject: [
            score for attack in attacks_on(target).values() for score in attack(target)
        ]
        for target in targets
    }
