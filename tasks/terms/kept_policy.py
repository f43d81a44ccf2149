"""The policy of a release, measured: every rule decided by the declaration and by the tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.rules.verdicts import Finding
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.forms.codes import published_texts
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.policies.rule import (
    NO_ADVICE,
    DecidedColumn,
    MeasuredRelease,
    RuleOutcome,
    Subject,
)
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared

POLICY = "policy"
"""The word in place of a table's name for rules of a policy, in reports and validation.json."""


@dataclass(frozen=True)
class PolicyFinding(Finding):
    """A rule of a policy as a finding.

    Attributes:
        edition: the policy's name and date.
        demands: the demand of the rule, in words.
        words: the observation, in words, and what to do if the rule is not kept.
    """

    edition: str = ""
    demands: str = ""
    words: str = ""

    def __str__(self) -> str:
        outcome = "is kept" if self.passed else "is not kept"
        return f"policy: {self.edition} {outcome}. {self.words}. {NO_ADVICE}"


def subject_of(declared: Declared) -> Subject:
    """Return the declaration of a release as rules see it."""
    policy = declared.policy
    columns = {name: _column(column) for name, column in declared.columns.items()}
    return Subject(
        of_release=True,
        promises=declared.promises,
        quasi_identifiers=declared.names_with_roles("quasi-identifier"),
        form=declared.form.method,
        versions=rule_of(declared.versions),
        columns=columns,
        kinds={} if policy is None else policy.columns,
        year=None if policy is None else policy.year,
        bars=declared.bars,
        in_parts=declared.parts is not None or bool(declared.made_of),
    )


def _column(column: DeclaredColumn) -> DecidedColumn:
    file = isinstance(column.hierarchy, tuple)
    return DecidedColumn(
        published=True,
        role=column.role,
        type=column.type,
        coded=column,
        hierarchy=None if column.hierarchy is None else "file" if file else "rule",
    )


def measure_policy(
    declared: Declared,
    verdicts: Sequence[tuple[PrivacyModel, Verdict]],
    tables: Tables | None,
) -> list[RuleOutcome]:
    """Decide every rule of a release's policy by its declaration and its tables.

    Args:
        declared: the declaration; nothing is measured if it names no policy.
        verdicts: the verdict on each promise, measured on the tables.
        tables: the published tables; None for the whole of a release in parts.
    """
    if declared.policy is None:
        return []
    texts_of = None if tables is None else partial(published_texts, tables=tables)
    release = MeasuredRelease(subject_of(declared), verdicts, texts_of)
    return [rule.outcome(release) for rule in declared.policy.rules]


def policy_findings(
    declared: Declared,
    verdicts: Sequence[tuple[PrivacyModel, Verdict]],
    tables: Tables | None,
) -> Iterator[PolicyFinding]:
    """Yield every rule of a release's policy as a finding, in order; see `measure_policy`."""
    policy = declared.policy
    for outcome in measure_policy(declared, verdicts, tables):
        yield PolicyFinding(
            table=POLICY,
            type=f"expect_{outcome.rule.rule.replace('-', '_')}",
            parameters=outcome.rule.document(),
            passed=outcome.passed,
            observed=outcome.observed,
            edition="" if policy is None else policy.edition(),
            demands=outcome.rule.sentence(),
            words=outcome.words,
        )
