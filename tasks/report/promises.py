"""Promises in the words of a page, with what was measured beside what is required."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.shared.numbers import Number, plain
from sfumato.tasks.report.numbers import distance_text, four_digits, rough, thousands
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.terms.terms import Declared

_HOUSEHOLDS = {
    "people who look the same in all their rows": "households that look the same in all members",
    "people who look the same": "households with a member who looks the same",
    "people who have any one value in a row": "households in which a member has any one value",
    "person": "household",
    "people": "households",
}
_LONGEST = 32  # digits of an exact number beside a rounded one


@dataclass(frozen=True)
class Parameter:
    """A parameter of a promise: what is required and what is seen at worst."""

    name: str
    meaning: str
    required: str
    observed: str


@dataclass(frozen=True)
class StatedPromise:
    """A promise in words, with its verdict.

    `joined` says whether it is of all groups together, not of each by itself; `referred`, whether
    it was measured beside a reference, which is not published. `over_people` has its
    parameters over people who have several rows, as the publisher states them.
    """

    title: str
    sentence: str
    scope: str
    joined: bool
    referred: bool
    holds: bool
    groups: int
    failing: int
    parameters: tuple[Parameter, ...]
    over_people: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class RemainingUncertainty:
    """The uncertainty in which a (k,e)-promise leaves an attacker."""

    name: str
    k: str
    e: str


def with_sensitive(promise: PrivacyModel, declared: Declared) -> PrivacyModel:
    """Return the promise with its sensitive attribute named, if only one is possible."""
    sensitive = declared.names_with_roles("sensitive")
    if promise.sensitive is None and len(sensitive) == 1:
        return replace(promise, sensitive=sensitive[0])
    return promise


def state_promise(
    promise: PrivacyModel,
    verdict: Verdict,
    declared: Declared,
    over_people: Verdict | None = None,
) -> StatedPromise:
    """Return a promise with its verdict in words, also over people if they have several rows."""
    units = dict.fromkeys(promise.distances, kind_of(declared, promise.sensitive))
    separates = tells("separators", declared.software)
    names = sorted(verdict.required, key=lambda name: (name in promise.distances, name))
    sentence = _sentence(promise, verdict, declared, separates=separates)
    return StatedPromise(
        title=promise.title,
        sentence=f"{sentence[:1].upper()}{sentence[1:]}.",
        scope=", ".join(promise.quasi_identifiers or ()),
        joined=promise.judged_jointly,
        referred=promise.needs_population,
        holds=verdict.holds,
        groups=verdict.groups,
        failing=verdict.failing,
        parameters=tuple(
            _parameter(
                promise.meaning_of_facts(name)
                if _is_of_facts(promise, declared)
                else _meaning_over_rows(promise, name, declared),
                name,
                verdict,
                units.get(name),
                separates=separates,
            )
            for name in names
        ),
        over_people=tuple(
            _parameter(
                _meaning_over(promise, name, declared),
                name,
                over_people,
                units.get(name),
                separates=separates,
            )
            for name in names
            if over_people is not None
        ),
    )


def _sentence(
    promise: PrivacyModel, verdict: Verdict, declared: Declared, *, separates: bool
) -> str:
    """Return what a promise means, with separators in its large numbers if `separates`."""
    sentence = promise.sentence_of_declared() if declared.form.declares else promise.sentence()
    if _is_of_facts(promise, declared):
        sentence = promise.sentence_of_facts()
    if separates:
        for number in verdict.required.values():
            sentence = _with_separators(sentence, number, promise.sensitive or "")
    return sentence


def _is_of_facts(promise: PrivacyModel, declared: Declared) -> bool:
    """Decide whether a promise is about facts of people beside their related rows."""
    return declared.has_related_rows and not promise.of_related


def _with_separators(sentence: str, number: Number, name: str) -> str:
    """Return a sentence in which a number has separators, unless a column's name has its digits."""
    if number is None or number == inf or (digits := str(plain(Fraction(number)))) in name:
        return sentence
    pattern = rf"(?<![\w.]){re.escape(digits)}(?![\w.]*\w)"
    return re.sub(pattern, thousands(Fraction(number)), sentence)


def _meaning_over_rows(promise: PrivacyModel, name: str, declared: Declared) -> str:
    """Return the meaning of a parameter over the rows of one table, or over people beside rows."""
    several = declared.rows_per_unit == "several"
    return (promise.meanings_over_rows if several else {}).get(name, promise.meanings[name])


def _meaning_over(promise: PrivacyModel, name: str, declared: Declared) -> str:
    """Return the meaning of a parameter over people who have several rows, or over households."""
    of_rows = name in promise.meanings_over_rows and not declared.has_related_rows
    meaning = promise.meanings[name] if of_rows else promise.meaning_over_people(name)
    changes = declared.households and (of_rows or meaning != promise.meanings[name])
    return _of_households(meaning) if changes else meaning


def _of_households(words: str) -> str:
    """Return words about people with several rows as words about households and their members.

    >>> _of_households("people who look the same, at least")
    'households with a member who looks the same, at least'
    """
    for people, households in _HOUSEHOLDS.items():
        words = words.replace(people, households)
    return words


def remaining_uncertainty(
    promises: Sequence[PrivacyModel], declared: Declared
) -> list[RemainingUncertainty]:
    """Return the uncertainty that each (k,e)-promise leaves an attacker."""
    return [
        RemainingUncertainty(
            str(promise.sensitive),
            thousands(promise.faced_values[0]),
            distance_text(promise.faced_values[1], kind_of(declared, promise.sensitive)),
        )
        for promise in promises
        if promise.faced_values is not None
    ]


def widest_e(promises: Sequence[PrivacyModel], name: str) -> Fraction | None:
    """Return the largest range that any promise about a sensitive attribute requires."""
    faced = [p.faced_values for p in promises if p.faced_values is not None and p.sensitive == name]
    return max((e for _, e in faced), default=None)


def kind_of(declared: Declared, name: str | None) -> str:
    """Return a column's type, or string for a column that is not declared."""
    column = None if name is None else declared.columns.get(name)
    return "string" if column is None else column.type


def _parameter(
    meaning: str, name: str, verdict: Verdict, unit: str | None, *, separates: bool
) -> Parameter:
    required, observed = (
        _number(number, unit, separates=separates)
        for number in (verdict.required[name], verdict.observed.get(name))
    )
    return Parameter(name, meaning, required, observed)


def _number(number: Number, unit: str | None, *, separates: bool) -> str:
    """Return a number for people, as a distance if it has the unit of a column type."""
    if number is None:
        return "could not be measured"
    if unit is not None:
        return distance_text(Fraction(number), unit)
    if number == inf:
        return "infinite"
    exact = thousands(Fraction(number))
    if "/" not in exact and len(exact) <= _LONGEST:
        return exact
    rounded = rough(float(number)) if separates else four_digits(float(number))
    return f"≈ {rounded}" if len(exact) > _LONGEST else f"≈ {rounded} ({exact})"
