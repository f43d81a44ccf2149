"""Sensitive columns that are coded otherwise elsewhere, so that nobody can count what both tell.

Values are compared as they are shown: 8,912 in one line and 8,900 in another would count as two
values, of which a person has neither for sure, although the first is all that they tell together.
"""

from collections.abc import Sequence

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.private.people.lines import KnownLine, read_line
from sfumato.tasks.publication.combined.meeting import Meeting
from sfumato.tasks.publication.line import Line


def require_coded_alike(line: Line, ours: KnownLine, met: Sequence[Meeting], rule: str) -> None:
    """Refuse a version with a sensitive column that the same people have elsewhere in other codes.

    Args:
        line: what publishes.
        ours: what it tells of itself.
        met: the lines about the same people.
        rule: how its versions may be combined.

    Raises:
        PromiseError: naming the column and the line.
    """
    others = [(f"in line {one.line.name}", one.known) for one in met]
    if rule == "accepted-risk":
        others.append(("in the version before", read_line(line.work, line.name)))
    for where, known in others:
        name = None if known is None else _coded_otherwise(ours, known)
        if name is not None:
            raise PromiseError(
                f"columns.{name}: is coded otherwise {where}, about the same people, and what both "
                "tell together cannot be counted: code it alike"
            )


def _coded_otherwise(one: KnownLine, other: KnownLine) -> str | None:
    """A sensitive column of both that is not coded alike."""
    shared = [name for name in one.sensitive if name in other.sensitive]
    return next((n for n in shared if one.coded.get(n) != other.coded.get(n)), None)
