"""The outcomes of runs, in an operator's words: how a run or stage ended, and what it gives.

A refusal is the pipeline at work and not a crash: it has a name of its own and no traceback, and is
never tried again. Messages are only those of our errors, so nothing in them is of the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.shared.errors import Fault, SfumatoError
from sfumato.tasks.approval.held import HeldCandidate
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.terms.opened import open_release

PUBLISHED, STANDS, REFUSED, FAULTED = "Published", "Stands", "Refused", "Faulted"
PENDING = "Pending approval"
_SHOWN = 12  # digits of a digest


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run or a stage.

    Attributes:
        name: of the end, such as `PUBLISHED`.
        message: one line about it.
        result: what a run that ended well gives: a directory. None if it failed.
        error: what failed; None if nothing did.
    """

    name: str
    message: str
    result: str | None = None
    error: SfumatoError | None = None


def published_outcome(release: Path, behind: Sequence[str] = ()) -> RunOutcome:
    """Return the end of a run that published a version; its result is the directory.

    Args:
        release: the directory.
        behind: destinations to which it could not be copied.
    """
    return _ended_well(PUBLISHED, release, behind)


def standing_outcome(release: Path, behind: Sequence[str] = ()) -> RunOutcome:
    """Return the end of a run whose source and spec have a version already; it is the result."""
    return _ended_well(STANDS, release, behind)


def pending_outcome(candidate: HeldCandidate) -> RunOutcome:
    """Return the end of a run whose candidate waits for approval; its result is the place."""
    request = candidate.request
    message = (
        f"digest {request.digest}, {request.reviewers} to approve it until {request.expires:%F %R}"
    )
    return RunOutcome(PENDING, message, str(candidate.place))


def failed_outcome(error: SfumatoError) -> RunOutcome:
    """Return the end of a run or stage that published nothing."""
    return RunOutcome(FAULTED if isinstance(error, Fault) else REFUSED, str(error), error=error)


def newer_version(release: Path) -> str | None:
    """Return the number of the line's current version, or None if that is this one."""
    current = read_record(release.parent).current
    return None if current in (None, release.name) else current


def identify(release: Path) -> dict[str, str]:
    """Return the number and the digest of a version."""
    digest = str(open_release(release).manifest["sfumato"]["digest"])
    return {"version": release.name, "digest": digest}


def _ended_well(name: str, release: Path, behind: Sequence[str]) -> RunOutcome:
    version = identify(release)
    message = f"version {version['version']}, digest {version['digest'][:_SHOWN]}…"
    if newer := newer_version(release):
        message += f"; the current version is {newer}, from another source or spec"
    if behind:
        places = ", ".join(behind)
        message += f"; not yet complete in {places} (the next run or sfumato deliver completes it)"
    return RunOutcome(name, message, str(release))
