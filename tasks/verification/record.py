"""What the user's cache remembers of releases that were verified here.

    $XDG_CACHE_HOME/sfumato/verified/<hash of the directory>.json

It is found again only where no file of the release has another path, size, inode, time of change or
of modification than when it was verified, so that later queries hash nothing. What others could
have written is no record; nor is what another version of this software found, which may have
checked less.
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

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.verification.limits import Extent

_TICK_NS = 50_000_000  # within a clock's tick a file may change twice, and its time once


@dataclass(frozen=True)
class Remembered:
    """What is known of a release whose files are as they were.

    Attributes:
        key: of its files as they stand.
        digest: of its manifest, which was that of its content.
        extent: of its tables.
        vouched: by a check, or by a digest that was given.
        software: the version of this software that found all that.
    """

    key: str
    digest: str
    extent: Extent
    vouched: bool
    software: str


_REMEMBERED = TypeAdapter(Remembered)


@dataclass(frozen=True)
class Standing:
    """The files of a release as they stand.

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
    raise PromiseError(f"{directory}: its files changed since they were verified: open it again")


def _look(directory: Path) -> Standing:
    seen: list[tuple[str, int, int, int, int, int]] = []
    for path in sorted(directory.resolve().rglob("*")):
        of = path.lstat()
        facts = (of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino, of.st_dev)
        seen.append((str(path), *((0,) * 5 if stat.S_ISDIR(of.st_mode) else facts)))
    latest = max((facts[3] for facts in seen), default=0)
    key = hashlib.sha256(json.dumps(seen).encode()).hexdigest()
    return Standing(key, settled=latest + _TICK_NS < time.time_ns())


def recall(directory: Path, standing: Standing, environ: Mapping[str, str]) -> Remembered | None:
    """What is remembered of a release, None where it changed or was never seen."""
    place = _place(directory, environ)
    try:
        if not (_ours(place.parent, stat.S_ISDIR, 0o700) and _ours(place, stat.S_ISREG, 0o600)):
            return None
        found = _REMEMBERED.validate_python(read_json(place))
    except (OSError, ValueError, ValidationError):
        return None
    return found if (found.key, found.software) == (standing.key, this_software()) else None


def this_software() -> str:
    """The version of this software."""
    return version("sfumato")


def remember(directory: Path, known: Remembered, environ: Mapping[str, str]) -> None:
    """Keep what is known of a release; where there is no room for it, do without."""
    place = _place(directory, environ)
    try:
        place.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if _ours(place.parent, stat.S_ISDIR, 0o700):
            write_atomically(place, json.dumps(asdict(known)).encode())
    except OSError:
        return


def cache_directory(environ: Mapping[str, str]) -> Path:
    """`sfumato` in the user's cache directory (XDG)."""
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sfumato"


def _place(directory: Path, environ: Mapping[str, str]) -> Path:
    name = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()
    return cache_directory(environ) / "verified" / f"{name}.json"


def _ours(path: Path, kind: Callable[[int], bool], mode: int) -> bool:
    """True where the user owns a file or directory, and nobody else may write or read it."""
    of = path.lstat()
    return kind(of.st_mode) and of.st_uid == os.getuid() and stat.S_IMODE(of.st_mode) == mode
