"""Microdata at rest in stages: as they are, or encrypted with a key that no disk has.

A run draws a key and keeps it in memory. Whatever is left of its stages when it is killed cannot be
read by anybody, not by a later run either.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.schema.files import read_bytes

_PIECE = 1 << 26  # bytes that are encrypted at once
_NONCE = 12
_keys: dict[Path, bytes] = {}


@contextmanager
def encrypted_below(run: Path) -> Iterator[None]:
    """Encrypt what is written below a directory, for as long as this lasts."""
    _keys[run] = os.urandom(32)
    try:
        yield
    finally:
        del _keys[run]


def is_encrypted(path: Path) -> bool:
    """Return True if content written at a path is to be encrypted."""
    return _key_of(path) is not None


def write_stage_table(table: pa.Table, path: Path, compression: str = "snappy") -> None:
    """Write a table of a stage, encrypted where its run is."""
    key, how = _key_of(path), {"compression": compression, **_encodings(table)}
    if key is None:
        pq.write_table(table, path, **how)
        return
    content = pa.BufferOutputStream()
    pq.write_table(table, content, **how)
    with path.open("wb") as file:
        for piece in _encrypt(key, memoryview(content.getvalue()), path.name):
            file.write(piece)


def read_stage_table(path: Path) -> pa.Table:
    """Read a table of a stage.

    Raises:
        Fault: where it was encrypted by another run, or is damaged.
    """
    key = _key_of(path)
    if key is None:
        return pq.read_table(path)
    return pq.read_table(pa.BufferReader(_decrypt(key, path)))


def _encodings(table: pa.Table) -> dict[str, Any]:
    """Return the encodings of columns: integers byte by byte, which is faster than dictionaries."""
    integers = {f.name for f in table.schema if f.type in (pa.int32(), pa.int64())}
    return {
        "use_dictionary": [name for name in table.column_names if name not in integers],
        "column_encoding": dict.fromkeys(integers, "BYTE_STREAM_SPLIT"),
    }


def _key_of(path: Path) -> bytes | None:
    return next((_keys[folder] for folder in path.parents if folder in _keys), None)


def _encrypt(key: bytes, content: memoryview, name: str) -> Iterator[bytes]:
    """Yield each piece behind its own nonce, bound to its place in the file."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(key)
    for number, start in enumerate(range(0, len(content), _PIECE)):
        nonce, end = os.urandom(_NONCE), start + _PIECE
        place = f"{name} {number} {end >= len(content)}".encode()
        yield nonce + cipher.encrypt(nonce, bytes(content[start:end]), place)


def _decrypt(key: bytes, path: Path) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher, content = AESGCM(key), read_bytes(path)
    size, pieces = _NONCE + _PIECE + 16, []
    try:
        for number, start in enumerate(range(0, len(content), size)):
            piece, end = content[start : start + size], start + size
            place = f"{path.name} {number} {end >= len(content)}".encode()
            pieces.append(cipher.decrypt(piece[:_NONCE], piece[_NONCE:], place))
    except InvalidTag:
        raise Fault(f"{path.name}: is not as this run encrypted it") from None
    return b"".join(pieces)
