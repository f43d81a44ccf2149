"""The task that compares the published bounds with the truth."""

from dataclasses import replace
from pathlib import Path

from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.events import tell
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import operating_system
from sfumato.tasks.parts.original import original_of_candidate, original_of_version
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.query.accuracy.parameters import Evaluation
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.report.watched import summary
from sfumato.tasks.shown import ShownProgress, show_markdown
from sfumato.tasks.stages.evaluate import (
    evaluate_candidate,
    evaluate_release,
    record_measured,
)
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tombstone import is_tombstone


@private_task()
def evaluate(release: Path, deidentified: Path, evaluation: Evaluation, line: Line) -> Path:
    """Ask the workloads' queries of a version; a truth outside its bounds withdraws it."""
    original = original_of_version(deidentified, release, line)
    progress = ShownProgress(f"{line.name}-evaluation")
    try:
        measured = evaluate_release(
            release, original, evaluation, line, operating_system, progress.show
        )
    except Fault:
        if is_tombstone(release):
            tell("withdrawn", line.name, {"version": release.name})
        raise
    _say(progress)
    _show(release, measured, line)
    return release


@private_task()
def evaluate_before(
    candidate: Path, deidentified: Path, evaluation: Evaluation, line: Line, reports: Path
) -> MeasuredBounds:
    """The same of a candidate; a truth outside its bounds refuses it.

    So does a goal that is missed, where the spec says that it does. It is missed by widths alone:
    no truth decides.
    """
    original = original_of_candidate(deidentified, candidate)
    progress = ShownProgress(f"{line.name}-evaluation")
    measured = evaluate_candidate(
        candidate, original, evaluation, reports, operating_system, progress.show
    )
    _say(progress)
    if evaluation.refuses and measured.useful.missed:
        raise PromiseError(f"evaluate.require: {measured.useful.missed}: nothing is published")
    return measured


@private_task()
def record_evaluated(measured: MeasuredBounds, reports: Path, version: Path, line: Line) -> None:
    """Record the accuracy of a version that was measured before it appeared."""
    notices = record_measured(measured, reports, version, line)
    _show(version, replace(measured, notices=notices), line)


def _show(release: Path, measured: MeasuredBounds, line: Line) -> None:
    """Show how accurate a version is, and report what it is not good for."""
    useful = measured.useful
    for notice in measured.notices:
        say_in_run(notice)
    for warning in useful.warnings:
        say_in_run(f"warning: {warning}")
    if useful.missed:
        say_in_run(f"below-goal: {useful.missed} (evaluate.require)")
    text = summary(open_release(release), measured.public, useful)
    show_markdown(text, key=f"{line.name}-summary")


def _say(progress: ShownProgress) -> None:
    if progress.total:
        message = f"evaluate: {progress.total:,} queries, each truth within its bounds"
        say_in_run(message, {"queries": progress.total})
