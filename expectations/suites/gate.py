"""The gate that lets nothing unjudged pass: releases, sources, versions and limits on attacks.

The models and rules decide what holds; whatever was not evaluated is refused.
"""

import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pandas as pd
import pyarrow as pa

from sfumato.expectations.composition.gate import Passed, words
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.verdicts import (
    GROUPS,
    Evaluated,
    Expectation,
    Finding,
    Promised,
    admit,
    expectation_of,
    judged_on,
    refuse_unexpected,
)
from sfumato.expectations.suites.engine import Described, discreet, get_expectation_impl, gx
from sfumato.expectations.suites.groups import GroupsOfTable, to_frame
from sfumato.expectations.suites.promises import promise_expectation
from sfumato.expectations.suites.records import add_checkpoint, close_to_others, open_context
from sfumato.expectations.suites.rules import (
    frame_of_values,
    frame_with,
    rules_by_table,
    tables_of_rows,
)

_STRICT = {
    "result_format": "BASIC",
    "partial_unexpected_count": 0,
    "exclude_unexpected_values": True,
}


def expectation_of_atoms(passed: Passed, promises: Sequence[PrivacyModel]) -> Expectation:
    """Return the expectation that versions together keep what is promised of people's values."""
    parameters = [promise.parameters() for promise in _over_versions(promises)]
    return Expectation("expect_atoms_to_keep", {"promises": parameters, "route": passed.route})


