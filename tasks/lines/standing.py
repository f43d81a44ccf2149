"""The version that a source and a spec already have, and the conditions of another one."""

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.line import Line, require_ours
from sfumato.tasks.lines.meeting import (
    Meeting,
    description_of,
    require_known_columns,
    require_named,
    require_same_file,
)
from sfumato.tasks.lines.versions import Record, read_record
from sfumato.tasks.private.people.identity import Identity, units_in_common
from sfumato.tasks.private.people.lines import read_line, write_line
from sfumato.tasks.private.people.spelled import count_in_both, read_spelled
from sfumato.tasks.private.state import LineState, read_state
from sfumato.tasks.terms.opened import open_release


def standing_version(line: Line, identity: Identity, versions: str) -> str | None:
    """Return the number of the version of this source and spec, or None if a new one may be made.

    Args:
        line: the line.
        identity: the identity of the source, the terms and the people.
        versions: the rule by which versions may be combined.

    Raises:
        InputError: where the spec says that a column is another line's, and no line of the same
            people has it.
        PromiseError: where a new version could betray people together with an earlier one.
    """
    state, record = read_state(line.private), read_record(line.public)
    require_ours(line, state, record, directories(line))
    for number, published in sorted(state.versions.items()):
        if (published.rows, published.spec) == (identity.rows, identity.spec):
            return _still_there(line, number, record)
    require_known_columns(line)
    if state.versions:
        require_same_file(line, read_line(line.work, line.name))
    _require_named(line, identity, versions)
    if state.versions and versions == "disjoint":
        _require_disjoint(line, state, identity)
    if versions == "accepted-risk" and any(
        published.composed for published in state.versions.values()
    ):
        raise PromiseError(
            "versions: accepted-risk would break what the composed versions of this "
            "line promise about all versions together. Write `versions: composed`"
        )
    return None


def _still_there(line: Line, number: str, record: Record) -> str:
    """Return the number of a published version; it is never drawn again, even if it is gone."""
    if number not in record.versions or not (line.public / number).is_dir():
        raise PromiseError(
            f"version {number} of this source and spec was published, but is missing "
            f"in {line.public}. Restore its directory, or publish to the directory "
            "that contains it"
        )
    if record.versions[number].status == "withdrawn":
        raise PromiseError(
            f"version {number} of this source and spec was withdrawn, so it is not "
            "published again. Change the source or the spec"
        )
    return number


def name_people(line: Line, number: str) -> None:
    """Keep a spec's present words about a published version's people and its columns' names.

    Later versions may have stated more about the line: that stays.
    """
    line_before = read_line(line.work, line.name)
    if line_before is None:
        return
    line_now = description_of(line, open_release(line.public / number).declared)
    if (line_before.people, line_before.same_as) != (line_now.people, line_now.same_as):
        changes = {"people": line_now.people, "same_as": line_now.same_as}
        write_line(line.work, line.name, line_before.model_copy(update=changes))


def _require_named(line: Line, identity: Identity, versions: str) -> None:
    """Refuse people whom other lines know, before anything is made from their rows."""
    met = [
        Meeting(line.work / name, people, read_line(line.work, name))
        for name, people in identity.met.items()
    ]
    require_named(line, met, versions)


def _require_disjoint(line: Line, state: LineState, identity: Identity) -> None:
    rule = "the source or the spec changed, and versions: disjoint"
    if identity.units is None:
        raise PromiseError(
            f"{rule} cannot be checked without a unit (unit: row). Publish the changed "
            "rows as another line, or name a column that identifies people"
        )
    earlier = sorted(state.versions)
    unknown = [number for number in earlier if not state.versions[number].units]
    if unknown:
        raise PromiseError(
            f"{rule} cannot be checked, because the units of {unknown[0]} are not "
            "known here. If they are in a backup, restore it (sfumato line restore)"
        )
    common = units_in_common(line.private, earlier, identity.units)
    for number in (number for number in earlier if state.versions[number].units_normal):
        if identity.spelled is not None:  # numbers of another type are written otherwise
            theirs = read_spelled(line.private, number)
            common = max(common, count_in_both(identity.spelled, theirs))
    if common:
        accepted = "" if line.two_tables else ", or accept the risk (versions: accepted-risk)"
        raise PromiseError(
            f"{rule} is broken: {common} units are in an earlier version. Leave their rows "
            f"out{' (source.where of the table of people)' if line.two_tables else accepted}"
        )


def directories(line: Line) -> list[str]:
    """Return the versions that are in the public directory, recorded or not."""
    return [path.name for path in line.public.glob("*") if path.name.isdigit()]
