"""Checks of a staged version beside all others, and reports of their joint disclosure.

The findings go to the version's private reports (`composition.json`), as counts only.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

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
from sfumato.tasks.terms.terms import Declared, RowCounts

JudgeAtoms = Callable[[Passed, Sequence[PrivacyModel]], tuple[Finding, ...]]
"""A judge of versions together, by promises about values."""


@dataclass(frozen=True, eq=False)
class Composition:
    """A version's joint disclosure with others.

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

    @property
    def likeliest(self) -> dict[str, str | None]:
        """The largest posterior of anyone's value as a fraction in a text, by sensitive column.

        It is None if it is not known, and there are no columns if the gate judged nothing.
        """
        if self.passed is None:
            return {}
        chances = self.passed.likeliest.items()
        return {name: None if chance is None else str(chance) for name, chance in chances}

    def document(self) -> dict[str, Any]:
        """Return the private report."""
        passed = self.passed
        return {
            "rule": rule_of(self.declared.versions),
            "route": passed and passed.route,
            "atoms": passed and len(passed.atoms),
            "fewest": dict(passed.fewest) if passed else {},
            "likeliest": self.likeliest,
            "vacancy": self._vacancy(),
            "refilled": self.counts.get("refilled", 0),
            "moved": self.counts.get("moved", 0),
            "reinserted": self.counts.get("reinserted", 0),
            "withheld": self.counts.get("withheld", 0),
            "waiting": self.counts.get("waiting", 0),
            "retired": self.counts.get("in_retired_groups", 0),
            "exposure": self.exposed.counts.model_dump(mode="json"),
        }

    def totals(self) -> dict[str, int | str | None]:
        """Return counts for people who watch a run."""
        passed = self.passed
        likeliest = passed.likeliest.values() if passed else ()
        chances = [chance for chance in likeliest if chance is not None]
        route, worst = passed.route if passed else None, str(max(chances)) if chances else None
        return totals_of_counts(self.counts, self.declared.rows, route, worst)

    def _vacancy(self) -> dict[str, int]:
        slots = self.slots
        is_counted = (slots.published >= 0) | (not slots.composed)
        kinds = {"people": (LIVE,), "vacant": (VACANT, LEFT)}
        return {
            name: int((is_counted & np.isin(slots.kind, values)).sum())
            for name, values in kinds.items()
        }


def totals_of_counts(
    counts: Mapping[str, int], rows: RowCounts, route: str | None, worst: str | None
) -> dict[str, int | str | None]:
    """Return the counts of a version for people who watch a run.

    Args:
        counts: the numbers of people and groups that went on, or did not.
        rows: the row counts that it declares.
        route: the route by which it composes (see `Passed`), None if nothing was judged.
        worst: the largest posterior of anyone's value, None if it is not known.
    """
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
        "route": route,
        "worst_posterior": worst,
    }


class JointReport(Protocol):
    """A report of the joint disclosure of a version, in one table or in parts, and others."""

    @property
    def declared(self) -> Declared:
        """The terms that the version declares."""
        ...

    def document(self) -> dict[str, Any]:
        """Return the private report."""
        ...

    def totals(self) -> dict[str, int | str | None]:
        """Return counts for people who watch a run."""
        ...


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
    """Refuse a version that reveals too much beside earlier ones, or beside other lines.

    Args:
        line: its line, whose locks are held.
        candidate: the candidate to publish.
        staging: the staged release.
        judge: judges once more versions that pass the gate.

    Returns:
        The version with the report of its joint disclosure; None if its line keeps no map of
        people.

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
