"""Signatures of releases and of withdrawals: Ed25519 over statements of one kind each.

The signature of a release is over the manifest's digest, which vouches for every other file.

A version stays withdrawn, whoever signed the withdrawal: its files are gone. The signature shows
readers that the day and the reason are the publisher's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from sfumato.expectations.shared.errors import PromiseError, SfumatoError
from sfumato.tasks.schema.files import canonical_json, read_json
from sfumato.tasks.terms.opened import SIGNATURE
from sfumato.tasks.terms.tombstone import WITHDRAWAL_SIGNATURE, Tombstone
from sfumato.tasks.verification.offered_keys import read_offers
from sfumato.tasks.verification.signing_keys import (
    PublicKey,
    Signed,
    Signer,
    Strict,
    fingerprint,
    statement,
    verifies,
)
from sfumato.tasks.verification.trust import Trust, read_trust, trust_file

_KIND = "withdrawal"


class Signature(Strict):
    """The content of a signature file."""

    format: Literal[1] = 1
    key: PublicKey
    signature: Signed


@dataclass(frozen=True)
class Author:
    """The signer of a release, in words, and whether the reader trusts them."""

    words: str
    trusted: bool


def sign_release(directory: Path, digest: str, signer: Signer) -> None:
    """Sign a release that is not yet published."""
    (directory / SIGNATURE).write_bytes(signature_of(digest, signer))


def signature_of(digest: str, signer: Signer) -> bytes:
    """Return the signature of a manifest's digest, as it is written beside the manifest."""
    signed = Signature(key=signer.key, signature=signer.sign("release", {"digest": digest}))
    return canonical_json(signed.model_dump(mode="json"))


def signer_of(directory: Path, digest: str) -> PublicKey | None:
    """Return the key that signed a release, trusted or not, or None if it is not signed.

    Raises:
        PromiseError: where the signature is wrong, or none.
    """
    signature = read_signature(directory / SIGNATURE)
    if signature is None:
        return None
    if not verifies(
        signature.key.public, statement("release", {"digest": digest}), signature.signature
    ):
        raise PromiseError(
            f"{SIGNATURE}: the signature does not match this release. The release or the "
            "signature was changed"
        )
    return signature.key


def author_of(directory: Path, line: str, digest: str, environ: Mapping[str, str]) -> Author:
    """Return the signer of a release.

    Args:
        directory: the release; the keys that its line offers are beside it.
        line: its line's name.
        digest: of its manifest.
        environ: the reader's, which says where the trust file is.

    Raises:
        InputError: where the trust file cannot be read.
        PromiseError: where the signature is wrong, its key was revoked, or the reader trusts other
            keys for the line; where the reader trusts keys for it and there is no signature.
    """
    trust = read_trust(environ)
    listed = trust.of_line(line)
    key = signer_of(directory, digest)
    if key is None:
        if listed:
            raise PromiseError(
                f"{directory}: is not signed, but {trust_file(environ)} lists trusted "
                f"keys for {line}. Ask the publisher for a signed release"
            )
        return Author("not signed", trusted=False)
    trusted = is_trusted(directory.resolve().parent, key, trust, listed)
    name = listed.get(key.public, key)
    if listed and not trusted:
        raise PromiseError(
            f"{SIGNATURE}: was signed with key {key}, but {trust_file(environ)} lists "
            f"other keys for {line}. Ask the publisher which key is right"
        )
    unknown = "" if trusted else ", a key that you do not trust yet (sfumato keys trust)"
    return Author(f"signed by {name}{unknown}", trusted)


def is_trusted(
    line: Path,
    key: PublicKey,
    trust: Trust,
    listed: Mapping[str, PublicKey],
    file: str = SIGNATURE,
) -> bool:
    """Decide whether a signature's key is a trusted one or follows one, and was not revoked.

    Args:
        line: the line's public directory, with the keys that it offers.
        key: the key.
        trust: the reader's trust.
        listed: the keys that the reader trusts for the line, by public bytes.
        file: what the key signed, for the message.

    Raises:
        PromiseError: where it was revoked.
    """
    offered = read_offers(line)
    revoked = {*trust.revoked, *(offered.revoked_keys() if offered else ())}
    if key.public in revoked:
        raise PromiseError(
            f"{file}: was signed with key {fingerprint(key.public)}, which was "
            "revoked. Do not use the release"
        )
    following = (offered.successors(public, trust.revoked) if offered else () for public in listed)
    return key.public in {*listed, *(public for ones in following for public in ones)}


def read_signature(path: Path) -> Signature | None:
    """Return a signature, trusted or not, or None if there is no file.

    Raises:
        PromiseError: where the file is no signature.
    """
    try:
        return Signature.model_validate(read_json(path))
    except FileNotFoundError:
        return None
    except (ValidationError, ValueError, OSError):
        raise PromiseError(
            f"{path.name}: cannot be read as a signature. It is damaged or was changed"
        ) from None


def signature_of_withdrawal(tombstone: Tombstone, signer: Signer) -> bytes:
    """Return the signature of a withdrawal, as it is written beside it."""
    signed = Signature(key=signer.key, signature=signer.sign(_KIND, _content(tombstone)))
    return canonical_json(signed.model_dump(mode="json"))


def author_of_withdrawal(directory: Path, tombstone: Tombstone, environ: Mapping[str, str]) -> str:
    """Return who signed a withdrawal, in words; no result makes the version valid again.

    Args:
        directory: the tombstone; the keys that its line offers are beside it.
        tombstone: its content.
        environ: the reader's, which says where the trust file is.
    """
    try:
        signature = read_signature(directory / WITHDRAWAL_SIGNATURE)
        if signature is None:
            return "the withdrawal is not signed"
        message = statement(_KIND, _content(tombstone))
        if not verifies(signature.key.public, message, signature.signature):
            return "the signature of the withdrawal does not match it"
        trust = read_trust(environ)
        listed = trust.of_line(tombstone.line)
        trusted = is_trusted(directory.resolve().parent, signature.key, trust, listed)
    except SfumatoError as error:
        return f"the signature of the withdrawal cannot be verified: {error}"
    unknown = "" if trusted else ", a key that you do not trust yet (sfumato keys trust)"
    return f"the withdrawal is signed by {listed.get(signature.key.public, signature.key)}{unknown}"


def _content(tombstone: Tombstone) -> dict[str, object]:
    return tombstone.model_dump(mode="json")
