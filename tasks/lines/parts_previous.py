"""Versions in parts compared with each other: each part continues a part of the version before."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE, PREVIOUS
from sfumato.tasks.lines.all_versions import moved_between, refusal_at
from sfumato.tasks.lines.movement import Movement, join_movements
from sfumato.tasks.lines.shown import ShownVersion
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.parts import PARTS, PublishedPart
from sfumato.tasks.terms.tables import read_tables


@dataclass(frozen=True)
class MatchedPart:
    """A part of a version, and the part of the version before that it continues, if any."""

    part: PublishedPart
    before: PublishedPart | None


def matched_parts(before: Release | None, now: Release) -> Iterator[MatchedPart]:
    """Yield each part of a version with the part that it continues.

    Raises:
        PromiseError: where a part continues a part that is not there or has another cut, or does
            not continue the part of its own cut.
    """
    of_cut = {} if before is None else {part.where: part for part in before.declared.made_of}
    for part in now.declared.made_of:
        continued = of_cut.get(part.where)
        stated = open_release(now.directory / PARTS / part.name).declared.predecessor
        if stated != (None if continued is None else continued.digest):
            raise PromiseError(
                f"versions: composed is broken: {PARTS}/{part.name} does not continue "
                "the part of the last version with the same cut"
            )
        yield MatchedPart(part, continued)


def shown_part(
    release: Release,
    part: PublishedPart,
    before: PublishedPart | None,
    *,
    goes_on: bool = True,
) -> ShownVersion:
    """Return a part as everyone reads it.

    Its lineage is renumbered by the groups of the part before, unless `goes_on` is False.

    Raises:
        PromiseError: where its tables are not those that it declares, or it goes on from groups of
            another part.
    """
    opened = open_release(release.directory / PARTS / part.name)
    tables = read_tables(opened.declared, opened.directory / "data")
    tables = with_own_numbers(tables, before) if goes_on else tables
    return ShownVersion(opened.declared, tables)


def with_own_numbers(tables: Tables, before: PublishedPart | None) -> Tables:
    """Return the tables of a part, whose lineage numbers groups as the part before does.

    A version in parts numbers the groups of all its parts one after the other.

    Raises:
        PromiseError: where a group goes on from a group of another part.
    """
    lineage = tables[LINEAGE]
    first, groups = (0, 0) if before is None else (before.first_group, before.groups)
    own = pc.subtract(lineage[PREVIOUS], pa.scalar(first, pa.int64()))
    outside = pc.or_(pc.less(own, 0), pc.greater_equal(own, groups))
    if pc.any(outside).as_py():
        raise PromiseError("versions: composed is broken: groups continue groups of another part")
    place = lineage.column_names.index(PREVIOUS)
    renumbered: Mapping[str, pa.Table] = {
        **tables,
        LINEAGE: lineage.set_column(place, lineage.schema.field(place), own),
    }
    return renumbered


@dataclass
class _Run:
    """A part in the consecutive versions in which it goes on.

    Attributes:
        first: the position of the first of these versions among all.
        parts: the part as each version declares it.
    """

    first: int
    parts: list[PublishedPart] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The position of the last of these versions."""
        return self.first + len(self.parts) - 1


def moved_in_parts(chain: Sequence[Release]) -> list[Movement]:
    """Return the movement from each version to the next, over all parts.

    Raises:
        PromiseError: where a part contradicts what it was, does not go on as it should, or breaks a
            promise by itself; or one of the versions is not in parts.
    """
    if not all(release.declared.made_of for release in chain):
        raise PromiseError(
            f"{chain[-1].directory}: versions: composed is broken (some versions are "
            "in parts, and others in one table)"
        )
    moved: list[list[Movement]] = [[] for _ in chain[1:]]
    for run in _runs(chain):
        for place, movement in _movements_in_run(chain, run):
            moved[place].append(movement)
        gc.collect()  # reference cycles would keep part after part in memory
    return [join_movements(movements) for movements in moved]


def _runs(chain: Sequence[Release]) -> Iterator[_Run]:
    """Yield every part in the versions in which it goes on, one after the other."""
    going_on: dict[str, _Run] = {}
    for place in range(len(chain)):
        runs = {}
        for part, before in _match_parts(chain, place):
            run = _Run(place) if before is None else going_on.pop(before.digest)
            run.parts.append(part)
            runs[part.digest] = run
        yield from going_on.values()
        going_on = runs
    yield from going_on.values()


def _match_parts(
    chain: Sequence[Release], place: int
) -> list[tuple[PublishedPart, PublishedPart | None]]:
    """Return the parts of the version at a place, and the parts that they continue."""
    if place == 0:
        return [(part, None) for part in chain[0].declared.made_of]
    return [(match.part, match.before) for match in matched_parts(chain[place - 1], chain[place])]


def _movements_in_run(chain: Sequence[Release], run: _Run) -> Iterator[tuple[int, Movement]]:
    """Yield the movements in a part, each with the place of the earlier version.

    Raises:
        PromiseError: where a version of the part breaks a promise by itself, or contradicts the one
            before it.
    """
    versions = []
    befores: list[PublishedPart | None] = [None, *run.parts[:-1]]
    for place, (part, before) in enumerate(zip(run.parts, befores, strict=True), run.first):
        version = shown_part(chain[place], part, before, goes_on=place > 0)
        if place < len(chain) - 1:
            require(assess(version.declared, version.tables).findings)
        versions.append(version)
    if run.first > 0:
        yield run.first - 1, _movement_of_new(chain[run.first], versions[0])
    directories = [release.directory for release in chain[run.first : run.last + 1]]
    for number, movement in enumerate(moved_between(directories, versions)):
        yield run.first + number, movement
    if run.last < len(chain) - 1:
        yield run.last, Movement(0, 0, run.parts[-1].groups, 0, None)


def _movement_of_new(release: Release, part: ShownVersion) -> Movement:
    """Return the movement of a part that is new: all of its groups are of people who came since.

    Raises:
        PromiseError: where somebody has left one of them.
    """
    if part.vacant.any():
        raise refusal_at(release.directory, "new groups have values of people who left")
    return Movement(0, len(part.rows), 0, 0, None)
