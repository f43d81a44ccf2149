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
        """How many approve of it, whoever they are."""
        return sum(one.judgement.verdict == "approved" for one in self.decisions)

    @property
    def words(self) -> str:
        """Its state in a line."""
        asked = self.held.request
        counted = f"{self.approvals} of {asked.reviewers} approvals"
        until = f"until {asked.expires:%Y-%m-%d %H:%M} UTC"
        return f"{self.status}, digest {asked.digest}, {counted}, {until}"

    @property
    def status(self) -> str:
        """`pending`, `approved` by as many as are asked, turned down, or `expired`."""
        request = self.held.request
        if datetime.now(UTC) >= request.expires:
            return "expired"
        against = [one for one in self.decisions if one.judgement.verdict != "approved"]
        if against:
            return against[0].judgement.verdict
        return "approved" if len(self.decisions) >= request.reviewers else "pending"


def list_candidates(places: tuple[Path, ...]) -> list[Reviewed]:
    """The candidates of some places that wait, or of the work directory.

    Raises:
        SpecError: where a spec is wrong.
        InputError: where a place has none.
    """
    work = private_work_directory(os.environ)
    with sanitise_errors("review"):
        if places:
            return [_reviewed(open_candidate(place)) for place in places]
        lines = sorted(state.parent for state in _lines_of(work))
        found = (read_held(line) for line in lines)
        return [_reviewed(held) for held in found if held is not None]


def past_reviews(place: Path) -> tuple[Past, ...]:
    """What became of the candidates of a line, which a spec or a private directory means."""
    with sanitise_errors("review"):
        return read_history(_private_line(place)).past


def open_candidate(place: Path) -> HeldCandidate:
    """The candidate that a spec, a line's private directory, or its own directory means.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where none waits there.
    """
    held = candidate_at(place) if place.is_dir() else None
    if held is None and (place.is_file() or place.is_dir()):
        held = read_held(_private_line(place))
    if held is None:
        raise InputError(f"{place}: no candidate waits for approval here")
    return held


def show_candidate(place: Path) -> tuple[Reviewed, bool]:
    """A candidate, and whether its files are those that reviewers are asked about."""
    with sanitise_errors("review"):
        held = open_candidate(place)
        return _reviewed(held), seal_digest(held.place) == held.request.sealed


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
        held = open_candidate(place)
        held.require_sealed()
        signer = open_signer(signing_key(private_work_directory(os.environ), key))
        now = datetime.now(UTC).replace(microsecond=0)
        return decide(held.request, verdict, reason, signer, now, expires)


def leave_decision(place: Path, decision: Decision) -> bool:
    """Leave a decision beside its candidate; whether that could be written.

    A candidate that is turned down is destroyed, where that is its own place and no copy.

    Raises:
        InputError: where it is about another candidate.
        PromiseError: where it turns one down whose publication has begun.
    """
    with sanitise_errors("review"):
        held = open_candidate(place)
        if not decision.is_about(held.request):
            raise InputError(f"{place}: the decision is about another candidate")
        try:
            if decision.judgement.verdict != "approved" and take_down(held, *decision.ended):
                return True
            write_decision(held.place, decision)
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
        raise InputError(f"{place}: decisions cannot be written here by this user")
    return decision


def withdraw_candidate(place: Path, reason: str) -> HeldCandidate:
    """Take a candidate back: it is destroyed, and another is drawn once something has changed.

    Raises:
        InputError: where none waits there, or it is a copy.
        PromiseError: where its publication has begun.
    """
    with sanitise_errors("review"):
        held = open_candidate(place)
        now = datetime.now(UTC).replace(microsecond=0)
        if not take_down(held, "withdrawn", now, reason=reason):
            raise InputError(f"{place}: is a copy: name the spec, or the line's private directory")
        return held


def _reviewed(held: HeldCandidate) -> Reviewed:
    found = decisions_at(held.place)
    return Reviewed(
        held, tuple(one for one in found if one.is_about(held.request) and one.is_genuine)
    )


def _lines_of(work: Path) -> Iterator[Path]:
    """The requests of all lines of a work directory."""
    for place in work.glob("*/review"):
        if is_private(place.parent):
            yield place


def _private_line(place: Path) -> Path:
    """The private directory of the line that a spec or such a directory means."""
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
            f"{file}: is a key of this work directory, which publishes: nobody approves their own "
            "releases; reviewers make keys in work directories of their own"
        )
    trust_reviewer(key, read_pattern(pattern), environ)
    return key
