"""reviews.json: what became of the candidates that waited, so that none is drawn for luck.

Whoever could have a candidate returned and drawn again, of the same rows under the same terms,
could go on until a draw pleases: after most ends something must change first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.approval.request import Digest
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.backup import REVIEWS
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.verification.signing_keys import Strict

_FORMAT = 1
End = Literal["approved", "returned", "rejected", "withdrawn", "superseded", "expired", "void"]
_FINAL: frozenset[End] = frozenset({"returned", "rejected", "withdrawn", "superseded"})


class Past(Strict):
    """A candidate that waits no more.

    Attributes:
        digest: of its manifest.
        rows: the keyed fingerprint of its source.
        spec: the digest of its terms.
        end: what became of it.
        time: when.
        by: whose key decided it, where one did.
        reason: why, where somebody said so.
    """

    digest: Digest
    rows: str
    spec: str
    end: End
    time: AwareDatetime
    by: str | None = None
    reason: str | None = None


class History(Strict):
    """All of a line's candidates that wait no more, the latest last."""

    format: Literal[1] = 1
    past: tuple[Past, ...] = ()

    def with_end(self, past: Past) -> "History":
        """With what became of one more candidate; told once of each."""
        if past.digest in {one.digest for one in self.past}:
            return self
        return self.model_copy(update={"past": (*self.past, past)})

    def require_new(self, identity: Identity) -> None:
        """Refuse to draw again what was taken back or turned down.

        Raises:
            PromiseError: where source and spec are those of such a candidate.
        """
        for one in reversed(self.past):
            same = (one.rows, one.spec) == (identity.rows, identity.spec)
            if same and one.end in _FINAL:
                raise PromiseError(
                    f"a candidate of this source and spec was {one.end} "
                    f"({one.time:%Y-%m-%d}, digest {one.digest[:12]}…): another draw of it would "
                    "be one among several to choose from; change the source or the spec first"
                )

    def unwanted(self, digest: str) -> Past | None:
        """How a candidate was taken back or turned down, None where it was not."""
        return next((p for p in self.past if p.digest == digest and p.end in _FINAL), None)

    def require_waiting(self, digest: str) -> None:
        """Refuse a candidate that was taken back or turned down, and was put back.

        Raises:
            PromiseError: where the candidate is one.
        """
        if (one := self.unwanted(digest)) is not None:
            raise PromiseError(
                f"candidate {digest[:12]}… was {one.end} ({one.time:%Y-%m-%d}), and waits no more"
            )


def read_history(line: Path) -> History:
    """What became of a line's candidates.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    return read_document(line / REVIEWS, History, _FORMAT, "a line's past reviews") or History()


def with_past(files: Mapping[str, bytes], line: Path) -> dict[str, bytes]:
    """A backup's files, with what has become of candidates since: a backup forgets no decision."""
    saved = History.model_validate_json(files[REVIEWS]) if REVIEWS in files else History()
    for past in read_history(line).past:
        saved = saved.with_end(past)
    if not saved.past:
        return dict(files)
    return {**files, REVIEWS: canonical_json(saved.model_dump(mode="json"))}


def write_history(line: Path, history: History) -> None:
    """Replace what is known of a line's candidates."""
    write_atomically(line / REVIEWS, canonical_json(history.model_dump(mode="json")))
