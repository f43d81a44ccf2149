"""A disk that is full from one write on, below a folder: a layer under the calls of Python.

No file system is mounted: writing, syncing and making files fail with ENOSPC as on a small tmpfs,
while deleting and renaming do not.
"""

import builtins
import errno
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR


@dataclass
class FullDisk:
    """Lets a number of writes below a folder pass, and then no other.

    Attributes:
        folder: what stands on the disk.
        room: the number of writes that pass; None for all.
        writes: what was written, or was to be, in order: the call and the file's name.
    """

    folder: Path
    room: int | None = None
    writes: list[tuple[str, str]] = field(default_factory=list)

    def install(self, patch: Any) -> "FullDisk":
        """Stand between Python and the disk until the patch is undone."""
        self._guard(patch, os, "open", lambda path, flags, *_, **__: flags & _WRITING and path)
        self._guard(patch, os, "mkdir", lambda path, *_, **__: path)
        self._guard(patch, os, "fsync", lambda descriptor: _path_of(descriptor))
        self._guard(patch, os, "sendfile", lambda out, *_, **__: _path_of(out))
        opened, guard = io.open, self._require_room

        def open_to_write(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
            if set(mode) & set("wax+") and not isinstance(file, int):
                guard("open", file)
            return opened(file, mode, *rest, **named)

        patch.setattr(io, "open", open_to_write)
        patch.setattr(builtins, "open", open_to_write)
        return self

    def _guard(self, patch: Any, module: Any, name: str, path_in: Any) -> None:
        original = getattr(module, name)

        def guard_call(*arguments: Any, **named: Any) -> Any:
            path = path_in(*arguments, **named)
            if path:
                self._require_room(name, path)
            return original(*arguments, **named)

        patch.setattr(module, name, guard_call)

    def _require_room(self, call: str, path: Any) -> None:
        place = Path(os.fsdecode(path)).absolute()
        if not place.is_relative_to(self.folder) or place.name.endswith(".lock"):
            return
        self.writes.append((call, place.name))
        if self.room is not None and len(self.writes) > self.room:
            # as the system: only calls with a path name one
            named = (os.fsdecode(path),) if call in ("open", "mkdir") else ()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *named)


def _path_of(descriptor: int) -> str | None:
    path = Path(f"/proc/self/fd/{descriptor}").readlink()
    return None if path.is_dir() else str(path)
