"""Measurement of a release's promises on its published tables, through its form.

A coding that was computed of rows cannot be seen here: thresholds and rare values stay private.

Keep out whatever needs more than the tables, what they declare, and references of promises.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.source import PositiveValues
from sfumato.expectations.rules.structure import ValuesAsCoded
from sfumato.expectations.rules.verdicts import (
    GROUPS,
    PEOPLE,
    Expectation,
    Finding,
    Promised,
    examine,
    expectation_of,
    judge_rule,
    verdict_of,
)
from sfumato.expectations.shared.numbers import Number, plain
from sfumato.tasks.forms.admitted_people import admitted_people
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE, with_labels_shown
from sfumato.tasks.microdata.codings import CODINGS
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.private.references import NO_REFERENCES, ReferenceFile, References
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.people import WhoseRows
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared, Terms

if TYPE_CHECKING:
    from sfumato.tasks.terms.kept_policy import PolicyFinding

_SEEN = ("bottom", "top", "round", "unite", "prefix")
Structure = Mapping[str, tuple[Rule, ...]]
Judge = Callable[[Tables, Structure, Sequence[Promised]], tuple[Finding, ...]]
Verdicts = tuple[tuple[PrivacyModel, Verdict], ...]


def with_people(
    groups: Groups,
    promise: PrivacyModel,
    declared: Declared,
    tables: Tables,
    reference: ReferenceFile,
) -> Groups:
    """Return the groups of a promise, with the people of its reference whom each could be about.

    Raises:
        InputError: where the reference cannot be read, or lacks a column.
        PromiseError: where somebody of it could be in two groups, or it was changed meanwhile.
    """
    columns = promise.adversary_columns
    sensitive = (promise.sensitive,) if promise.sensitive else ()
    types: Mapping[str, ColumnType] = {n: declared.columns[n].type for n in (*columns, *sensitive)}
    people = reference.read([*columns, *sensitive], types)
    reader_of, scope = reader_for(form_of(declared)), (columns, sensitive)
    population = admitted_people(tables[TABLE], declared.columns, reader_of, scope, people)
    return replace(groups, population=population)


def coding_rules(terms: Terms, schema: pa.Schema) -> Iterator[ValuesAsCoded]:
    """Yield a rule for each column of a published table that shows coded values as they are."""
    for name in schema.names:
        column = terms.columns.get(name)
        if column is None or (terms.is_recoded and column.role == "quasi-identifier"):
            continue
        keys = visible_codings(column)
        if keys:
            yield ValuesAsCoded(name, keys, partial(count_uncoded, name=name, column=column))


def visible_codings(column: DeclaredColumn) -> tuple[str, ...]:
    """Return the codings that do not change values which they produced."""
    return tuple(k for k in column.codings if k in _SEEN and k not in column.computed_keys)


def count_uncoded(table: pa.Table, name: str, column: DeclaredColumn) -> int:
    """Return how many different values of a column no such coding produces."""
    values = table[name]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    encoded = encode(name, column.role, values)
    as_given = np.zeros(len(encoded.values), dtype=bool)
    if column.fold is not None:
        as_given = np.asarray(pc.equal(encoded.values, column.fold.into))
    changed = np.zeros(len(encoded.values), dtype=bool)
    each = encode(name, column.role, encoded.values)
    for key in visible_codings(column):
        coded = CODINGS[key](each, column.codings[key], None).array()
        changed |= np.asarray(pc.not_equal(coded.cast(encoded.values.type), encoded.values))
    return int((changed & ~as_given).sum())


class SeenGroups:
    """The groups that an adversary sees in published tables, counted once for each scope."""

    def __init__(
        self, declared: Declared, tables: Tables, references: References = NO_REFERENCES
    ) -> None:
        """Look at `tables` through the form that `declared` names."""
        self._declared, self._tables, self._references = declared, tables, references
        self._counted: dict[tuple[tuple[str, ...], tuple[str, ...]], Groups] = {}

    def told_by(self, columns: Sequence[str], sensitive: Sequence[str]) -> Groups:
        """Return the groups that `columns` distinguish, with values of the sensitive attributes."""
        declared, scope = self._declared, (tuple(columns), tuple(sensitive))
        if scope not in self._counted:
            form = form_of(declared)
            self._counted[scope] = form.groups(self._tables, declared.columns, *scope)
        return self._counted[scope]

    def of_promises(self) -> tuple[Promised, ...]:
        """Return every promise with the groups that it is about.

        The groups come with the people of the promise's reference, if the reference is known.
        """
        return tuple((p, self._of_promise(p)) for p in self._declared.promises)

    def _of_promise(self, promise: PrivacyModel) -> Groups:
        groups, reference = self.told_by(*_scope(promise)), self._references.file_for(promise)
        if promise.needs_labels:
            groups = with_labels_shown(groups, self._tables, promise.adversary_columns)
        if reference is None:
            return groups
        return with_people(groups, promise, self._declared, self._tables, reference)

    def of_people(self, whose: WhoseRows) -> tuple[Promised, ...]:
        """Return every promise with the people in the groups that it is about.

        Raises:
            PromiseError: where these are not the groups of the tables.
        """
        return tuple((p, whose.in_groups(p, self._of_promise(p))) for p in self._declared.promises)

    def of_all(self) -> Groups:
        """Return the groups that all quasi-identifiers distinguish, with every sensitive column."""
        named = self._declared.names_with_roles
        return self.told_by(named("quasi-identifier"), named("sensitive"))


@dataclass(frozen=True, eq=False)
class Assessment:
    """Published tables, and the findings about them.

    Attributes:
        declared: what the release declares.
        tables: the published tables, as they were read.
        groups: what is seen in them.
        findings: every expectation, whether it is met, and what was observed.
        whose: the owners of the rows, if promises were also judged over people; private.
        rule_findings: the rules of the release's policy, which are among the findings, too.
    """

    declared: Declared
    tables: Tables
    groups: SeenGroups
    findings: tuple[Finding, ...]
    whose: WhoseRows | None = None
    rule_findings: "tuple[PolicyFinding, ...]" = ()

    @cached_property
    def verdicts(self) -> Verdicts:
        """Every promise with its verdict."""
        return self._verdicts_on(GROUPS)

    @cached_property
    def over_people(self) -> Verdicts:
        """Every promise with its verdict over people who have several rows; otherwise empty."""
        return self._verdicts_on(PEOPLE) if self.declared.over_people else ()

    def verdict_documents(self) -> list[dict[str, Any]]:
        """Return the verdicts as a manifest holds them."""
        verdict_documents = [
            {
                "promise": promise.parameters(),
                "groups": verdict.groups,
                "observed": _observed_numbers(verdict),
            }
            for promise, verdict in self.verdicts
        ]
        for document, (_, verdict) in zip(verdict_documents, self.over_people, strict=False):
            document[self.declared.kept_over] = _observed_numbers(verdict)
        return verdict_documents

    def _verdicts_on(self, what: str) -> Verdicts:
        findings = [finding for finding in self.findings if finding.table == what]
        pairs = zip(self.declared.promises, findings, strict=True)
        return tuple((promise, verdict_of(promise, finding)) for promise, finding in pairs)

    def validation(self) -> list[dict[str, Any]]:
        """Return the findings as a release publishes them, without those about withheld content."""
        rules = structure(self.declared)
        by_key = {
            (finding.table, Expectation(finding.type, finding.parameters).key): finding
            for finding in self.findings
        }
        public = [
            by_key.get((name, expectation_of(rule).key)) or judge_rule(name, rule, table)
            for name, table in self.tables.items()
            for rule in rules[name]
        ]
        promised = [finding for finding in self.findings if finding.table == GROUPS]
        return [
            *documents([*public, *promised, *self.rule_findings]),
            *stated_bars(self.declared),
        ]


def stated_bars(declared: Declared) -> list[dict[str, Any]]:
    """Return the bars on attacks that a release states to keep, for its validation document."""
    if (stated := declared.bars) is None:
        return []
    return [
        {
            "table": "attacks",
            "expectation": "expect_attacks_below",
            "parameters": {
                **bar.model_dump(mode="json", exclude_none=True),
                "standing": stated.standing,
            },
            "passed": True,
            "observed": None,
        }
        for bar in stated.bars
    ]


def assess(
    declared: Declared,
    tables: Tables,
    judge: Judge = examine,
    withheld: Sequence[str] = (),
    references: References = NO_REFERENCES,
    whose: WhoseRows | None = None,
) -> Assessment:
    """Judge the tables of a release, as they were read, by its rules and promises.

    Args:
        declared: what the release declares.
        tables: its tables.
        judge: what evaluates rules and promises.
        withheld: names that no column may have.
        references: what promises about a population speak of; without it they are broken.
        whose: the owners of the rows, if promises are also judged over people.
    """
    groups = SeenGroups(declared, tables, references)
    over_people = () if whose is None else groups.of_people(whose)
    promised = (*groups.of_promises(), *over_people)
    findings = judge(tables, structure(declared, withheld), promised)
    assessment = Assessment(declared, tables, groups, findings, whose)
    if declared.policy is None:
        return assessment
    from sfumato.tasks.terms.kept_policy import policy_findings  # few releases have a policy

    rule_findings = tuple(policy_findings(declared, assessment.verdicts, tables))
    return replace(assessment, findings=(*findings, *rule_findings), rule_findings=rule_findings)


def structure(declared: Declared, withheld: Sequence[str] = ()) -> Structure:
    """Return the rules of each published table besides the promises; it has none of `withheld`."""
    form, rows = form_of(declared), declared.rows.published
    rules = form.rules(declared.columns, declared.form, rows, withheld)
    weights = [name for name, column in declared.columns.items() if column.weight]
    if not declared.codings_by_column and not weights:
        return rules
    published_schemas = form.schemas(declared.columns, declared.form)
    return {
        name: (
            *table_rules,
            *coding_rules(declared, published_schemas[name]),
            *(
                PositiveValues(weight)
                for weight in weights
                if weight in published_schemas[name].names
            ),
        )
        for name, table_rules in rules.items()
    }


def documents(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings for JSON."""
    return [
        {
            "table": finding.table,
            "expectation": finding.type,
            "parameters": dict(finding.parameters),
            "passed": finding.passed,
            "observed": finding.observed,
        }
        for finding in findings
    ]


def numbers(values: Mapping[str, Number]) -> str:
    """Return parameters or scores as text, `k=5, e=500`."""
    return ", ".join(f"{name}={plain(value)}" for name, value in values.items())


def _observed_numbers(verdict: Verdict) -> dict[str, int | str | None]:
    return {name: plain(value) for name, value in verdict.observed.items()}


def _scope(promise: PrivacyModel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return promise.adversary_columns, (promise.sensitive,) if promise.sensitive else ()
