"""Secrets under a passphrase: AES-256-GCM, its key derived by scrypt."""

import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.schema.formats import require_readable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_FORMAT = 1
_COST = 2**15  # of scrypt, for new files
_DEAREST = 2**20  # largest cost of a file, which others may have written: a gigabyte of memory


_handed: dict[str, str] = {}  # passphrases by their variables, see `hand_over`


@contextmanager
def hand_over(passphrases: Mapping[str, str]) -> Iterator[None]:
    """Hand passphrases over to this process, by their variables, outside the environment."""
    before = dict(_handed)
    _handed.update(passphrases)
    try:
        yield
    finally:
        _handed.clear()
        _handed.update(before)


def passphrase_in(environ: Mapping[str, str], variable: str) -> str | None:
    """Return the passphrase in a variable, or the one handed over in its place."""
    return environ.get(variable) or _handed.get(variable)


def with_secrets(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with handed-over passphrases, for code that reads it itself."""
    return {**environ, **_handed}


def wrap(secret: bytes, passphrase: str) -> dict[str, Any]:
    """Return a secret as parts of a JSON document, useless without the passphrase."""
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = _cipher(passphrase, salt, _COST).encrypt(nonce, secret, None)
    return {
        "format": _FORMAT,
        "kdf": "scrypt",
        "cost": _COST,
        "salt": b64encode(salt).decode(),
        "nonce": b64encode(nonce).decode(),
        "wrapped": b64encode(sealed).decode(),
    }


def unwrap(place: Path, document: Any, passphrase: str | None, variable: str) -> bytes:
    """Return the secret in a document that contains it wrapped.

    Args:
        place: the file, for messages.
        document: its content.
        passphrase: the passphrase; None if none is known.
        variable: the passphrase's environment variable, for messages.

    Raises:
        InputError: where the passphrase is missing or wrong.
        PromiseError: where nothing is wrapped in the document.
    """
    from cryptography.exceptions import InvalidTag

    if not passphrase:
        raise InputError(
            f"{place}: is encrypted. Set {variable} to its passphrase, or "
            f"{variable}_BLOCK to the name of a Prefect Secret block"
        )
    try:
        require_readable(place, document, _FORMAT)
        salt, nonce, sealed = (b64decode(document[part]) for part in ("salt", "nonce", "wrapped"))
        if not 2 <= document["cost"] <= _DEAREST:
            raise ValueError("the cost is out of range")
        return bytes(_cipher(passphrase, salt, document["cost"]).decrypt(nonce, sealed, None))
    except InvalidTag:
        raise InputError(f"{place}: the passphrase in {variable} is wrong") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PromiseError(
            f"{place}: cannot be read as an encrypted key. Restore it from a backup"
        ) from None


def _cipher(passphrase: str, salt: bytes, cost: int) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return AESGCM(Scrypt(salt=salt, length=32, n=cost, r=8, p=1).derive(passphrase.encode()))
