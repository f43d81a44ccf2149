"""Versions and lines about the same people under other names, who are told by no unit as written.

Every version of the line, unless they may be combined at one's own risk, and every version of other
lines of the work directory is compared in two ways: units by their normal forms, and the rows of
units that are not in both by how many of them say the same (see `composition.same_people`). What
says too little to refuse is told to the owner alone.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.expectations.errors import WAY_OUT, PromiseError
from sfumato.tasks.private.compared_rows import RowsInCommon, compare_rows
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.line import Identity
from sfumato.tasks.private.people.keys import people_key
from sfumato.tasks.private.people.kinds import WITNESS
from sfumato.tasks.private.people.lines import other_lines, read_line, state_of
from sfumato.tasks.private.people.spelled import OtherSpelling, read_spelled, spelled_otherwise
from sfumato.tasks.private.people.store import has_map, read_map, since_composed
from sfumato.tasks.private.source_rows import ROWS, Rows, normal_rows, read_rows
from sfumato.tasks.private.state import LineState
from sfumato.tasks.publication.line import Line

_FEW = "too few rows are compared to tell whether people are the same"
_BLIND = "these columns cannot tell whether people are the same"
_AS_WRITTEN = (
    "earlier software published versions of it, which are compared as they were written: people "
    "whose units or values are spelled in another way are not found"
)
_REMARKABLE = 1e-3
"""How seldom unrelated tables have so many rows in common that their owner is told."""


@dataclass(frozen=True)
class ComparedVersion:
    """A version that was held against a source.

    Attributes:
        line: its name.
        version: its number.
        common: what their rows have in common, None where none can be compared.
        spelled: their units that are spelled in another way, None where that is not known.
        as_written: whether units or rows were compared as they were written alone.
        keeps_none: whether its line keeps no rows.
    """

    line: str
    version: str
    common: RowsInCommon | None = None
    spelled: OtherSpelling | None = None
    as_written: bool = False
    keeps_none: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """For the private report."""
        rows = self.common and self.common.rows
        judged = rows and {"chance": rows.chance, "can_tell": rows.can_tell}
        return {**asdict(self), "judged": judged}


@dataclass(frozen=True)
class ComparedPeople:
    """All versions that a source was held against, and what its owner is told of them."""

    versions: tuple[ComparedVersion, ...] = ()
    notices: tuple[str, ...] = field(default=())


def require_other_people(line: Line, identity: Identity, rule: str) -> ComparedPeople:
    """Refuse people whom an earlier version or another line knows under another name.

    Args:
        line: what is to be published.
        identity: of its source.
        rule: how its versions may be combined.

    Raises:
        PromiseError: with the columns, counts and each way out; or where a version to compare with
            came after the source was read.
    """
    found: list[ComparedVersion] = []
    notices: list[str] = []
    others = rule == "composed" and (line.others or identity.others)
    if identity.units is not None and rule != "accepted-risk" and not others:
        for one in _compared(line, identity, line.private):
            _require_new(one, rule)
            found.append(one)
    for other in () if line.accepts_lines else other_lines(line.work, line.name):
        for one in _compared(line, identity, other):
            notices += _require_others(line, one)
            found.append(one)
    return ComparedPeople(tuple(found), (*dict.fromkeys(notices), *_untold(line, found)))


def write_compared(reports: Path, compared: ComparedPeople) -> None:
    """Leave what was compared among the private reports of a version."""
    content = json.dumps([one.document for one in compared.versions], indent=2)
    write_atomically(reports / "same-people.json", content.encode())


def _compared(line: Line, identity: Identity, other: Path) -> Iterator[ComparedVersion]:
    """Hold a source against each version of a line."""
    state = state_of(other)
    for version, known in sorted(state.versions.items()):
        spelled = None
        if known.units_normal and identity.spelled is not None:
            spelled = spelled_otherwise(identity.spelled, read_spelled(other, version))
        theirs = _rows_of(line, other, version, state)
        rows_as_written = not (known.units or known.rows_normal)
        as_written = rows_as_written or (known.units and not known.units_normal)
        if theirs is None:
            none = known.map is None
            yield ComparedVersion(other.name, version, None, spelled, as_written, keeps_none=none)
            continue
        ours = identity.hashed if rows_as_written else identity.normal
        if ours is None:
            raise PromiseError(
                f"line {other.name} was published since this run read its source, or other "
                "software read it: run it again, so that their rows are compared"
            )
        found = compare_rows(ours, theirs)
        yield ComparedVersion(other.name, version, found, spelled, as_written)


def _rows_of(line: Line, other: Path, version: str, state: LineState) -> Rows | None:
    """The rows of a version: as they were kept, or as the map of the line has them."""
    known = state.versions[version]
    if known.rows_normal:
        kept = read_rows(other, version)
        if kept is None:
            raise PromiseError(
                f"line {other.name}: the rows of version {version} are gone, and nobody can tell "
                "who is in both: put them back (sfumato line restore)"
            )
        return kept
    if not known.units:
        return read_rows(other, version, ROWS)
    if known.map is None:
        return None
    if not has_map(other, version):  # the slots of all versions before are in that of a later one
        version, known = since_composed(state)[0]
    if known.map is None or not has_map(other, version):
        return None
    slots = read_map(other, version, known.map)
    held = (slots.kind != WITNESS) & slots.held
    rows = slots.rows.take(held.nonzero()[0])
    return normal_rows(rows, people_key(line.work), slots.key[held])


def _require_new(one: ComparedVersion, rule: str) -> None:
    """Refuse people of an earlier version of the line who have another name.

    Raises:
        PromiseError: with counts and each way out.
    """
    if one.spelled is not None and one.spelled.units:
        raise _refused(
            f"versions: {rule} is broken: {_in_words(one.spelled)} of version {one.version} are "
            "those of people of this source, spelled in another way",
            "spell them as in the versions before",
            *_ways_of(rule),
        )
    if one.common is not None and one.common.are_related:
        rows = _rows_in_words(one.common, f"version {one.version}")
        raise _refused(
            f"versions: {rule} is broken: {rows}, under other units",
            "give people the units that they had, or say which they are (line rekey --units)",
            *_ways_of(rule),
        )


def _ways_of(rule: str) -> tuple[str, ...]:
    """What else can be said where people have other names."""
    if rule == "composed":
        return ("if they are other people, say so: --yes-they-are-others",)
    return (
        "if they are other people, publish them as a line of their own, with another name under "
        "people: in both specs",
        "versions: accepted-risk publishes it all the same, and the page says so",
    )


def _require_others(line: Line, one: ComparedVersion) -> list[str]:
    """Refuse people of another line who have another name, unless they are said to be others.

    Returns:
        What the owner is told where they are.

    Raises:
        PromiseError: with counts and each way out.
    """
    known = read_line(line.work, one.line)
    theirs = None if known is None else known.people
    said = None not in (line.people, theirs) and line.people != theirs
    where = f"line {one.line}, version {one.version}"
    others = (
        "if they are other people, name them: another name under people: in each of the two specs, "
        f"then release {one.line} again",
        "across-lines: accepted-risk publishes it all the same, and the pages of both say so",
    )
    notices = []
    if one.spelled is not None and one.spelled.units:
        units = f"{_in_words(one.spelled)} are in {where}, spelled in another way"
        if not said:
            raise _refused(units, "spell them alike, and name the people in both specs", *others)
        notices.append(f"{units}, about other people")
    if one.common is not None and one.common.are_related:
        rows = _rows_in_words(one.common, where)
        if not said:
            alike = (
                "publish one of the two; or, where both have a unit, give people the same one in "
                "both and name them (people:)"
            )
            raise _refused(rows, alike, *others)
        notices.append(f"{rows}, about other people")
    return notices


def _in_words(spelled: OtherSpelling) -> str:
    units = "1 unit" if spelled.units == 1 else f"{spelled.units:,} units"
    return f"{units} ({spelled.in_words})"


def _rows_in_words(common: RowsInCommon, where: str) -> str:
    """What the rows of a version have in common with those of a source."""
    rows, columns = common.rows, ", ".join(common.columns)
    if rows.equal:
        equal = f"all {rows.equal:,} rows are those of {where}, too"
        return f"{equal}, over the columns of both ({columns})"
    return (
        f"rows are those of {where}, too: over the columns of both ({columns}), {rows.both:,} "
        f"combinations of values are in one row of each, {rows.first:,} in two rows of this source "
        f"and {rows.second:,} in two of that one, and of other people at most about half of them "
        "would be in both"
    )


def _refused(what: str, *ways_out: str) -> PromiseError:
    return PromiseError(WAY_OUT.join([f"{what}:", *ways_out]))


def _untold(line: Line, found: Sequence[ComparedVersion]) -> list[str]:
    """What an owner is told of versions that nobody can tell, or hardly, to be of other people."""
    said = []
    for name in dict.fromkeys(one.line for one in found):
        whose = "earlier versions" if name == line.name else f"line {name}"
        theirs = [one for one in found if one.line == name]
        said += [f"{whose}: {one}" for one in dict.fromkeys(map(_remark, theirs)) if one]
        if any(one.as_written for one in theirs):
            said.append(f"{whose}: {_AS_WRITTEN}")
    return said


def _remark(one: ComparedVersion) -> str | None:
    """What an owner is told of one version that was compared."""
    if one.keeps_none and not one.as_written:
        return "no rows are kept (remember: units), so units alone are compared"
    if one.common is None or one.common.are_related:
        return None
    rows = one.common.rows
    if rows.chance <= _REMARKABLE:
        return (
            f"{rows.both:,} combinations of values are in one row of version {one.version} and of "
            "this source, more than most unrelated tables have, and too few to tell"
        )
    if rows.can_tell or not min(rows.rows):
        return None
    return _FEW if rows.are_few else f"{_BLIND}: {', '.join(one.common.columns)}"
