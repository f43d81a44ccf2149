"""The secret of a line, from which its hashes of units are made; it may be wrapped.

A wrapped key is useless without its passphrase, and the passphrase can be changed. The secret
itself cannot: hashes are one-way, so a new one needs every version's source (`sfumato line rekey`).
"""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.expectations.errors import Fault, InputError, PromiseError
from sfumato.tasks.private.durable import locked, write_atomically
from sfumato.tasks.private.state import STATE
from sfumato.tasks.schema.formats import require_readable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PASSPHRASE = "SFUMATO_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable
KEY = "key"
_BYTES = 32
_FORMAT = 1
_COST = 2**15


def line_key(line: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """The line's secret: 32 bytes, drawn once, wrapped where the environment has a passphrase.

    Raises:
        InputError: where it is wrapped, and the environment lacks its passphrase.
        PromiseError: where it is lost: with another one, nobody would be recognised.
        Fault: where the file is no key.
    """
    path = line / KEY
    with locked(line / ".lock"):
        if not path.exists():
            if (line / STATE).exists():
                raise PromiseError(
                    f"{path}: is gone, and without it nobody is recognised: put it back "
                    "(sfumato line restore)"
                )
            write_atomically(path, key_file(new_secret(), environ.get(PASSPHRASE)))
        return _unwrapped(path, environ.get(PASSPHRASE))


def new_secret() -> bytes:
    """A secret from the operating system."""
    return os.urandom(_BYTES)


def key_file(secret: bytes, passphrase: str | None) -> bytes:
    """The content of the file of a line's secret, wrapped where there is a passphrase."""
    return _wrapped(secret, passphrase) if passphrase else secret


def rewrap(line: Path, old: str | None, new: str | None) -> None:
    """Wrap the line's secret with another passphrase, or with none.

    Raises:
        InputError: where `old` is not its passphrase, or there is no key.
    """
    path = line / KEY
    with locked(line / ".lock"):
        if not path.exists():
            raise InputError(f"{path}: the line has no key yet")
        write_atomically(path, key_file(_unwrapped(path, old), new))


def _wrapped(secret: bytes, passphrase: str) -> bytes:
    """A secret under a passphrase: AES-256-GCM, its key derived by scrypt."""
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = _cipher(passphrase, salt, _COST).encrypt(nonce, secret, None)
    document = {
        "format": _FORMAT,
        "kdf": "scrypt",
        "cost": _COST,
        "salt": b64encode(salt).decode(),
        "nonce": b64encode(nonce).decode(),
        "wrapped": b64encode(sealed).decode(),
    }
    return json.dumps(document).encode()


def _unwrapped(path: Path, passphrase: str | None) -> bytes:
    content = path.read_bytes()
    if len(content) == _BYTES:
        return content
    if not passphrase:
        raise InputError(f"{path}: is wrapped: set {PASSPHRASE} to its passphrase")
    return _opened(path, content, passphrase)


def _opened(path: Path, content: bytes, passphrase: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        document = json.loads(content)
        require_readable(path, document, _FORMAT)
        salt, nonce, sealed = (b64decode(document[name]) for name in ("salt", "nonce", "wrapped"))
        return bytes(_cipher(passphrase, salt, document["cost"]).decrypt(nonce, sealed, None))
    except InvalidTag:
        raise InputError(f"{path}: {PASSPHRASE} is not its passphrase") from None
    except (ValueError, KeyError, TypeError):
        raise Fault(f"{path}: cannot be read as a line's key") from None


def _cipher(passphrase: str, salt: bytes, cost: int) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return AESGCM(Scrypt(salt=salt, length=32, n=cost, r=8, p=1).derive(passphrase.encode()))
