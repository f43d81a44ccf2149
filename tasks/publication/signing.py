"""Signing a version that stands, whose line was not signed when it appeared, or by another key.

No other file of the release changes: the signature is the one file that its manifest does not list.
"""

from dataclasses import dataclass

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.authorship.offers import offer, require_next_signer
from sfumato.tasks.authorship.secret import Signer
from sfumato.tasks.authorship.signature import signature_of, signer_of
from sfumato.tasks.declaration.opened import SIGNATURE, open_release
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.life.pages import refresh_pages
from sfumato.tasks.publication.line import Line, begin_change, hold
from sfumato.tasks.publication.ownership import require_ours
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.publication.versions import read_record


@dataclass(frozen=True)
class SignedVersion:
    """A version that a key signed.

    Attributes:
        existed: whether the key had signed it before.
        notices: what could not be written beside it, in words.
    """

    existed: bool
    notices: tuple[str, ...] = ()


def sign_version(line: Line, number: str, signer: Signer) -> SignedVersion:
    """Sign a version once it passed its check, and offer the public key beside the line.

    Raises:
        InputError: where readers would not take this key for it.
        PromiseError: where the line's private state did not publish it as it stands, it was
            withdrawn, or it does not pass the check that everyone can run.
    """
    with hold(line):
        undone = recover(line)
        release, digest = line.public / number, _published_digest(line, number)
        check(release, digest)
        before = signer_of(release, digest)
        require_next_signer(line.public, line.name, signer.key, before)
        offer(line.public, line.name, signer.key)
        if before is not None and before.public == signer.key.public:
            return SignedVersion(existed=True, notices=undone)
        content = signature_of(digest, signer)
        begin_change(line.public)
        write_atomically(release / SIGNATURE, content, mode=0o444, staged_in=line.public)
        return SignedVersion(existed=False, notices=refresh_pages(line))


def _published_digest(line: Line, number: str) -> str:
    """The digest under which the line published a version, which is still that of its manifest."""
    state, record = read_state(line.private), read_record(line.public)
    require_ours(line, state, record, [number])
    known, shown = state.versions[number], record.versions.get(number)
    if shown is None or shown.digest != known.digest:
        raise PromiseError(f"version {number}: the public record has it not as it was published")
    if shown.status == "withdrawn":
        raise PromiseError(f"version {number}: was withdrawn")
    if open_release(line.public / number).manifest["sfumato"].get("digest") != known.digest:
        raise PromiseError(f"{line.public / number}: is not what this line published as {number}")
    return known.digest
