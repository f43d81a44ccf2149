"""A system without POSIX calls, as far as this one can act it: put first on a reader's path.

What Windows lacks is taken away before anything of ours is imported, but for what NumPy's build for
Linux needs; what it has instead is there.
"""

import builtins
import errno
import fcntl
import io
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

LACKING = ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "readline")
CALLS = """
    chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getpgid getppid getuid
    initgroups lchown mkfifo mknod nice openpty pread pwrite register_at_fork sched_getaffinity
    setegid seteuid setgid setpgid setsid setuid statvfs sync wait3 wait4 waitid O_CLOEXEC
    O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC O_TMPFILE ST_RDONLY
"""


def _msvcrt() -> ModuleType:
    """The locks of Windows: of a region of bytes, exclusive, and without words for who holds it."""
    module = ModuleType("msvcrt")
    lock, exclusive, at_once = fcntl.flock, fcntl.LOCK_EX, fcntl.LOCK_NB

    def locking(descriptor, mode, size):
        assert size == 1
        lock(descriptor, exclusive if mode == 1 else exclusive | at_once)

    vars(module).update(locking=locking, LK_LOCK=1, LK_NBLCK=2)
    return module


def become_another() -> None:
    """Take away what other systems lack, and act as they do."""
    sys.modules["msvcrt"] = _msvcrt()
    for name in LACKING:
        sys.modules[name] = None
    os.open, os.kill = _opening_no_directory(os.open), _ending(os.kill)
    builtins.open = io.open = _opening_texts(io.open)
    shutil.disk_usage = _disk_usage(os.statvfs)
    os.supports_effective_ids.clear()
    for name in CALLS.split():
        if hasattr(os, name):
            delattr(os, name)


def _opening_no_directory(real):
    def open_file(path, *arguments, **options):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, *arguments, **options)

    return open_file


def _disk_usage(statvfs):
    """The standard library asks every system; here it asks by a call that is taken away."""

    def disk_usage(path):
        status = statvfs(path)
        total, free = (status.f_frsize * blocks for blocks in (status.f_blocks, status.f_bavail))
        return shutil._ntuple_diskusage(total, total - free, free)

    return disk_usage


def _ending(real):
    def kill(process, signal):
        assert signal != 0, "on Windows this ends the process"
        real(process, signal)

    return kill


def _opening_texts(real):
    """Ends of lines become those of Windows, and texts are in its code page."""

    def open_text(
        file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *others, **options
    ):
        if "b" not in mode:
            encoding = encoding or "cp1252"
            newline = "\r\n" if newline is None and set(mode) & set("wax+") else newline
        return real(file, mode, buffering, encoding, errors, newline, *others, **options)

    return open_text


become_another()
