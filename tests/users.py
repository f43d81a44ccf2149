"""Other users of the machine: a process of root's becomes one of them and stays able to read."""

import ctypes
import os

_KEEP_CAPABILITIES, _DUMPABLE = 8, 4  # of prctl
_OVER_FILES = 0b1111  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER
_VERSION, _READ = 0x20080522, 1 << 2  # of capset, and its CAP_DAC_READ_SEARCH


def become(user: int, *groups: int) -> None:
    """Be a user of some groups for good, who may read everything and write what is theirs.

    Raises:
        OSError: where the system refuses that, as it does to all but root.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _require(libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0))
    os.setgroups(groups)
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)(_READ, _READ)
    _require(libc.capset(header, sets))
    _require(libc.prctl(_DUMPABLE, 1, 0, 0, 0))  # else what it is told of itself is root's


def renounce() -> None:
    """Give up root's powers over the files of others for good; any other user has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    _require(libc.capget(header, sets))
    for place in range(len(sets)):
        sets[place] &= 0xFFFFFFFF ^ (_OVER_FILES if place < 3 else 0)
    _require(libc.capset(header, sets))


def _require(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
