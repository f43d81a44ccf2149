"""Lines of which one knows nobody: they are compared by the rows of their sources.

More than half of the smaller source, over the columns that both publish, is taken for the same
people. Of a line that knows its people the rows are those of its maps.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.private.line import Identity
from sfumato.tasks.private.people.keys import people_key
from sfumato.tasks.private.people.lines import maps_of, other_lines, read_line, state_of
from sfumato.tasks.private.source_rows import (
    RowsInFile,
    hashed_rows,
    read_rows,
    rows_in_common,
)
from sfumato.tasks.publication.line import Line


def require_other_rows(line: Line, identity: Identity) -> list[str]:
    """Refuse the rows of another line's source, where nobody knows whom they are about.

    Returns:
        What a run says of lines whose rows are said to be other people's.

    Raises:
        PromiseError: with counts of rows; or where a line to compare with came after the source
            was read.
    """
    notices = []
    for other in other_lines(line.work, line.name):
        common = 0 if line.accepts_lines else max(_rows_met(line, identity, other), default=0)
        if not common:
            continue
        known = read_line(line.work, other.name)
        theirs = None if known is None else known.people
        if line.people is None or theirs in (None, line.people):
            raise PromiseError(
                f"{common} rows are those of line {other.name}, too, over the columns of both, and "
                "without a unit (unit: row) nobody knows whom they are about: one of the two is "
                "enough, or say across-lines: accepted-risk, or name the people where the same "
                f"rows are others' (people: in both specs, then release {other.name} again)"
            )
        notices.append(f"{common} rows are those of line {other.name}, about other people")
    return notices


def _rows_met(line: Line, identity: Identity, other: Path) -> Iterator[int]:
    """The rows that versions of another line share, where they are more than half."""
    for theirs in _sources(line, other, knows_people=identity.units is not None):
        if identity.hashed is None:
            raise PromiseError(
                f"line {other.name}, which knows nobody, was published since this run read its "
                "source: run it again, so that their rows are compared"
            )
        common = rows_in_common(identity.hashed, theirs)
        if 2 * common > min(identity.hashed.num_rows, theirs.num_rows):
            yield common


def _sources(line: Line, other: Path, knows_people: bool) -> Iterator[pa.Table | RowsInFile]:
    """The rows of each version of another line that are not compared by their people."""
    for version, known in state_of(other).versions.items():
        if not known.units and (kept := read_rows(other, version)) is not None:
            yield kept
    if not knows_people:
        secret = people_key(line.work)
        yield from (hashed_rows(one.rows, secret) for one in maps_of(other))
