"""Lines about the same people: which may stand beside each other in what they tell.

Every line that knows its people is held against every other line of the work directory. People in
common have to be named; then no column may be hidden in one line and open in the other, and no
sensitive column may be grouped in two ways.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.expectations.composition.gate import gate
from sfumato.expectations.composition.refusals import Refused
from sfumato.expectations.composition.state import Shown
from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.private.people.groups import groups_ever
from sfumato.tasks.private.people.kinds import WITNESS
from sfumato.tasks.private.people.lines import (
    KnownLine,
    maps_of,
    other_lines,
    people_of,
    read_line,
)
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.publication.combined.common_values import by_values, in_common
from sfumato.tasks.publication.line import Line
from sfumato.tasks.schema.strata import column_of


@dataclass(frozen=True)
class Meeting:
    """People whom two lines have in common.

    Attributes:
        line: the other line's private directory.
        people: how many.
        known: what the other line told of itself, None where that was before lines did.
    """

    line: Path
    people: int
    known: KnownLine | None

    def names(self, people: str | None) -> bool:
        """Decide whether both lines name the same set of people."""
        return people is not None and self.known is not None and self.known.people == people


def meetings(line: Line, names: np.ndarray) -> Iterator[Meeting]:
    """The lines of the work directory that have slots for some of these people (S16)."""
    work = line.private.parent
    for other in other_lines(work, line.name):
        common = int(np.isin(names, people_of(other)).sum())
        if common:
            yield Meeting(other, common, read_line(work, other.name))


def require_named(line: Line, met: Sequence[Meeting], rule: str) -> list[str]:
    """Refuse people who are in another line, unless it is said who they are.

    Args:
        line: what publishes.
        met: the lines with people in common.
        rule: how its versions may be combined.

    Returns:
        What a run says of lines that use the same units for other people.

    Raises:
        PromiseError: with counts of units.
    """
    notices = []
    for one in met:
        other = one.line.name
        if one.names(line.people):
            if rule == "disjoint" and not line.accepts_lines:
                raise PromiseError(
                    f"versions: disjoint is broken: {one.people} units are in line {other} about "
                    "the same people"
                )
        elif line.people and one.known is not None and one.known.people:
            notices.append(f"{one.people} units are in line {other}, about other people")
        elif not line.accepts_lines:
            raise PromiseError(
                f"{one.people} units are in line {other}: name the people they share (people: in "
                f"both specs, then release {other} again), or another name in each where the same "
                "units mean other people"
            )
    return notices


def require_compatible(
    line: Line, met: Sequence[Meeting], now: SlotMap, declared: Declared
) -> None:
    """Refuse a version that tells more together with the lines that it meets about its people.

    Raises:
        PromiseError: with the rule, and counts of people or groups.
    """
    if line.accepts_lines:
        return
    ours = description_of(line, declared)
    for one in met:
        if not one.names(line.people) or one.known is None:
            continue
        if fault := _crossing(ours, one.known) or _second_grouping(now, declared, ours, one):
            raise PromiseError(
                f"lines {declared.name} and {one.line.name} are about {one.people} people in "
                f"common: {fault} (across-lines: accepted-risk publishes it all the same)"
            )


def description_of(line: Line, declared: Declared) -> KnownLine:
    """What a line tells of itself."""
    strata = {column_of(stratum) for stratum in declared.strata}
    unprotected = {n for n, column in declared.columns.items() if column.unprotected is not None}
    shown = declared.named("quasi-identifier", "insensitive")
    return KnownLine(
        people=line.people,
        roles={name: column.role for name, column in declared.columns.items()},
        open=tuple(sorted({*shown, *strata, *unprotected})),
        hides_presence=declared.form.shows == "columns",
    )


def _crossing(one: KnownLine, other: KnownLine) -> str | None:
    """Why the roles of two lines' columns cross, None where they do not."""
    for hidden, shown in ((one, other), (other, one)):
        for name in hidden.protected:
            if name in shown.open:
                return f"{name!r} is protected in one and open in the other"
    if one.hides_presence != other.hides_presence:
        return "one hides who is in it, and the other shows them"
    return None


def _second_grouping(now: SlotMap, declared: Declared, ours: KnownLine, met: Meeting) -> str | None:
    """Why a column that both protect is grouped in ways that tell more together."""
    if met.known is None:
        return None
    for name in set(ours.protected) & set(met.known.protected):
        promises = [p for p in map(by_values, declared.promises) if p and p.sensitive == name]
        for theirs in maps_of(met.line):
            if refused := _together(theirs, now, name, promises):
                return f"{name!r} is grouped in both, and {refused.reason}"
    return None


def _together(
    theirs: SlotMap, ours: SlotMap, name: str, promises: Sequence[PrivacyModel]
) -> Refused | None:
    """Why the groups of two maps do not compose in one column, None where they do."""
    names = np.unique(np.concatenate([theirs.key[theirs.held], ours.key[ours.held]]))
    of_theirs, of_ours = in_common(groups_ever(theirs, [name]), groups_ever(ours, [name]))
    before = gate(None, _shown(theirs, names, len(names), of_theirs), [])
    if isinstance(before, Refused):
        return before
    now = _shown(ours, names, len(names) + len(theirs), of_ours)
    found = gate(before.atoms, now, promises)
    return found if isinstance(found, Refused) else None


def _shown(slots: SlotMap, names: np.ndarray, first: int, groups: Groups) -> Shown:
    """Everybody who ever was in a map's groups; those whom it forgot are numbered from `first`."""
    people = np.flatnonzero(slots.kind != WITNESS)
    known = np.searchsorted(names, slots.key[people])
    person = np.where(slots.held[people], known, first + np.arange(len(people)))
    group = np.unique(slots.group[people], return_inverse=True)[1]
    return Shown(person, group, groups, np.ones(len(people), dtype=bool))
