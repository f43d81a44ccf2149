"""The SHA-256 of assessed files, so that nothing is published that changed since."""

import stat
from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.declaration.opened import MANIFEST, open_release
from sfumato.tasks.schema.files import sha256_of
from sfumato.tasks.verification.integrity import listed_files


def seal(directory: Path) -> dict[str, str]:
    """The SHA-256 of every file below a directory, by its path from there."""
    files = sorted(path for path in directory.rglob("*") if not path.is_dir())
    return {path.relative_to(directory).as_posix(): sha256_of(path) for path in files}


def seal_of(release: Path) -> dict[str, str]:
    """The same of a release that was just made, whose manifest has them."""
    listed = listed_files(open_release(release)).items()
    of_files = {path: hash_.removeprefix("sha256:") for path, hash_ in listed}
    return {MANIFEST: sha256_of(release / MANIFEST), **of_files}


def require_sealed(directory: Path, sealed: Mapping[str, str]) -> None:
    """Refuse a directory that is not, file by file, as it was sealed.

    Raises:
        PromiseError: naming the first file that was changed, added or removed since.
    """
    now = seal(directory)
    for name in sorted({*now, *sealed}):
        if now.get(name) != sealed.get(name):
            change = "changed" if name in now and name in sealed else "added or removed"
            raise PromiseError(f"{name}: was {change} after validation: validate it again")


def require_plain(directory: Path) -> None:
    """Refuse a directory with anything but files and directories: a link leads elsewhere.

    Raises:
        PromiseError: naming what else is there.
    """
    for path in (directory, *directory.rglob("*")):
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            name = path.relative_to(directory.parent).as_posix()
            raise PromiseError(f"{name!a}: is no plain file or directory: nothing there is read")
