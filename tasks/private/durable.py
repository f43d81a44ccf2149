"""Files that are whole or absent: written beside their place, synced, renamed."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.expectations.errors import Fault
from sfumato.tasks.private.sharing import private_mode
from sfumato.tasks.schema.files import open_file

_PIECE = 1 << 20  # bytes that are copied at once


def write_atomically(
    path: Path,
    content: bytes | memoryview,
    mode: int | None = None,
    staged_in: Path | None = None,
) -> None:
    """Replace a file so that readers see the old bytes or the new, also after a power cut.

    Args:
        path: the file.
        content: of it.
        mode: of it; that of private files, unless it is given.
        staged_in: where it is written first; its own directory, unless nothing else may be there.
    """
    with _replacement(path, staged_in or path.parent, mode) as file:
        file.write(content)


def copy_atomically(source: Path, path: Path, mode: int | None = None) -> None:
    """The same with the bytes of another file, however large it is; a link is not followed."""
    with open_file(source, links=False) as content, _replacement(path, path.parent, mode) as file:
        shutil.copyfileobj(content, file, _PIECE)


@contextmanager
def _replacement(path: Path, staged_in: Path, mode: int | None) -> Iterator[BinaryIO]:
    """A file to be written, which is synced and takes the place of another at the end.

    It is always a new one: who shares the directory may have put a link in its place.
    """
    temporary = staged_in / f".{path.name}.{os.getpid()}.tmp"
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fchmod(file.fileno(), private_mode(file.fileno()) if mode is None else mode)
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def was_left(temporary: Path) -> bool:
    """True for a file that a process was writing atomically, and did not live to rename."""
    try:
        os.kill(int(temporary.name.split(".")[-2]), 0)
    except (ProcessLookupError, ValueError, IndexError):
        return True
    except PermissionError:
        return False
    return False


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(directory: Path) -> None:
    """Make every file and every name below a directory durable."""
    for folder, _, names in os.walk(directory):
        for name in names:
            with open_file(Path(folder) / name) as file:
                os.fsync(file.fileno())
        sync_directory(Path(folder))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that a file stands for; the system lets go of it when the process ends."""
    with _open_lock(path) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock if nobody else does, and say whether that is so."""
    with _open_lock(path) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if os.fstat(descriptor).st_uid == os.geteuid():
            os.fchmod(descriptor, private_mode(descriptor))
    except OSError as error:
        raise Fault(f"{path}: cannot be locked ({error.strerror})") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)
