"""The task that compares the published bounds with the truth."""

from pathlib import Path
from typing import cast
from uuid import UUID

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    update_progress_artifact,
)

from sfumato.expectations.errors import Fault
from sfumato.tasks.declaration.lines.tombstone import is_tombstone
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.microdata.table import load
from sfumato.tasks.outcomes import tell
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.publication.line import Line
from sfumato.tasks.query.accuracy.workloads.parameters import Evaluation
from sfumato.tasks.report.watched.summary import summary
from sfumato.tasks.stages.evaluate import evaluate_release


@private_task()
def evaluate(release: Path, deidentified: Path, evaluation: Evaluation, line: Line) -> Path:
    """Ask the workloads' queries of a version; a truth outside its bounds withdraws it."""
    progress = cast(UUID, create_progress_artifact(0.0, key=f"{line.name}-evaluation"))
    shown = asked = 0

    def show(done: int, of: int) -> None:
        nonlocal shown, asked
        asked = of
        tenth = done * 10 // max(of, 1)
        if tenth > shown:
            shown = tenth
            update_progress_artifact(progress, 10.0 * tenth)

    original = load(deidentified)
    try:
        widths = evaluate_release(release, original, evaluation, line, operating_system, show)
    except Fault:
        if is_tombstone(release):
            tell("withdrawn", line.name, {"version": release.name})
        raise
    if asked:
        say_in_run(f"evaluate: {asked:,} queries, each truth within its bounds")
    create_markdown_artifact(summary(open_release(release), widths), key=f"{line.name}-summary")
    return release
