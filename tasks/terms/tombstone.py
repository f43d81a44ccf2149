"""withdrawal.json: the file that replaces a withdrawn version.

It says which version was there and why it is no more, and nothing of what it published.
"""

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.schema.files import is_there, open_file, parse_json, read_json
from sfumato.tasks.terms.terms import LineName

WITHDRAWAL = "withdrawal.json"
WITHDRAWAL_SIGNATURE = "withdrawal.json.sig"
_RECORD, _MANIFEST = "releases.json", "datapackage.json"
_MOST = 1 << 16  # bytes that are read: somebody else may have made it
_TIME = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")

_LINE_OF_TEXT = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
Reason = Annotated[str, Field(min_length=1, max_length=500, pattern=_LINE_OF_TEXT)]


class Tombstone(BaseModel):
    """A withdrawal.

    Attributes:
        line: the line's name.
        version: the number that the version had.
        digest: of its manifest.
        time: when it was withdrawn.
        reason: why, for everybody to read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1] = 1
    line: LineName
    version: Annotated[str, Field(pattern=r"^\d+$")]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    time: Annotated[str, _TIME]
    reason: Reason

    @property
    def day(self) -> str:
        """The day of the withdrawal."""
        return datetime.fromisoformat(self.time).date().isoformat()


def is_tombstone(directory: Path) -> bool:
    """Return True for a directory that replaces a withdrawn version."""
    try:
        return (directory / WITHDRAWAL).is_file()
    except OSError:
        return False


def has_replaced(directory: Path) -> bool:
    """Return True for a tombstone by itself; beside a version's files it counts for nothing."""
    return is_tombstone(directory) and not os.path.lexists(directory / _MANIFEST)


def read_tombstone(directory: Path) -> Tombstone | None:
    """Return the withdrawal in a directory, or None.

    Raises:
        PromiseError: where it cannot be read, so that nothing is to be expected there.
    """
    if not is_tombstone(directory):
        return None
    try:
        with open_file(directory / WITHDRAWAL) as file:
            return Tombstone.model_validate(parse_json(file.read(_MOST)))
    except (ValidationError, ValueError, OSError):
        raise PromiseError(f"{directory}: was withdrawn, and {WITHDRAWAL} cannot be read") from None


def require_not_withdrawn(directory: Path, author: str = "") -> None:
    """Refuse a directory that replaces a withdrawn version.

    Args:
        directory: the release.
        author: who signed the withdrawal, in words.

    Raises:
        PromiseError: with the day, the reason and the author.
    """
    if (tombstone := read_tombstone(directory)) is not None:
        signed = f" ({author})" if author else ""
        raise PromiseError(
            f"{directory}: was withdrawn on {tombstone.day}: {tombstone.reason}{signed}"
        )


def is_marked_beside(directory: Path, digest: Any) -> bool:
    """Return True if the record beside a release calls the version of this digest withdrawn.

    A record of other versions is nobody's word on this one.

    Raises:
        PromiseError: where a record lies there and cannot be read: it may contain a withdrawal.
    """
    version = _version_beside(directory)
    return version is not None and (version.status, version.digest) == ("withdrawn", digest)


def is_missing_and_marked(directory: Path) -> bool:
    """Return True if nothing is there, and the record beside it calls the version withdrawn.

    It may be about to be replaced by its tombstone, in two renames.

    Raises:
        PromiseError: where a record lies there and cannot be read.
    """
    if is_there(directory):
        return False
    version = _version_beside(directory)
    return version is not None and version.status == "withdrawn"


def record_beside(directory: Path) -> Path:
    """Return the place of the record beside a release."""
    return directory.resolve().parent / _RECORD


class _ListedVersion(BaseModel):
    """The keys of a version that records of every format have."""

    status: str
    digest: str


class _AnyRecord(BaseModel):
    """The keys that records of every format have: newer ones tell of withdrawals, too."""

    versions: dict[str, _ListedVersion]


def _version_beside(directory: Path) -> _ListedVersion | None:
    """Return the entry of a version of this name in the record beside a release, or None."""
    try:
        place = record_beside(directory)
    except (OSError, RuntimeError):  # a circle of links, or a path that no system has
        return None
    if not is_there(place):
        return None
    try:
        listed = _AnyRecord.model_validate(read_json(place), strict=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is not a record of versions"
        raise PromiseError(
            f"{place}: cannot be read ({reason}), and it may contain a withdrawal"
        ) from None
    return listed.versions.get(directory.resolve().name)
