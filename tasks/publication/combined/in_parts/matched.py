"""Which part of a version goes on as which part of the next: by digest, and by the cut of both."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.declaration.cuts import PARTS, PublishedPart
from sfumato.tasks.declaration.opened import Release, open_release
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.forms.composed.lineage import LINEAGE, PREVIOUS
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.publication.combined.shown import ShownVersion


@dataclass(frozen=True)
class MatchedPart:
    """A part of a version, and the part of the version before that it continues, if any."""

    part: PublishedPart
    before: PublishedPart | None


def matched_parts(before: Release | None, now: Release) -> Iterator[MatchedPart]:
    """Each part of a version with the one that it continues.

    Raises:
        PromiseError: where one continues a part that is not there, or of another cut, or does not
            continue the one of its own cut.
    """
    of_cut = {} if before is None else {part.where: part for part in before.declared.made_of}
    for part in now.declared.made_of:
        wanted = of_cut.get(part.where)
        stated = open_release(now.directory / PARTS / part.name).declared.predecessor
        if stated != (None if wanted is None else wanted.digest):
            raise PromiseError(
                f"versions: composed is broken: {PARTS}/{part.name} does not continue the part of "
                "the version before that has its cut"
            )
        yield MatchedPart(part, wanted)


def shown_part(
    release: Release,
    part: PublishedPart,
    before: PublishedPart | None,
    *,
    goes_on: bool = True,
) -> ShownVersion:
    """A part as everybody reads it.

    Its groups go on from those of a part by the numbers of that part, unless that is not looked at.

    Raises:
        PromiseError: where its tables are not those that it declares, or it goes on from groups of
            another part.
    """
    opened = open_release(release.directory / PARTS / part.name)
    tables = read_tables(opened.declared, opened.directory / "data")
    shown = with_own_numbers(tables, before) if goes_on else tables
    return ShownVersion(opened.declared, shown)


def with_own_numbers(tables: Tables, before: PublishedPart | None) -> Tables:
    """The tables of a part, with the numbers that groups have in the part before.

    Raises:
        PromiseError: where a group is none of that part's.
    """
    lineage = tables[LINEAGE]
    first, groups = (0, 0) if before is None else (before.first_group, before.groups)
    own = pc.subtract(lineage[PREVIOUS], pa.scalar(first, pa.int64()))
    outside = pc.or_(pc.less(own, 0), pc.greater_equal(own, groups))
    if pc.any(outside).as_py():
        raise PromiseError("versions: composed is broken: groups go on from those of another part")
    place = lineage.column_names.index(PREVIOUS)
    shown: Mapping[str, pa.Table] = {
        **tables,
        LINEAGE: lineage.set_column(place, lineage.schema.field(place), own),
    }
    return shown
