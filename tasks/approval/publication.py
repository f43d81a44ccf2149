"""The way from an approved candidate to a version whose record says who approved it.

Approvals are noted beside the candidate before the version appears: where a run is killed after
that, the next one needs no new ones, which may have expired by then, to finish. They are noted as
they were signed, because the builder can also write there.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.approval.decisions import Decision
from sfumato.tasks.approval.gate import approvals_by, require_approved
from sfumato.tasks.approval.held import HeldCandidate, end, read_held
from sfumato.tasks.approval.history import read_history
from sfumato.tasks.lines.line import Line
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.state import read_state
from sfumato.tasks.private.workdir import state_lock
from sfumato.tasks.publication.amendments import record_approvals
from sfumato.tasks.publication.staging import require_plain
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.schema.files import read_bytes

_APPROVED = "approved.json"
_DECISIONS = TypeAdapter(tuple[Decision, ...])


def find_approved(line: Line, digest: str, spec: str) -> HeldCandidate | Path:
    """Return the candidate of a digest, or the finished version that it has become.

    Args:
        line: the line.
        digest: of the candidate's manifest.
        spec: the digest of what the spec declares now.

    Raises:
        InputError: where no such candidate waits.
        PromiseError: where the spec declares something else than the candidate does, or a
            candidate that was taken back or turned down was put back.
    """
    candidate = read_held(line.private)
    if candidate is None or candidate.request.digest != digest:
        for number, version in read_state(line.private).versions.items():
            if version.digest == digest:
                return line.public / number
        waits = f" (another does: {candidate.request.digest})" if candidate else ""
        raise InputError(
            f"{line.name}: no candidate {digest} waits for approval{waits}. To see those "
            "that wait: sfumato review list"
        )
    require_plain(candidate.place)
    if candidate.request.line != line.name:
        raise PromiseError(
            f"{candidate.place}: is a candidate of another line, {candidate.request.line}"
        )
    read_history(line.private).require_waiting(digest)
    if candidate.request.spec != spec:
        raise PromiseError(
            f"{line.name}: the spec has changed since candidate {digest[:12]}… was "
            "made from it. Release it again: sfumato release SPEC"
        )
    return candidate


def note_approvals(
    line: Line, candidate: HeldCandidate, signed: Iterable[Decision], environ: Mapping[str, str]
) -> None:
    """Require a candidate's approval and record it; the locks of the line are held.

    Raises:
        InputError: where the reviewers' file cannot be read, or others could write it.
        PromiseError: where the candidate may not be published.
    """
    counted = require_approved(line, candidate, signed, datetime.now(UTC), environ)
    write_atomically(candidate.place / _APPROVED, _DECISIONS.dump_json(counted))


def complete(
    line: Line,
    candidate: HeldCandidate,
    number: str,
    measured: MeasuredBounds | None,
    environ: Mapping[str, str],
) -> tuple[str, ...]:
    """Record who approved the version that a candidate has become, and delete the candidate.

    Returns:
        What could not be written beside the public record, in words.

    Raises:
        InputError: where the reviewers' file cannot be read, or others could write it.
        PromiseError: where what was noted is not what reviewers signed.
        PromiseError: where it was not noted who did.
    """
    place = candidate.place / _APPROVED
    try:
        counted = _DECISIONS.validate_json(read_bytes(place))
    except (OSError, ValidationError):
        raise PromiseError(
            f"{place}: cannot be read as the approvals of a version. It may be damaged: "
            "restore it from a backup"
        ) from None
    approvals = approvals_by(line, candidate.request, counted, environ)
    undone = record_approvals(line, number, approvals, measured)
    with state_lock(line.private):
        end(line.private, candidate, "approved", datetime.now(UTC).replace(microsecond=0))
    return undone
