"""Files that are whole or absent, and the users who may open them.

    SFUMATO_GROUP=<name or number>      of a group that the user is in

Without it everything private belongs to one user. With it, the users who build, review and publish
releases may be different ones who share one work directory; the public place, the signing key and
the reviewers' file stay the publishing user's.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sfumato.expectations.machine import system
from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.schema.files import open_file

GROUP = "SFUMATO_GROUP"
_PIECE = 1 << 20  # bytes that are copied at once


_OTHERS, _GROUPS = 0o007, 0o070  # bits of a mode: of all others, and of the group


def shared_group() -> int | None:
    """Return the number of the group that shares private files, or None if none does.

    Raises:
        InputError: where there is no such group, or the user is not in it.
    """
    named = os.environ.get(GROUP)
    if not named:
        return None
    try:
        number = int(named) if named.isdigit() else system.group_number(named)
    except KeyError:
        raise InputError(
            f"{GROUP}: this machine has no group with that name. Set the variable to a "
            "group from: groups"
        ) from None
    if number not in system.groups():
        raise InputError(
            f"{GROUP}: you are not a member of that group. Set the variable to one of your "
            "groups (to see them: groups)"
        )
    return number


def private_mode(file: int | str | os.PathLike[str]) -> int:
    """Return the mode of a private file: with access for its group if that is the sharing one.

    A file that is written into a user's own directory is readable for that user only.
    """
    return 0o660 if _is_shared(os.stat(file)) else 0o600  # noqa: PTH116 - or of a descriptor


def share_directory(path: str | os.PathLike[str]) -> None:
    """Give a new directory, and all that is made in it later, to the group that shares it."""
    group = shared_group()
    if group is not None:
        os.chown(path, -1, group)
        os.chmod(path, 0o2770)  # noqa: PTH101, S103 - the group that was named, and nobody else


def is_ours(status: os.stat_result) -> bool:
    """Decide whether a file or directory is the user's, or shared with the group.

    True where files have no owners: a user's directories are then closed by their place.
    """
    return system.user() in (None, status.st_uid) or _is_shared(status)


def is_open(status: os.stat_result) -> bool:
    """Decide whether others than the user and the group can open it, as far as modes say so."""
    mode = 0 if system.user() is None else stat.S_IMODE(status.st_mode)
    return bool(mode & _OTHERS) or (bool(mode & _GROUPS) and not _is_shared(status))


def may_be_changed(status: os.stat_result) -> bool:
    """Decide whether the group that shares a directory can put something in it."""
    return _is_shared(status) and bool(stat.S_IMODE(status.st_mode) & 0o020)


def _is_shared(status: os.stat_result) -> bool:
    return status.st_gid == shared_group()


def write_atomically(
    path: Path,
    content: bytes | memoryview,
    mode: int | None = None,
    staged_in: Path | None = None,
) -> None:
    """Replace a file so that readers see the old bytes or the new, also after a power cut.

    Args:
        path: the file.
        content: its new content.
        mode: its mode; that of private files, unless it is given.
        staged_in: where it is written first; its own directory, unless nothing else may be there.
    """
    with _replacement(path, staged_in or path.parent, mode) as file:
        file.write(content)


def write_pieces_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Replace a private file by pieces that follow one another, as `write_atomically` does."""
    with _replacement(path, path.parent, None) as file:
        for piece in pieces:
            file.write(piece)


def copy_atomically(source: Path, path: Path, mode: int | None = None) -> None:
    """Replace a file by a copy of another file, as `write_atomically` does.

    Args:
        source: the file to copy, of any size; a link is refused.
        path: the file that is replaced.
        mode: its mode; that of private files, unless it is given.
    """
    with open_file(source, links=False) as content, _replacement(path, path.parent, mode) as file:
        shutil.copyfileobj(content, file, _PIECE)


@contextmanager
def _replacement(path: Path, staged_in: Path, mode: int | None) -> Iterator[BinaryIO]:
    """Yield a file to be written, which is synced and replaces another at the end.

    The file is always a new one, because another user of a shared directory may have put a link in
    its place.
    """
    temporary = staged_in / f".{path.name}.{os.getpid()}.tmp"
    temporary.unlink(missing_ok=True)
    with name_in_errors(path), _removed_unless_renamed(temporary):
        flags = system.open_flags("O_WRONLY", "O_CREAT", "O_EXCL")
        descriptor = os.open(temporary, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            private = private_mode(file.fileno()) if mode is None else mode
            system.set_mode(file.fileno(), private)
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)


@contextmanager
def _removed_unless_renamed(temporary: Path) -> Iterator[None]:
    """Leave no temporary file behind a write that fails: a full disk needs the room."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Add a path to errors of the file system that name none, such as those of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def was_left(temporary: Path) -> bool:
    """Decide whether a temporary file was left by a process that ended before it renamed it."""
    try:
        return not system.is_running(int(temporary.name.split(".")[-2]))
    except (ValueError, IndexError):
        return True


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    with name_in_errors(directory):
        system.sync_names(directory)


def sync_tree(directory: Path) -> None:
    """Make every file and every name below a directory durable."""
    for folder, _, names in os.walk(directory):
        for name in names:
            with open_file(Path(folder) / name) as file, name_in_errors(Path(folder) / name):
                os.fsync(file.fileno())
        sync_directory(Path(folder))


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock that a file represents; the system releases it when the process ends.

    The holder may delete the file: processes that waited for it then lock the file in its place.
    """
    while True:
        with _open_lock(path) as descriptor:
            system.take_lock(descriptor, wait=True)
            if _is_open_at(path, descriptor):
                yield
                return


def _is_open_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def share_lock(path: Path) -> Iterator[bool]:
    """Yield whether nobody holds a lock, and keep others from taking it meanwhile; write nothing.

    A lock file that is missing counts as free.
    """
    try:
        descriptor = os.open(path, system.open_flags("O_NOFOLLOW", "O_NONBLOCK"))
    except FileNotFoundError:
        yield True
        return
    except OSError:
        yield not _is_locked_by_another(path)
        return
    try:
        yield system.take_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _is_locked_by_another(path: Path) -> bool:
    """Look for a lock among all of the system; if they cannot be read, it counts as held."""
    try:
        locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        inode = str(path.stat().st_ino)
    except OSError:
        return True
    return any(inode in lock.replace(":", " ").split() for lock in locks)


@contextmanager
def hold_lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock if it is free, and yield whether it was."""
    with _open_lock(path) as descriptor:
        yield system.take_lock(descriptor)


@contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, system.open_flags("O_RDWR", "O_CREAT", "O_NOFOLLOW"), 0o600)
        if os.fstat(descriptor).st_uid == system.user():
            system.set_mode(descriptor, private_mode(descriptor))
    except OSError as error:
        raise Fault(with_remedies(f"{path}: cannot be locked", error)) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)
