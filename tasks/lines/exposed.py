"""What a version exposes of people together with others, counted on private maps of any line.

The values are those of the line that has the fewest: a value of another line is the one that most
of its people have there. Whoever is in one line alone has no say in this.

Two attacks are counted that need no proof (see `expectations.composition.exposure`). Withdrawn
versions count: whoever has them keeps them. A column that is sensitive in one version and not in
another stands there for everybody to read. Where a form shows less than the values of a group,
what is counted is more than it tells.
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
    told_by_subtraction,
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

_LEAST = 2  # values that everybody should face, whatever is promised


def maps_with_one_column(
    maps: Sequence[SlotMap], names: Sequence[str | None], name: str
) -> list[SlotMap]:
    """The maps of several lines in which a column has one name and one domain.

    Args:
        maps: the private maps.
        names: what the column is called in each, None where there is none.
        name: what it is called then; another column of that name is taken away.
    """
    if all(one in (None, name) for one in names):
        return list(maps)
    have = [at for at, one in enumerate(names) if one is not None]
    coarse = min(have, key=lambda at: len(_column(maps, names, at).values))
    told = _texts_of_people(maps[coarse], _column(maps, names, coarse))
    found = []
    for at, (one, called) in enumerate(zip(maps, names, strict=True)):
        others = [c for c in one.rows.columns if c.name not in (name, called)]
        if called is not None:
            column = _column(maps, names, at)
            texts = _as_text(column) if at == coarse else _told(one, column, told)
            others.append(encode(name, column.role, texts))
        found.append(replace(one, rows=one.rows.keep(others)))
    return found


def _column(maps: Sequence[SlotMap], names: Sequence[str | None], at: int) -> Column:
    return maps[at].rows[str(names[at])]


def _as_text(column: Column) -> pa.Array:
    return column.array().cast(pa.string())


def _people(slots: SlotMap) -> np.ndarray:
    return np.flatnonzero(slots.held & (slots.kind != WITNESS))


def _texts_of_people(slots: SlotMap, column: Column) -> Mapping[bytes, str]:
    """Everybody's value as a text."""
    rows = _people(slots)
    texts = _as_text(column).take(pa.array(rows)).to_pylist()
    return dict(zip(slots.key[rows].tolist(), texts, strict=True))


def _told(slots: SlotMap, column: Column, told: Mapping[bytes, str]) -> pa.Array:
    """The column's values, each as the one that most of its people have in `told`."""
    values = _as_text(column).to_pylist()
    seen: dict[str, dict[str, int]] = {}
    for row in _people(slots).tolist():
        other = told.get(slots.key[row])
        if other is not None:
            counts = seen.setdefault(values[row], {})
            counts[other] = counts.get(other, 0) + 1
    most = {value: max(counts, key=counts.__getitem__) for value, counts in seen.items()}
    return pa.array([most.get(value, value) for value in values], pa.string())


@dataclass(frozen=True, eq=False)
class Exposed:
    """A version beside others of the same people.

    Attributes:
        maps: of all versions, in the order in which they are compared, this one last.
        versions: how many versions they are of.
        terms: what this one declares.
    """

    maps: tuple[MapOfLine, ...]
    versions: int
    terms: Terms

    @cached_property
    def counts(self) -> JointExposure:
        """The exposure of people by all these versions together."""
        lines = len({one.line for one in self.maps})
        names = [n for n in self.terms.named("sensitive") if self._is_elsewhere(n)]
        columns = [_of_column(self._seen(name), name, self.terms.promises) for name in names]
        return JointExposure(versions=self.versions, lines=lines, columns=tuple(columns))

    @property
    def tells(self) -> bool:
        """True where somebody is here and in another version with a sensitive column of this."""
        if not any(map(self._is_elsewhere, self.terms.named("sensitive"))):
            return False
        others = [one.slots.key[one.slots.held] for one in self.maps[:-1]]
        now = self.maps[-1].slots
        return any(bool(np.isin(now.key[now.held], names).any()) for names in others)

    def _is_elsewhere(self, name: str) -> bool:
        return any(one.name_of(name) for one in self.maps[:-1])

    @cached_property
    def _everybody(self) -> SeenPeople:
        return SeenPeople(self.maps)

    def _seen(self, name: str) -> SeenPeople:
        """People of all versions, a column by one name."""
        names = [one.name_of(name) for one in self.maps]
        if all(called in (None, name) for called in names):
            return self._everybody
        slots = maps_with_one_column([one.slots for one in self.maps], names, name)
        alike = [replace(one, slots=of) for one, of in zip(self.maps, slots, strict=True)]
        return SeenPeople(alike)


