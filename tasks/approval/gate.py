"""The gate of publication: enough reviewers approve in time, and none of them is the builder."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.approval.decisions import Decision, decisions_at
from sfumato.tasks.approval.held import HeldCandidate
from sfumato.tasks.approval.request import Request
from sfumato.tasks.approval.reviewers import read_reviewers, reviewers_file
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.versions import Approval
from sfumato.tasks.verification.signing_keys import PublicKey, own_keys


def require_approved(
    line: Line,
    candidate: HeldCandidate,
    signed: Iterable[Decision],
    now: datetime,
    environ: Mapping[str, str],
) -> tuple[Decision, ...]:
    """Return the approvals of a candidate that count: those beside it, and `signed` ones.

    As many count as the spec asks for now, or asked for when the candidate was made, if that is
    more.

    Raises:
        InputError: where the reviewers' file cannot be read, or others could write it.
        PromiseError: where it was turned down, has changed, or too few have approved it.
    """
    candidate.require_unchanged(line.private)
    decisions = [*decisions_at(candidate.place), *signed]
    _require_not_turned_down(candidate.request, decisions)
    trust = read_reviewers(environ)
    trusted = {k: key for k, key in trust.of_line(line.name).items() if k not in trust.revoked}
    builders = {key.public for key in own_keys(line.work)}
    approvals: dict[str, Decision] = {}
    ignored: list[str] = []
    for decision in decisions:
        why = _fault(decision, candidate.request, trusted, builders, now)
        if why is None:
            approvals[decision.key.public] = decision
        else:
            ignored.append(f"{decision.key} ({why})")
    needed = max(line.reviewers, candidate.request.reviewers)
    if len(approvals) < needed:
        raise PromiseError(
            f"approval: {len(approvals)} of {needed} reviewers approve candidate "
            f"{candidate.request.digest[:12]}…{_in_words(ignored, reviewers_file(environ))}. "
            "To approve it: sfumato review approve CANDIDATE"
        )
    return tuple(approvals.values())


def approvals_by(
    line: Line, request: Request, counted: Iterable[Decision], environ: Mapping[str, str]
) -> tuple[Approval, ...]:
    """Return the public record's entries for approvals that counted when the version appeared.

    They may have expired since, or their keys been revoked; they are the reviewers' all the same.

    Raises:
        InputError: where the reviewers' file cannot be read, or others could write it.
        PromiseError: where one is no reviewer's, or some are missing.
    """
    trusted = read_reviewers(environ).of_line(line.name)
    builders = {key.public for key in own_keys(line.work)}
    by_key = {decision.key.public: decision for decision in counted}
    for decision in by_key.values():
        if (why := _fault(decision, request, trusted, builders, request.made)) is not None:
            raise PromiseError(
                f"approval: the decision of {decision.key} does not count ({why}). "
                f"Reviewers are listed in {reviewers_file(environ)}"
            )
    if len(by_key) < request.reviewers:
        raise PromiseError(
            f"approval: only {len(by_key)} of the {request.reviewers} approvals that are "
            "needed are recorded"
        )
    approvals = (_approval(decision, trusted[key]) for key, decision in by_key.items())
    return tuple(sorted(approvals, key=lambda approval: (approval.time, approval.by)))


def _require_not_turned_down(request: Request, decisions: Iterable[Decision]) -> None:
    for decision in decisions:
        against = decision.judgement.verdict != "approved"
        if against and decision.is_about(request) and decision.is_genuine:
            raise PromiseError(
                f"approval: candidate {request.digest[:12]}… was "
                f"{decision.judgement.verdict} by {decision.key}, so it cannot be "
                "published. Change the source or the spec, then release again"
            )


def _fault(
    decision: Decision,
    request: Request,
    trusted: Mapping[str, PublicKey],
    builders: set[str],
    now: datetime,
) -> str | None:
    """Return why a decision does not count, or None."""
    return next(_faults(decision, request, trusted, builders, now), None)


def _faults(
    decision: Decision,
    request: Request,
    trusted: Mapping[str, PublicKey],
    builders: set[str],
    now: datetime,
) -> Iterator[str]:
    judgement = decision.judgement
    if decision.key.public in builders:
        yield (
            "a key of the line's own work directory, which builds the candidate and so "
            "cannot approve it"
        )
    if decision.key.public not in trusted:
        yield "not a reviewer of this line"
    if not decision.is_about(request):
        yield "about another candidate, or about the line before it changed"
    if now >= min(judgement.expires, request.expires):
        yield "expired"
    if judgement.time < request.made:
        yield "older than the candidate"
    if not decision.is_genuine:
        yield "its signature does not match the key"


def _approval(decision: Decision, key: PublicKey) -> Approval:
    judgement = decision.judgement
    time = judgement.time.isoformat(timespec="seconds")
    return Approval(by=str(key), time=time, reason=judgement.reason)


def _in_words(ignored: list[str], place: Path) -> str:
    if not ignored:
        return ""
    return f". Not counted: {', '.join(ignored)}. Reviewers are listed in {place}"
