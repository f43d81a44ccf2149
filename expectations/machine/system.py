"""Calls of POSIX systems that others do not have, each in a form that works everywhere.

Releases are read on any system. Where a system knows no owners, modes or links of files, nothing
relies on them: what is remembered about a release is then not believed.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any


def _optional(name: str) -> Any:
    """Import a module that only some systems have; None where it is missing."""
    try:
        return import_module(name)
    except ImportError:
        return None


_fcntl, _pwd, _grp, _resource, _msvcrt = map(
    _optional, ("fcntl", "pwd", "grp", "resource", "msvcrt")
)


def open_flags(*names: str) -> int:
    """Return the flags of `os.open` with these names, as far as the system has them.

    Files are never opened as texts, whose ends of lines Windows would change.
    """
    flags = 0
    for name in ("O_CLOEXEC", "O_BINARY", *names):
        flags |= getattr(os, name, 0)
    return flags


def user() -> int | None:
    """Return the number of the user whose rights this process has; None where there is none."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def groups() -> set[int]:
    """Return the numbers of that user's groups."""
    return {*os.getgroups(), os.getegid()} if hasattr(os, "getgroups") else set()


def user_name(number: int | None) -> str:
    """Return the name of a user of this machine, or the number where it has none."""
    if number is None:
        return os.environ.get("USERNAME", "this user")
    try:
        return str(_pwd.getpwuid(number).pw_name)
    except (KeyError, AttributeError):
        return f"user {number}"


def group_number(name: str) -> int:
    """Return the number of a group of this machine.

    Raises:
        KeyError: where there is none of that name.
    """
    if _grp is None:
        raise KeyError(name)
    return int(_grp.getgrnam(name).gr_gid)


def limit(name: str) -> int | None:
    """Return how much of a resource this process may use (`RLIMIT_…`); None for all there is."""
    if _resource is None:
        return None
    allowed, _ = _resource.getrlimit(getattr(_resource, name))
    return None if allowed == _resource.RLIM_INFINITY else int(allowed)


def is_mounted_read_only(directory: Path) -> bool:
    """Decide whether nobody may write on the disk of a directory."""
    return hasattr(os, "statvfs") and bool(os.statvfs(directory).f_flag & os.ST_RDONLY)


def lacks_names(directory: Path) -> bool:
    """Decide whether the disk of a directory has no room for the name of another file."""
    if not hasattr(os, "statvfs"):
        return False
    status = os.statvfs(directory)
    return bool(status.f_files) and not status.f_favail


def set_mode(descriptor: int, mode: int) -> None:
    """Set the mode of an open file; where there are none, it has the rights of its directory."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def sync_names(directory: Path) -> None:
    """Make the names in a directory durable; elsewhere a rename is durable by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, open_flags("O_DIRECTORY"))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_running(process: int) -> bool:
    """Decide whether there is such a process; True where asking would end it."""
    if _fcntl is None:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def take_lock(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file until it is closed; return whether it is locked.

    Args:
        descriptor: of the file.
        shared: whether others may share the lock; on Windows nobody may.
        wait: whether to wait for who holds it.
    """
    if _fcntl is None:
        return _take_by_windows(descriptor, wait)
    kind = _fcntl.LOCK_SH if shared else _fcntl.LOCK_EX
    try:
        _fcntl.flock(descriptor, kind if wait else kind | _fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take_by_windows(descriptor: int, wait: bool) -> bool:
    """Lock the first byte of a file, which need not be there."""
    while True:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:  # LK_LOCK gives up after ten seconds
            _msvcrt.locking(descriptor, _msvcrt.LK_LOCK if wait else _msvcrt.LK_NBLCK, 1)
        except OSError:
            if not wait:
                return False
            continue
        return True
