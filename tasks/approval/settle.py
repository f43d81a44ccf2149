"""Settlement of a waiting candidate, before its line makes anything new."""

from datetime import UTC, datetime

from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.approval.decisions import Decision, decisions_at
from sfumato.tasks.approval.held import (
    HeldCandidate,
    delete_held,
    end,
    held_place,
    read_held,
    state_digest,
)
from sfumato.tasks.approval.history import End, read_history
from sfumato.tasks.approval.request import Request
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.private.state import LineState, read_state
from sfumato.tasks.private.workdir import state_lock


def find_waiting(line: Line, identity: Identity, now: datetime) -> HeldCandidate | None:
    """Return the waiting candidate of this source and spec; any other one makes way.

    Raises:
        PromiseError: where one of this source and spec was taken back or turned down, or waits
            though approval is asked for no more.
        Fault: where a publication was begun and not finished.
    """
    with state_lock(line.private):
        candidate = settle(line, now)
        if candidate is not None and not candidate.request.is_of(identity):
            end(line.private, candidate, "superseded", now)
            candidate = None
        read_history(line.private).require_new(identity)
        if candidate is not None and not line.reviewers:
            raise PromiseError(
                "a candidate of this source and spec waits for approval (digest "
                f"{candidate.request.digest[:12]}…). Publish it (sfumato publish), or "
                "withdraw it first (sfumato review withdraw)"
            )
        return candidate


def forget_candidate(line: Line) -> None:
    """Delete what is left of a candidate whose version is published.

    Raises:
        Fault: where its publication was begun and not finished.
    """
    with state_lock(line.private):
        settle(line, datetime.now(UTC).replace(microsecond=0))


def settle(line: Line, now: datetime) -> HeldCandidate | None:
    """End a candidate that has ended; return the one that still waits, or None.

    The line's lock is held.

    Raises:
        Fault: where its publication was begun and not finished.
    """
    candidate = read_held(line.private)
    if candidate is None:
        delete_held(line.private)
        return None
    if _being_published(line, candidate.request):
        raise Fault(
            f"the publication of candidate {candidate.request.digest[:12]}… began but "
            "did not finish. To finish it: sfumato publish SPEC"
        )
    if version_of(line, candidate.request) is not None:
        end(line.private, candidate, "approved", now)
    elif read_history(line.private).find_unwanted(candidate.request.digest):
        delete_held(line.private)
    elif (decision := _find_rejection(candidate)) is not None:
        end(line.private, candidate, *decision.ending)
    elif now >= candidate.request.expires:
        end(line.private, candidate, "expired", now)
    elif state_digest(line.private) != candidate.request.state:
        end(line.private, candidate, "void", now)
    else:
        return candidate
    return None


def take_down(
    candidate: HeldCandidate,
    how: End,
    time: datetime,
    decided_by: str | None = None,
    reason: str | None = None,
) -> bool:
    """Destroy a candidate that is turned down or taken back; return True if it was in its place.

    A copy of a candidate is not touched.

    Raises:
        PromiseError: where its publication has begun.
    """
    place = candidate.place.resolve()
    line = place.parent.parent
    if place != held_place(line):
        return False
    with state_lock(line):
        state = read_state(line)
        begun = state.pending is not None and state.pending[1].digest == candidate.request.digest
        if begun or _version_of(state, candidate.request) is not None:
            raise PromiseError(
                f"candidate {candidate.request.digest[:12]}… is being published or "
                "already was, so it cannot be withdrawn now. To take a published "
                "version back: sfumato withdraw"
            )
        end(line, candidate, how, time, decided_by, reason)
    return True


def version_of(line: Line, request: Request) -> str | None:
    """Return the number of the version that a candidate has become, or None."""
    return _version_of(read_state(line.private), request)


def _being_published(line: Line, request: Request) -> bool:
    pending = read_state(line.private).pending
    if pending is not None and pending[1].digest == request.digest:
        return True
    number = version_of(line, request)
    if number is None:
        return False
    record = read_record(line.public).versions
    return number in record and record[number].approvals is None


def _version_of(state: LineState, request: Request) -> str | None:
    versions = state.versions.items()
    return next((n for n, version in versions if version.digest == request.digest), None)


def _find_rejection(candidate: HeldCandidate) -> Decision | None:
    """Return a decision that turns the candidate down, or None.

    Anyone's word is enough, for it publishes nothing.
    """
    return next(
        (
            decision
            for decision in decisions_at(candidate.place)
            if decision.judgement.verdict != "approved"
            and decision.is_about(candidate.request)
            and decision.is_genuine
        ),
        None,
    )
