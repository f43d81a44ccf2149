"""The gate of composed versions in parts: it judges each part as a line of its own.

It refuses a version in which somebody has slots in two parts. A *slot* is a row of a published
version with its group; the *map* is the private file of slots (see `private.people.slots`). At most
one part is in memory. The staged files of a part are compared with its map, and its map with the
map of the version before, as for one table (see `composed`).

Theorem of parts. Let nobody hold, or ever have held, slots in two parts. Each group has people of
only one part, so a world of all versions is a world of each part, chosen independently. Then all
versions together reveal about a person what those of the person's part reveal, under every prior
that treats parts separately: what holds for each part by itself holds for the whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.rules.verdicts import require
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.lines.composed import (
    lasting_columns,
    refusal,
    require_kept_together,
    require_latest,
    require_succession,
)
from sfumato.tasks.lines.composition import (
    CombinableVersion,
    Composition,
    JointReport,
    JudgeAtoms,
    PartReport,
    require_combinable,
)
from sfumato.tasks.lines.exposed import Exposed, require_nothing_by_subtraction
from sfumato.tasks.lines.kept import release_before
from sfumato.tasks.lines.line import Candidate, Line
from sfumato.tasks.lines.meeting import (
    Meeting,
    crossing_roles,
    description_of,
    require_coded_alike,
    require_named,
)
from sfumato.tasks.lines.shown import judged_promises
from sfumato.tasks.private.people.lines import KnownLine, other_lines, people_of, read_line
from sfumato.tasks.private.people.maps_of_parts import Buckets, MapInParts, MappedPart
from sfumato.tasks.private.people.members import members_of
from sfumato.tasks.private.people.seen import MapOfLine
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.private.people.store import count_of, last_in_parts, person_numbers
from sfumato.tasks.private.scratch import scratch_directory
from sfumato.tasks.private.state import read_state
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.terms.parts import PublishedPart, text_of_where
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    from sfumato.tasks.lines.parts_previous import MatchedPart


@dataclass
class JoinedCompositions(JointReport):
    """The compositions of the parts of a version, joined; no part is kept in memory."""

    declared: Declared
    counts: Mapping[str, int]
    _parts: list[PartReport] = field(default_factory=list)

    def add(self, part: Composition) -> None:
        """Add another part."""
        self._parts += part.parts

    @property
    def parts(self) -> Sequence[PartReport]:
        """The report of each part."""
        return self._parts


def require_apart_from_others(line: Line, now: MapInParts, ours: KnownLine) -> tuple[str, ...]:
    """Refuse a version in parts if other lines show values that it protects, of the same people.

    Args:
        line: its line, whose locks are held.
        now: its map.
        ours: the line's statement about itself.

    Returns:
        Messages about lines that use the same units for other people.

    Raises:
        PromiseError: with the rule, and counts of people.
    """
    met = list(_meetings(line, now))
    notices = require_named(line, met, "composed")
    same = [meeting for meeting in met if meeting.names(line.people)]
    for meeting in same:
        if meeting.statement is not None and (fault := _fault(ours, meeting.statement)):
            raise PromiseError(
                f"lines {line.name} and {meeting.line.name} have {meeting.people} "
                f"people in common and reveal too much together: {fault}"
            )
    require_coded_alike(line, ours, same, "composed")
    return tuple(notices)


def _meetings(line: Line, now: MapInParts) -> Iterator[Meeting]:
    """Yield the lines of the work directory that have slots for some of the people of a map."""
    for other in other_lines(line.work, line.name):
        theirs, common = people_of(other), 0
        for number in range(len(now.parts)):
            names, _ = now.names(number)
            common += int(np.isin(np.unique(names[names != b""]), theirs).sum())
        if common:
            yield Meeting(other, common, read_line(line.work, other.name))


def _fault(ours: KnownLine, theirs: KnownLine) -> str | None:
    """Return why two lines reveal more together, as far as that is judged in parts, or None."""
    if fault := crossing_roles(ours, theirs):
        return fault
    from sfumato.tasks.lines.second_grouping import both_protect  # few lines meet

    for name, _ in both_protect(ours, theirs):
        return (
            f"{name!r} is grouped in both lines, and releases in parts are not judged "
            f"together. Publish {name!r} in one of the lines only"
        )
    return None


def require_combined(
    line: Line, candidate: Candidate, staging: Path, judge: JudgeAtoms | None = None
) -> CombinableVersion | None:
    """Refuse a version, in one table or in parts, that reveals too much beside others.

    Args:
        line: its line, whose locks are held.
        candidate: the candidate to publish.
        staging: the staged release.
        judge: judges versions that pass the gate once more.

    Returns:
        The version with the report of its joint disclosure; None if its line keeps no map of
        people.

    Raises:
        PromiseError: with the rule, and counts of people and groups.
    """
    staged = open_release(staging)
    if not staged.declared.made_of or candidate.map is None:
        return require_combinable(line, candidate, staging, judge)
    from sfumato.tasks.lines.parts_previous import matched_parts  # only versions in parts need it

    state = read_state(line.private)
    require_latest(candidate, state, staged.declared)
    now, before = MapInParts.open(candidate.map.file()), last_in_parts(line.private, state)
    if now is None or (before is None) != (staged.declared.predecessor is None):
        raise refusal("the map of the new version is missing. Release again")
    _require_same_parts(staged.declared.made_of, now, before)
    _require_one_part_each(now)
    joined = JoinedCompositions(staged.declared, candidate.counts)
    last = nullcontext(None) if before is None else release_before(line, max(state.versions))
    with last as release:
        versions = 1 + len(state.versions)
        matched = {text_of_where(m.part.where[0]): m for m in matched_parts(release, staged)}
        parts = _Parts(now, before, release, staged, matched, versions)
        for number, part in enumerate(now.parts):
            if part.digest is None:
                parts.require_closed(number, part)
            else:
                joined.add(parts.require_part(number, part, judge))
    ours = description_of(line, staged.declared)
    notices = require_apart_from_others(line, now, ours)
    return CombinableVersion(ours, joined, notices)


@dataclass(frozen=True)
class _Parts:
    """The parts of a staged version, and of the version before.

    Attributes:
        now: the map of the staged version.
        before: the map of the version before, None for the first version.
        last: the release of the version before, None for the first version.
        staged: the staged release.
        matched: each shown part with the same part of the version before, by its cut.
        versions: the number of versions, the staged one included.
    """

    now: MapInParts
    before: MapInParts | None
    last: Release | None
    staged: Release
    matched: Mapping[str, "MatchedPart"]
    versions: int

    def require_part(self, number: int, part: MappedPart, judge: JudgeAtoms | None) -> Composition:
        """Refuse a part that reveals too much with its earlier versions; return the report.

        Raises:
            PromiseError: with the rule, and counts of people and groups.
        """
        from sfumato.tasks.lines.parts_previous import shown_part

        matched = self.matched[part.where]
        slots, before = self.now.read(number), self._slots_before(part)
        version = shown_part(self.staged, matched.part, matched.before)
        declared = version.declared
        passed = require_kept_together(before, slots, declared, version.tables)
        if matched.before is not None and self.last is not None:
            was = shown_part(self.last, matched.before, None, goes_on=False)
            require_succession(was, before, version)
        if passed is not None and judge is not None:
            require(judge(passed, judged_promises(declared.promises)))
        return self._composition(declared, slots, before, passed)

    def require_closed(self, number: int, part: MappedPart) -> None:
        """Refuse a part that is not shown if its groups are, or its slots changed hands.

        Raises:
            PromiseError: with the rule.
        """
        slots, before = self.now.read(number), self._slots_before(part)
        columns = lasting_columns(self.staged.declared)
        if before is None or (slots.published >= 0).any() or not slots.retired.all():
            raise refusal("a part that is not shown has published groups")
        members = members_of(before, slots, columns)
        if members.lost or len(slots) != len(before):
            raise refusal("slots of a part that is not shown belong to other people now")

    def _composition(
        self, declared: Declared, slots: SlotMap, before: SlotMap | None, passed: Passed | None
    ) -> Composition:
        maps = [MapOfLine(0, slots)]
        if before is not None:
            require_nothing_by_subtraction(before, slots, declared.names_with_roles("sensitive"))
            maps.insert(0, MapOfLine(0, before))
        return Composition(declared, Exposed(tuple(maps), self.versions, declared), slots, passed)

    def _slots_before(self, part: MappedPart) -> SlotMap | None:
        number = None if self.before is None else self.before.number_of(part.where)
        return None if self.before is None or number is None else self.before.read(number)


def _require_same_parts(
    made_of: Sequence[PublishedPart], now: MapInParts, before: MapInParts | None
) -> None:
    """Refuse a map whose parts are not those of the version, or that lacks a part of the line.

    Args:
        made_of: the parts as the version declares them.
        now: its map.
        before: the map of the version before, None for the first version.

    Raises:
        PromiseError: with the rule.
    """
    published = [(p.where, p.first_group, p.digest) for p in now.parts if p.digest is not None]
    stated = [(text_of_where(p.where[0]), p.first_group, p.digest) for p in made_of]
    cuts = {part.where for part in now.parts}
    earlier = set() if before is None else {part.where for part in before.parts}
    if published != stated or len(cuts) < len(now.parts) or not earlier <= cuts:
        raise refusal("the map of the version does not match its parts")


def _require_one_part_each(now: MapInParts) -> None:
    """Refuse people who have, or had, slots in two parts.

    Raises:
        PromiseError: with counts of people.
    """
    with scratch_directory() as scratch:
        buckets = Buckets(private_directory(scratch / "names"))
        for number in range(len(now.parts)):
            names, _ = now.names(number)
            buckets.add(names[names != b""], number)
        people = sum(_in_two(names, parts) for names, parts, _ in buckets.each())
    if people:
        raise refusal(f"people with slots in two parts: {people}")


def _in_two(names: np.ndarray, parts: np.ndarray) -> int:
    """Return how many people are in two parts, given names (S16) and the part of each (int64)."""
    (numbers,) = person_numbers(names)
    place = np.empty(count_of([numbers]), dtype=np.int64)
    place[numbers] = parts  # one of each person's parts: entries of other parts differ from it
    return len(distinct(numbers[place[numbers] != parts]))
