"""The secret of a line, which keys its hashes of units; it may be wrapped.

A wrapped key is useless without its passphrase, and the passphrase can be changed. The secret
itself cannot: hashes are one-way, so a new one needs every version's source (`sfumato line rekey`).
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.private.durable import hold_lock, write_atomically
from sfumato.tasks.private.state import STATE
from sfumato.tasks.private.wrapping import passphrase_in, unwrap, wrap
from sfumato.tasks.schema.files import parse_json, read_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hmac import HMAC

PASSPHRASE = "SFUMATO_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable
KEY = "key"
HASH_BYTES = 32
_BYTES = 32  # of a secret
_AT_ONCE = 1 << 18  # values that are hashed at once


def line_key(line: Path, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the line's secret: 32 bytes, drawn once, wrapped if the environment has a passphrase.

    Raises:
        InputError: where it is wrapped, and the environment lacks its passphrase.
        PromiseError: where it is lost, because with another one nobody would be recognised; or
            where the file is no key.
    """
    path = line / KEY
    with hold_lock(line / ".lock"):
        if not path.exists():
            if (line / STATE).exists():
                raise PromiseError(
                    f"{path}: the key is missing, and without it no person can be "
                    "recognised. Restore it from a backup: sfumato line restore SPEC "
                    "FILE"
                )
            write_atomically(path, key_file(new_secret(), passphrase_in(environ, PASSPHRASE)))
        return unwrap_key(path, passphrase_in(environ, PASSPHRASE))


def keyed_hashes(texts: Iterable[bytes], secret: bytes) -> np.ndarray:
    """Return the HMAC-SHA256 of each text under a secret (uint8, texts x 32)."""
    # It takes time to import, and most commands hash nobody.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.hmac import HMAC

    begin = HMAC(secret, SHA256()).copy
    return np.frombuffer(b"".join(_digests(texts, begin)), np.uint8).reshape(-1, HASH_BYTES)


def hashes_of(values: pa.Array, text: Callable[[Any], str], secret: bytes) -> np.ndarray:
    """Return the HMAC-SHA256 of each value as a text (uint8, values x 32); see `texts_of`.

    Values are hashed in batches, because as Python objects they take several times the memory of
    their hashes.
    """
    hashes = np.empty((len(values), HASH_BYTES), dtype=np.uint8)
    for start in range(0, len(values), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        hashes[some] = keyed_hashes(texts_of(values[some], text), secret)
    return hashes


def texts_of(values: pa.Array, text: Callable[[Any], str]) -> list[bytes]:
    """Return each value as a text in UTF-8; `text` writes values that are no integer or string."""
    if pa.types.is_integer(values.type) or pa.types.is_string(values.type):
        return list(values.cast(pa.string()).cast(pa.binary()).to_pylist())
    return [text(value).encode() for value in values.to_pylist()]


def new_secret() -> bytes:
    """Return a secret from the operating system."""
    return os.urandom(_BYTES)


def key_file(secret: bytes, passphrase: str | None) -> bytes:
    """Return the content of the file of a line's secret, wrapped if there is a passphrase."""
    return json.dumps(wrap(secret, passphrase)).encode() if passphrase else secret


def _digests(texts: Iterable[bytes], begin: Callable[[], "HMAC"]) -> Iterator[bytes]:
    for text in texts:
        hashing = begin()
        hashing.update(text)
        yield hashing.finalize()


def rewrap(place: Path, old: str | None, new: str | None, variable: str = PASSPHRASE) -> None:
    """Wrap the secret of a directory with another passphrase, or with none.

    Args:
        place: a line's private directory, or that of people's names.
        old: its passphrase now.
        new: its passphrase from now on.
        variable: the passphrase's environment variable, for messages.

    Raises:
        InputError: where `old` is not its passphrase, or there is no key.
    """
    path = place / KEY
    with hold_lock(place / ".lock"):
        if not path.exists():
            raise InputError(
                f"{path}: this line has no key yet. Release it first: sfumato release SPEC"
            )
        write_atomically(path, key_file(unwrap_key(path, old, variable), new))


def unwrap_key(path: Path, passphrase: str | None, variable: str = PASSPHRASE) -> bytes:
    """Return the secret in a file that `key_file` wrote.

    Raises:
        InputError: where it is wrapped, and that is not its passphrase.
        PromiseError: where the file is no key.
    """
    try:
        content = read_bytes(path)
    except OSError:
        raise PromiseError(
            f"{path}: the key cannot be read. Restore it from a backup: sfumato line "
            "restore SPEC FILE"
        ) from None
    return secret_in(path, content, passphrase, variable)


def secret_in(place: Path, content: bytes, passphrase: str | None, variable: str) -> bytes:
    """Return the secret in content that `key_file` made; `place` is for messages.

    Raises:
        InputError: where it is wrapped, and that is not its passphrase.
        PromiseError: where it is no key.
    """
    if len(content) == _BYTES:
        return content
    try:
        document = parse_json(content)
    except ValueError:
        raise PromiseError(
            f"{place}: cannot be read as a line's key. Restore it from a backup: sfumato "
            "line restore SPEC FILE"
        ) from None
    return unwrap(place, document, passphrase, variable)
