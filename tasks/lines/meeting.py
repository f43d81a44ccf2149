"""Lines about the same people, and the rules by which they may exist beside each other.

Every line that knows its people is compared with every other line of the work directory. People in
common have to be named; then no column may be hidden in one line and open in the other, and no
sensitive column may be grouped in two ways.

Values are compared as they are shown. So 8,912 in one line and 8,900 in another would count as two
values, neither of which a person surely has, although together they reveal only the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.expectations.shared.sorting import count_common
from sfumato.tasks.lines.line import Candidate, Line
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.private.people.followed import followed_line
from sfumato.tasks.private.people.lines import (
    KnownLine,
    line_of_groups,
    maps_of,
    other_lines,
    people_of,
    read_line,
)
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.schema.codings import document_of
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.hierarchy_rules import column_of
from sfumato.tasks.terms.terms import Declared


@dataclass(frozen=True)
class Meeting:
    """People whom two lines have in common.

    Attributes:
        line: the other line's private directory.
        people: the number of people in common.
        statement: of the other line about itself; None if it published before lines made one.
    """

    line: Path
    people: int
    statement: KnownLine | None

    @property
    def groups(self) -> str:
        """The line that made the groups of the other line."""
        follows = None if self.statement is None else self.statement.groups
        return line_of_groups(self.line.parent, self.line.name, follows)

    def names(self, people: str | None) -> bool:
        """Decide whether both lines name the same set of people."""
        return people is not None and self.statement is not None and self.statement.people == people


def meetings(line: Line, slots: SlotMap) -> Iterator[Meeting]:
    """Yield the lines of the work directory that have slots for some of the people of a map."""
    work, others = line.private.parent, other_lines(line.private.parent, line.name)
    names = slots.names if others else np.array([])
    for other in others:
        if common := count_common(names, people_of(other)):
            yield Meeting(other, common, read_line(work, other.name))


def require_named(line: Line, met: Sequence[Meeting], rule: str) -> list[str]:
    """Refuse people who are in another line, unless the specs say who they are.

    Args:
        line: the line that publishes.
        met: the lines with people in common.
        rule: how its versions may be combined.

    Returns:
        Messages about lines that use the same units for other people.

    Raises:
        PromiseError: with counts of units.
    """
    notices = []
    for meeting in met:
        other = meeting.line.name
        if meeting.names(line.people):
            require_same_file(line, meeting.statement)
            if rule == "disjoint" and not (line.accepts_lines or is_joined(line, meeting)):
                raise PromiseError(
                    f"versions: disjoint is broken: {meeting.people} units are in "
                    f"line {other} about the same people. Leave their rows out, or "
                    "accept the risk (across-lines: accepted-risk)"
                )
        elif line.people and meeting.statement is not None and meeting.statement.people:
            notices.append(f"{meeting.people} units are in line {other}, about other people")
        elif not line.accepts_lines:
            ways = ways_of_two_tables() if line.two_tables else _ways_of_one_table(other)
            listed = "\n  - ".join(["Do one of:", *ways])
            raise PromiseError(f"{meeting.people} units are in line {other}. {listed}")
    return notices


def ways_of_two_tables() -> tuple[str, ...]:
    """Return the ways out if people of two related tables are, or may be, in another line."""
    return (
        "leave their rows out (source.where of the table of people)",
        "publish only one of the two lines",
        "accept the risk, which the page will state (across-lines: accepted-risk)",
    )


def _ways_of_one_table(other: str) -> tuple[str, ...]:
    return (
        "if they are the same people, write the same `people: NAME` in both specs, then release "
        f"{other} again (for specs of one table)",
        "if they are other people, write another `people: NAME` in each spec, then release "
        f"{other} again (for specs of one table)",
        "leave their rows out (source.where)",
        "accept the risk, which the page will state (across-lines: accepted-risk)",
    )


def require_same_file(line: Line, other: KnownLine | None) -> None:
    """Refuse people who are known by row numbers of another file.

    Raises:
        PromiseError: with the rule.
    """
    if other is not None and other.pinned != line.pinned:
        raise PromiseError(
            "generated: row numbers identify people in one file only, and "
            "source.sha256 differs from that of earlier versions. Add a column that "
            "identifies people, or publish a line with another name about other people"
        )


def is_joined(line: Line, met: Meeting) -> bool:
    """Decide whether two lines show the same groups: those of one of them, or of a third line."""
    return line_of_groups(line.work, line.name, line.groups) == met.groups


def require_known_columns(line: Line) -> None:
    """Refuse columns that are said to be those of another line, but are in no other line.

    Raises:
        InputError: with the columns' names.
    """
    others = [read_line(line.work, other.name) for other in other_lines(line.work, line.name)]
    same = [
        other_line
        for other_line in others
        if other_line and other_line.people is not None and other_line.people == line.people
    ]
    for name, called in line.same_as.items():
        if not any(called in other_line.roles for other_line in same):
            raise InputError(
                f"columns.{name}.same-as: no line about the same people has a column "
                f"{called!r}. Release that line first, with the same `people: NAME` in "
                "both specs"
            )


def require_followed(line: Line, candidate: Candidate) -> None:
    """Refuse a version in the groups of another line that has gone on since.

    Raises:
        PromiseError: where its latest map is another one.
    """
    if line.groups is None:
        return
    composed = candidate.versions == "composed"
    followed = followed_line(line.work, line.groups, line.people, composed)
    if candidate.followed != followed.sha256:
        raise PromiseError(
            f"groups: line {line.groups} has changed in the meantime. Run the command again"
        )


def require_compatible(
    line: Line, met: Sequence[Meeting], now: SlotMap, declared: Declared
) -> None:
    """Refuse a version that reveals more about its people together with the lines that it meets.

    Raises:
        PromiseError: with the rule, and counts of people or groups.
    """
    if line.accepts_lines:
        return
    ours = description_of(line, declared)
    for meeting in met:
        if not meeting.names(line.people) or meeting.statement is None:
            continue
        joined, other = is_joined(line, meeting), meeting.line.name
        maps = maps_of(meeting.line)
        fault, mended = crossing_roles(ours, meeting.statement), ""
        if fault is None:
            from sfumato.tasks.lines.second_grouping import second_grouping  # few lines meet

            fault = second_grouping(now, declared, ours, meeting.statement, maps, joined)
            mended = (
                ""
                if joined
                else f"\n  - show the groups of line {other} in another form (groups: {other})"
            )
        if fault is not None:
            raise PromiseError(
                f"lines {declared.name} and {other} have {meeting.people} people in "
                f"common and reveal too much together: {fault}. Do one of:{mended}\n  "
                "- accept the risk (across-lines: accepted-risk)"
            )


def description_of(line: Line, declared: Declared) -> KnownLine:
    """Return a line's statement about itself."""
    strata = {column_of(stratum) for stratum in declared.strata}
    unprotected = {n for n, column in declared.columns.items() if column.unprotected is not None}
    open_columns = declared.names_with_roles("quasi-identifier", "insensitive")
    return KnownLine(
        people=line.people,
        roles={name: column.role for name, column in declared.columns.items()},
        open=tuple(sorted({*open_columns, *strata, *unprotected})),
        hides_presence=declared.form.shows == "columns",
        groups=line_of(declared.partition),
        same_as=dict(line.same_as),
        pinned=line.pinned,
        declares=declared.form.declares,
        promises=tuple(promise for promise in declared.promises if promise.protects),
        coded=_codings(line, declared),
    )


