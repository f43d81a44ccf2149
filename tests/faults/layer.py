"""A recording layer under the file system calls that make a file durable, and one that is full."""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Recorded:
    """What was synced and renamed, in order: `("sync", path, content)`, `("rename", old, new)`.

    The content is what the file had when it was synced, None for a directory.
    """

    events: list[tuple[Any, ...]] = field(default_factory=list)

    def install(self, patch: Any) -> "Recorded":
        """Record from now on, until the patch is undone."""
        fsync, replace, rename = os.fsync, os.replace, os.rename

        def synced(descriptor: int) -> None:
            fsync(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            self.events.append(("sync", path, None if path.is_dir() else path.read_bytes()))

        def renamed(call: Any) -> Any:
            def noted(old: Any, new: Any, **where: Any) -> None:
                call(old, new, **where)
                self.events.append(("rename", Path(old), Path(new)))

            return noted

        patch.setattr(os, "fsync", synced)
        patch.setattr(os, "replace", renamed(replace))
        patch.setattr(os, "rename", renamed(rename))
        return self

    def place(self, kind: str, path: Path, after: int = -1) -> int:
        """Where the first such event stands after a place: a sync of `path`, a rename to it."""
        where = {"sync": 1, "rename": 2}[kind]
        for number, event in enumerate(self.events):
            if number > after and event[0] == kind and event[where] == path:
                return number
        raise AssertionError(f"no {kind} of {path} after {after}")


def fill(patch: Any, *, after: int) -> None:
    """Let the disk be full from the `after`-th file on that is synced or opened by number."""
    fsync, left = os.fsync, [after]

    def full(descriptor: int) -> None:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        fsync(descriptor)

    patch.setattr(os, "fsync", full)
