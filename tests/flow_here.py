"""The flows in this process, as commands run them where there is no server of Prefect's."""

from collections.abc import Sequence
from pathlib import Path

from sfumato.tasks.outcomes import RunOutcome
from sfumato.tasks.private.failure import listening


def release_here(spec: Path, events: list[tuple[str, str]] | None = None) -> Path:
    """Run the whole release; `events` gets every stage that starts, finishes or fails."""
    from sfumato.flows.runs.releasing import RELEASE

    heard = [] if events is None else events
    with listening(lambda stage, event, _counts: heard.append((stage, event))):
        return _result_of(RELEASE.run(str(spec)))


def publish_here(spec: Path, digest: str, signatures: Sequence[str] = ()) -> Path:
    """Publish the candidate that waits."""
    from sfumato.flows.runs.publishing import PUBLISH

    return _result_of(PUBLISH.run(str(spec), digest, tuple(signatures)))


def _result_of(outcome: RunOutcome) -> Path:
    """Return what a run gave, or raise what failed."""
    if outcome.error is not None:
        raise outcome.error
    return Path(str(outcome.result))
