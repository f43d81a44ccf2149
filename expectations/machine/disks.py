"""Faults of disks in words: full, too small, read-only, or closed to this user."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.expectations.machine.fault import MachineFault
from sfumato.expectations.machine.system import (
    is_mounted_read_only,
    lacks_names,
    limit,
    user,
    user_name,
)
from sfumato.expectations.shared.errors import SpecError, TransientFault

_AGAIN = "then type the same command again: what was not finished was not published"
_STEP, _UNITS = 1000, ("bytes", "kB", "MB", "GB", "TB")
_CROWDED = 1 << 30  # bytes: a disk with more is not taken for the full one without its name
_written: list[Path] = []  # directories in which this process writes, the latest last


@contextmanager
def writing_below(directory: Path) -> Iterator[None]:
    """Note a directory in which this process writes: errors of libraries name no file."""
    _written.append(directory)
    try:
        yield
    finally:
        _written.remove(directory)


def in_units(number: float) -> str:
    """Return a number of bytes in words.

    >>> in_units(4096), in_units(3_200_000_000), in_units(0)
    ('4.1 kB', '3.2 GB', '0 bytes')
    """
    unit = _UNITS[0]
    for unit in _UNITS:
        if number < _STEP or unit == _UNITS[-1]:
            break
        number /= _STEP
    return f"{number:.0f} {unit}" if unit == _UNITS[0] else f"{number:.1f} {unit}"


def full_disk(error: BaseException) -> MachineFault:
    """Return the words for a disk without space, or without room for names of files."""
    place = _directory(error)
    disk, missing = _disk_of(place), "file more (no inode)" if lacks_names(place) else "space"
    reason = f"no {missing} is left on the disk of {place}: {_free(place)} are free on {disk}"
    return MachineFault(reason, (f"make room on {disk}, {_AGAIN}",))


def used_quota(error: BaseException) -> MachineFault:
    """Return the words for a user who may write no more bytes on a disk."""
    place = _directory(error)
    reason = (
        f"the quota of {_user()} on the disk of {place} is used up: "
        f"{_free(place)} are free on {_disk_of(place)}, but not for this user"
    )
    remedy = f"delete files of {_user()} there, or have the quota raised (quota shows it), {_AGAIN}"
    return MachineFault(reason, (remedy,))


def limited_file(error: BaseException) -> MachineFault:
    """Return the words for a file that is larger than a process, or a disk, allows."""
    most, place = limit("RLIMIT_FSIZE"), _directory(error)
    if most is None:
        reason = f"a file is larger than the disk of {place} allows"
        return MachineFault(reason, (f"use a directory on another disk, {_AGAIN}",))
    reason = f"a file in {place} is larger than this process may write ({in_units(most)})"
    return MachineFault(
        reason,
        (f"ulimit -f unlimited (of a service: LimitFSIZE=infinity), {_AGAIN}",),
    )


def unwritable(place: Path) -> OSError | None:
    """Return the error with which writing in a directory would fail, also one yet to be made."""
    directory = _existing(place)
    if _may(directory, os.W_OK | os.X_OK):
        return None
    number = errno.EROFS if is_mounted_read_only(directory) else errno.EACCES
    return OSError(number, os.strerror(number), os.fspath(directory))


def read_only_disk(error: BaseException) -> MachineFault:
    """Return the words for a disk on which nobody may write."""
    place = _directory(error)
    return MachineFault(
        f"the disk of {place} is mounted read-only",
        ("use a directory on another disk, or have this one mounted for writing",),
    )


def closed_place(error: BaseException) -> MachineFault:
    """Return the words for a file or directory that this user may not read or write.

    A file is named only if it cannot be read: the files of the work directory are nobody's matter.
    """
    path, runs_as = _path(error), _user()
    if path is None:
        return MachineFault(f"permission denied: the command runs as {runs_as}")
    if (barrier := _barrier(path)) is None:
        place = _directory(error)
        look = f"see what forbids it: lsattr -d {place} && getfacl {place}"
        reason = f"permission denied in {place}: the command runs as {runs_as}"
        return MachineFault(reason, (look,))
    place, bits = barrier
    status = place.stat()
    owner, mode = user_name(status.st_uid), f"{status.st_mode & 0o7777:04o}"
    belongs = f"{place} belongs to {owner} (mode {mode})"
    return MachineFault(
        f"permission denied: {belongs}, the command runs as {runs_as}",
        (
            f"run the command as {owner}",
            f"have {owner} type: setfacl --modify u:{runs_as}:{bits} {place}",
        ),
    )


def open_files(_error: BaseException) -> MachineFault:
    """Return the words for too many files that are open at once."""
    most = limit("RLIMIT_NOFILE")
    allowed = "" if most is None else f": this process may open {most:,}"
    return MachineFault(
        f"too many files are open{allowed}",
        ("ulimit -n 65536 (of a service: LimitNOFILE=65536), then type the same command again",),
    )


def broken_disk(error: BaseException) -> MachineFault:
    """Return the words for a disk, or a connection to one, that fails."""
    return MachineFault(
        f"the disk of {_directory(error)} failed: it could not be read or written",
        ("type the same command again; if it fails again, have the disk examined (dmesg)",),
        TransientFault,
    )


def long_path(_error: BaseException) -> MachineFault:
    """Return the words for a path that the user gave; our own are short enough."""
    reason = "a path is longer than this system allows: shorten the paths that you gave"
    return MachineFault(reason, kind=SpecError)


def _path(error: BaseException) -> Path | None:
    """Return the path that an error of the file system names: of a copy, its target."""
    if not isinstance(error, OSError):
        return None
    name = error.filename2 or error.filename
    return Path(os.fsdecode(name)).absolute() if isinstance(name, str | bytes) else None


def _directory(error: BaseException) -> Path:
    """Return the directory that an error is about, or of those written in the fullest one."""
    path = _path(error)
    if path is not None:
        return _existing(path)
    places = [_existing(place) for place in (*_written, *_usual())]
    return min(places, key=lambda place: shutil.disk_usage(place).free)


def _usual() -> Iterator[Path]:
    if work := os.environ.get("SFUMATO_WORK"):
        yield Path(work).absolute()
    with suppress(OSError):
        yield Path.cwd()
    with suppress(OSError):
        yield Path(tempfile.gettempdir())


def _existing(place: Path) -> Path:
    """Return a directory, or the nearest one above it that is there and can be seen."""
    for directory in (place, *place.parents):
        if os.path.isdir(directory):  # noqa: PTH112 - raises nothing where it may not look
            return directory
    return Path("/")


def _barrier(path: Path) -> tuple[Path, str] | None:
    """Return the first place on the way to a path that keeps this user out, and what is missing."""
    for directory in reversed(path.parents):
        if _existing(directory) == directory and not _may(directory, os.X_OK):
            return directory, "rx"
    if os.path.isfile(path) and not _may(path, os.R_OK):  # noqa: PTH113 - as above
        return path, "r"
    directory = _existing(path)
    return None if _may(directory, os.W_OK) else (directory, "rwx")


def _may(place: Path, bits: int) -> bool:
    return os.access(place, bits, effective_ids=os.access in os.supports_effective_ids)


def _disk_of(place: Path) -> Path:
    """Return the directory at which the disk of a place is mounted."""
    return next((above for above in (place, *place.parents) if os.path.ismount(above)), Path("/"))


def _free(place: Path) -> str:
    return in_units(shutil.disk_usage(place).free)


def _user() -> str:
    return user_name(user())
