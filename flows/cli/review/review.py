"""`sfumato review`: candidates that wait for approval, and decisions about them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import Printout, with_document
from sfumato.flows.cli.review.reviewers import distrust, reviewers, trust
from sfumato.flows.cli.show import echo, echo_json, one_line

if TYPE_CHECKING:
    from sfumato.flows.review import Reviewed
    from sfumato.tasks.approval.decisions import Decision, Verdict
    from sfumato.tasks.approval.history import Past

_PLACE = click.argument("candidate", type=click.Path(path_type=Path))
_KEY = click.option("--key", required=True, help="your signing key (sfumato keys)")
_REASON = click.option("--reason", required=True, help="why, in one line")


@click.group()
def review() -> None:
    """Approve, return or reject candidates, if a spec asks for approval.

    CANDIDATE is a spec, a line's private directory, or the directory of a candidate, which may be a
    copy. Reviewers have keys of their own, in work directories of their own (SFUMATO_WORK).
    """


@review.command("list")
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--past",
    is_flag=True,
    help="list the candidates that do not wait any more, of the lines in PLACES",
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def list_(places: tuple[Path, ...], past: bool, as_json: bool) -> None:
    """List the candidates that wait, in PLACES or in the work directory."""
    from sfumato.flows.review import list_candidates, past_reviews

    if past:
        _list_past(
            [past_review for place in places for past_review in past_reviews(place)],
            as_json=as_json,
        )
        return
    candidates = list_candidates(places)
    if as_json:
        echo_json({"candidates": [_document(candidate) for candidate in candidates]})
        return
    for candidate in candidates:
        echo(f"{candidate.held.request.line}: {candidate.words}")
    if not candidates:
        show.say("no candidate waits for approval")


def _list_past(ended: "list[Past]", *, as_json: bool) -> None:
    if as_json:
        echo_json({"past": [past_review.model_dump(mode="json") for past_review in ended]})
        return
    for past_review in ended:
        reason = f": {one_line(past_review.reason)}" if past_review.reason else ""
        echo(f"{past_review.time:%Y-%m-%d} {past_review.digest[:12]}… {past_review.end}{reason}")


@review.command("show")
@_PLACE
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def show_(candidate: Path, as_json: bool) -> None:
    """Show CANDIDATE, the decisions about it, and the path of its page for reviewers."""
    from sfumato.flows.review import show_candidate

    candidate_state, whole = show_candidate(candidate)
    document = {**_document(candidate_state), "unchanged": whole, **_pages(candidate_state)}
    show.document(document, "json" if as_json else "text")
    if not whole:
        show.say("its files changed since reviewers were asked, so it cannot be published")


@review.command()
@_PLACE
@_KEY
@click.option("--reason", required=True, help="why, in one line; the reason will be public")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    help="the day until which the approval counts (UTC)",
)
@with_document
def approve(candidate: Path, key: str, reason: str, until: datetime | None) -> Printout:
    """Approve CANDIDATE; the signature is printed, and written beside it if you may write there.

    Your key's name, the time and the reason will be in the line's public record.
    """
    return _judge(candidate, "approved", key, reason, until.replace(tzinfo=UTC) if until else None)


@review.command("return")
@_PLACE
@_KEY
@_REASON
@with_document
def return_(candidate: Path, key: str, reason: str) -> Printout:
    """Return CANDIDATE to its maker; it is deleted, and the source or spec must change."""
    return _judge(candidate, "returned", key, reason)


@review.command()
@_PLACE
@_KEY
@_REASON
@with_document
def reject(candidate: Path, key: str, reason: str) -> Printout:
    """Reject CANDIDATE; it is deleted."""
    return _judge(candidate, "rejected", key, reason)


@review.command()
@_PLACE
@click.argument("signature")
@with_document
def add(candidate: Path, signature: str) -> Printout:
    """Write beside CANDIDATE a decision that a reviewer made elsewhere, as it was printed there."""
    from sfumato.flows.review import add_decision

    decision = add_decision(candidate, signature)
    verdict = decision.judgement.verdict
    return {"verdict": verdict, "key": str(decision.key)}, f"{verdict} by {decision.key}"


@review.command()
@_PLACE
@_REASON
@with_document
def withdraw(candidate: Path, reason: str) -> Printout:
    """Take your own CANDIDATE back; it is deleted, and the source or spec must change."""
    from sfumato.flows.review import withdraw_candidate

    withdrawn = withdraw_candidate(candidate, reason)
    line, digest = withdrawn.request.line, withdrawn.request.digest
    document = {"line": line, "digest": digest, "withdrawn": True}
    return document, f"{line}: candidate {digest[:12]}… is withdrawn"


for _command in (trust, distrust, reviewers):
    review.add_command(_command)


def _judge(
    candidate: Path, verdict: "Verdict", key: str, reason: str, expires: datetime | None = None
) -> Printout:
    from sfumato.flows.review import judge_candidate, leave_decision

    decision = judge_candidate(candidate, verdict, key, reason, expires)
    is_left = leave_decision(candidate, decision)
    _tell(decision, is_left=is_left)
    judgement = decision.judgement
    document = {
        "line": judgement.line,
        "digest": judgement.digest,
        "verdict": judgement.verdict,
        "key": str(decision.key),
        "reason": judgement.reason,
        "expires": judgement.expires.isoformat(),
        "left": is_left,
        "decision": decision.text,
    }
    return document, decision.text


def _tell(decision: "Decision", *, is_left: bool) -> None:
    judgement = decision.judgement
    show.say(
        f"{judgement.line}: candidate {judgement.digest[:12]}… is {judgement.verdict} by "
        f"{decision.key}"
    )
    show.say(
        f"the decision counts until {judgement.expires:%Y-%m-%d %H:%M} UTC. Reason: "
        f"{one_line(judgement.reason)}"
    )
    if not is_left:
        show.say(
            "the decision could not be written beside the candidate. Send the line "
            "below to the publisher, who adds it (sfumato review add, or the form of "
            "the deployment)"
        )


def _document(candidate: "Reviewed") -> dict[str, object]:
    request = candidate.held.request
    return {
        "line": request.line,
        "digest": request.digest,
        "status": candidate.status,
        "made": request.made.isoformat(),
        "expires": request.expires.isoformat(),
        "reviewers": request.reviewers,
        "approvals": candidate.approvals,
        "decisions": [
            {
                "verdict": decision.judgement.verdict,
                "key": str(decision.key),
                "reason": decision.judgement.reason,
            }
            for decision in candidate.decisions
        ],
        "place": str(candidate.held.place),
    }


def _pages(candidate: "Reviewed") -> dict[str, str]:
    """Return the paths of two pages: the reviewers' page, and the page that would be published."""
    place = candidate.held.place
    return {
        "page": str(place / "report" / "review.html"),
        "preview": str(place / "candidate" / "release" / "index.html"),
    }
