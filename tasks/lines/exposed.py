"""The exposure of people by a version together with others, counted on private maps of any line.

A column that several lines have is compared in the values of the line with the fewest different
ones: a value of another line becomes the value that most of its people have in that line. People
who are only in the other line do not count for this.

Two attacks are counted that need no proof (see `expectations.composition.exposure`). Withdrawn
versions count, because people who have them keep them. A column that is sensitive in one version
and not in another is public in the other. If a form shows less than the values of a group, more is
counted than it reveals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.exposure import (
    Faced,
    exposure,
    people_exposed_by_subtraction,
)
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.meeting import Meeting, is_joined, meetings
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.partitions.shared.thresholds import largest_l
from sfumato.tasks.private.people.lines import lock_of_lines, maps_of, state_of
from sfumato.tasks.private.people.seen import MapOfLine, SeenPeople, published_slots
from sfumato.tasks.private.people.slots import WITNESS, SlotMap
from sfumato.tasks.private.state import PublishedVersion
from sfumato.tasks.terms.terms import ColumnExposure, FacedPeople, JointExposure, Terms

_LEAST = 2  # possible values that everyone should have under any promise


def maps_with_one_column(
    maps: Sequence[SlotMap], names: Sequence[str | None], name: str
) -> list[SlotMap]:
    """Return the maps of several lines in which a column has one name and one domain.

    Args:
        maps: the private maps.
        names: the column's name in each, None if it is missing.
        name: its name in the result; another column of that name is removed.
    """
    if all(own_name in (None, name) for own_name in names):
        return list(maps)
    have = [place for place, own_name in enumerate(names) if own_name is not None]
    coarse = min(have, key=lambda place: len(_column(maps, names, place).values))
    reference = _texts_of_people(maps[coarse], _column(maps, names, coarse))
    renamed = []
    for place, (slots, own_name) in enumerate(zip(maps, names, strict=True)):
        others = [c for c in slots.rows.columns if c.name not in (name, own_name)]
        if own_name is not None:
            column = _column(maps, names, place)
            texts = (
                _as_text(column)
                if place == coarse
                else _as_reference_values(slots, column, reference)
            )
            others.append(encode(name, column.role, texts))
        renamed.append(replace(slots, rows=slots.rows.keep(others)))
    return renamed


def _column(maps: Sequence[SlotMap], names: Sequence[str | None], place: int) -> Column:
    return maps[place].rows[str(names[place])]


def _as_text(column: Column) -> pa.Array:
    return column.array().cast(pa.string())


def _people(slots: SlotMap) -> np.ndarray:
    return np.flatnonzero(slots.is_held & (slots.kind != WITNESS))


def _texts_of_people(slots: SlotMap, column: Column) -> Mapping[bytes, str]:
    """Return everyone's value as a text, by the person's name (S16)."""
    rows = _people(slots)
    texts = _as_text(column).take(pa.array(rows)).to_pylist()
    return dict(zip(slots.key[rows].tolist(), texts, strict=True))


def _as_reference_values(
    slots: SlotMap, column: Column, reference: Mapping[bytes, str]
) -> pa.Array:
    """Return the column's values, each as the one that most of its people have in `reference`."""
    values = _as_text(column).to_pylist()
    seen: dict[str, dict[str, int]] = {}
    for row in _people(slots).tolist():
        other = reference.get(slots.key[row])
        if other is not None:
            counts = seen.setdefault(values[row], {})
            counts[other] = counts.get(other, 0) + 1
    most = {value: max(counts, key=counts.__getitem__) for value, counts in seen.items()}
    return pa.array([most.get(value, value) for value in values], pa.string())


@dataclass(frozen=True, eq=False)
class Exposed:
    """A version beside others of the same people.

    Attributes:
        maps: the maps of all versions, in the order of comparison, this one last.
        versions: how many versions they are of.
        terms: the terms of this one.
    """

    maps: tuple[MapOfLine, ...]
    versions: int
    terms: Terms

    @cached_property
    def counts(self) -> JointExposure:
        """The exposure of people by all these versions together."""
        lines = len({seen_map.line for seen_map in self.maps})
        names = [n for n in self.terms.names_with_roles("sensitive") if self._is_elsewhere(n)]
        columns = [
            _exposure_of_column(self._people_by_column(name), name, self.terms.promises)
            for name in names
        ]
        return JointExposure(versions=self.versions, lines=lines, columns=tuple(columns))

    @property
    def tells(self) -> bool:
        """True if another version has one of this version's sensitive columns, and people of it."""
        if not any(map(self._is_elsewhere, self.terms.names_with_roles("sensitive"))):
            return False
        others = [seen_map.slots.key[seen_map.slots.is_held] for seen_map in self.maps[:-1]]
        now = self.maps[-1].slots
        return any(bool(np.isin(now.key[now.is_held], names).any()) for names in others)

    def _is_elsewhere(self, name: str) -> bool:
        return any(seen_map.name_of(name) for seen_map in self.maps[:-1])

    @cached_property
    def _everybody(self) -> SeenPeople:
        return SeenPeople(self.maps)

    def _people_by_column(self, name: str) -> SeenPeople:
        """Return the people of all versions, with a column by one name."""
        names = [seen_map.name_of(name) for seen_map in self.maps]
        if all(own_name in (None, name) for own_name in names):
            return self._everybody
        slots = maps_with_one_column([seen_map.slots for seen_map in self.maps], names, name)
        alike = [
            replace(seen_map, slots=renamed)
            for seen_map, renamed in zip(self.maps, slots, strict=True)
        ]
        return SeenPeople(alike)


