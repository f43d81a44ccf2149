"""A line as it is in its public directory at one moment, for copies of it elsewhere."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.versions import RECORD, Record, parse_record
from sfumato.tasks.report.line_pages import CITATION, FEED, GENERATOR, METADATA, PAGE
from sfumato.tasks.report.verifier_folder import verifier_beside
from sfumato.tasks.schema.files import read_bytes, read_canonical
from sfumato.tasks.schema.formats import read_content
from sfumato.tasks.terms.line_words import WORDS
from sfumato.tasks.terms.opened import MANIFEST, SIGNATURE
from sfumato.tasks.terms.tombstone import WITHDRAWAL, has_replaced, is_tombstone
from sfumato.tasks.verification.line_log import LOG
from sfumato.tasks.verification.offered_keys import KEYS_FILE

_PAGES, _DOCUMENTS = (PAGE, FEED, METADATA, CITATION), (WORDS, KEYS_FILE, LOG)


@dataclass(frozen=True)
class VersionSnapshot:
    """A published version, or the tombstone in its place.

    Attributes:
        number: its number.
        digest: the digest under which it was published.
        directory: its directory.
    """

    number: str
    digest: str
    directory: Path

    def manifest(self) -> bytes:
        """Return the bytes of its manifest, which vouch for every other file.

        Raises:
            PromiseError: where it is gone, or is not the one that was published.
        """
        place = self.directory / MANIFEST
        if is_tombstone(self.directory) or not place.is_file():
            raise PromiseError(
                f"version {self.number} is missing in {self.directory}. Restore its directory"
            )
        if read_canonical(place)["sfumato"]["digest"] != self.digest:
            raise PromiseError(
                f"{self.directory}: does not match the line's record. Its files were "
                "changed: restore them"
            )
        return read_bytes(place)

    def signature(self) -> bytes | None:
        """Return the signature of the manifest's digest, or None if nobody signed."""
        place = self.directory / SIGNATURE
        return read_bytes(place) if place.is_file() else None

    def tombstone(self) -> dict[str, bytes]:
        """Return the files that replace a withdrawn version, its tombstone's mark last.

        Returns {} if no tombstone is there yet.
        """
        if not has_replaced(self.directory):
            return {}
        paths = sorted(self.directory.iterdir(), key=lambda path: path.name == WITHDRAWAL)
        return {path.name: read_bytes(path) for path in paths if path.is_file()}


@dataclass(frozen=True)
class LineSnapshot:
    """A line at one moment.

    Attributes:
        public: its directory.
        record: the record of its versions.
        content: the bytes of the record.
        beside: the other files of the line itself, by their names.
        verifier: the files of the verifier beside the line, by their paths, the sums last.
        former_owner: the mark by which public records knew the line before its key was changed.
        versions: all versions in order, including withdrawn ones.
    """

    public: Path
    record: Record
    content: bytes
    beside: Mapping[str, bytes]
    verifier: Mapping[str, bytes]
    former_owner: str | None = None
    versions: tuple[VersionSnapshot, ...] = ()

    @property
    def name(self) -> str:
        """The line's name."""
        return self.record.name

    @property
    def live(self) -> list[VersionSnapshot]:
        """The versions that were not withdrawn, in order."""
        return [version for version in self.versions if not self._is_withdrawn(version)]

    @property
    def withdrawn(self) -> list[VersionSnapshot]:
        """The versions that were withdrawn, in order."""
        return [version for version in self.versions if self._is_withdrawn(version)]

    @property
    def sha256(self) -> str:
        """A digest of everything that is copied, by which an outdated copy is recognised."""
        digest = hashlib.sha256(self.content)
        parts = {**self.beside, **self.verifier}
        for version in self.versions:
            small = {"signature": version.signature() or b"", **version.tombstone()}
            parts |= {f"{version.number}/{name}": small[name] for name in small}
        for name in sorted(parts):
            digest.update(f"\0{name}\0{hashlib.sha256(parts[name]).hexdigest()}".encode())
        return digest.hexdigest()

    def _is_withdrawn(self, version: VersionSnapshot) -> bool:
        return self.record.versions[version.number].status == "withdrawn"


def snapshot(public: Path, former_owner: str | None = None) -> LineSnapshot:
    """Return a line as it is now.

    Raises:
        PromiseError: where its record cannot be read.
    """
    place = public / RECORD
    content = read_content(place, "a record of versions") or b""
    record = parse_record(place, content) if content else Record(name=public.name)
    versions = tuple(
        VersionSnapshot(number, version.digest, public / number)
        for number, version in sorted(record.versions.items())
    )
    beside, verifier = _other_files(public), verifier_beside(public)
    return LineSnapshot(public, record, content, beside, verifier, former_owner, versions)


def _other_files(public: Path) -> dict[str, bytes]:
    """Return the line's own files except its record; a page that is not ours is not copied."""
    there = [name for name in (*_PAGES, *_DOCUMENTS) if (public / name).is_file()]
    contents = {name: read_bytes(public / name) for name in there}
    return {
        n: text for n, text in contents.items() if n in _DOCUMENTS or GENERATOR.encode() in text
    }
