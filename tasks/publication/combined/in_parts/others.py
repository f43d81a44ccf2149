"""Other lines about the people of a line in parts: met part by part, and kept apart."""

from collections.abc import Iterator

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.private.people.in_parts.maps import MapInParts
from sfumato.tasks.private.people.lines import KnownLine, other_lines, people_of, read_line
from sfumato.tasks.publication.combined.lines.coded_alike import require_coded_alike
from sfumato.tasks.publication.combined.lines.second_grouping import both_protect
from sfumato.tasks.publication.combined.meeting import Meeting, crossing_roles, require_named
from sfumato.tasks.publication.line import Line


def require_apart_from_others(line: Line, now: MapInParts, ours: KnownLine) -> tuple[str, ...]:
    """Refuse a version in parts beside lines that show what it protects of the same people.

    Args:
        line: its line, whose locks are held.
        now: its map.
        ours: what the line tells of itself.

    Returns:
        What a run says of lines that use the same units for other people.

    Raises:
        PromiseError: with the rule, and counts of people.
    """
    met = list(_meetings(line, now))
    notices = require_named(line, met, "composed")
    same = [one for one in met if one.names(line.people)]
    for one in same:
        if one.known is not None and (fault := _fault(ours, one.known)):
            raise PromiseError(
                f"lines {line.name} and {one.line.name} are about {one.people} people in common: "
                f"{fault}"
            )
    require_coded_alike(line, ours, same, "composed")
    return tuple(notices)


def _meetings(line: Line, now: MapInParts) -> Iterator[Meeting]:
    """The lines of the work directory that have slots for some of these people."""
    for other in other_lines(line.work, line.name):
        theirs, common = people_of(other), 0
        for number in range(len(now.parts)):
            names, _ = now.names(number)
            common += int(np.isin(np.unique(names[names != b""]), theirs).sum())
        if common:
            yield Meeting(other, common, read_line(line.work, other.name))


def _fault(ours: KnownLine, theirs: KnownLine) -> str | None:
    """Why two lines tell more together, as far as that is judged in parts."""
    if fault := crossing_roles(ours, theirs):
        return fault
    for name, _ in both_protect(ours, theirs):
        return (
            f"{name!r} is grouped in both, and what groups of two lines tell together is not "
            "judged in parts: publish it in one line"
        )
    return None
