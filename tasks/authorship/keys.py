"""Public keys, and what is signed with their secrets: Ed25519 over statements of one kind each.

`cryptography` is imported where something is signed or verified, and nowhere else.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sfumato.tasks.declaration.canonical import canonical_json
from sfumato.tasks.declaration.terms import LineName

KeyName = LineName
Public = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Signed = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]


class Strict(BaseModel):
    """A part of a document about keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PublicKey(Strict):
    """A key that verifies signatures, and what its owner calls it."""

    name: KeyName
    public: Public

    def __str__(self) -> str:
        return f"{self.name} ({fingerprint(self.public)})"


def fingerprint(public: str) -> str:
    """What people compare of a key: the first 128 bits of its SHA-256."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:32]


def statement(kind: str, content: Mapping[str, Any]) -> bytes:
    """The bytes that are signed; those of no two kinds are equal."""
    return f"sfumato {kind}\n".encode() + canonical_json(dict(content))


def verifies(public: str, message: bytes, signature: str) -> bool:
    """True where the secret of this key signed the message."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True
