"""The task that groups the rows and decides what is shown of each group."""

from pathlib import Path

from sfumato.tasks.candidates.continued import LineContinuation
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.query.intervals.shapes import families_in_words
from sfumato.tasks.stages.anonymize import declaration, write_candidate
from sfumato.tasks.terms.terms import Terms


@private_task()
def anonymize(
    deidentified: Path,
    terms: Terms,
    run: Path,
    continuing: LineContinuation | None,
    line: Line,
    *,
    intervals: bool = False,
) -> Path:
    """Write the candidate tables, drawn from the operating system's randomness."""
    drawing = operating_system
    candidate = write_candidate(
        deidentified, terms, run, drawing, continuing, line, intervals=intervals
    )
    declared = declaration(candidate)
    if declared.intervals is not None:
        say_in_run(f"intervals: {families_in_words(declared.intervals)}")
    rows = declared.rows
    say_in_run(
        f"anonymize: {rows.published:,} rows to be published, {rows.suppressed:,} suppressed",
        {"to-be-published": rows.published, "suppressed": rows.suppressed},
    )
    return candidate
