"""Refusal of people whom an earlier version or another line knows under another unit.

A source is compared with every version of its line, unless the spec accepts the risk of combining
them, and with every version of other lines of the work directory. Units are compared by their
normal forms; rows of units that are not in both tables are compared by the test of
`composition.same_people`. Only the owner is told about findings that are too small to refuse.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import WAY_OUT, PromiseError
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.meeting import ways_of_two_tables
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.private.people.keys import people_key
from sfumato.tasks.private.people.lines import other_lines, read_line, state_of
from sfumato.tasks.private.people.slots import WITNESS
from sfumato.tasks.private.people.source_rows import (
    ROWS,
    Rows,
    RowsInCommon,
    compare_rows,
    normal_rows,
    read_rows,
)
from sfumato.tasks.private.people.spelled import OtherSpelling, read_spelled, spelled_otherwise
from sfumato.tasks.private.people.store import has_map, read_map, since_composed
from sfumato.tasks.private.state import LineState

# remarks for the owner about comparisons that could not decide
_FEW = "too few rows were compared to decide whether the people are the same"
_BLIND = "these columns are not enough to decide whether people are the same"
_AS_WRITTEN = (
    "earlier software published versions of it, and these are compared as they were "
    "written. People are not detected if their units or values have another spelling there"
)
_REMARKABLE = 1e-3
"""The probability in unrelated tables below which the owner is told of rows in common."""


@dataclass(frozen=True)
class ComparedVersion:
    """The comparison of a source with one version.

    Attributes:
        line: its name.
        version: its number.
        common: the counts of equal rows, None if none can be compared.
        spelled: the units that are spelled in another way, None if that is not known.
        as_written: whether units or rows were compared only as they were written.
        keeps_none: whether its line keeps neither rows nor a map, so that only units are compared.
    """

    line: str
    version: str
    common: RowsInCommon | None = None
    spelled: OtherSpelling | None = None
    as_written: bool = False
    keeps_none: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The comparison as the private report contains it."""
        rows = self.common and self.common.rows
        judged = rows and {"chance": rows.chance, "can_tell": rows.can_tell}
        return {**asdict(self), "judged": judged}


@dataclass(frozen=True)
class ComparedPeople:
    """The comparisons of a source with all versions, and the notices for its owner."""

    versions: tuple[ComparedVersion, ...] = ()
    notices: tuple[str, ...] = field(default=())


def require_other_people(line: Line, identity: Identity, rule: str) -> ComparedPeople:
    """Refuse people whom an earlier version or another line knows under another name.

    Args:
        line: the line that is to be published.
        identity: the identity of its source.
        rule: how its versions may be combined.

    Raises:
        PromiseError: with the columns, counts and each way out; or where a version to compare with
            came after the source was read.
    """
    comparisons: list[ComparedVersion] = []
    notices: list[str] = []
    others = rule == "composed" and (line.others or identity.others)
    if identity.units is not None and rule != "accepted-risk" and not others:
        for compared in _compare(line, identity, line.private):
            _require_new(line, compared, rule)
            comparisons.append(compared)
    for other in () if line.accepts_lines else other_lines(line.work, line.name):
        for compared in _compare(line, identity, other):
            notices += _require_others(line, compared)
            comparisons.append(compared)
    notices = [*dict.fromkeys(notices), *_notices(line, comparisons)]
    return ComparedPeople(tuple(comparisons), tuple(notices))


def write_compared(reports: Path, compared: ComparedPeople) -> None:
    """Write the comparisons to the private reports of a version."""
    content = json.dumps([version.document for version in compared.versions], indent=2)
    write_atomically(reports / "same-people.json", content.encode())


def _compare(line: Line, identity: Identity, other: Path) -> Iterator[ComparedVersion]:
    """Compare a source with each version of a line."""
    state = state_of(other)
    for version, published in sorted(state.versions.items()):
        spelled = None
        if published.units_normal and identity.spelled is not None:
            spelled = spelled_otherwise(identity.spelled, read_spelled(other, version))
        theirs = _rows_of(line, other, version, state)
        rows_as_written = not (published.units or published.rows_normal)
        as_written = rows_as_written or (published.units and not published.units_normal)
        if theirs is None:
            none = published.map is None
            yield ComparedVersion(other.name, version, None, spelled, as_written, keeps_none=none)
            continue
        ours = identity.hashed if rows_as_written else identity.normal
        if ours is None:
            raise PromiseError(
                f"line {other.name} was published after this run read its source, or "
                "by other software. Run the command again to compare their rows"
            )
        common = compare_rows(ours, theirs)
        yield ComparedVersion(other.name, version, common, spelled, as_written)


def _rows_of(line: Line, other: Path, version: str, state: LineState) -> Rows | None:
    """Return a version's rows as they were kept, or from the line's map; None without either."""
    published = state.versions[version]
    if published.rows_normal:
        rows_kept = read_rows(other, version)
        if rows_kept is None:
            raise PromiseError(
                f"line {other.name}: the rows of version {version} are missing, so "
                "people who are in both lines cannot be found. Restore them from a "
                "backup: sfumato line restore SPEC FILE"
            )
        return rows_kept
    if not published.units:
        return read_rows(other, version, ROWS)
    if published.map is None:
        return None
    if not has_map(other, version):  # the slots of all versions before are in that of a later one
        version, published = since_composed(state)[0]
    if published.map is None or not has_map(other, version):
        return None
    slots = read_map(other, version, published.map)
    is_held = (slots.kind != WITNESS) & slots.is_held
    rows = slots.rows.take(is_held.nonzero()[0])
    return normal_rows(rows, people_key(line.work), slots.key[is_held])


