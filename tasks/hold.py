"""The tasks that let a judged candidate wait for its reviewers."""

from datetime import UTC, datetime
from pathlib import Path

from sfumato.tasks.approval.held import HeldCandidate
from sfumato.tasks.approval.settle import find_waiting
from sfumato.tasks.events import tell
from sfumato.tasks.lines.line import Line
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.report.steward.tables import REVIEW_PAGE
from sfumato.tasks.shown import show_link
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.hold import hold_candidate


@private_task()
def find_candidate(deidentified: Path, line: Line) -> HeldCandidate | None:
    """The candidate of this source and spec that waits; any other one makes way."""
    waiting = find_waiting(line, identity(deidentified), datetime.now(UTC).replace(microsecond=0))
    if waiting is not None:
        say_in_run(
            f"candidate {waiting.request.digest[:12]}… of this source and spec waits "
            "for approval, so no new one was made"
        )
    return waiting


@private_task()
def hold(
    candidate: Path,
    deidentified: Path,
    line: Line,
    days: int,
    measured: MeasuredBounds | None,
) -> HeldCandidate:
    """Let the candidate wait, and tell whoever listens."""
    now = datetime.now(UTC).replace(microsecond=0)
    waiting = hold_candidate(candidate, deidentified, line, days, measured, now)
    request = waiting.request
    facts = {
        "digest": request.digest,
        "reviewers": request.reviewers,
        "expires": f"{request.expires}",
    }
    tell("pending", line.name, facts)
    page = (waiting.report / REVIEW_PAGE).resolve().as_uri()
    show_link(page, "The page for reviewers", key=f"{line.name}-review")
    say_in_run(f"hold: candidate {request.digest} waits for {request.reviewers} reviewers")
    return waiting
