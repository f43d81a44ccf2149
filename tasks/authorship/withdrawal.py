"""withdrawal.json.sig: who says that a version was withdrawn.

A version stays withdrawn whoever says so: its files are gone. The signature tells readers that the
day and the reason are the publisher's.
"""

from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.errors import SfumatoError
from sfumato.tasks.authorship.keys import statement, verifies
from sfumato.tasks.authorship.secret import Signer
from sfumato.tasks.authorship.signature import Signature, is_trusted, read_signature
from sfumato.tasks.authorship.trust import read_trust
from sfumato.tasks.declaration.canonical import canonical_json
from sfumato.tasks.declaration.lines.tombstone import WITHDRAWAL_SIGNATURE, Tombstone

_KIND = "withdrawal"


def signature_of_withdrawal(tombstone: Tombstone, signer: Signer) -> bytes:
    """The signature of a withdrawal, as it is written beside it."""
    signed = Signature(key=signer.key, signature=signer.sign(_KIND, _content(tombstone)))
    return canonical_json(signed.model_dump(mode="json"))


def author_of_withdrawal(directory: Path, tombstone: Tombstone, environ: Mapping[str, str]) -> str:
    """Who signed a withdrawal, in words: nothing here makes the version stand again.

    Args:
        directory: the tombstone; beside it lies what its line offers.
        tombstone: what it says.
        environ: the reader's, which says where the trust file is.
    """
    try:
        found = read_signature(directory / WITHDRAWAL_SIGNATURE)
        if found is None:
            return "the withdrawal is not signed"
        message = statement(_KIND, _content(tombstone))
        if not verifies(found.key.public, message, found.signature):
            return "the signature of the withdrawal is wrong"
        trust = read_trust(environ)
        listed = trust.of_line(tombstone.line)
        trusted = is_trusted(directory.resolve().parent, found.key, trust, listed)
    except SfumatoError as error:
        return f"who signed the withdrawal cannot be told: {error}"
    unknown = "" if trusted else ", a key that you were not told to trust (sfumato keys trust)"
    return f"the withdrawal is signed by {listed.get(found.key.public, found.key)}{unknown}"


def _content(tombstone: Tombstone) -> dict[str, object]:
    return tombstone.model_dump(mode="json")