def _require_new(line: Line, compared: ComparedVersion, rule: str) -> None:
    """Refuse people of an earlier version of the line who have another name.

    Raises:
        PromiseError: with counts and each way out.
    """
    if compared.spelled is not None and compared.spelled.units:
        raise _refusal(
            f"versions: {rule} is broken: {_name_units(compared.spelled)} of version "
            f"{compared.version} are in this source, too, with another spelling",
            "spell them as in the earlier versions",
            *_ways_of(line, rule),
        )
    if compared.common is not None and compared.common.are_related:
        rows = _name_rows(compared.common, f"version {compared.version}, under other units")
        raise _refusal(
            f"versions: {rule} is broken: {rows}",
            "give people the units that they had, or declare the new ones (sfumato "
            "line rekey --units FILE)",
            *_ways_of(line, rule),
        )


def _ways_of(line: Line, rule: str) -> tuple[str, ...]:
    """Name the ways out that the rule of versions leaves."""
    if line.two_tables:
        return (
            "leave their rows out (source.where of the table of people)",
            "if they are other people, publish a line with another name, with "
            "`across-lines: accepted-risk`, which its page will state",
        )
    if rule == "composed":
        return ("if they are other people, release with --yes-they-are-others",)
    return (
        "if they are other people, publish a line with another name, and another "
        "`people: NAME` in each spec",
        "accept the risk, which the page will state (versions: accepted-risk)",
    )


def _require_others(line: Line, compared: ComparedVersion) -> list[str]:
    """Refuse people of another line under another name, unless the specs say that they differ.

    Returns:
        Notices for the owner, if the specs say that they differ.

    Raises:
        PromiseError: with counts and each way out.
    """
    their_line = read_line(line.work, compared.line)
    theirs = None if their_line is None else their_line.people
    are_others = None not in (line.people, theirs) and line.people != theirs
    where = f"line {compared.line}, version {compared.version}"
    others = (
        "if they are other people, write another `people: NAME` in each of the two "
        f"specs, then release {compared.line} again",
        "accept the risk, which the pages of both lines will state (across-lines: accepted-risk)",
    )
    if line.two_tables:
        return _require_others_of_two(compared, where)
    notices = []
    if compared.spelled is not None and compared.spelled.units:
        units = f"{_name_units(compared.spelled)} are in {where}, with another spelling"
        if not are_others:
            raise _refusal(
                units,
                "spell them in the same way, and write the same `people: NAME` in both specs",
                *others,
            )
        notices.append(f"{units}, about other people")
    if compared.common is not None and compared.common.are_related:
        rows = _name_rows(compared.common, where)
        if not are_others:
            alike = (
                "publish one of the two lines only; or, where both have a unit, give "
                "people the same unit in both, and write the same `people: NAME`"
            )
            raise _refusal(rows, alike, *others)
        notices.append(f"{rows}, about other people")
    return notices


def _name_units(spelled: OtherSpelling) -> str:
    units = "1 unit" if spelled.units == 1 else f"{spelled.units:,} units"
    return f"{units} ({spelled.in_words})"


def _name_rows(common: RowsInCommon, where: str) -> str:
    """Return a sentence that states how many rows of a version and of a source are equal."""
    rows, columns = common.rows, ", ".join(common.columns)
    if rows.equal:
        return (
            f"all {rows.equal:,} rows are also in {where}, compared by the columns of both "
            f"({columns})"
        )
    return (
        f"rows are also in {where}, compared by the columns of both ({columns}). "
        f"{rows.both:,} combinations of values are in one row of each, and "
        f"{rows.first + rows.second:,} are in two rows of one table. In tables about "
        "other people, at most about half of these are in one row of each"
    )


def _require_others_of_two(compared: ComparedVersion, where: str) -> list[str]:
    """Refuse a version of two tables whose people are, or may be, in another line.

    Raises:
        PromiseError: with counts and each way out.
    """
    ways = ways_of_two_tables()
    if compared.spelled is not None and compared.spelled.units:
        units = f"{_name_units(compared.spelled)} are in {where}, with another spelling"
        raise _refusal(units, *ways)
    if compared.common is not None and compared.common.are_related:
        raise _refusal(_name_rows(compared.common, where), *ways)
    return []


def _refusal(what: str, *ways_out: str) -> PromiseError:
    return PromiseError(WAY_OUT.join([f"{what}. Do one of:", *ways_out]))


def _notices(line: Line, compared: Sequence[ComparedVersion]) -> list[str]:
    """Return notices for the owner: comparisons that could not decide, or could hardly."""
    notices = []
    for name in dict.fromkeys(version.line for version in compared):
        whose = "earlier versions" if name == line.name else f"line {name}"
        theirs = [version for version in compared if version.line == name]
        notices += [
            f"{whose}: {remark}" for remark in dict.fromkeys(map(_remark, theirs)) if remark
        ]
        if any(version.as_written for version in theirs):
            notices.append(f"{whose}: {_AS_WRITTEN}")
    return notices


def _remark(compared: ComparedVersion) -> str | None:
    """Return a notice for the owner about one comparison, or None if there is nothing to say."""
    if compared.keeps_none and not compared.as_written:
        return "rows were not recorded (remember: units), so only units are compared"
    if compared.common is None or compared.common.are_related:
        return None
    rows = compared.common.rows
    if rows.chance <= _REMARKABLE:
        return (
            f"{rows.both:,} combinations of values are in one row of version "
            f"{compared.version} and in one row of this source. That is more than in "
            "most unrelated tables, but too few to decide"
        )
    if rows.can_tell or not min(rows.rows):
        return None
    return _FEW if rows.are_few else f"{_BLIND}: {', '.join(compared.common.columns)}"
