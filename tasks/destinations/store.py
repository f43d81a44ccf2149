"""A store of objects: a copy of the line's directory, in which no version is seen half written.

    <prefix>/<line>/.claims/<version>    the digest of what is copied there: made once, and kept
    <prefix>/<line>/<version>/…          data first, datapackage.json last
    <prefix>/<line>/releases.json        after all versions that it names
    <prefix>/<line>/log.json             after releases.json
    <prefix>/<line>/verifier/…           SHA256SUMS last

A version is there for readers once its manifest is, which is written where there is none
(`If-None-Match: *`). Data are sent before that, so whoever sends them claims the number first in
the same way: of two writers with different releases the second is refused before it overwrites
anything, and one that was killed is recognised by its claim and goes on. The record is replaced
only as the one that was read (`If-Match`).

A version is withdrawn in the order of the public directory: the record says so, the tombstone
comes, the manifest goes and then all other files, with the old versions that a bucket keeps.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from sfumato.expectations.shared.errors import SfumatoError, TransientFault
from sfumato.tasks.destinations.bucket import Bucket
from sfumato.tasks.destinations.bucket_client import open_bucket
from sfumato.tasks.destinations.declared import StoreDestination
from sfumato.tasks.destinations.destination import (
    DestinationKind,
    another_release,
    require_same_line,
    withdrawn_there,
)
from sfumato.tasks.lines.public_record import lines_in, read_line_entry
from sfumato.tasks.lines.snapshot import LineSnapshot, VersionSnapshot
from sfumato.tasks.lines.versions import RECORD, Record, parse_record, record_content
from sfumato.tasks.microdata.notation.address import resolve
from sfumato.tasks.report.line_entries import LineEntry
from sfumato.tasks.report.line_pages import catalogue_files
from sfumato.tasks.report.verifier_folder import VERIFIER
from sfumato.tasks.schema.files import parse_json
from sfumato.tasks.terms.opened import MANIFEST, SIGNATURE, open_release
from sfumato.tasks.terms.tombstone import WITHDRAWAL
from sfumato.tasks.verification.integrity import require_intact
from sfumato.tasks.verification.line_log import LOG

_CLAIMS = ".claims"
_ATTEMPTS = 3


def catalogue_of(line: LineSnapshot, there: Collection[str]) -> dict[str, str]:
    """Return the files of a destination's catalogue by name.

    None where a line is there that is not published beside this one: another machine, which knows
    what belongs in the catalogue, writes it.

    Args:
        line: which was copied there.
        there: the names of the lines that are there.
    """
    places = {place.name: place for place in lines_in(line.public.parent)}
    if set(there) - places.keys():
        return {}
    try:
        entries = [read_line_entry(places[name]) for name in sorted(there)]
    except SfumatoError:
        return {}
    listed: list[LineEntry] = [entry for entry in entries if entry is not None]
    return catalogue_files(listed)


@contextmanager
def open_store(
    declared: StoreDestination, line: LineSnapshot, environ: Mapping[str, str]
) -> Iterator["ObjectStore"]:
    """Open a store for a line.

    Raises:
        SpecError: for a variable that is not set.
        InputError: where keys are missing, or the store refuses.
        PromiseError: where another line is there.
    """
    bucket, _, prefix = unquote(resolve(declared.uri, environ)[len("s3://") :]).partition("/")
    with open_bucket(declared, bucket, environ) as opened:
        store = ObjectStore(declared.uri, opened, prefix.strip("/"), line)
        store.record()  # whose line it is, before anything is done
        yield store


class ObjectStore:
    """A store, open for a line."""

    def __init__(self, uri: str, bucket: Bucket, prefix: str, line: LineSnapshot) -> None:
        self.notices: list[str] = []
        self._uri, self._bucket, self._line = uri, bucket, line
        self._above = f"{prefix}/" if prefix else ""
        self._root = f"{self._above}{line.name}/"

    def record(self) -> tuple[Record, str] | None:
        """Return the record in the store and its tag, or None.

        Raises:
            PromiseError: where it is another line's, or newer.
        """
        stored = self._bucket.read(f"{self._root}{RECORD}")
        if stored is None:
            return None
        there = parse_record(f"{self._uri}: {self._root}{RECORD}", stored.content)
        require_same_line(self._uri, there, self._line)
        return there, stored.tag

    def put(self, version: VersionSnapshot) -> bool:
        """Copy a version, its manifest last; a part of it that is there and right stays.

        Raises:
            PromiseError: where another release has its number there, or it was withdrawn there.
        """
        below, manifest = f"{self._root}{version.number}/", version.manifest()
        there = self._bucket.read(f"{below}{MANIFEST}")
        if there is not None and there.content != manifest:
            raise another_release(self._uri, version.number, _digest_in(there.content))
        if there is None:
            self._claim(version)
        sizes = self._bucket.sizes(below)
        if f"{below}{WITHDRAWAL}" in sizes:
            raise withdrawn_there(self._uri, version.number)
        files = parse_json(manifest)["resources"]
        missing = [file for file in files if not self._holds(below, file, sizes)]
        if missing:
            require_intact(open_release(version.directory))
        for file in missing:
            self._send(below, version.directory / PurePosixPath(file["path"]), file)
        signed = self._write_signature(below, version)
        if there is None:
            self._complete(below, version, manifest)
        return there is None or bool(missing) or signed

    def withdraw(self, version: VersionSnapshot) -> None:
        """Mark a version in the record, put the tombstone in its place, and delete its files."""
        below, tombstone = f"{self._root}{version.number}/", version.tombstone()
        self._mark(version.number)
        for name, content in tombstone.items():
            self._write(f"{below}{name}", content)
        stay = {f"{below}{name}" for name in tombstone}
        gone = sorted(self._bucket.sizes(below).keys() - stay, key=lambda k: k != below + MANIFEST)
        self._bucket.delete(gone)
        self._forget(below, stay, gone)

    def tell(self, line: LineSnapshot) -> None:
        """Copy the files of the line itself, record and log last, and what is above the lines.

        The log follows the record at once, as where the line was published.
        """
        self._copy_verifier(line.verifier)
        for name, content in line.beside.items():
            if name != LOG:
                self._write_ours(f"{self._root}{name}", content)
        self._replace_record(line.content)
        if LOG in line.beside:
            self._write_ours(f"{self._root}{LOG}", line.beside[LOG])
        folders = self._bucket.folders(self._above)
        there = [name for name in folders if self._has_record(name)]
        for name, text in catalogue_of(line, there).items():
            self._write_ours(f"{self._above}{name}", text.encode())

    def _copy_verifier(self, files: Mapping[str, bytes]) -> None:
        """Copy the verifier's files unless the store has their sums, which come last."""
        if not files:
            return
        *_, (sums, content) = files.items()
        stored = self._bucket.sha256(f"{self._root}{sums}")
        if stored == hashlib.sha256(content).hexdigest():
            return
        for name in files:
            self._write_ours(f"{self._root}{name}", files[name])
        if stored:  # another version of ours was there
            there = self._bucket.sizes(f"{self._root}{VERIFIER}/")
            self._bucket.delete(sorted(there.keys() - {f"{self._root}{name}" for name in files}))

    def _claim(self, version: VersionSnapshot) -> None:
        """Claim the number for this release; refuse a store that overwrites a claim."""
        key, content = f"{self._root}{_CLAIMS}/{version.number}", version.digest.encode()
        if self._bucket.create(key, content) and self._bucket.create(key, content):
            raise self._bucket.unconditional()
        stored = self._bucket.read(key)
        if stored is None:
            raise TransientFault(
                f"{self._uri}: another writer is writing there. Deliver again later"
            )
        if stored.content != content:
            digest = stored.content.decode(errors="replace")
            raise another_release(self._uri, version.number, digest)

    def _holds(self, below: str, file: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
        """Return True if a file of the manifest is there, whole."""
        key = f"{below}{file['path']}"
        return sizes.get(key) == file["bytes"] and self._bucket.sha256(key) == _stated_sha256(file)

    def _send(self, below: str, path: Path, file: Mapping[str, Any]) -> None:
        self._bucket.send(f"{below}{file['path']}", path, _stated_sha256(file))

    def _write_signature(self, below: str, version: VersionSnapshot) -> bool:
        content = version.signature()
        return content is not None and self._write(f"{below}{SIGNATURE}", content)

    def _complete(self, below: str, version: VersionSnapshot, manifest: bytes) -> None:
        """Write the manifest where there is none: from here on readers see the version."""
        key = f"{below}{MANIFEST}"
        version.manifest()  # it may have been withdrawn meanwhile
        if not self._bucket.create(key, manifest):
            stored = self._bucket.read(key)
            if stored is None or stored.content != manifest:
                digest = _digest_in(stored.content) if stored else "unknown"
                raise another_release(self._uri, version.number, digest)

    def _mark(self, number: str) -> None:
        """Mark a version as withdrawn in the store's record, if the record has it."""
        for _ in range(_ATTEMPTS):
            present = self.record()
            if present is None or number not in present[0].versions:
                return
            if present[0].versions[number].status == "withdrawn":
                return
            if self._put_record(record_content(present[0].with_withdrawal(number)), present[1]):
                return
        raise TransientFault(
            f"{self._uri}: another writer is writing {RECORD} there. Deliver again later"
        )

    def _replace_record(self, content: bytes) -> None:
        for _ in range(_ATTEMPTS):
            present = self.record()
            if present is not None and record_content(present[0]) == content:
                return
            if self._put_record(content, None if present is None else present[1]):
                return
        raise TransientFault(
            f"{self._uri}: another writer is writing {RECORD} there. Deliver again later"
        )

    def _put_record(self, content: bytes, tag: str | None) -> bool:
        key = f"{self._root}{RECORD}"
        if tag is None:
            return self._bucket.create(key, content)
        return self._bucket.replace(key, content, tag)

    def _write(self, key: str, content: bytes) -> bool:
        """Write a small object unless it is there already; then return False."""
        if self._bucket.sha256(key) == hashlib.sha256(content).hexdigest():
            return False
        self._bucket.write(key, content)
        return True

    def _write_ours(self, key: str, content: bytes) -> None:
        """Write a small object, unless what is there is somebody else's."""
        if self._bucket.sha256(key) == "":
            self.notices.append(f"{self._uri}: {key} was not made by Sfumato, and was not changed")
        else:
            self._write(key, content)

    def _forget(self, below: str, stay: set[str], gone: list[str]) -> None:
        """Delete what a bucket with versions keeps of deleted objects."""
        keeps = self._bucket.keeps_old_versions()
        if keeps:
            self._bucket.delete_old_versions(below, stay)
        if keeps is None and gone:
            self.notices.append(
                f"{self._uri}: these keys cannot see if the bucket keeps deleted "
                "objects (s3:GetBucketVersioning). Look in the store"
            )

    def _has_record(self, line: str) -> bool:
        return self._bucket.sha256(f"{self._above}{line}/{RECORD}") is not None


def _digest_in(manifest: bytes) -> str:
    """Return the digest that a manifest states; somebody else may have written it."""
    try:
        return str(parse_json(manifest)["sfumato"]["digest"])
    except (ValueError, KeyError, TypeError):
        return "unknown"


def _stated_sha256(file: Mapping[str, Any]) -> str:
    return str(file["hash"]).removeprefix("sha256:")


STORE = DestinationKind(StoreDestination, open_store)
