"""The candidate of a line that waits for approval: at most one, in the line's private directory.

    <line>/review/candidate/
        request.json        what reviewers are asked about
        candidate/          what would be published (release/), and what the line would remember
        identity/           of which source it is, and about whom
        report/             what owner and reviewers see: risk, accuracy, a page of these
        decisions/          of reviewers

It appears by one rename. Whatever ends it is noted in the history first; then it is deleted.
"""

import hashlib
import os
import secrets
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.approval.history import End, Past, read_history, write_history
from sfumato.tasks.approval.request import Request, read_request
from sfumato.tasks.private.durable import sync_directory
from sfumato.tasks.private.state import STATE, read_state
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication.staging import require_plain, seal
from sfumato.tasks.schema.files import canonical_json

CANDIDATE, IDENTITY, REPORT = "candidate", "identity", "report"
_SEALED = (CANDIDATE, IDENTITY, REPORT)
_REVIEW, _HELD, _GONE = "review", "candidate", "gone"


@dataclass(frozen=True)
class HeldCandidate:
    """A candidate that waits.

    Attributes:
        place: its directory.
        request: what reviewers are asked about.
    """

    place: Path
    request: Request

    @property
    def candidate(self) -> Path:
        """The stage with what would be published."""
        return self.place / CANDIDATE

    @property
    def identity(self) -> Path:
        """The stage that identifies its source."""
        return self.place / IDENTITY

    @property
    def report(self) -> Path:
        """The directory of pages for owner and reviewers."""
        return self.place / REPORT

    def require_sealed(self) -> None:
        """Refuse a candidate that is not, file by file, what reviewers are asked about.

        Raises:
            PromiseError: where any file was changed, or is a link.
        """
        require_plain(self.place)
        if seal_digest(self.place) != self.request.sealed:
            raise PromiseError(
                f"{self.place}: was changed while it waited, so no decision about it "
                "counts. Withdraw it (sfumato review withdraw) and release again"
            )

    def require_unchanged(self, line: Path) -> None:
        """Refuse also a candidate whose line has gone on.

        Raises:
            PromiseError: where any file was changed, or the line's private state is another one.
        """
        self.require_sealed()
        if state_digest(line) != self.request.state:
            raise PromiseError(
                f"{line / STATE}: the line has changed while the candidate waited, so "
                "no decision about it counts. Withdraw it (sfumato review withdraw) "
                "and release again"
            )


def read_held(line: Path) -> HeldCandidate | None:
    """Return the waiting candidate of a line, or None.

    Raises:
        InputError: where newer software wrote its request.
        PromiseError: where its request cannot be read.
    """
    return candidate_at(held_place(line))


def held_place(line: Path) -> Path:
    """Return the directory of a line's waiting candidate."""
    return line / _REVIEW / _HELD


def candidate_at(place: Path) -> HeldCandidate | None:
    """Return the candidate in a directory, which may be a copy; or None."""
    request = read_request(place)
    return None if request is None else HeldCandidate(place, request)


def require_held(place: Path) -> HeldCandidate:
    """Return the candidate in a directory.

    Raises:
        InputError: where there is none.
    """
    candidate = candidate_at(place)
    if candidate is None:
        raise InputError(
            f"{place}: no candidate waits for approval here. To see those that wait: "
            "sfumato review list"
        )
    return candidate


def seal_digest(place: Path) -> str:
    """Return the SHA-256 of the names and contents of all files of a candidate."""
    files = {folder: seal(place / folder) for folder in _SEALED}
    return hashlib.sha256(canonical_json(files)).hexdigest()


def state_digest(line: Path) -> str:
    """Return the SHA-256 of a line's state, without a version that is about to appear."""
    state = read_state(line).model_copy(update={"pending": None}).model_dump(mode="json")
    return hashlib.sha256(canonical_json(state)).hexdigest()


def put(staged: Path, line: Path) -> HeldCandidate:
    """Let a staged candidate wait in its line; the line's lock is held, and no other one waits."""
    review = private_directory(line / _REVIEW)
    os.rename(staged, review / _HELD)  # noqa: PTH104 - said as what it is
    sync_directory(review)
    return require_held(review / _HELD)


def end(
    line: Path,
    candidate: HeldCandidate,
    how: End,
    time: datetime,
    decided_by: str | None = None,
    reason: str | None = None,
) -> None:
    """Record what became of a candidate, and delete it; the line's lock is held."""
    request = candidate.request
    past = Past(
        digest=request.digest,
        rows=request.rows,
        spec=request.spec,
        end=how,
        time=time,
        by=decided_by,
        reason=reason,
    )
    write_history(line, read_history(line).with_end(past))
    delete_held(line)


def delete_held(line: Path) -> None:
    """Delete the candidate of a line, which was noted to wait no more."""
    review = line / _REVIEW
    if (review / _HELD).exists():
        (review / _HELD).rename(review / f"{_GONE}-{secrets.token_hex(8)}")
        sync_directory(review)
    for gone in review.glob(f"{_GONE}-*"):
        shutil.rmtree(gone, ignore_errors=True)  # what is another user's, that user's next run ends
