"""Files that are given to be read: regular ones, which end and do not wait for anybody."""

import stat
from pathlib import Path


def unreadable(path: Path) -> str | None:
    """Why a path cannot be read as a file, None where it may be.

    A device never ends, and a pipe waits for somebody to write: neither is opened.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or 'no path'})"
    if stat.S_ISDIR(mode):
        return "cannot be read (Is a directory)"
    return None if stat.S_ISREG(mode) else "is not a regular file"
