"""Signing keys in the work directory, wrapped under a passphrase of their own.

    <work>/keys/<name>           the secret, wrapped, and its public key

The passphrase is in the environment, or in a Prefect block that the environment names, and never a
parameter, which others could read of a process.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.errors import InputError, PromiseError, SpecError
from sfumato.tasks.authorship.keys import KeyName, PublicKey, statement
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.private.wrapping import passphrase_in, unwrap, wrap
from sfumato.tasks.schema.files import read_bytes
from sfumato.tasks.schema.nesting import parse_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PASSPHRASE = "SFUMATO_SIGNING_PASSPHRASE"  # noqa: S105 - the name of a variable
KEYS = "keys"
_NAME = TypeAdapter(KeyName)


@dataclass(frozen=True)
class Signer:
    """A key whose secret was opened."""

    key: PublicKey
    secret: "Ed25519PrivateKey"

    def sign(self, kind: str, content: Mapping[str, Any]) -> str:
        """The signature of a statement."""
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
        raise InputError(f"{PASSPHRASE}: is not set: the key is kept under this passphrase")
    private_directory(private_directory(work) / KEYS)
    if path.exists():
        raise InputError(f"{path}: there is a key of that name already")
    secret = Ed25519PrivateKey.generate()
    key = PublicKey(name=name, public=secret.public_key().public_bytes_raw().hex())
    document = {**key.model_dump(), **wrap(secret.private_bytes_raw(), passphrase)}
    write_atomically(path, json.dumps(document).encode())
    return key


def signing_key(work: Path, name: str) -> Path:
    """The file of a signing key.

    Raises:
        SpecError: where a key cannot have that name.
    """
    try:
        return work / KEYS / _NAME.validate_python(name)
    except ValidationError:
        raise SpecError(f"key {name!r}: small letters, digits and hyphens name a key") from None


def own_keys(work: Path) -> list[PublicKey]:
    """The public keys of all signing keys, by name."""
    return [public_key(path) for path in sorted((work / KEYS).glob("[a-z0-9]*"))]


def public_key(path: Path) -> PublicKey:
    """The public key of a signing key; no passphrase is needed.

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
        raise PromiseError(f"{path}: its public key is another's")
    return Signer(key, secret)


def _read(path: Path) -> tuple[PublicKey, Any]:
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such signing key (sfumato keys generate)") from None
    except OSError:
        raise PromiseError(f"{path}: cannot be read as a signing key") from None
    return parse_key(path, content)


def parse_key(place: Path, content: bytes) -> tuple[PublicKey, Any]:
    """The public key in the file of a signing key, and the whole document; `place` is for messages.

    Raises:
        PromiseError: where it is no signing key.
    """
    try:
        document = parse_json(content)
        return PublicKey(name=document["name"], public=document["public"]), document
    except (ValueError, KeyError, TypeError):
        raise PromiseError(f"{place}: cannot be read as a signing key") from None
