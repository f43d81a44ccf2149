"""The one way in which files are opened: regular ones; and JSON documents, canonical or nested.

Depth costs its writer a byte and its reader a call: what recursion would end on is refused first.

A device never ends, and a pipe waits for somebody to write. Whoever can write beside a release can
put one there, so a path is looked at before it is opened, and again once it is: it may be another
file by then. Whoever reads a document also states how large it may be.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from typing import Any

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.machine.system import open_flags

DEEPEST = 50
TOO_DEEP = f"nested deeper than {DEEPEST} levels"
DOCUMENT = 1 << 24
"""Bytes of a document: a record, keys, words, a state. One of 10,000 versions has a third of it."""
MANIFEST_BYTES = 1 << 26
"""Bytes of a manifest, which lists every file of every part."""
_CONTAINERS = (dict, list)  # what parsers of JSON and YAML make
_FLAGS = open_flags("O_RDONLY", "O_NONBLOCK", "O_NOCTTY")


class NestingError(ValueError):
    """A document is nested too deep."""

    def __init__(self) -> None:
        super().__init__(TOO_DEEP)


def parse_json(content: str | bytes) -> Any:
    """Parse JSON from outside.

    Raises:
        NestingError: where it is nested deeper than `DEEPEST`.
        ValueError: where it is no JSON.
    """
    try:
        document = json.loads(content)
    except RecursionError:
        raise NestingError from None
    require_shallow(document)
    return document


def require_shallow(document: Any) -> None:
    """Make sure that lists and mappings are not nested too deep.

    Raises:
        NestingError: where they do.
    """
    level = [document]
    for _ in range(DEEPEST):
        level = [part for whole in level for part in _containers_in(whole)]
        if not level:
            return
    raise NestingError


def _containers_in(whole: Any) -> Iterable[Any]:
    """Return the lists and dictionaries in a list or dictionary."""
    if not isinstance(whole, _CONTAINERS):
        return ()
    parts = whole.values() if isinstance(whole, dict) else whole
    return [part for part in parts if isinstance(part, _CONTAINERS)]


class UnfitFileError(OSError):
    """A file is not of the kind or size that is read."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(errno.EINVAL, reason, os.fspath(path))


def open_file(path: Path, most: int | None = None, *, links: bool = True) -> BufferedReader:
    """Open a regular file for reading, without waiting for anybody.

    Args:
        path: of the file.
        most: bytes that it may have; None for any number.
        links: whether a link is followed.

    Raises:
        FileNotFoundError: where nothing is there.
        OSError: where it is no regular file, is larger, or cannot be opened.
    """
    _require_regular(path, _status(path))
    if not links and path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    descriptor = os.open(path, _FLAGS if links else _FLAGS | open_flags("O_NOFOLLOW"))
    try:
        status = os.fstat(descriptor)
        _require_regular(path, status)
        _require_size(path, status.st_size, most)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Return the content of a file; arguments and errors are those of `open_file`."""
    with open_file(path, most) as file:
        content = file.read() if most is None else file.read(most + 1)
    _require_size(path, len(content), most)
    return content


def read_text(path: Path, most: int | None = None, encoding: str = "utf-8") -> str:
    """Return the content of a text file, every end of a line as one character.

    Raises:
        UnicodeDecodeError: where it is not in that encoding.
        OSError: as `open_file`.
    """
    text = read_bytes(path, most).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path, most: int | None = DOCUMENT) -> Any:
    """Return the JSON in a file.

    Raises:
        ValueError: where it is no JSON, or is nested too deep.
        OSError: as `open_file`.
    """
    return parse_json(read_bytes(path, most))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits; errors are those of `open_file`."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def regular(path: Path) -> Path:
    """Return the path of a regular file, for libraries that open it by themselves.

    Raises:
        OSError: as `open_file`.
    """
    _require_regular(path, _status(path))
    return path


def is_there(path: Path) -> bool:
    """Return True also for a link to nothing, and for what is no file: it has to be read."""
    return os.path.lexists(path)


def unreadable(path: Path) -> str | None:
    """Return why a path cannot be read as a file; None where it can be."""
    try:
        regular(path)
    except IsADirectoryError:
        return "cannot be read (Is a directory)"
    except UnfitFileError as error:
        return str(error.strerror)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            return with_remedies("cannot be read", error)
        return "cannot be read (no path)"
    return None


def _status(path: Path) -> os.stat_result:
    """Return the status of a path, following links; a link to nothing is an unfit file."""
    try:
        return path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise UnfitFileError("is a link to a file that does not exist", path) from None
        raise


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise UnfitFileError("is not a regular file", path)


def _require_size(path: Path, size: int, most: int | None) -> None:
    if most is not None and size > most:
        raise UnfitFileError(f"is larger than {most:,} bytes", path)


def canonical_json(document: Any) -> bytes:
    """Write a document as canonical JSON (RFC 8785)."""
    import rfc8785  # files are opened without it

    return rfc8785.dumps(document)


def read_canonical(path: Path) -> Any:
    """Read a document, and make sure that its bytes are the canonical ones.

    Raises:
        ValueError: where they are not, or it is nested too deep.
    """
    content = read_bytes(path, MANIFEST_BYTES)
    document = parse_json(content)
    if canonical_json(document) != content:
        raise ValueError("not canonical JSON")
    return document
