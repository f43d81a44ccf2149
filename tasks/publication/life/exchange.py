"""Two directories change places in one step, where the file system can do that."""

import ctypes
import errno
import os
from pathlib import Path

from sfumato.tasks.private.durable import sync_directory

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}


def exchange(new: Path, place: Path, aside: Path) -> None:
    """Put `new` in its place; what was there is afterwards at `new`, or at `aside`.

    Where no single step can do it there are two renames: a process that is killed between them
    leaves nothing in the place, and `new` where it was.

    Args:
        new: what is to stand there.
        place: where something else stands.
        aside: a free name beside it.
    """
    if not _exchanged(new, place):
        rename(place, aside)
        sync_directory(place.parent)
        rename(new, place)
    sync_directory(place.parent)


def rename(old: Path, new: Path) -> None:
    """Give a directory another name."""
    os.rename(old, new)  # noqa: PTH104 - said as what it is


def _exchanged(one: Path, other: Path) -> bool:
    """True where both changed places at once (Linux, `renameat2`)."""
    try:
        step = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    if step(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code))
