"""Sensitive columns that two lines about the same people group, and their joint disclosure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.expectations.composition.gate import Passed, gate
from sfumato.expectations.composition.sparse import take_groups
from sfumato.expectations.composition.state import Refused
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.lines.shown import in_common, promise_by_values
from sfumato.tasks.private.people.followed import without_one_sided
from sfumato.tasks.private.people.lines import KnownLine
from sfumato.tasks.private.people.seen import MapOfLine, SeenPeople
from sfumato.tasks.private.people.slots import SlotMap, groups_ever
from sfumato.tasks.terms.terms import Declared


def second_grouping(
    now: SlotMap,
    declared: Declared,
    ours: KnownLine,
    theirs: KnownLine,
    maps: Sequence[SlotMap],
    joined: bool,
) -> str | None:
    """Return why two lines' groups reveal more of a column together than promised, or None.

    Columns that both lines protect are judged.

    Args:
        now: the map of a version.
        declared: the terms that it declares.
        ours: its line's statement about itself.
        theirs: the other line's statement about itself.
        maps: the maps of the other line.
        joined: whether groups have the same numbers in both lines.
    """
    for name, called in both_protect(ours, theirs):
        if ours.declares or theirs.declares:
            return f"{name!r} is shown in both lines, and one of them shows only distributions"
        if called != name:
            return (
                f"{name!r} is called {called!r} in the other line, so a value that changed "
                "between them would be revealed"
            )
        promises = _Promises(
            name,
            _promises_by_values(declared.promises, name),
            _promises_by_values(theirs.promises, name),
        )
        for slots in maps:
            if refused := _refusal_of_maps(slots, now, promises, joined):
                return f"{name!r} is grouped in both lines, and {refused.reason}"
    return None


class _Promises(NamedTuple):
    """The promises of two lines about a column."""

    name: str
    ours: Sequence[PrivacyModel]
    theirs: Sequence[PrivacyModel]


def _promises_by_values(promises: Sequence[PrivacyModel], name: str) -> list[PrivacyModel]:
    return [p for p in map(promise_by_values, promises) if p and p.sensitive == name]


def both_protect(ours: KnownLine, theirs: KnownLine) -> Iterator[tuple[str, str]]:
    """Yield the columns that two lines protect, by their names here and there."""
    for name in ours.protected_columns:
        for called in theirs.protected_columns:
            if ours.names_of(name) & theirs.names_of(called):
                yield name, called


def _changed_hands(slots: SlotMap, other: SlotMap) -> bool:
    """Decide whether slots were given away in a group of one map that has people of the other."""
    of_past = np.isin(slots.past.key, other.names)
    shared_left = np.isin(slots.key[slots.is_held & ~slots.own], other.names)
    here = np.isin(slots.group, slots.past.group) & slots.is_held
    return bool(of_past.any() or shared_left.any() or np.isin(slots.key[here], other.names).any())


def _refusal_of_maps(
    theirs: SlotMap, ours: SlotMap, promises: _Promises, joined: bool
) -> Refused | None:
    """Refuse the groups of two maps that do not compose in one column; None if they do.

    Groups compose if the gate passes them by atoms (route A, see `expectations.composition.gate`),
    and the parts into which groups of the other line are cut keep that line's promises.
    """
    if _changed_hands(theirs, ours) or _changed_hands(ours, theirs):
        return Refused("slots of one line belong to other people now", 0, 0)
    name = promises.name
    if joined and theirs.composed and ours.composed:
        theirs, ours = without_one_sided(theirs, ours), without_one_sided(ours, theirs)
    of_theirs, of_ours = in_common(groups_ever(theirs, [name]), groups_ever(ours, [name]))
    seen = SeenPeople([MapOfLine(0, theirs), MapOfLine(0 if joined else 1, ours)])
    before, now = seen.everybody([of_theirs, of_ours])
    verdict_before = gate(None, before, [])
    if isinstance(verdict_before, Refused):
        return verdict_before
    verdict = gate(verdict_before.atoms, now, promises.ours)
    if isinstance(verdict, Refused):
        return verdict
    if verdict.route != "A":
        return Refused("people are in other groups than in the other line", len(of_ours), 0)
    parts = distinct(verdict.atoms.atom_of[before.person])
    return _cut(verdict, parts, promises) if len(parts) > len(of_theirs) else None


def _cut(passed: Passed, parts: np.ndarray, promises: _Promises) -> Refused | None:
    """Refuse cutting groups of the other line into these atoms (int64); None if they may be cut."""
    groups = take_groups(passed.atoms.groups, parts)
    for promise in promises.theirs:
        if promise.compares_with_all or promise.failing(groups).any():
            reason = f"groups of the other line are split, although it promises {promise.title}"
            return Refused(reason, len(parts), 0)
    return None
