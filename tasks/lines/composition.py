"""Checks of a staged version beside all others, and reports of their joint disclosure.

The findings go to the version's private reports (`composition.json`), as counts only.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.rules.verdicts import Finding, require
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.composed import require_composed
from sfumato.tasks.lines.exposed import (
    Exposed,
    exposure_of,
    require_declared,
    require_nothing_by_subtraction,
    same_people,
)
from sfumato.tasks.lines.line import Candidate, Line
from sfumato.tasks.lines.meeting import (
    description_of,
    meetings,
    require_coded_alike,
    require_compatible,
    require_followed,
    require_named,
)
from sfumato.tasks.lines.shown import judged_promises
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.lines import KnownLine, maps_of
from sfumato.tasks.private.people.slots import LEFT, LIVE, VACANT, SlotMap, from_table
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.terms import ColumnExposure, Declared, FacedPeople, JointExposure

_FACED = ("intersection", "newcomers", "leavers")  # counts of people in a `ColumnExposure`
JudgeAtoms = Callable[[Passed, Sequence[PrivacyModel]], tuple[Finding, ...]]
"""A judge of versions together, by promises about values."""


@dataclass(frozen=True)
class PartReport:
    """The joint disclosure of a version's only part, or of one of several.

    Attributes:
        route: the route by which it composes (see `Passed`), None if nothing was judged.
        atoms: the number of atoms, None if nothing was judged.
        fewest: by sensitive column, the fewest possible values of anyone.
        likeliest: by sensitive column, the largest posterior of anyone's value, None if it is not
            known.
        vacancy: the numbers of slots with people, and of vacant ones.
        exposure: the exposure of its people.
    """

    route: str | None
    atoms: int | None
    fewest: Mapping[str, int]
    likeliest: Mapping[str, Fraction | None]
    vacancy: Mapping[str, int]
    exposure: JointExposure


class JointReport:
    """A report of the joint disclosure of a version, in one table or in parts, and others.

    Attributes:
        declared: the terms that the version declares.
        counts: the numbers of people and groups that went on, or did not.
    """

    declared: Declared
    counts: Mapping[str, int]

    @property
    def parts(self) -> Sequence[PartReport]:
        """The report of each part; a version in one table has one."""
        raise NotImplementedError

    def document(self) -> dict[str, Any]:
        """Return the private report."""
        atoms = [part.atoms for part in self.parts if part.atoms is not None]
        likeliest = self.likeliest().items()
        return {
            "rule": rule_of(self.declared.versions),
            "route": self.route(),
            "atoms": sum(atoms) if atoms else None,
            "fewest": _by_name(min, [part.fewest for part in self.parts]),
            "likeliest": {n: None if chance is None else str(chance) for n, chance in likeliest},
            "vacancy": _by_name(sum, [part.vacancy for part in self.parts]),
            "refilled": self.counts.get("refilled", 0),
            "moved": self.counts.get("moved", 0),
            "reinserted": self.counts.get("reinserted", 0),
            "withheld": self.counts.get("withheld", 0),
            "waiting": self.counts.get("waiting", 0),
            "retired": self.counts.get("in_retired_groups", 0),
            "exposure": self.exposure().model_dump(mode="json"),
        }

    def totals(self) -> dict[str, int | str | None]:
        """Return counts for people who watch a run."""
        counts, rows = self.counts, self.declared.rows
        chances = [chance for chance in self.likeliest().values() if chance is not None]
        return {
            "continued": counts.get("continued", 0),
            "new": counts.get("new", 0) + counts.get("reinserted", 0),
            "refilled": counts.get("refilled", 0),
            "moved": counts.get("moved", 0),
            "vacant": rows.vacant,
            "not_represented_versions": rows.not_represented_versions,
            "groups_continued": counts.get("groups_continued", 0),
            "groups_new": counts.get("groups_new", 0),
            "groups_retired": counts.get("groups_retired", 0),
            "route": self.route(),
            "worst_posterior": str(max(chances)) if chances else None,
        }

    def route(self) -> str | None:
        """Return the routes by which parts compose (see `Passed`), None if no part has one."""
        return ", ".join(sorted({part.route for part in self.parts if part.route})) or None

    def likeliest(self) -> dict[str, Fraction | None]:
        """Return the largest posterior of anyone's value, by sensitive column.

        It is None for a column if it is not known in every part, and there are no columns if the
        gate judged nothing.
        """
        largest: dict[str, Fraction | None] = {}
        for name in dict.fromkeys(name for part in self.parts for name in part.likeliest):
            chances = [part.likeliest.get(name) for part in self.parts]
            exact = [chance for chance in chances if chance is not None]
            largest[name] = max(exact) if len(exact) == len(chances) else None
        return largest

    def exposure(self) -> JointExposure:
        """Return the exposure of the people of all parts, each of whom is in one."""
        return sum_exposures([part.exposure for part in self.parts])


def _by_name(
    join: Callable[[list[int]], int], counts: Sequence[Mapping[str, int]]
) -> dict[str, int]:
    """Return the numbers of all parts joined, by their names, which all parts have."""
    return {name: join([part_counts[name] for part_counts in counts]) for name in counts[0]}


def sum_exposures(exposures: Sequence[JointExposure]) -> JointExposure:
    """Return the exposure of the people of all parts of a version, each of whom is in one part."""
    columns = dict.fromkeys(c.column for exposure in exposures for c in exposure.columns)
    return exposures[0].model_copy(
        update={
            "versions": max(exposure.versions for exposure in exposures),
            "columns": tuple(
                _sum_of_parts([c for e in exposures for c in e.columns if c.column == name])
                for name in columns
            ),
        }
    )


def _sum_of_parts(columns: Sequence[ColumnExposure]) -> ColumnExposure:
    faced = {name: _sum_of_people([getattr(column, name) for column in columns]) for name in _FACED}
    return columns[0].model_copy(update=faced)


def _sum_of_people(faced: Sequence[FacedPeople]) -> FacedPeople:
    sums = {
        name: sum(getattr(people, name) for people in faced) for name in FacedPeople.model_fields
    }
    return FacedPeople(**sums)


@dataclass(frozen=True, eq=False)
class Composition(JointReport):
    """The joint disclosure of a version in one table, or of a part of one, with others.

    Attributes:
        declared: the terms that it declares.
        exposed: its exposure beside all others of its people.
        slots: its map.
        passed: the verdict of the gate (see `composed`), None if it judged nothing.
        counts: the numbers of people and groups that went on, or did not.
    """

    declared: Declared
    exposed: Exposed
    slots: SlotMap
    passed: Passed | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def parts(self) -> Sequence[PartReport]:
        """The report of the only part."""
        passed = self.passed
        report = PartReport(
            route=None if passed is None else passed.route,
            atoms=None if passed is None else len(passed.atoms),
            fewest=dict(passed.fewest) if passed else {},
            likeliest=dict(passed.likeliest) if passed else {},
            vacancy=self._vacancy(),
            exposure=self.exposed.counts,
        )
        return (report,)

    def _vacancy(self) -> dict[str, int]:
        slots = self.slots
        is_counted = (slots.published >= 0) | (not slots.composed)
        kinds = {"people": (LIVE,), "vacant": (VACANT, LEFT)}
        return {
            name: int((is_counted & np.isin(slots.kind, values)).sum())
            for name, values in kinds.items()
        }


@dataclass(frozen=True, eq=False)
class CombinableVersion:
    """A version that may appear beside all others.

    Attributes:
        known: its line's statement about itself from now on.
        composition: the report of its joint disclosure.
        notices: messages about lines that use the same units for other people.
    """

    known: KnownLine
    composition: JointReport
    notices: tuple[str, ...] = ()


def require_combinable(
    line: Line, candidate: Candidate, staging: Path, judge: JudgeAtoms | None = None
) -> CombinableVersion | None:
    """Refuse a version in one table that reveals too much beside others.

    Arguments and result are those of `parts_gate.require_combined`.

    Raises:
        PromiseError: with the rule, and counts of people and groups.
    """
    passed, declared = None, open_release(staging).declared
    if candidate.versions == "composed":
        passed = require_composed(line, candidate, staging)
    if candidate.map is None:
        return None
    now = from_table(candidate.map.read(), "the map")
    if passed is not None and judge is not None:
        require(judge(passed, judged_promises(declared.promises)))
    if candidate.versions == "composed":
        _require_theorem(line, now, declared)
    require_followed(line, candidate)
    met = list(meetings(line, now))
    notices = require_named(line, met, candidate.versions)
    require_compatible(line, met, now, declared)
    ours, same = (
        description_of(line, declared),
        [meeting for meeting in met if same_people(line, meeting)],
    )
    require_coded_alike(line, ours, same, candidate.versions)
    exposed = exposure_of(line, now, declared, met)
    require_declared(line, exposed, declared.exposure)
    composition = Composition(declared, exposed, now, passed, candidate.counts)
    return CombinableVersion(ours, composition, tuple(notices))


def _require_theorem(line: Line, now: SlotMap, declared: Declared) -> None:
    """Refuse a version that reveals people who came or left, if groups go on whole."""
    before = maps_of(line.private)
    if before and before[-1].composed:
        require_nothing_by_subtraction(before[-1], now, declared.names_with_roles("sensitive"))


def write_composition(reports: Path, composition: JointReport) -> None:
    """Write the report of a version's joint disclosure to its private reports."""
    content = json.dumps(composition.document(), indent=2, ensure_ascii=False)
    write_atomically(reports / "composition.json", content.encode())
