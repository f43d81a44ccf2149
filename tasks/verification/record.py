"""The user's cache of releases that were verified here.

    $XDG_CACHE_HOME/sfumato/verified/<hash of the directory>.json

A record applies only if no file of the release has another path, size, inode, time of change or of
modification than when it was verified, so that later queries hash nothing. A file that others could
have written is no record. A record by another version of this software does not apply either,
because that version may have checked less.
"""

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.machine.system import user
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.verification.limits import Extent

_TICK_NS = 50_000_000  # within a clock's tick a file may change twice, and its time once


@dataclass(frozen=True)
class VerificationRecord:
    """The findings about a release whose files have not changed since.

    Attributes:
        key: the key of its files' state.
        digest: the digest of its manifest, which was that of its content.
        extent: the extent of its tables.
        vouched: whether a check, or a given digest, vouched for it.
        software: the version of this software that verified it.
    """

    key: str
    digest: str
    extent: Extent
    vouched: bool
    software: str


_REMEMBERED = TypeAdapter(VerificationRecord)


@dataclass(frozen=True)
class Standing:
    """The present state of a release's files.

    Attributes:
        key: changes with any of them.
        settled: False where one changed so lately that another change could go unnoticed.
    """

    key: str
    settled: bool


def files_as_they_stand(directory: Path) -> Standing:
    """Look at every file of a release, without reading it, once the latest change has aged."""
    standing = _look(directory)
    if not standing.settled:
        time.sleep(2 * _TICK_NS / 1e9)
        standing = _look(directory)
    return standing


def require_unchanged(directory: Path, standing: Standing) -> None:
    """Make sure that the files of a release are those that were looked at.

    Raises:
        PromiseError: where they are not.
    """
    with suppress(OSError):
        if files_as_they_stand(directory).key == standing.key:
            return
    raise PromiseError(
        f"{directory}: its files changed after they were verified. Open the release again"
    )


def _look(directory: Path) -> Standing:
    seen: list[tuple[str, int, int, int, int, int]] = []
    for path in sorted(directory.resolve().rglob("*")):
        status = path.lstat()
        facts = (
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
            status.st_dev,
        )
        seen.append((str(path), *((0,) * 5 if stat.S_ISDIR(status.st_mode) else facts)))
    latest = max((facts[3] for facts in seen), default=0)
    key = hashlib.sha256(json.dumps(seen).encode()).hexdigest()
    return Standing(key, settled=latest + _TICK_NS < time.time_ns())


def recall(
    directory: Path, standing: Standing, environ: Mapping[str, str]
) -> VerificationRecord | None:
    """Return the record of a release, or None if it changed or was never verified."""
    place = _place(directory, environ)
    try:
        if not (_ours(place.parent, stat.S_ISDIR, 0o700) and _ours(place, stat.S_ISREG, 0o600)):
            return None
        record = _REMEMBERED.validate_python(read_json(place))
    except (OSError, ValueError, ValidationError):
        return None
    return record if (record.key, record.software) == (standing.key, this_software()) else None


def this_software() -> str:
    """Return the version of this software."""
    return version("sfumato")


def remember(directory: Path, record: VerificationRecord, environ: Mapping[str, str]) -> None:
    """Keep the record of a release; if it cannot be written, continue without."""
    place = _place(directory, environ)
    try:
        place.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if _ours(place.parent, stat.S_ISDIR, 0o700):
            write_atomically(place, json.dumps(asdict(record)).encode())
    except OSError:
        return


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return `sfumato` in the user's cache directory (XDG)."""
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sfumato"


def _place(directory: Path, environ: Mapping[str, str]) -> Path:
    name = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()
    return cache_directory(environ) / "verified" / f"{name}.json"


def _ours(path: Path, kind: Callable[[int], bool], mode: int) -> bool:
    """Decide whether the user owns a file or directory, and nobody else may write or read it."""
    status = path.lstat()
    return kind(status.st_mode) and status.st_uid == user() and stat.S_IMODE(status.st_mode) == mode
