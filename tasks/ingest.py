"""The task that reads the source and has it judged before any other step."""

from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.rules.owned import OwnedRule, columns_of_rules
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.readers.declared import RelatedSource, Source
from sfumato.tasks.microdata.source import require
from sfumato.tasks.microdata.table import count_rows
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.report.watched import finding_rows
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy
from sfumato.tasks.shown import show_table
from sfumato.tasks.stages.ingest import (
    accepted_rows,
    rows_of_one_person,
    source_table,
    write_ingested,
    write_related_source,
    write_source,
    write_with_related,
)
from sfumato.tasks.stages.stage import RELATED, gate_documents, read_note


@private_task(retries=2)
def ingest(
    source: Source,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    base: Path,
    run: Path,
    name: str,
    show_counts: bool,
    owned: tuple[OwnedRule, ...] = (),
    *,
    tells_people: bool = False,
) -> Path:
    """Read the source into dictionary codes, hold it to its declaration, keep what is released.

    It must meet rules of the owner's own, too, and where its spec `tells_people` from rows, no
    identifier may have one value in several rows that count as people. Others are warned.

    What was found of all its rows is an artifact where that is to be shown.
    """
    from sfumato.expectations.rules import verdicts as judged
    from sfumato.expectations.suites.gate import judge_source  # imports Great Expectations: seconds

    whole = write_source(source, columns, base, run, columns_of_rules(owned, columns))
    table, rules = source_table(whole, columns)
    findings = judge_source(name, table, rules, gate_documents(run, "source"), owned)
    if show_counts:
        show_table(
            finding_rows(findings),
            key=f"{name}-source",
            description=(
                "Declarations of the spec about the source, as required and as observed on all rows"
            ),
        )
    require(columns, table, source.uri)
    judged.require(findings)
    ingested = write_ingested(whole, source, columns, nulls, base, run)
    represented, read = count_rows(ingested), count_rows(whole)
    message = f"ingest: {read:,} rows read, {represented:,} rows kept for the release"
    say_in_run(message, {"read": read, "to-be-represented": represented}, logged=show_counts)
    for accepted in accepted_rows(ingested, columns):
        say_in_run(f"warning: {accepted}")
    if fault := rows_of_one_person(ingested, columns):
        if tells_people:
            raise InputError(fault)
        say_in_run(f"warning: {fault}")
    return ingested


@private_task(retries=2)
def ingest_related(
    ingested: Path,
    related: RelatedSource,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
    base: Path,
    run: Path,
    name: str,
    show_counts: bool,
    *,
    facts: Mapping[str, ColumnSpec],
) -> Path:
    """Read the rows that belong to people, hold them to their declaration, match them by key.

    `columns` are those of the related table, its key among them; `facts` are columns of people that
    are computed from their rows.
    """
    from sfumato.expectations.rules import verdicts as judged
    from sfumato.expectations.suites.gate import judge_source  # imports Great Expectations: seconds
    from sfumato.tasks.microdata.derived import columns_of_facts  # few people have facts

    used = columns_of_facts(facts, related.name, columns) if facts else ()
    whole = write_related_source(related, columns, base, run, used)
    table, rules = source_table(whole, columns)
    findings = judge_source(name, table, rules, gate_documents(run, "related"))
    require(columns, table, related.source.uri)
    judged.require(findings)
    stage = write_with_related(ingested, whole, related, columns, nulls, base, run, facts)
    counts, left_out = read_note(stage, RELATED), read_note(stage, "counts")["suppressed"]
    message = f"ingest: {counts['read']:,} related rows read, {counts['published']:,} kept"
    if left_out:
        message += f"; {left_out:,} people with more than {related.cap:,} rows left out"
    say_in_run(message, {**counts, "suppressed": left_out}, logged=show_counts)
    return stage
