"""The tasks that take away who the rows are about, and choose what the spec leaves open."""

from collections.abc import Mapping
from pathlib import Path

from sfumato.tasks.candidates.remember import Remember
from sfumato.tasks.candidates.wished import Choosing
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.stages.deidentify import (
    choose_terms,
    judge_texts,
    warnings_of_texts,
    write_deidentified,
)
from sfumato.tasks.terms.people import Identifiers
from sfumato.tasks.terms.terms import Terms


@private_task()
def deidentify(
    ingested: Path,
    terms: Terms,
    identifiers: Identifiers,
    line: Line,
    run: Path,
    remember: Remember,
    columns: Mapping[str, ColumnSpec],
) -> Path:
    """Keep only what is to be published, and a keyed fingerprint of it.

    Sensitive texts must be spelled in one way each, and not be nearly everybody's own, as far as
    the spec's columns do not say that they may.
    """
    stage = write_deidentified(
        ingested, terms, identifiers, line.private, run, remember, others=line.others
    )
    judge_texts(stage, columns, line)
    for warning in warnings_of_texts(stage):
        say_in_run(f"warning: {warning}")
    return stage


@private_task()
def choose(deidentified: Path, terms: Terms, choosing: Choosing | None, line: Line) -> Terms:
    """The terms with the partition that has the least expected width, kept for the line."""
    chosen = choose_terms(deidentified, terms, choosing, line.private, operating_system)
    say_in_run(f"choose: partition {chosen.partition.method} in form {chosen.form.method}")
    return chosen
