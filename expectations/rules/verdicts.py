"""The findings of a validation report: expectations of a release, and what was observed.

`judge` of `expectations.suites.gate` makes them with Great Expectations, when a release is made;
`examine` makes the same ones without it, from the same rules and models, when it is checked.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import exact, plain

GROUPS = "groups"  # stands in the report where a table's name does: promises are judged on groups
PEOPLE = "people"  # the same, where they are judged over the people in these groups
_COUNTS = ("groups", "failing")  # beside the observed parameters of a promise
Promised = tuple[PrivacyModel, Groups]


@dataclass(frozen=True)
class Expectation:
    """An expectation by its type and its parameters."""

    type: str
    parameters: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The expectation as text, the same for equal expectations."""
        parameters = {name.replace("-", "_"): value for name, value in self.parameters.items()}
        return f"{self.type} {json.dumps(parameters, sort_keys=True)}"


@dataclass(frozen=True)
class Evaluated:
    """A validator's report on one expectation, believed only once `admit` has accepted it."""

    expected: Expectation
    raised: bool
    passed: bool | None
    observed: Mapping[str, Any] | int | None


@dataclass(frozen=True)
class Finding:
    """One expectation of one table: whether it passed, and what was counted (aggregates only).

    `owned` findings are those that the owner's spec asks for, in addition to the promises of a
    release.
    """

    table: str
    type: str
    parameters: Mapping[str, Any]
    passed: bool
    observed: Mapping[str, int | str | None] | int | None
    owned: bool = False

    def __str__(self) -> str:
        if self.owned:
            return f"{self._subject}{self._columns} {self._outcome}{self._observation}"
        parameters = json.dumps(self.parameters, sort_keys=True)
        return f"{self._subject} {self._outcome}: required {parameters}{self._observation}"

    @property
    def _observation(self) -> str:
        return "" if self.observed is None else f", observed {json.dumps(self.observed)}"

    @property
    def _columns(self) -> str:
        """The columns that an owner's rule names: its other parameters may be values."""
        names = [v for k, v in self.parameters.items() if k.startswith("column")]
        listed = [
            name for entry in names for name in ([entry] if isinstance(entry, str) else entry)
        ]
        return f" of {', '.join(map(repr, listed))}" if listed else ""

    @property
    def _subject(self) -> str:
        if self.table in (GROUPS, PEOPLE):
            promise = self.type.removeprefix("expect_").replace("_", "-")
            return promise if self.table == GROUPS else f"{promise} over people"
        return f"{self.table}: {self.type}"

    @property
    def _outcome(self) -> str:
        outcome = "holds" if self.passed else "is broken"
        if not isinstance(self.observed, Mapping) or "failing" not in self.observed:
            return outcome
        if not self.passed and None in self.observed.values():
            outcome = "cannot be proven"
        return f"{outcome} in {self.observed['failing']} of {self.observed['groups']} groups"


def expectation_type(model: type[PrivacyModel]) -> str:
    """Return the name of a model's expectation, `expect_k_anonymity`."""
    return f"expect_{model.name.replace('-', '_')}"


def expectation_of(rule: Rule | PrivacyModel) -> Expectation:
    """Return a rule or a promise as an expectation."""
    if isinstance(rule, PrivacyModel):
        return Expectation(expectation_type(type(rule)), rule.parameters())
    return Expectation(rule.type, rule.parameters())


def verdict_of(promise: PrivacyModel, finding: Finding) -> Verdict:
    """Return the verdict on a promise, exactly as it was before it became a finding.

    Raises:
        PromiseError: where the finding is not one of this promise, with counts of groups.
    """
    seen = finding.observed
    if finding.type != expectation_type(type(promise)) or not isinstance(seen, Mapping):
        raise PromiseError(f"{promise.name}: the report has no verdict on this promise")
    return Verdict(
        required=promise.required(),
        observed={n: exact(value) for n, value in seen.items() if n not in _COUNTS},
        **{name: int(seen[name] or 0) for name in _COUNTS},
    )


