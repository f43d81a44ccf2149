"""The tasks of a release in parts: the source is divided, and parts are made one after another."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.verdicts import Finding
from sfumato.tasks.candidates.continued import LineContinuation
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.parts.anonymize import write_candidates
from sfumato.tasks.parts.divide import DeclaredRows, write_divided
from sfumato.tasks.parts.validate import join_findings, seal_candidates
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.publication.parts import findings_of
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.report.watched import finding_rows
from sfumato.tasks.shown import show_table, watch_workers
from sfumato.tasks.stages.deidentify import identity, warnings_of_texts
from sfumato.tasks.stages.stage import gate_documents
from sfumato.tasks.terms.terms import Terms
from sfumato.tasks.workers.workers import Workers


@private_task(retries=2)
def divide(
    rows: DeclaredRows,
    terms: Terms,
    line: Line,
    run: Path,
    show_counts: bool,
    keep_rows: bool = False,
) -> Path:
    """Read the source once, hold it to its declaration, and write what is released in parts.

    What was found of all rows is an artifact where that is to be shown. Rows are kept beyond their
    grouping where accuracy is measured by them.
    """
    # Great Expectations takes seconds to import.
    from sfumato.expectations.suites.gate import judge_source

    documents = gate_documents(run, "source")
    findings: list[tuple[Finding, ...]] = []

    def judge(table: pa.Table, declared: Sequence[Rule]) -> tuple[Finding, ...]:
        findings.append(judge_source(line.name, table, declared, documents))
        return findings[-1]

    try:
        divided = write_divided(rows, terms, line, run, judge, keep_rows=keep_rows)
        for warning in warnings_of_texts(divided):
            say_in_run(f"warning: {warning}")
        return divided
    finally:
        if show_counts and findings:
            show_table(
                finding_rows(join_findings(findings)),
                key=f"{line.name}-source",
                description="Declarations of the spec about the source, as observed on all rows",
            )


@private_task()
def find_version(divided: Path, terms: Terms, line: Line) -> Path | None:
    """The version that stands already, if there is one."""
    return existing_version(line, identity(divided), rule_of(terms.versions))


@private_task()
def anonymize_parts(
    divided: Path,
    terms: Terms,
    run: Path,
    workers: Workers,
    continuing: LineContinuation | None = None,
    keep_rows: bool = False,
) -> Path:
    """Write the candidate tables of each part, drawn from the operating system's randomness."""
    watched = watch_workers(workers, "anonymize", terms.name)
    return write_candidates(
        divided, terms, run, operating_system, watched, continuing, keep_rows=keep_rows
    )


@private_task()
def validate_parts(
    candidate: Path,
    divided: Path,
    terms: Terms,
    withheld: tuple[str, ...],
    line: Line,
    workers: Workers,
) -> Path:
    """Let Great Expectations judge each part as it is read back, and all parts together.

    Whatever fails is refused.
    """
    watched = watch_workers(workers, "validate", line.name)
    seen = seal_candidates(candidate, divided, terms, withheld, line, watched)
    show_table(
        finding_rows(findings_of(seen.all_verdicts())),
        key=f"{line.name}-promises",
        description="Promises, as required and as observed on the files to be published",
    )
    return candidate
