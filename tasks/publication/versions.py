"""releases.json: the public record of a line's versions, and which of them is current."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.tasks.declaration.canonical import canonical_json
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.formats import parse_document, read_document

RECORD = "releases.json"
_NEWEST = 3
_Number = Annotated[str, Field(pattern="^[0-9]+$")]  # and so a name that leads nowhere else


class Approval(BaseModel):
    """Who approved a version before it appeared, when, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str
    time: str
    reason: str


class Version(BaseModel):
    """The record of one version; nothing of it stands in the release itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    predecessor: str | None
    time: str
    approver: str | None = None
    status: Literal["published", "withdrawn", "superseded"]
    accuracy: list[dict[str, Any]] | None = None
    as_of: date | None = Field(default=None, exclude_if=lambda day: day is None)
    approvals: tuple[Approval, ...] | None = Field(default=None, exclude_if=lambda one: one is None)


class Record(BaseModel):
    """A line's versions by number.

    Attributes:
        format: 0 before records had numbers; 2 where a version says of which day it is; 3 where one
            says who approved it.
        counter: how often the private state changed; see there.
        owner: the keyed mark of the private line that publishes here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[0, 1, 2, 3] = 0
    name: str
    counter: int = 0
    owner: str | None = None
    current: _Number | None = None
    versions: dict[_Number, Version] = {}

    @property
    def lowest_format(self) -> int:
        """The lowest format that can say this."""
        versions = self.versions.values()
        if any(version.approvals for version in versions):
            return 3
        return 2 if any(version.as_of for version in versions) else 1

    def with_new(self, number: str, digest: str, time: str, as_of: date | None = None) -> "Record":
        """A new version that supersedes the current one; `as_of` is the day that it tells of."""
        predecessor = self.versions[self.current].digest if self.current else None
        new = Version(
            digest=digest, predecessor=predecessor, time=time, status="published", as_of=as_of
        )
        return self._with(number, new)

    def withdrawn(self, number: str) -> "Record":
        """Without trust in a version: the latest other one that was not withdrawn is current."""
        return self._with(number, self.versions[number].model_copy(update={"status": "withdrawn"}))

    def measured(self, number: str, accuracy: list[dict[str, Any]]) -> "Record":
        """With a version's accuracy, as it may be known."""
        return self._with(number, self.versions[number].model_copy(update={"accuracy": accuracy}))

    def approved(self, number: str, approvals: tuple[Approval, ...]) -> "Record":
        """With who approved a version."""
        approver = ", ".join(one.by for one in approvals)
        known = {"approvals": approvals, "approver": approver}
        return self._with(number, self.versions[number].model_copy(update=known))

    def _with(self, number: str, version: Version) -> "Record":
        versions = {**self.versions, number: version}
        live = [n for n, v in sorted(versions.items()) if v.status != "withdrawn"]
        current = live[-1] if live else None
        statuses = {n: _with_status(v, n == current) for n, v in versions.items()}
        return self.model_copy(update={"current": current, "versions": statuses})


def _with_status(version: Version, current: bool) -> Version:
    if version.status == "withdrawn":
        return version
    return version.model_copy(update={"status": "published" if current else "superseded"})


def is_measured(public: Path, number: str) -> bool:
    """Decide whether a version's accuracy stands in the public record."""
    return read_record(public).versions[number].accuracy is not None


def read_record(line: Path) -> Record:
    """The record in a line's public directory; an empty one where nothing was published.

    Raises:
        InputError: where newer software wrote it.
        Fault: where it is no record.
    """
    found = read_document(line / RECORD, Record, _NEWEST, "a record of versions")
    return found or Record(name=line.name)


def parse_record(place: Path | str, content: bytes) -> Record:
    """A record as it is written; `place` is for messages.

    Raises:
        InputError: where newer software wrote it.
        Fault: where it is no record.
    """
    return parse_document(place, content, Record, _NEWEST, "a record of versions")


def write_record(line: Path, record: Record) -> None:
    """Replace the record atomically."""
    write_atomically(line / RECORD, record_content(record), mode=0o644)


def record_content(record: Record) -> bytes:
    """A record as it is written, in the lowest format that can say it."""
    newest = record.model_copy(update={"format": record.lowest_format})
    document: Mapping[str, Any] = json.loads(newest.model_dump_json())
    return canonical_json(document)
