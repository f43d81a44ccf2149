"""The task that compares the published bounds with the truth."""

from pathlib import Path
from typing import Any, cast
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
from sfumato.tasks.stages.evaluate import evaluate_candidate, evaluate_release


@private_task()
def evaluate(release: Path, deidentified: Path, evaluation: Evaluation, line: Line) -> Path:
    """Ask the workloads' queries of a version; a truth outside its bounds withdraws it."""
    original, progress = load(deidentified), ShownProgress(line.name)
    try:
        widths = evaluate_release(
            release, original, evaluation, line, operating_system, progress.show
        )
    except Fault:
        if is_tombstone(release):
            tell("withdrawn", line.name, {"version": release.name})
        raise
    progress.say()
    create_markdown_artifact(summary(open_release(release), widths), key=f"{line.name}-summary")
    return release


@private_task()
def evaluate_before(
    candidate: Path, deidentified: Path, evaluation: Evaluation, line: Line, reports: Path
) -> list[dict[str, Any]]:
    """The same of a candidate, for its reviewers; a truth outside its bounds refuses it."""
    original, progress = load(deidentified), ShownProgress(line.name)
    widths = evaluate_candidate(
        candidate, original, evaluation, reports, operating_system, progress.show
    )
    progress.say()
    return widths


class ShownProgress:
    """The progress of an evaluation, as an artifact that moves by tenths."""

    def __init__(self, line: str) -> None:
        self._artifact = cast(UUID, create_progress_artifact(0.0, key=f"{line}-evaluation"))
        self._shown = self._asked = 0

    def show(self, done: int, of: int) -> None:
        """Show how many queries of how many are asked."""
        self._asked = of
        tenth = done * 10 // max(of, 1)
        if tenth > self._shown:
            self._shown = tenth
            update_progress_artifact(self._artifact, 10.0 * tenth)

    def say(self) -> None:
        """Say that all were answered as they should."""
        if self._asked:
            say_in_run(f"evaluate: {self._asked:,} queries, each truth within its bounds")
