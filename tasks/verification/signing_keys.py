"""Signing keys in the work directory, wrapped under a passphrase, and their public keys.

`cryptography` is imported where something is signed or verified, and nowhere else.

    <work>/keys/<name>           the secret, wrapped, and its public key

The passphrase is in the environment, or in a Prefect block that the environment names, and never a
parameter, which others could read of a process.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.private.wrapping import passphrase_in, unwrap, wrap
from sfumato.tasks.schema.files import canonical_json, parse_json, read_bytes
from sfumato.tasks.terms.terms import LineName

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


KeyName = LineName
Public = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Signed = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
PASSPHRASE = "SFUMATO_SIGNING_PASSPHRASE"  # noqa: S105 - the name of a variable
KEYS = "keys"
_NAME = TypeAdapter(KeyName)


class Strict(BaseModel):
    """A part of a document about keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class PublicKey(Strict):
    """A key that verifies signatures, and its owner's name for it."""

    name: KeyName
    public: Public

    def __str__(self) -> str:
        return f"{self.name} ({fingerprint(self.public)})"


def fingerprint(public: str) -> str:
    """Return a key's fingerprint, which people compare: the first 128 bits of its SHA-256."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:32]


def statement(kind: str, content: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed; statements of different kinds are never equal."""
    return f"sfumato {kind}\n".encode() + canonical_json(dict(content))


def verifies(public: str, message: bytes, signature: str) -> bool:
    """Decide whether the secret of this key signed the message."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Signer:
    """A key whose secret was opened."""

    key: PublicKey
    secret: "Ed25519PrivateKey"

    def sign(self, kind: str, content: Mapping[str, Any]) -> str:
        """Return the signature of a statement."""
        return self.secret.sign(statement(kind, content)).hex()


def generate(work: Path, name: str, environ: Mapping[str, str] = os.environ) -> PublicKey:
    """Draw a signing key, and keep it wrapped.

    Raises:
        SpecError: where the name is none.
        InputError: where there is a key of that name, or the environment has no passphrase.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = signing_key(work, name)
    passphrase = passphrase_in(environ, PASSPHRASE)
    if not passphrase:
        raise InputError(
            f"{PASSPHRASE}: is not set. Set it to a passphrase, which encrypts the key"
        )
    private_directory(private_directory(work) / KEYS)
    if path.exists():
        raise InputError(f"{path}: a key with this name exists already. Choose another name")
    secret = Ed25519PrivateKey.generate()
    key = PublicKey(name=name, public=secret.public_key().public_bytes_raw().hex())
    document = {**key.model_dump(), **wrap(secret.private_bytes_raw(), passphrase)}
    write_atomically(path, json.dumps(document).encode())
    return key


def signing_key(work: Path, name: str) -> Path:
    """Return the file of a signing key.

    Raises:
        SpecError: where a key cannot have that name.
    """
    try:
        return work / KEYS / _NAME.validate_python(name)
    except ValidationError:
        raise SpecError(
            f"key {name!r}: may contain only lower-case letters, digits and hyphens"
        ) from None


def own_keys(work: Path) -> list[PublicKey]:
    """Return the public keys of all signing keys, by name."""
    return [public_key(path) for path in sorted((work / KEYS).glob("[a-z0-9]*"))]


def public_key(path: Path) -> PublicKey:
    """Return the public key of a signing key; no passphrase is needed.

    Raises:
        InputError: where there is none.
        PromiseError: where the file is no key.
    """
    return _read(path)[0]


def open_signer(path: Path, environ: Mapping[str, str] = os.environ) -> Signer:
    """Open a signing key.

    Raises:
        InputError: where there is none, or its passphrase is missing or wrong.
        PromiseError: where the file is no key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, document = _read(path)
    raw = unwrap(path, document, passphrase_in(environ, PASSPHRASE), PASSPHRASE)
    secret = Ed25519PrivateKey.from_private_bytes(raw)
    if secret.public_key().public_bytes_raw().hex() != key.public:
        raise PromiseError(
            f"{path}: its public key belongs to another secret key. Restore the file from a backup"
        )
    return Signer(key, secret)


def _read(path: Path) -> tuple[PublicKey, Any]:
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such signing key. To create it: sfumato keys generate NAME"
        ) from None
    except OSError:
        raise PromiseError(
            f"{path}: cannot be read as a signing key. Restore it from a backup: sfumato "
            "keys restore FILE"
        ) from None
    return parse_key(path, content)


def parse_key(place: Path, content: bytes) -> tuple[PublicKey, Any]:
    """Return the public key in a signing key's file, and the document; `place` is for messages.

    Raises:
        PromiseError: where it is no signing key.
    """
    try:
        document = parse_json(content)
        return PublicKey(name=document["name"], public=document["public"]), document
    except (ValueError, KeyError, TypeError):
        raise PromiseError(
            f"{place}: cannot be read as a signing key. Restore it from a backup: sfumato "
            "keys restore FILE"
        ) from None
