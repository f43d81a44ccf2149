"""releases.json: the public record of a line's versions, and which of them is current."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.schema.formats import parse_document, read_document

RECORD = "releases.json"
_NEWEST = 4
_NEVER_CURRENT = ("withdrawn", "pending")
_Number = Annotated[str, Field(pattern="^[0-9]+$")]  # and so a name that leads nowhere else


class Approval(BaseModel):
    """The approval of a version before it appeared: by whom, when, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    by: str
    time: str
    reason: str


class Version(BaseModel):
    """The record of one version, none of which is in the release itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    predecessor: str | None
    time: str
    approver: str | None = None
    status: Literal["published", "withdrawn", "superseded", "pending"]
    accuracy: list[dict[str, Any]] | None = None
    as_of: date | None = Field(default=None, exclude_if=lambda day: day is None)
    approvals: tuple[Approval, ...] | None = Field(
        default=None, exclude_if=lambda approvals: approvals is None
    )
    goal: Literal["met", "below-goal"] | None = Field(
        default=None, exclude_if=lambda goal: goal is None
    )
    warnings: tuple[str, ...] = Field(default=(), exclude_if=lambda warnings: not warnings)

    @property
    def lowest_format(self) -> int:
        """The lowest format of records that can say this."""
        if self.status == "pending" or self.goal or self.warnings:
            return 4
        return 3 if self.approvals else 2 if self.as_of else 1


class Record(BaseModel):
    """A line's versions by number.

    Attributes:
        format: 0 before records had numbers; 2 where a version states its day; 3 where one
            says who approved it; 4 where one is pending, or says how useful it is.
        counter: how often the private state changed; see there.
        owner: the keyed mark of the private line that publishes here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[0, 1, 2, 3, 4] = 0
    name: str
    counter: int = 0
    owner: str | None = None
    current: _Number | None = None
    versions: dict[_Number, Version] = {}

    @property
    def lowest_format(self) -> int:
        """The lowest format that can say this."""
        return max((version.lowest_format for version in self.versions.values()), default=1)

    def with_new(
        self,
        number: str,
        digest: str,
        time: str,
        as_of: date | None = None,
        *,
        pending: bool = False,
    ) -> "Record":
        """Return a copy with a new version, which supersedes the current one unless it is pending.

        Args:
            number: its number.
            digest: the digest of its manifest.
            time: when it appeared.
            as_of: the day that it describes.
            pending: whether it is current only once its accuracy was measured.
        """
        standing = [v for _, v in sorted(self.versions.items()) if v.status != "withdrawn"]
        new = Version(
            digest=digest,
            predecessor=standing[-1].digest if standing else None,
            time=time,
            status="pending" if pending else "published",
            as_of=as_of,
        )
        return self._with_version(number, new)

    def with_withdrawal(self, number: str) -> "Record":
        """Return a copy with a withdrawn version: the latest one not withdrawn is current."""
        return self._with_version(
            number, self.versions[number].model_copy(update={"status": "withdrawn"})
        )

    def with_accuracy(self, number: str, accuracy: list[dict[str, Any]]) -> "Record":
        """Return a copy with a version's published accuracy; it is no longer pending."""
        version = self.versions[number]
        status = "published" if version.status == "pending" else version.status
        changes = {"accuracy": accuracy, "status": status}
        return self._with_version(number, version.model_copy(update=changes))

    def with_goal(
        self, number: str, goal: Literal["met", "below-goal"] | None, warnings: tuple[str, ...]
    ) -> "Record":
        """Return a copy that says whether a version meets its goal, and why it may be of no use."""
        changes = {"goal": goal, "warnings": warnings}
        return self._with_version(number, self.versions[number].model_copy(update=changes))

    def with_approvals(self, number: str, approvals: tuple[Approval, ...]) -> "Record":
        """Return a copy with the approvals of a version."""
        approver = ", ".join(approval.by for approval in approvals)
        changes = {"approvals": approvals, "approver": approver}
        return self._with_version(number, self.versions[number].model_copy(update=changes))

    def _with_version(self, number: str, version: Version) -> "Record":
        versions = {**self.versions, number: version}
        live = [n for n, v in sorted(versions.items()) if v.status not in _NEVER_CURRENT]
        current = live[-1] if live else None
        statuses = {n: _with_status(v, n == current) for n, v in versions.items()}
        return self.model_copy(update={"current": current, "versions": statuses})


def _with_status(version: Version, current: bool) -> Version:
    if version.status in _NEVER_CURRENT:
        return version
    return version.model_copy(update={"status": "published" if current else "superseded"})


def pending_versions(public: Path) -> list[str]:
    """Return the numbers of versions whose accuracy is still to be measured, ascending."""
    versions = read_record(public).versions
    return sorted(n for n, version in versions.items() if version.status == "pending")


def is_measured(public: Path, number: str) -> bool:
    """Decide whether a version's accuracy is in the public record."""
    return read_record(public).versions[number].accuracy is not None


def read_record(line: Path) -> Record:
    """Return the record in a line's public directory; an empty one if nothing was published.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it is no record.
    """
    record = read_document(line / RECORD, Record, _NEWEST, "a record of versions")
    return record or Record(name=line.name)


def parse_record(place: Path | str, content: bytes) -> Record:
    """Return a record as it is written; `place` is for messages.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it is no record.
    """
    return parse_document(place, content, Record, _NEWEST, "a record of versions")


def write_record(line: Path, record: Record) -> None:
    """Replace the record atomically."""
    write_atomically(line / RECORD, record_content(record), mode=0o644)


def record_content(record: Record) -> bytes:
    """Return a record as it is written, in the lowest format that can express it."""
    newest = record.model_copy(update={"format": record.lowest_format})
    document: Mapping[str, Any] = json.loads(newest.model_dump_json())
    return canonical_json(document)
