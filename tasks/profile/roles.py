"""The role that each column seems to have, and the reason: a proposal that a steward confirms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.suspect_values import nearly_all_differ, spellings
from sfumato.tasks.microdata.table import key
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.profile.facts import ICD, POSTCODE, ColumnFacts
from sfumato.tasks.profile.names import Meaning, is_household, is_weight
from sfumato.tasks.profile.units import FoundUnit
from sfumato.tasks.schema.columns import Role

_OWN = Fraction(1, 2)  # different values per row, from which most rows have a value of their own
_MANY = Fraction(1, 4)
_FEW = 20  # values that any table may have
_KNOWN: Mapping[Meaning | None, str] = {
    "date": "a date, which others may know",
    "place": "a place, which others may know",
    "trait": "a trait, which others may know or see",
}
_WEIGHT = (
    "its name looks like a sample weight, and weights reveal how people were sampled. "
    "To publish it, use role weight, and write why it identifies no person "
    "(unprotected: REASON)"
)

_DIFFERENT = (
    "nearly all its values differ, as in a column that identifies people. If they "
    "identify no person, give it role sensitive, and write why (all-different: REASON)"
)
_SPELLED = (
    "some values differ only in spaces, case or Unicode form, and are united (unite: "
    "spellings). If they are different values, write `spelling: as-written` in its "
    "place"
)
_ONE_VALUE = "all rows have the same value, and no table can hide it. Use role drop or insensitive"


@dataclass(frozen=True)
class ProposedRole:
    """The role that a column seems to have.

    Attributes:
        role: the role; dropped columns need no line of their own.
        reason: the reason in words, without a value.
    """

    role: Role
    reason: str


_LOOKS: Mapping[str, ProposedRole] = {
    ICD: ProposedRole("sensitive", "its values look like codes of diagnoses (ICD)"),
    POSTCODE: ProposedRole("quasi-identifier", "postcodes, which others may know"),
}


def propose_roles(
    facts: tuple[ColumnFacts, ...], unit: FoundUnit | None, options: DraftOptions
) -> dict[str, ProposedRole]:
    """Propose a role for every column, in their order.

    Raises:
        SpecError: options make a column sensitive that has only one value: no table can hide it.
    """
    proposed: dict[str, ProposedRole] = {}
    for number, column in enumerate(facts):
        role = options.roles.get(column.name)
        if role == "sensitive" and column.is_constant and column.distinct + column.missing:
            raise SpecError(f"--role {column.name}=sensitive: {_ONE_VALUE}")
        if role is not None:
            reason = options.reasons.get(column.name, "chosen with --role")
            proposed[column.name] = ProposedRole(role, _reason_if_set(column, role, reason))
        elif unit is not None and unit.name == column.name:
            proposed[column.name] = ProposedRole("identifier", f"identifies people: {unit.reason}")
        else:
            twin = next((other.name for other in facts[:number] if _same(column, other)), None)
            proposed[column.name] = _with_questions(column, _propose(column, twin, unit))
    return proposed


def _reason_if_set(facts: ColumnFacts, role: Role, reason: str) -> str:
    words = [reason]
    return "; ".join([*words, *_questions(facts)] if role == "sensitive" else words)


def _with_questions(facts: ColumnFacts, proposed: ProposedRole) -> ProposedRole:
    """Add questions to a proposal; a text with nearly all values different is dropped for now."""
    if proposed.role != "sensitive" or not (questions := _questions(facts)):
        return proposed
    role: Role = "drop" if _DIFFERENT in questions else "sensitive"
    return ProposedRole(role, "; ".join([proposed.reason, *questions]))


def _questions(facts: ColumnFacts) -> list[str]:
    """Return what a spec has to answer about a sensitive column before it is released."""
    if facts.type != "string" or not facts.distinct:
        return []
    checks = {_DIFFERENT: nearly_all_differ(facts.rows), _SPELLED: has_spellings(facts)}
    return [question for question, applies in checks.items() if applies]


def has_spellings(facts: ColumnFacts) -> bool:
    """Decide whether some texts of a column are spellings of one value."""
    return facts.type == "string" and bool(spellings(facts.column.values).any())


def _propose(facts: ColumnFacts, twin: str | None, unit: FoundUnit | None) -> ProposedRole:
    if facts.is_constant:
        rows = "the rows that are kept, one per person," if unit and unit.repeats else "all rows"
        return ProposedRole("drop", f"{rows} have the same value, so it adds no information")
    if (by_values := _role_by_values(facts)) is not None:
        return by_values
    if is_household(facts.name) and facts.distinct > _FEW:
        return ProposedRole("identifier", "its name looks like a column that identifies households")
    if is_weight(facts.name) and facts.is_number:
        return ProposedRole("drop", _WEIGHT)
    if twin is not None:
        return ProposedRole("drop", f"has the same information as column {twin!r}, in other words")
    named, looks = _role_by_name(facts), _LOOKS.get(facts.look or "")
    if named is None:
        return looks or _role_of_unknown(facts)
    if looks is not None and looks.role != named.role:
        return replace(named, reason=f"{named.reason}, though its values look like {facts.look}s")
    return named


def _role_by_values(facts: ColumnFacts) -> ProposedRole | None:
    if facts.use == "text":
        return ProposedRole(
            "drop", "free text, which may reveal things about people that no promise covers"
        )
    if facts.use == "contact":
        return ProposedRole("identifier", f"each value looks like: {facts.look}")
    return None


def _role_by_name(facts: ColumnFacts) -> ProposedRole | None:
    if facts.meaning == "sensitive":
        reason = "its name is that of something that people keep private"
        return ProposedRole("sensitive", reason)
    if facts.meaning in ("contact", "person") and facts.own >= _OWN:
        return ProposedRole(
            "identifier",
            "its name looks like an identifier, and most rows have a value of their own",
        )
    if facts.meaning in ("contact", "person") and facts.distinct > _FEW:
        reason = "its name looks like an identifier of people, though rows share its values"
        return ProposedRole("identifier", reason)
    if facts.meaning == "text" and facts.distinct > _FEW:
        return ProposedRole("drop", "its name looks like notes, and notes may reveal anything")
    if facts.meaning in _KNOWN:
        if facts.own > _OWN and not facts.is_ordered and facts.use != "code":
            return ProposedRole(
                "drop", "most rows have a value of their own, which singles people out"
            )
        return ProposedRole("quasi-identifier", f"its name is that of {_KNOWN[facts.meaning]}")
    return None


def _role_of_unknown(facts: ColumnFacts) -> ProposedRole:
    if facts.distinct > _FEW and facts.own > _MANY:
        return ProposedRole(
            "drop", "its meaning is not known, and many rows have a value of their own"
        )
    return ProposedRole(
        "quasi-identifier",
        "its meaning is not known, so it is treated as something that others may know",
    )


def _same(facts: ColumnFacts, other: ColumnFacts) -> bool:
    """Decide whether the values of two columns match one to one."""
    if facts.distinct != other.distinct or facts.distinct <= 2 or facts.own >= _OWN:
        return False
    if sorted(facts.rows.tolist()) != sorted(other.rows.tolist()) or facts.missing != other.missing:
        return False
    pairs, _ = key([facts.column, other.column], len(facts.column.codes))
    return len(np.unique(pairs)) == facts.distinct + bool(facts.missing)
