"""What has become of the candidate that waits: settled before anything else is made of its line."""

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
    """The candidate of this source and spec that waits; any other one makes way for a new one.

    Raises:
        PromiseError: where one of this source and spec was taken back or turned down, or waits
            though approval is asked for no more.
        Fault: where a publication was begun and not finished.
    """
    with state_lock(line.private):
        held = settle(line, now)
        if held is not None and not held.request.is_of(identity):
            end(line.private, held, "superseded", now)
            held = None
        read_history(line.private).require_new(identity)
        if held is not None and not line.reviewers:
            raise PromiseError(
                f"a candidate of this source and spec waits for approval (digest "
                f"{held.request.digest[:12]}…): publish it (sfumato publish), or withdraw it first "
                "(sfumato review withdraw)"
            )
        return held


def forget_candidate(line: Line) -> None:
    """Delete what is left of a candidate whose version stands.

    Raises:
        Fault: where its publication was begun and not finished.
    """
    with state_lock(line.private):
        settle(line, datetime.now(UTC).replace(microsecond=0))


def settle(line: Line, now: datetime) -> HeldCandidate | None:
    """Bring what has ended to its end; the candidate that still waits, None where none does.

    The line's lock is held.

    Raises:
        Fault: where its publication was begun and not finished.
    """
    held = read_held(line.private)
    if held is None:
        delete_held(line.private)
        return None
    if _being_published(line, held.request):
        raise Fault(
            f"the publication of candidate {held.request.digest[:12]}… was begun and not finished: "
            "sfumato publish finishes it"
        )
    if version_of(line, held.request) is not None:
        end(line.private, held, "approved", now)
    elif read_history(line.private).unwanted(held.request.digest):
        delete_held(line.private)
    elif (decision := _turned_down(held)) is not None:
        end(line.private, held, *decision.ended)
    elif now >= held.request.expires:
        end(line.private, held, "expired", now)
    elif state_digest(line.private) != held.request.state:
        end(line.private, held, "void", now)
    else:
        return held
    return None


def take_down(
    held: HeldCandidate, how: End, time: datetime, by: str | None = None, reason: str | None = None
) -> bool:
    """Destroy a candidate that is turned down or taken back; whether it was in its own place.

    A copy of one is left alone.

    Raises:
        PromiseError: where its publication has begun.
    """
    place = held.place.resolve()
    line = place.parent.parent
    if place != held_place(line):
        return False
    with state_lock(line):
        state = read_state(line)
        begun = state.pending is not None and state.pending[1].digest == held.request.digest
        if begun or _version_of(state, held.request) is not None:
            raise PromiseError(
                f"candidate {held.request.digest[:12]}… is being published, or was: it is too late "
                "(sfumato withdraw takes a version back)"
            )
        end(line, held, how, time, by, reason)
    return True


def version_of(line: Line, request: Request) -> str | None:
    """The number of the version that a candidate has become, None where it is none."""
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
    return next((n for n, known in versions if known.digest == request.digest), None)


def _turned_down(held: HeldCandidate) -> Decision | None:
    """What turned the candidate down; anyone's word is enough, for it publishes nothing."""
    return next(
        (
            one
            for one in decisions_at(held.place)
            if one.judgement.verdict != "approved" and one.is_about(held.request) and one.is_genuine
        ),
        None,
    )