def _over_versions(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    candidates = (promise.over_versions for promise in promises)
    return [promise for promise in candidates if promise is not None]


class ExpectAtomsToKeep(Described):
    """Expect all versions together to keep each of these promises about the people shown here."""

    metric_dependencies: ClassVar = (GroupsOfTable.metric_name,)
    success_keys: ClassVar = ("promises", "route")
    promises: list[dict[str, Any]]
    route: str

    def _validate(self, metrics: Any, *_: Any, **__: Any) -> dict[str, Any]:
        with discreet(GROUPS):
            groups = metrics[GroupsOfTable.metric_name]
            kwargs = self.configuration.kwargs
            promises = [PROMISE.validate_python(promise) for promise in kwargs["promises"]]
            verdicts = [promise.check(groups) for promise in promises]
            likely = [promise for promise in promises if not promise.by_candidates]
            likelihoods_known = kwargs["route"] in ("A", "S") or not likely
            failing = max((verdict.failing for verdict in verdicts), default=0)
            seen = {"groups": len(groups), "failing": failing}
            passed = likelihoods_known and all(verdict.holds for verdict in verdicts)
            return {"success": passed, "result": {"observed_value": seen}}

    @classmethod
    def sentence(cls, parameters: Mapping[str, Any]) -> str:
        """Return the promises, in words."""
        promises = [words(PROMISE.validate_python(promise)) for promise in parameters["promises"]]
        return f"All versions together keep {', '.join(promises)}"


logging.getLogger("great_expectations").setLevel(logging.CRITICAL)  # its errors may quote values


@dataclass(frozen=True)
class _Batch:
    """A frame to validate, with the suite, the name of its table, and what is expected of it."""

    suite: str
    table: str
    frame: pd.DataFrame
    expected: tuple[Expectation, ...]
    owned: bool = False


def judge(
    line: str,
    tables: Mapping[str, pa.Table],
    structure: Mapping[str, Sequence[Rule]],
    promises: Sequence[Promised],
    documents: Path | None = None,
    owned: Sequence[OwnedRule] = (),
) -> tuple[Finding, ...]:
    """Judge a release of `line` by its published tables and the groups seen in them.

    Args:
        line: name of the release line; the suites are `<line>.release` for its promises,
            `<line>.release.<table>` for the structure of a table, and `<line>.owner.<table>`.
        tables: the published tables, as read back from their files.
        structure: the rules that must hold of each table.
        promises: each promise with the groups it is judged on.
        documents: a private directory for Great Expectations' own results and Data Docs.
        owned: rules of the owner's own.

    Raises:
        PromiseError: where something was not evaluated. Failed expectations are findings, too.
    """
    refuse_unexpected(tables, structure, promises)
    suite = f"{line}.release"
    by_owner = rules_by_table(owned, tables, tables_of_rows(structure))
    batches = chain(
        _batches_of_tables(suite, tables, structure),
        _batches_of_promises(suite, promises),
        _batches_of_owner(f"{line}.owner", tables, by_owner),
    )
    return _run(batches, documents)


def judge_source(
    line: str,
    table: pa.Table,
    rules: Sequence[Rule],
    documents: Path | None = None,
    owned: Sequence[OwnedRule] = (),
) -> tuple[Finding, ...]:
    """Judge the source of `line`, whole and as read, by what its spec declares of it.

    Args:
        line: name of the release line; the suites are `<line>.source` and `<line>.owner.source`.
        table: every row of the source; columns may be dictionary-encoded.
        rules: what must hold of it.
        documents: a private directory for Great Expectations' own results and Data Docs.
        owned: rules of the owner's own.

    Raises:
        PromiseError: where something was not evaluated. Failed expectations are findings, too.
    """
    tables, structure = {"source": table}, {"source": rules}
    declared = _batches_of_tables(f"{line}.source", tables, structure)
    whole = (replace(batch, suite=f"{line}.source") for batch in declared)
    by_owner = rules_by_table(owned, tables, list(tables))
    return _run(chain(whole, _batches_of_owner(f"{line}.owner", tables, by_owner)), documents)


def judge_atoms(
    line: str, passed: Passed, promises: Sequence[PrivacyModel], documents: Path | None = None
) -> tuple[Finding, ...]:
    """Judge what the versions of `line` reveal together, as counts that the gate made.

    Args:
        line: name of the release line; the suite is `<line>.composition`.
        passed: the gate's verdict on the version.
        promises: what is promised of the attributes that the gate was shown.
        documents: a private directory for Great Expectations' own results and Data Docs.

    Raises:
        PromiseError: where it was not evaluated. A failed expectation is a finding, too.
    """
    expectations = (expectation_of_atoms(passed, promises),)
    batch = _Batch(f"{line}.composition", GROUPS, to_frame(passed.judged), expectations)
    return _run([batch], documents)


def judge_frame(
    suite: str,
    table: str,
    frame: pd.DataFrame,
    expectations: Sequence[Expectation],
    documents: Path | None = None,
) -> tuple[Finding, ...]:
    """Judge one frame by expectations of Great Expectations' own.

    Args:
        suite: its name.
        table: what the frame is called in findings.
        frame: what is judged.
        expectations: what is expected of it.
        documents: a private directory for Great Expectations' own results and Data Docs.

    Raises:
        PromiseError: where something was not evaluated. Failed expectations are findings, too.
    """
    return _run([_Batch(suite, table, frame, tuple(expectations))], documents)


def _run(batches: Iterable[_Batch], documents: Path | None) -> tuple[Finding, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = open_context(documents)
        findings = [
            finding for batch in batches for finding in _findings(context, batch, documents)
        ]
        if documents is not None:
            with discreet("Data Docs"):
                context.build_data_docs()
                close_to_others(documents)
    return tuple(findings)


def _batches_of_tables(
    suite: str, tables: Mapping[str, pa.Table], structure: Mapping[str, Sequence[Rule]]
) -> Iterator[_Batch]:
    for name, table in tables.items():
        with discreet(name):
            frame = frame_with(table, structure[name])
        expectations = tuple(expectation_of(rule) for rule in structure[name])
        yield _Batch(f"{suite}.{name}", name, frame, expectations)


def _batches_of_promises(suite: str, promises: Sequence[Promised]) -> Iterator[_Batch]:
    """Yield one batch for each run of promises on the same groups."""
    for number, (_, run) in enumerate(groupby(promises, key=lambda pair: id(pair[1])), start=1):
        models, groups = zip(*run, strict=True)
        for kind in map(type, models):
            promise_expectation(kind)  # makes it known to Great Expectations
        expectations = tuple(expectation_of(model) for model in models)
        place = judged_on(groups[0])
        name = suite if number == 1 else f"{suite}.{place}-{number}"
        yield _Batch(name, place, to_frame(groups[0]), expectations)


def _batches_of_owner(
    suite: str, tables: Mapping[str, pa.Table], rules: Mapping[str, Sequence[OwnedRule]]
) -> Iterator[_Batch]:
    for name, owned in rules.items():
        with discreet(name):
            frame = frame_of_values(tables[name], owned)
        expectations = tuple(rule.expectation for rule in owned)
        yield _Batch(f"{suite}.{name}", name, frame, expectations, owned=True)


def _findings(context: Any, batch: _Batch, documents: Path | None) -> tuple[Finding, ...]:
    name = batch.suite
    with discreet(batch.table):
        suite = gx.ExpectationSuite(
            name, [_expectation(expectation) for expectation in batch.expected]
        )
        asset = context.data_sources.add_pandas(name).add_dataframe_asset(batch.table)
        data = asset.add_batch_definition_whole_dataframe("whole")
        checkpoint = add_checkpoint(context, data, suite, _STRICT)
        (result,) = checkpoint.run(batch_parameters={"dataframe": batch.frame}).run_results.values()
        context.data_sources.delete(name)  # lets go of the frame
        if documents is not None:
            text = json.dumps(result.to_json_dict(), indent=2)
            (documents / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
        outcomes = [_outcome(evaluated) for evaluated in result.results]
    findings = admit(batch.table, batch.expected, outcomes)
    return tuple(replace(finding, owned=batch.owned) for finding in findings)


def _expectation(expectation: Expectation) -> Any:
    kwargs = {name.replace("-", "_"): value for name, value in expectation.parameters.items()}
    return get_expectation_impl(expectation.type)(**kwargs)


def _outcome(evaluated: Any) -> Evaluated:
    """Return the part of a result that is known to be a count or a score, nothing else."""
    configuration = evaluated.expectation_config
    kwargs = {name: value for name, value in configuration.kwargs.items() if name != "batch_id"}
    raised = bool(evaluated.exception_info) and evaluated.exception_info.get(
        "raised_exception", True
    )
    details = evaluated.result or {}
    seen = details.get("unexpected_count", details.get("observed_value"))
    return Evaluated(
        Expectation(configuration.type, kwargs),
        raised=raised is not False,
        passed=evaluated.success,
        observed=seen if isinstance(seen, int | dict) else None,
    )


class LimitedShare(Protocol):
    """A share that may be no larger than another; None if it is not known."""

    @property
    def words(self) -> str:
        """The share's name, in words."""
        ...

    @property
    def most(self) -> float:
        """The largest share that is allowed."""
        ...

    @property
    def observed(self) -> float | None:
        """The share that was observed."""
        ...


def judge_attacks(
    line: str, documents: Path, limits: Sequence[LimitedShare]
) -> tuple[Finding, ...]:
    """Judge how well attackers do against `line`; the suite is `<line>.attacks`.

    Args:
        line: name of the release line.
        documents: a private directory for Great Expectations' own results and Data Docs.
        limits: what is observed of each bar, and what it allows.

    Raises:
        PromiseError: where something was not evaluated. Failed expectations are findings, too.
    """
    if not limits:
        return ()
    columns = {limit.words: pd.Series([limit.observed], dtype="float64") for limit in limits}
    expectations = [
        expectation
        for limit in limits
        for expectation in (
            Expectation("expect_column_values_to_not_be_null", {"column": limit.words}),
            Expectation(
                "expect_column_values_to_be_between",
                {"column": limit.words, "max_value": limit.most},
            ),
        )
    ]
    return judge_frame(f"{line}.attacks", "attacks", pd.DataFrame(columns), expectations, documents)
