"""request.json: a waiting candidate, about which reviewers are asked.

It is about one draw of one source under one spec, and one state of the line: where any of these is
another one, no decision about it counts.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.terms.terms import LineName
from sfumato.tasks.verification.signing_keys import Strict

REQUEST = "request.json"
_FORMAT = 1
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class DecisionSubject(Strict):
    """The subject of a decision.

    Attributes:
        line: the line's name.
        digest: of the candidate's manifest, which vouches for all that would be published.
        sealed: of all files of the candidate, the private ones among them.
        state: of the line's private state when it began to wait.
        reviewers: how many have to approve it, so that nobody can ask for fewer afterwards.
    """

    line: LineName
    digest: Digest
    sealed: Digest
    state: Digest
    reviewers: Annotated[int, Field(ge=1)]


class Request(DecisionSubject):
    """A request for approval.

    Attributes:
        rows: the keyed fingerprint of the source.
        spec: the digest of the declared terms.
        made: when it began to wait.
        expires: when it ceases to.
    """

    format: Literal[1] = 1
    rows: str
    spec: str
    made: AwareDatetime
    expires: AwareDatetime

    @property
    def subject(self) -> DecisionSubject:
        """The part that decisions name."""
        return DecisionSubject(
            **{name: getattr(self, name) for name in DecisionSubject.model_fields}
        )

    def is_of(self, identity: Identity) -> bool:
        """Decide whether the candidate is of this source and spec."""
        return (self.rows, self.spec) == (identity.rows, identity.spec)


def request_approval(
    subject: DecisionSubject, identity: Identity, days: int, now: datetime
) -> Request:
    """Return a request that waits from now for some days."""
    return Request(
        **subject.model_dump(),
        rows=identity.rows,
        spec=identity.spec,
        made=now,
        expires=now + timedelta(days=days),
    )


def write_request(place: Path, request: Request) -> None:
    """Leave a request beside its candidate."""
    write_atomically(place / REQUEST, canonical_json(request.model_dump(mode="json")))


def read_request(place: Path) -> Request | None:
    """Read the request in a directory, or return None.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it is none.
    """
    return read_document(place / REQUEST, Request, _FORMAT, "a request for approval")
