"""The task that compares the published bounds with the truth."""

from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact

from sfumato.expectations.errors import Fault
from sfumato.tasks.declaration.lines.tombstone import is_tombstone
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.microdata.table import load
from sfumato.tasks.outcomes import tell
from sfumato.tasks.policy import ShownProgress, private_task, say_in_run
from sfumato.tasks.publication.line import Line
from sfumato.tasks.query.accuracy.workloads.parameters import Evaluation
from sfumato.tasks.report.watched.summary import summary
from sfumato.tasks.stages.evaluate import evaluate_candidate, evaluate_release


@private_task()
def evaluate(release: Path, deidentified: Path, evaluation: Evaluation, line: Line) -> Path:
    """Ask the workloads' queries of a version; a truth outside its bounds withdraws it."""
    original, progress = load(deidentified), ShownProgress(f"{line.name}-evaluation")
    try:
        widths = evaluate_release(
            release, original, evaluation, line, operating_system, progress.show
        )
    except Fault:
        if is_tombstone(release):
            tell("withdrawn", line.name, {"version": release.name})
        raise
    _say(progress)
    create_markdown_artifact(summary(open_release(release), widths), key=f"{line.name}-summary")
    return release


@private_task()
def evaluate_before(
    candidate: Path, deidentified: Path, evaluation: Evaluation, line: Line, reports: Path
) -> list[dict[str, Any]]:
    """The same of a candidate, for its reviewers; a truth outside its bounds refuses it."""
    original, progress = load(deidentified), ShownProgress(f"{line.name}-evaluation")
    widths = evaluate_candidate(
        candidate, original, evaluation, reports, operating_system, progress.show
    )
    _say(progress)
    return widths


def _say(progress: ShownProgress) -> None:
    if progress.of:
        said = f"evaluate: {progress.of:,} queries, each truth within its bounds"
        say_in_run(said, {"queries": progress.of})
