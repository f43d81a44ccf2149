"""reviews.json: the past candidates of a line; it keeps anyone from drawing again for luck.

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
    """The past candidates of a line, the latest last."""

    format: Literal[1] = 1
    past: tuple[Past, ...] = ()

    def with_end(self, past: Past) -> "History":
        """Return the history with one more past candidate, each only once."""
        if past.digest in {earlier.digest for earlier in self.past}:
            return self
        return self.model_copy(update={"past": (*self.past, past)})

    def require_new(self, identity: Identity) -> None:
        """Refuse to draw again what was taken back or turned down.

        Raises:
            PromiseError: where source and spec are those of such a candidate.
        """
        for past in reversed(self.past):
            same = (past.rows, past.spec) == (identity.rows, identity.spec)
            if same and past.end in _FINAL:
                raise PromiseError(
                    f"a candidate of this source and spec was {past.end} "
                    f"({past.time:%Y-%m-%d}, digest {past.digest[:12]}…). A second "
                    "random draw of the same rows would let the publisher choose "
                    "between draws, so it is refused. Change the source or the spec "
                    "first"
                )

    def find_unwanted(self, digest: str) -> Past | None:
        """Return the past candidate of a digest if it was taken back or turned down, or None."""
        return next((p for p in self.past if p.digest == digest and p.end in _FINAL), None)

    def require_waiting(self, digest: str) -> None:
        """Refuse a candidate that was taken back or turned down, and was put back.

        Raises:
            PromiseError: where the candidate is one.
        """
        if (past := self.find_unwanted(digest)) is not None:
            raise PromiseError(
                f"candidate {digest[:12]}… was {past.end} ({past.time:%Y-%m-%d}), so "
                "it no longer waits for approval"
            )


def read_history(line: Path) -> History:
    """Read the past candidates of a line.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    return read_document(line / REVIEWS, History, _FORMAT, "a line's past reviews") or History()


def with_past(files: Mapping[str, bytes], line: Path) -> dict[str, bytes]:
    """Return a backup's files with the candidates that ended since: it forgets no decision."""
    saved = History.model_validate_json(files[REVIEWS]) if REVIEWS in files else History()
    for past in read_history(line).past:
        saved = saved.with_end(past)
    if not saved.past:
        return dict(files)
    return {**files, REVIEWS: canonical_json(saved.model_dump(mode="json"))}


def write_history(line: Path, history: History) -> None:
    """Replace the history of a line's candidates."""
    write_atomically(line / REVIEWS, canonical_json(history.model_dump(mode="json")))
