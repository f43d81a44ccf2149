"""The public state of lines: their records, and beside each its words and tombstones.

Nothing else is read. A record contains no pending candidate and no refusal, and private lines have
no record in the public place.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.lines.versions import RECORD, Record, Version, read_record
from sfumato.tasks.report.line_entries import (
    DescribedVersion,
    LineEntry,
    VersionEntry,
    describe_version,
)
from sfumato.tasks.report.utility import accuracy_charts, accuracy_lines, measured_levels
from sfumato.tasks.schema.files import MANIFEST_BYTES, is_there, read_json
from sfumato.tasks.terms.line_words import read_words
from sfumato.tasks.terms.opened import MANIFEST
from sfumato.tasks.terms.tombstone import Tombstone, read_tombstone
from sfumato.tasks.verification.signing import signer_of

_STATES = {"published": "current"}
_BELOW = "its answers are less accurate than its publisher asked for (below-goal)"


def read_line_entry(line: Path, *, with_manifests: bool = False) -> LineEntry | None:
    """Return a line's entry from its public directory, or None if it has published nothing.

    Args:
        line: the directory.
        with_manifests: whether the manifests of its versions are read, too.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    if not is_there(line / RECORD):
        return None
    entry = entry_of(line, read_record(line))
    return _with_descriptions(line, entry) if entry is not None and with_manifests else entry


def entry_of(line: Path, record: Record) -> LineEntry | None:
    """Return a line's entry by a record that was read, or None if it has no versions."""
    if not record.versions:
        return None
    words = read_words(line)
    title = record.name if words.line != record.name else words.title
    versions = [_version(line, *item) for item in sorted(record.versions.items(), reverse=True)]
    return LineEntry(record.name, title, words.shown_words, tuple(versions))


def lines_in(place: Path) -> Iterator[Path]:
    """Yield the public directories of the lines of a public place, by name."""
    yield from sorted(line for line in place.glob("[!.]*/") if is_there(line / RECORD))


def _version(line: Path, number: str, version: Version) -> VersionEntry:
    return VersionEntry(
        number=number,
        state=_STATES.get(version.status, version.status),
        digest=version.digest,
        time=version.time,
        as_of=version.as_of,
        tombstone=_tombstone(line / number) if version.status == "withdrawn" else None,
        approvals=tuple((approval.by, approval.reason) for approval in version.approvals or ()),
        accuracy=tuple(accuracy_lines(version.accuracy or ())),
        levels=tuple(measured_levels(version.accuracy or ())),
        charts=tuple(accuracy_charts(version.accuracy or ())),
        signature=_signature(line / number, version.digest),
        warnings=(*version.warnings, *([_BELOW] if version.goal == "below-goal" else [])),
    )


def _with_descriptions(line: Path, entry: LineEntry) -> LineEntry:
    versions = (
        replace(version, described=_description_of(line / version.number, version.digest))
        for version in entry.versions
    )
    return replace(entry, versions=tuple(versions))


def _description_of(directory: Path, digest: str) -> DescribedVersion | None:
    """Return the description in a version's announced manifest, or None if it is another."""
    try:
        manifest = read_json(directory / MANIFEST, MANIFEST_BYTES)
        return describe_version(manifest) if manifest["sfumato"]["digest"] == digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _signature(directory: Path, digest: str) -> str | None:
    """Return words about the key that signed a version, or about a wrong signature.

    Returns None if there is no signature.
    """
    try:
        key = signer_of(directory, digest)
    except SfumatoError:
        return "by a signature that does not match this version: do not use it"
    return None if key is None else f"by {key}"


def _tombstone(directory: Path) -> Tombstone | None:
    try:
        return read_tombstone(directory)
    except SfumatoError:
        return None
