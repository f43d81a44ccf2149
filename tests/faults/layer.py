"""A recording layer under the file system calls that make a file durable, and one that is full."""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Recorded:
    """The syncs and renames, in order: `("sync", path, content)`, `("rename", old, new)`.

    The content is what the file had when it was synced, None for a directory.
    """

    events: list[tuple[Any, ...]] = field(default_factory=list)

    def install(self, patch: Any) -> "Recorded":
        """Record from now on, until the patch is undone."""
        fsync, replace, rename = os.fsync, os.replace, os.rename

        def record_sync(descriptor: int) -> None:
            fsync(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            self.events.append(("sync", path, None if path.is_dir() else path.read_bytes()))

        def record_rename(call: Any) -> Any:
            def call_and_note(old: Any, new: Any, **where: Any) -> None:
                call(old, new, **where)
                self.events.append(("rename", Path(old), Path(new)))

            return call_and_note

        patch.setattr(os, "fsync", record_sync)
        patch.setattr(os, "replace", record_rename(replace))
        patch.setattr(os, "rename", record_rename(rename))
        return self

    def place(self, kind: str, path: Path, after: int = -1) -> int:
        """Return the place of the first such event after a place: a sync, or a rename to it."""
        where = {"sync": 1, "rename": 2}[kind]
        for number, event in enumerate(self.events):
            if number > after and event[0] == kind and event[where] == path:
                return number
        raise AssertionError(f"no {kind} of {path} after {after}")


def fill(patch: Any, *, after: int) -> None:
    """Let the disk be full from the `after`-th file on that is synced or opened by number."""
    fsync, remaining = os.fsync, [after]

    def full(descriptor: int) -> None:
        if not remaining[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        remaining[0] -= 1
        fsync(descriptor)

    patch.setattr(os, "fsync", full)
