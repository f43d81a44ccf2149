"""The role that each column seems to have, and why: a proposal, which a steward confirms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato.expectations.errors import SpecError
from sfumato.tasks.microdata.suspect_values import nearly_all_differ, spellings
from sfumato.tasks.microdata.table import key
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.profile.facts import ICD, POSTCODE, ColumnFacts
from sfumato.tasks.profile.names import Meaning, is_household, is_weight
from sfumato.tasks.profile.units import FoundUnit
from sfumato.tasks.schema.columns import Role

_OWN = Fraction(1, 2)  # different values per row, from which on most rows have one of their own
_MANY = Fraction(1, 4)
_FEW = 20  # values that any table may have
_KNOWN: Mapping[Meaning | None, str] = {
    "date": "a date, which others may know",
    "place": "a place, which others may know",
    "trait": "a trait, which others may know or see",
}
_WEIGHT = (
    "its name is that of weights of a sample, which tell strata of its design: role weight "
    "publishes them, with words on why nobody is known by them"
)

_DIFFERENT = (
    "nearly all its values differ, as numbers of people do. Can nobody be known by them? Then give "
    "it role sensitive, and say why (all-different: <reason>)"
)
_SPELLED = (
    "some values differ in spaces, case or Unicode form alone, and are made one (unite: "
    "spellings): if they are different, say spelling: as-written in its place"
)
_ONE_VALUE = "all rows have one value, which no table can hide: say drop, or insensitive"


@dataclass(frozen=True)
class ProposedRole:
    """The role that a column seems to have.

    Attributes:
        role: of it; dropped columns need no line of their own.
        reason: in words that hold no value.
    """

    role: Role
    reason: str


_LOOKS: Mapping[str, ProposedRole] = {
    ICD: ProposedRole("sensitive", "its values look like ICD codes: diagnoses"),
    POSTCODE: ProposedRole("quasi-identifier", "postcodes, which others may know"),
}


def propose_roles(
    facts: tuple[ColumnFacts, ...], unit: FoundUnit | None, options: DraftOptions
) -> dict[str, ProposedRole]:
    """A role for every column, in their order.

    Raises:
        SpecError: where a column is said to be sensitive that has one value: no table can hide it.
    """
    proposed: dict[str, ProposedRole] = {}
    for number, one in enumerate(facts):
        said = options.roles.get(one.name)
        if said == "sensitive" and one.is_constant:
            raise SpecError(f"--role {one.name}=sensitive: {_ONE_VALUE}")
        if said is not None:
            proposed[one.name] = ProposedRole(said, _said(one, said))
        elif unit is not None and unit.name == one.name:
            proposed[one.name] = ProposedRole("identifier", f"numbers people: {unit.by}")
        else:
            twin = next((other.name for other in facts[:number] if _same(one, other)), None)
            proposed[one.name] = _asked(one, _proposed(one, twin, unit))
    return proposed


def _said(one: ColumnFacts, role: Role) -> str:
    words = ["said when this was drafted"]
    return "; ".join([*words, *_questions(one)] if role == "sensitive" else words)


def _asked(one: ColumnFacts, proposed: ProposedRole) -> ProposedRole:
    """A proposal with its questions; a text that is nearly everybody's own is not yet sensitive."""
    if proposed.role != "sensitive" or not (questions := _questions(one)):
        return proposed
    role: Role = "drop" if _DIFFERENT in questions else "sensitive"
    return ProposedRole(role, "; ".join([proposed.reason, *questions]))


def _questions(one: ColumnFacts) -> list[str]:
    """What a release refuses of a sensitive column until its spec answers it."""
    if one.type != "string":
        return []
    asked = {_DIFFERENT: nearly_all_differ(one.rows), _SPELLED: has_spellings(one)}
    return [question for question, applies in asked.items() if applies]


def has_spellings(one: ColumnFacts) -> bool:
    """Decide whether some texts of a column are spellings of one value."""
    return one.type == "string" and bool(spellings(one.column.values).any())


def _proposed(one: ColumnFacts, twin: str | None, unit: FoundUnit | None) -> ProposedRole:
    if one.is_constant:
        of = "the rows that are kept, one of each person," if unit and unit.repeats else "all rows"
        return ProposedRole("drop", f"{of} say the same: it tells nothing")
    if (found := _of_values(one)) is not None:
        return found
    if is_household(one.name) and one.distinct > _FEW:
        return ProposedRole("identifier", "its name is that of a number of households")
    if is_weight(one.name) and one.is_number:
        return ProposedRole("drop", _WEIGHT)
    if twin is not None:
        return ProposedRole("drop", f"tells what column {twin!r} tells, in other words")
    named, looks = _of_name(one), _LOOKS.get(one.look or "")
    if named is None:
        return looks or _of_what_is_not_known(one)
    if looks is not None and looks.role != named.role:
        return replace(named, reason=f"{named.reason}, though its values look like {one.look}s")
    return named


def _of_values(one: ColumnFacts) -> ProposedRole | None:
    if one.use == "text":
        return ProposedRole("drop", "free text, which tells of people what no promise covers")
    if one.use == "contact":
        return ProposedRole("identifier", f"each value looks like: {one.look}")
    return None


def _of_name(one: ColumnFacts) -> ProposedRole | None:
    if one.meaning == "sensitive":
        reason = "its name is that of something people keep to themselves"
        return ProposedRole("sensitive", reason)
    if one.meaning in ("contact", "person") and one.own >= _OWN:
        return ProposedRole("identifier", "its name, and a value of its own in most rows")
    if one.meaning in ("contact", "person") and one.distinct > _FEW:
        reason = "its name says that it tells who somebody is, though rows share its values"
        return ProposedRole("identifier", reason)
    if one.meaning == "text" and one.distinct > _FEW:
        return ProposedRole("drop", "its name is that of notes, which tell whatever they tell")
    if one.meaning in _KNOWN:
        if one.own > _OWN and not one.is_ordered and one.use != "code":
            return ProposedRole("drop", "a value of its own in most rows singles people out")
        return ProposedRole("quasi-identifier", f"its name is that of {_KNOWN[one.meaning]}")
    return None


def _of_what_is_not_known(one: ColumnFacts) -> ProposedRole:
    if one.distinct > _FEW and one.own > _MANY:
        return ProposedRole(
            "drop", "nothing tells what it is, and many rows have a value of their own"
        )
    return ProposedRole(
        "quasi-identifier", "nothing tells what it is: taken for something others may know"
    )


def _same(one: ColumnFacts, other: ColumnFacts) -> bool:
    """True where two columns tell the same rows apart, each value of one being one of the other."""
    if one.distinct != other.distinct or one.distinct <= 2 or one.own >= _OWN:
        return False
    if sorted(one.rows.tolist()) != sorted(other.rows.tolist()) or one.missing != other.missing:
        return False
    pairs, _ = key([one.column, other.column], len(one.column.codes))
    return len(np.unique(pairs)) == one.distinct + bool(one.missing)
