"""Who may open private files: their owner, or a group of the machine's users that is named.

    SFUMATO_GROUP=<name or number>      of a group that the user is in

Without it everything private is its owner's alone. With it, who builds releases, who reviews and
who publishes them may be different users who share one work directory; the public place, the
signing key and the reviewers' file stay the publishing user's.
"""

import grp
import os
import stat

from sfumato.expectations.errors import InputError

GROUP = "SFUMATO_GROUP"
_OTHERS, _GROUPS = 0o007, 0o070


def shared_group() -> int | None:
    """The number of the group that shares private files, None where nobody does.

    Raises:
        InputError: where there is no such group, or the user is not in it.
    """
    named = os.environ.get(GROUP)
    if not named:
        return None
    try:
        number = int(named) if named.isdigit() else grp.getgrnam(named).gr_gid
    except KeyError:
        raise InputError(f"{GROUP}: this machine has no group of that name") from None
    if number not in {*os.getgroups(), os.getegid()}:
        raise InputError(f"{GROUP}: you are not in that group")
    return number


def private_mode(file: int | str | os.PathLike[str]) -> int:
    """The mode that a private file is to have: its group's, too, where that is the one that shares.

    So a file that is written into somebody's own directory is theirs alone.
    """
    return 0o660 if _is_shared(os.stat(file)) else 0o600  # noqa: PTH116 - or of a descriptor


def share_directory(path: str | os.PathLike[str]) -> None:
    """Give a new directory to the group that shares it, and all that is made in it later."""
    group = shared_group()
    if group is not None:
        os.chown(path, -1, group)
        os.chmod(path, 0o2770)  # noqa: PTH101, S103 - the group that was named, and nobody else


def is_ours(found: os.stat_result) -> bool:
    """Decide whether a file or directory is the user's, or shared with the group."""
    return found.st_uid == os.geteuid() or _is_shared(found)


def is_open(found: os.stat_result) -> bool:
    """Decide whether others than the user and the group can open it."""
    mode = stat.S_IMODE(found.st_mode)
    return bool(mode & _OTHERS) or (bool(mode & _GROUPS) and not _is_shared(found))


def may_be_changed(found: os.stat_result) -> bool:
    """Decide whether the group that shares a directory can put something in it."""
    return _is_shared(found) and bool(stat.S_IMODE(found.st_mode) & 0o020)


def _is_shared(found: os.stat_result) -> bool:
    return found.st_gid == shared_group()