def exposure_of(line: Line, now: SlotMap, terms: Terms, met: Sequence[Meeting]) -> Exposed:
    """A version of a line beside all those that the work directory knows.

    Args:
        line: its line.
        now: its map.
        terms: what it declares.
        met: the lines with people in common.
    """
    maps: list[MapOfLine] = []
    same = [one for one in met if same_people(line, one)]
    own = [] if rule_of(terms.versions) == "disjoint" else [line.private]
    for number, one in enumerate(same):
        groups = len(same) if is_joined(line, one) else None
        called = _called(line, one, terms.named("sensitive"))
        maps += [MapOfLine(number, slots, groups, called) for slots in maps_of(one.line)]
    maps += [MapOfLine(len(same), slots) for place in own for slots in maps_of(place)]
    known = [of for place in (*(one.line for one in same), *own) for of in _versions(place)]
    versions = 1 + sum(of.map is not None for of in known)
    return Exposed((*maps, MapOfLine(len(same), now)), versions, terms)


def _versions(place: Path) -> list[PublishedVersion]:
    return list(state_of(place).versions.values())


def _called(line: Line, met: Meeting, names: Sequence[str]) -> dict[str, str]:
    """What columns of a line are called in another, where they are called otherwise there."""
    if met.known is None:
        return {}
    found = {}
    for name in names:
        ours = {name, line.same_as.get(name, name)}
        alike = [one for one in met.known.roles if ours & met.known.names_of(one)]
        if alike and name not in alike:
            found[name] = alike[0]
    return found


def declared_exposure(line: Line, now: SlotMap | None, terms: Terms) -> JointExposure | None:
    """What a candidate's page is to tell of people, None where there is nothing to tell."""
    if now is None or not accepts_exposure(line, terms):
        return None
    with lock_of_lines(line.work):
        found = exposure_of(line, now, terms, list(meetings(line, now)))
    return found.counts if found.tells else None


def require_declared(line: Line, found: Exposed, declared: JointExposure | None) -> None:
    """Refuse a version whose page tells other counts than those that are true now.

    Raises:
        PromiseError: where another version was published since they were made.
    """
    tells = accepts_exposure(line, found.terms) and found.tells
    if declared != (found.counts if tells else None):
        raise PromiseError(
            "another version about the same people was published meanwhile: run again"
        )


def accepts_exposure(line: Line, terms: Terms) -> bool:
    """True where a spec accepts what versions, or lines, tell together."""
    return line.accepts_lines or terms.versions == "accepted-risk"


def require_nothing_by_subtraction(before: SlotMap, now: SlotMap, columns: Sequence[str]) -> None:
    """Refuse a composed version that tells more than its groups of who came or left.

    Raises:
        PromiseError: with counts of people.
    """
    seen = SeenPeople([MapOfLine(0, published_slots(one)) for one in (before, now)])
    for name in columns:
        one, other = seen.shown(name)
        if people := told_by_subtraction(one, other, name):
            raise PromiseError(
                f"versions: composed is broken: {people} people who came or left are told of by "
                f"what their groups had and have of {name!r}"
            )


def same_people(line: Line, met: Meeting) -> bool:
    """Decide whether a line's people are the same where it uses the same units."""
    if met.known is None or line.people is None or met.known.people is None:
        return line.accepts_lines
    return met.names(line.people)


def _of_column(seen: SeenPeople, name: str, promises: Sequence[PrivacyModel]) -> ColumnExposure:
    asked = _asked([promise for promise in promises if promise.sensitive == name])
    versions = seen.shown(name)
    found = exposure(versions, name, asked)
    return ColumnExposure(
        column=name,
        asked=asked,
        intersection=_faced_people(found.intersection),
        newcomers=_faced_people(found.newcomers),
        leavers=_faced_people(found.leavers),
    )


def _asked(promises: Sequence[PrivacyModel]) -> int:
    """The number of values that promises about a column ask everybody to face."""
    k = max((one.k for one in promises if isinstance(one, KEAnonymity)), default=_LEAST)
    return max(k, largest_l(promises), _LEAST)


def _faced_people(found: Faced) -> FacedPeople:
    return FacedPeople(people=found.people, one=found.one, few=found.few)
