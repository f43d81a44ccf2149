"""Candidates that wait for approval: found, shown, decided about, and whose approval counts."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sfumato.expectations.shared.errors import InputError, PromiseError, SfumatoError
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.tasks.approval.decisions import (
    Decision,
    Verdict,
    decide,
    decisions_at,
    read_text,
    write_decision,
)
from sfumato.tasks.approval.held import HeldCandidate, candidate_at, read_held, seal_digest
from sfumato.tasks.approval.history import Past, read_history
from sfumato.tasks.approval.reviewers import trust_reviewer
from sfumato.tasks.approval.settle import take_down
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.workdir import is_private, private_work_directory
from sfumato.tasks.verification.signing_keys import PublicKey, open_signer, own_keys, signing_key
from sfumato.tasks.verification.trust import read_exported, read_pattern


@dataclass(frozen=True)
class Reviewed:
    """A candidate that waits, and what was decided of it.

    Attributes:
        held: the candidate.
        decisions: that lie beside it and are about it.
    """

    held: HeldCandidate
    decisions: tuple[Decision, ...]

    @property
    def approvals(self) -> int:
        """The number of approvals beside it; anyone's are counted."""
        return sum(decision.judgement.verdict == "approved" for decision in self.decisions)

    @property
    def words(self) -> str:
        """The state of the candidate in a line."""
        request = self.held.request
        counted = f"{self.approvals} of {request.reviewers} approvals"
        until = f"until {request.expires:%Y-%m-%d %H:%M} UTC"
        return f"{self.status}, digest {request.digest}, {counted}, {until}"

    @property
    def status(self) -> str:
        """`pending`, `approved` by as many as are asked, turned down, or `expired`."""
        request = self.held.request
        if datetime.now(UTC) >= request.expires:
            return "expired"
        against = [
            decision for decision in self.decisions if decision.judgement.verdict != "approved"
        ]
        if against:
            return against[0].judgement.verdict
        return "approved" if len(self.decisions) >= request.reviewers else "pending"


def list_candidates(places: tuple[Path, ...]) -> list[Reviewed]:
    """Return the waiting candidates of some places, or of the work directory.

    Raises:
        SpecError: where a spec is wrong.
        InputError: where a place has none.
    """
    work = private_work_directory(os.environ)
    with sanitise_errors("review"):
        if places:
            return [_with_decisions(open_candidate(place)) for place in places]
        lines = sorted(state.parent for state in _lines_of(work))
        candidates = (read_held(line) for line in lines)
        return [_with_decisions(candidate) for candidate in candidates if candidate is not None]


def past_reviews(place: Path) -> tuple[Past, ...]:
    """Return the past candidates of a line, named by a spec or a private directory."""
    with sanitise_errors("review"):
        return read_history(_private_line(place)).past


def open_candidate(place: Path) -> HeldCandidate:
    """Return the candidate that a spec, a line's private directory, or its own directory names.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where none waits there.
    """
    candidate = candidate_at(place) if place.is_dir() else None
    if candidate is None and (place.is_file() or place.is_dir()):
        candidate = read_held(_private_line(place))
    if candidate is None:
        raise InputError(
            f"{place}: no candidate waits for approval here. sfumato review list shows "
            "those that wait"
        )
    return candidate


def show_candidate(place: Path) -> tuple[Reviewed, bool]:
    """Return a candidate, and True if its files are those that reviewers are asked about."""
    with sanitise_errors("review"):
        candidate = open_candidate(place)
        return _with_decisions(candidate), seal_digest(candidate.place) == candidate.request.sealed


def judge_candidate(
    place: Path, verdict: Verdict, key: str, reason: str, expires: datetime | None = None
) -> Decision:
    """Sign a decision, and leave it beside the candidate where that can be written.

    Args:
        place: of the candidate.
        verdict: what is decided.
        key: the name of the reviewer's key, in the reviewer's own work directory.
        reason: of an approval, for everybody to read.
        expires: before the candidate does.

    Raises:
        SpecError: where the key's name is none.
        InputError: where no candidate waits, the key cannot be opened, or the reason is no line.
        PromiseError: where the candidate's files are not those that reviewers are asked about.
    """
    with sanitise_errors("review"), passphrases(os.environ):
        candidate = open_candidate(place)
        candidate.require_sealed()
        signer = open_signer(signing_key(private_work_directory(os.environ), key))
        now = datetime.now(UTC).replace(microsecond=0)
        return decide(candidate.request, verdict, reason, signer, now, expires)


def leave_decision(place: Path, decision: Decision) -> bool:
    """Leave a decision beside its candidate; return True if it could be written.

    A candidate that is turned down is destroyed if the place is its own, not a copy.

    Raises:
        InputError: where it is about another candidate.
        PromiseError: where it turns one down whose publication has begun.
    """
    with sanitise_errors("review"):
        candidate = open_candidate(place)
        if not decision.is_about(candidate.request):
            raise InputError(
                f"{place}: the decision is about another candidate. Name the candidate "
                "that it is about"
            )
        try:
            if decision.judgement.verdict != "approved" and take_down(candidate, *decision.ending):
                return True
            write_decision(candidate.place, decision)
        except PromiseError:
            raise
        except (OSError, SfumatoError):
            return False
        return True


def add_decision(place: Path, text: str) -> Decision:
    """Leave a decision that was made elsewhere beside its candidate.

    Raises:
        InputError: where it is none, is about another candidate, or cannot be left there.
    """
    decision = read_text(text)
    if not leave_decision(place, decision):
        raise InputError(
            f"{place}: this user may not write decisions here. Send the printed decision "
            "to the publisher"
        )
    return decision


def withdraw_candidate(place: Path, reason: str) -> HeldCandidate:
    """Take a candidate back: it is destroyed, and another is drawn once something has changed.

    Raises:
        InputError: where none waits there, or it is a copy.
        PromiseError: where its publication has begun.
    """
    with sanitise_errors("review"):
        candidate = open_candidate(place)
        now = datetime.now(UTC).replace(microsecond=0)
        if not take_down(candidate, "withdrawn", now, reason=reason):
            raise InputError(
                f"{place}: is a copy of a candidate. Name the spec, or the line's private directory"
            )
        return candidate


def _with_decisions(candidate: HeldCandidate) -> Reviewed:
    decisions = decisions_at(candidate.place)
    return Reviewed(
        candidate,
        tuple(
            decision
            for decision in decisions
            if decision.is_about(candidate.request) and decision.is_genuine
        ),
    )


def _lines_of(work: Path) -> Iterator[Path]:
    """Yield the review directories of all lines of a work directory."""
    for place in work.glob("*/review"):
        if is_private(place.parent):
            yield place


def _private_line(place: Path) -> Path:
    """Return the private directory of the line that a spec or such a directory names."""
    if not place.is_file():
        return place
    from sfumato.flows.inputs.spec import read_spec

    return private_work_directory(os.environ) / read_spec(place, None).name


def let_review(file: Path, pattern: str, environ: Mapping[str, str]) -> PublicKey:
    """Let the approval of a key count for the lines of a pattern.

    Raises:
        SpecError: where the pattern is none.
        InputError: where the file is no public key, the key is one of the user's own work
            directory, or the reviewers' file cannot be written.
    """
    key = read_exported(file)
    if key.public in {own.public for own in own_keys(private_work_directory(environ))}:
        raise InputError(
            f"{file}: is a key of this work directory, which publishes the line, and "
            "publishers must not approve their own releases. Use the key of a "
            "reviewer, made in the reviewer's work directory"
        )
    trust_reviewer(key, read_pattern(pattern), environ)
    return key