def observation(verdict: Verdict) -> dict[str, int | str | None]:
    """Return a verdict's observed parameters, and its numbers of groups and failing groups."""
    seen = {name: plain(value) for name, value in verdict.observed.items()}
    return seen | {"groups": verdict.groups, "failing": verdict.failing}


def judge_rule(name: str, rule: Rule, table: pa.Table) -> Finding:
    """Judge the table of that name by a rule."""
    holds, observed = rule.judge(table)
    return Finding(name, rule.type, rule.parameters(), holds, observed)


def judged_on(groups: Groups) -> str:
    """Return the word in place of a table's name for promises that are judged on these groups."""
    return PEOPLE if groups.has_owners else GROUPS


def examine(
    tables: Mapping[str, pa.Table],
    structure: Mapping[str, Sequence[Rule]],
    promises: Sequence[Promised],
) -> tuple[Finding, ...]:
    """Return the findings that `judge` makes, without Great Expectations.

    Raises:
        PromiseError: where a table has no rules, rules have no table, or nothing is promised.
    """
    refuse_unexpected(tables, structure, promises)
    findings = [
        judge_rule(name, rule, table) for name, table in tables.items() for rule in structure[name]
    ]
    for model, groups in promises:
        expectation, verdict, place = expectation_of(model), model.check(groups), judged_on(groups)
        findings.append(
            Finding(
                place, expectation.type, expectation.parameters, verdict.holds, observation(verdict)
            )
        )
    return tuple(findings)


def admit(
    table: str, expectations: Sequence[Expectation], outcomes: Sequence[Evaluated]
) -> tuple[Finding, ...]:
    """Return the outcomes as findings, in the order of the expectations, if all were evaluated.

    Raises:
        PromiseError: where nothing was expected, or something was dropped, added, raised, passed
            neither nor failed, or passed without having been measured.
    """
    if not expectations:
        raise PromiseError(f"{table}: no expectation was judged")
    for outcome in outcomes:
        if outcome.raised or not isinstance(outcome.passed, bool) or _is_unmeasured(outcome):
            raise PromiseError(f"{table}: {outcome.expected.type} could not be evaluated")
    by_key = {outcome.expected.key: outcome for outcome in outcomes}
    differing = Counter(e.key for e in expectations)
    differing.subtract(outcome.expected.key for outcome in outcomes)
    if wrong := sorted({key.partition(" ")[0] for key, times in differing.items() if times}):
        raise PromiseError(f"{table}: not evaluated exactly as required ({', '.join(wrong)})")
    pairs = [(e, by_key[e.key]) for e in expectations]
    return tuple(
        Finding(table, e.type, e.parameters, outcome.passed is True, outcome.observed)
        for e, outcome in pairs
    )


def _is_unmeasured(outcome: Evaluated) -> bool:
    """Return True if a promise is said to hold although it was not measured."""
    if not outcome.passed or "model" not in outcome.expected.parameters:
        return False
    seen = outcome.observed
    return not isinstance(seen, Mapping) or not all(
        isinstance(value, int | str) for value in (seen or {"": None}).values()
    )


def refuse_unexpected(
    tables: Mapping[str, pa.Table],
    structure: Mapping[str, Sequence[Rule]],
    promises: Sequence[Promised],
) -> None:
    """Refuse tables of which nothing is expected, and expectations of tables that are missing.

    Raises:
        PromiseError: for a table without rules, rules without a table, or no promise at all.
    """
    for name in sorted(tables.keys() ^ structure.keys()):
        where = "is not declared" if name in tables else "is declared and missing"
        raise PromiseError(f"table {name!r} {where}")
    for name, rules in structure.items():
        if not rules:
            raise PromiseError(f"table {name!r} has no expectations, so that it cannot be judged")
    if not promises:
        raise PromiseError("no promise is given; a release needs at least one")


def require(findings: Iterable[Finding]) -> None:
    """Refuse a release if any expectation failed, or none was judged.

    Raises:
        PromiseError: with each broken expectation, what it requires and what was observed.
    """
    judged = list(findings)
    if not judged:
        raise PromiseError("no expectation was judged")
    if broken := [str(finding) for finding in judged if finding.passed is not True]:
        raise PromiseError("; ".join(broken))