def exposure_of(line: Line, now: SlotMap, terms: Terms, met: Sequence[Meeting]) -> Exposed:
    """Return a version of a line beside all those that the work directory knows.

    Args:
        line: its line.
        now: its map.
        terms: the terms that it declares.
        met: the lines with people in common.
    """
    maps: list[MapOfLine] = []
    same = [meeting for meeting in met if same_people(line, meeting)]
    own = [] if rule_of(terms.versions) == "disjoint" else [line.private]
    for number, meeting in enumerate(same):
        groups = len(same) if is_joined(line, meeting) else None
        called = _other_names(line, meeting, terms.names_with_roles("sensitive"))
        maps += [MapOfLine(number, slots, groups, called) for slots in maps_of(meeting.line)]
    maps += [MapOfLine(len(same), slots) for place in own for slots in maps_of(place)]
    earlier = [
        version
        for place in (*(meeting.line for meeting in same), *own)
        for version in _versions(place)
    ]
    versions = 1 + sum(version.map is not None for version in earlier)
    return Exposed((*maps, MapOfLine(len(same), now)), versions, terms)


def _versions(place: Path) -> list[PublishedVersion]:
    return list(state_of(place).versions.values())


def _other_names(line: Line, met: Meeting, names: Sequence[str]) -> dict[str, str]:
    """Return other names that columns of a line have in another line, by their own names."""
    if met.statement is None:
        return {}
    called = {}
    for name in names:
        ours = {name, line.same_as.get(name, name)}
        alike = [column for column in met.statement.roles if ours & met.statement.names_of(column)]
        if alike and name not in alike:
            called[name] = alike[0]
    return called


def declared_exposure(line: Line, now: SlotMap | None, terms: Terms) -> JointExposure | None:
    """Return the exposure that a candidate's page has to state, or None if there is none."""
    if now is None or not accepts_exposure(line, terms):
        return None
    with lock_of_lines(line.work):
        exposed = exposure_of(line, now, terms, list(meetings(line, now)))
    return exposed.counts if exposed.tells else None


def require_declared(line: Line, exposed: Exposed, declared: JointExposure | None) -> None:
    """Refuse a version whose page states counts that are no longer true.

    Raises:
        PromiseError: where another version was published since they were made.
    """
    tells = accepts_exposure(line, exposed.terms) and exposed.tells
    if declared != (exposed.counts if tells else None):
        raise PromiseError(
            "another version about the same people was published in the meantime. Run "
            "the command again"
        )


def accepts_exposure(line: Line, terms: Terms) -> bool:
    """Decide whether a spec accepts the joint disclosure of versions, or of lines."""
    return line.accepts_lines or terms.versions == "accepted-risk"


def require_nothing_by_subtraction(before: SlotMap, now: SlotMap, columns: Sequence[str]) -> None:
    """Refuse a composed version that reveals more about people who came or left than its groups do.

    Raises:
        PromiseError: with counts of people.
    """
    seen = SeenPeople([MapOfLine(0, published_slots(slots)) for slots in (before, now)])
    for name in columns:
        earlier, later = seen.versions_showing(name)
        if people := people_exposed_by_subtraction(earlier, later, name):
            raise PromiseError(
                f"versions: composed is broken: {people} people came or left, and the "
                f"old and new values of {name!r} in their groups reveal more about "
                "them than the groups do. Release again when more people have come or "
                "left"
            )


def same_people(line: Line, met: Meeting) -> bool:
    """Decide whether a line's people are the same where it uses the same units."""
    if met.statement is None or line.people is None or met.statement.people is None:
        return line.accepts_lines
    return met.names(line.people)


def _exposure_of_column(
    seen: SeenPeople, name: str, promises: Sequence[PrivacyModel]
) -> ColumnExposure:
    required = _required_values([promise for promise in promises if promise.sensitive == name])
    versions = seen.versions_showing(name)
    exposed = exposure(versions, name, required)
    return ColumnExposure(
        column=name,
        asked=required,
        intersection=_faced_people(exposed.intersection),
        newcomers=_faced_people(exposed.newcomers),
        leavers=_faced_people(exposed.leavers),
    )


def _required_values(promises: Sequence[PrivacyModel]) -> int:
    """Return how many values have to be possible for everyone, by the promises about a column."""
    k = max((promise.k for promise in promises if isinstance(promise, KEAnonymity)), default=_LEAST)
    return max(k, largest_l(promises), _LEAST)


def _faced_people(faced: Faced) -> FacedPeople:
    return FacedPeople(people=faced.people, one=faced.one, few=faced.few)
