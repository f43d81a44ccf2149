"""Decisions of reviewers about a candidate: detached signatures, which fit one line of text.

    statement    sfumato approval, and line, digest, seal, state, number of reviewers, verdict,
                 time, expiry and reason

A decision holds no secret: it may be a parameter of a flow, part of a mail, or a file beside the
candidate. It is worth nothing for another candidate, or for this one once its line has gone on.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.approval.request import DecisionSubject, Request
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import canonical_json, parse_json, read_json
from sfumato.tasks.terms.tombstone import Reason
from sfumato.tasks.verification.signing_keys import (
    PublicKey,
    Signed,
    Signer,
    Strict,
    fingerprint,
    statement,
    verifies,
)

Verdict = Literal["approved", "returned", "rejected"]
_STATEMENT = "approval"
_FOLDER = "decisions"
_LONGEST = 1 << 13  # characters of a decision as text


class Judgement(DecisionSubject):
    """The content that a reviewer signs."""

    verdict: Verdict
    time: AwareDatetime
    expires: AwareDatetime
    reason: Reason

    def statement(self) -> bytes:
        """Return the bytes that are signed."""
        return statement(_STATEMENT, self.model_dump(mode="json"))


class Decision(Strict):
    """A judgement with the reviewer's key and signature."""

    format: Literal[1] = 1
    judgement: Judgement
    key: PublicKey
    signature: Signed

    @property
    def is_genuine(self) -> bool:
        """True if the key signed the judgement."""
        return verifies(self.key.public, self.judgement.statement(), self.signature)

    def is_about(self, request: Request) -> bool:
        """Decide whether this very candidate, on this very state of its line, is judged."""
        return all(
            getattr(self.judgement, name) == getattr(request, name)
            for name in DecisionSubject.model_fields
        )

    @property
    def ending(self) -> tuple[Verdict, datetime, str, str]:
        """The entries of the history for a candidate that it turns down: how, when, who and why."""
        judgement = self.judgement
        return judgement.verdict, judgement.time, str(self.key), judgement.reason

    @property
    def text(self) -> str:
        """The decision as one line without blanks."""
        return urlsafe_b64encode(canonical_json(self.model_dump(mode="json"))).decode().rstrip("=")


def decide(
    request: Request,
    verdict: Verdict,
    reason: str,
    signer: Signer,
    now: datetime,
    expires: datetime | None = None,
) -> Decision:
    """Sign a judgement of a candidate; it expires with the candidate, or earlier if `expires` says.

    Raises:
        InputError: where the candidate waits no longer, or the reason is no line of text.
    """
    if now >= request.expires:
        raise InputError(
            f"{request.digest[:12]}…: this request for approval has expired, so "
            "decisions about it no longer count. Release the spec again to get a new "
            "candidate"
        )
    until = min(expires or request.expires, request.expires)
    facts = {"verdict": verdict, "time": now, "expires": until, "reason": reason}
    try:
        judgement = Judgement.model_validate({**request.subject.model_dump(), **facts})
    except ValidationError:
        raise InputError("reason: must be one line of text with at most 500 characters") from None
    signature = signer.sign(_STATEMENT, judgement.model_dump(mode="json"))
    return Decision(judgement=judgement, key=signer.key, signature=signature)


def read_text(text: str) -> Decision:
    """Read a decision that was written as text.

    Raises:
        InputError: where it is none, or its signature is wrong.
    """
    try:
        if len(text) > _LONGEST:
            raise ValueError
        content = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        decision = Decision.model_validate(parse_json(content))
    except (ValidationError, ValueError):
        raise InputError(
            "signature: is not a decision that `sfumato review` printed. Copy the "
            "whole line that it printed"
        ) from None
    if not decision.is_genuine:
        raise InputError(
            f"signature: was not made with key {decision.key}. Let the reviewer print the "
            "decision again"
        )
    return decision


def write_decision(place: Path, decision: Decision) -> None:
    """Leave a decision beside its candidate; one of the same key is replaced."""
    folder = private_directory(place / _FOLDER)
    name = f"{fingerprint(decision.key.public)}.json"
    write_atomically(folder / name, canonical_json(decision.model_dump(mode="json")))


def decisions_at(place: Path) -> Iterator[Decision]:
    """Yield the decisions beside a candidate, genuine or not, in the order of their keys.

    Raises:
        PromiseError: where a file is none.
    """
    for file in sorted((place / _FOLDER).glob("[0-9a-f]*.json")):
        try:
            yield Decision.model_validate(read_json(file))
        except (ValidationError, ValueError, OSError):
            raise PromiseError(
                f"{file}: cannot be read as a decision. It may be damaged: delete it, and "
                "let the reviewer decide again (sfumato review approve)"
            ) from None