def _codings(line: Line, declared: Declared) -> dict[str, str]:
    """Return the codings of sensitive columns, by column.

    A coding that a line computed, or draws by unit, belongs to that line only.
    """
    codings = {}
    for name in declared.names_with_roles("sensitive"):
        column = declared.columns[name]
        if column.codings:
            own = {"line": line.name} if column.computed_keys or column.shift else {}
            codings[name] = canonical_json({**document_of(column), **own}).decode()
    return codings


def crossing_roles(ours: KnownLine, theirs: KnownLine) -> str | None:
    """Return why the roles of two lines' columns cross, or None if they do not.

    They cross if a column is protected in one line and open in the other, or if one of the lines
    hides who is in it.
    """
    for hidden, showing in ((ours, theirs), (theirs, ours)):
        for name in hidden.protected_columns:
            if any(hidden.names_of(name) & showing.names_of(open_) for open_ in showing.open):
                return f"{name!r} is protected in one line and open in the other"
    if ours.hides_presence != theirs.hides_presence:
        return "one line hides who is in it, and the other shows it"
    if ours.hides_presence:
        return (
            "both lines hide who is in them, but a person who fits a group in each is "
            "known to be in both"
        )
    return None


def require_coded_alike(line: Line, ours: KnownLine, met: Sequence[Meeting], rule: str) -> None:
    """Refuse a version with a sensitive column that the same people have elsewhere in other codes.

    Args:
        line: the line that publishes.
        ours: its statement about itself.
        met: the lines about the same people.
        rule: how its versions may be combined.

    Raises:
        PromiseError: naming the column and the line.
    """
    others = [(f"in line {meeting.line.name}", meeting.statement) for meeting in met]
    if rule == "accepted-risk":
        others.append(("in the version before", read_line(line.work, line.name)))
    for where, theirs in others:
        name = None if theirs is None else _coded_otherwise(ours, theirs)
        if name is not None:
            raise PromiseError(
                f"columns.{name}: is coded differently {where}, about the same people, "
                "so what both reveal together cannot be counted. Code it in the same "
                "way"
            )


def _coded_otherwise(ours: KnownLine, theirs: KnownLine) -> str | None:
    """Return a sensitive column of both lines that is not coded alike, or None."""
    shared = [name for name in ours.sensitive if name in theirs.sensitive]
    return next((n for n in shared if ours.coded.get(n) != theirs.coded.get(n)), None)
