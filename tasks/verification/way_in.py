"""The opening of a release for reading, and the evidence that vouches for its files.

A withdrawal may be recorded in `releases.json`, and a revocation in `keys.json`. If one of them is
there and cannot be read, nothing vouches for the release; if there is none, that is reported.

The hashes of the manifest are always compared, once for as long as no file changes. They prove only
integrity. A release is verified if a key that the reader trusts signed its digest, if the reader
gave the digest, or if it passed a check here before.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.schema.files import is_there
from sfumato.tasks.terms.opened import MANIFEST, Release, open_release, require_release
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.tables import require_declared_tables
from sfumato.tasks.terms.tombstone import (
    is_marked_beside,
    read_tombstone,
    record_beside,
    require_not_withdrawn,
)
from sfumato.tasks.verification.integrity import require_intact, require_regular_files
from sfumato.tasks.verification.limits import DEFAULT_LIMITS, ReadLimits, extent_within
from sfumato.tasks.verification.offered_keys import read_offers
from sfumato.tasks.verification.record import (
    Standing,
    VerificationRecord,
    files_as_they_stand,
    recall,
    remember,
    this_software,
)
from sfumato.tasks.verification.signing import author_of, author_of_withdrawal

Check = Callable[[Path, str | None, ReadLimits], object]
"""Checks a release from its files alone; raises where it cannot be verified."""


def refuse_tombstone(directory: Path, environ: Mapping[str, str]) -> None:
    """Refuse the place of a withdrawn version.

    Raises:
        PromiseError: with the day, the reason, and who signed that.
    """
    tombstone = read_tombstone(directory)
    if tombstone is not None:
        require_not_withdrawn(directory, author_of_withdrawal(directory, tombstone, environ))


@dataclass(frozen=True)
class Surroundings:
    """The files beside a release, as far as they bear on trust in it.

    Attributes:
        doubts: why nothing vouches for the release: files that cannot be read.
        remarks: files that are missing, and what is therefore not known.
    """

    doubts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def require_readable(self) -> None:
        """Refuse a release beside which a file cannot be read.

        Raises:
            PromiseError: naming the first.
        """
        for doubt in self.doubts:
            raise PromiseError(doubt)


def look_beside(directory: Path, digest: object) -> Surroundings:
    """Read the record and the keys beside a release that has a digest.

    Raises:
        PromiseError: where the record says that the release was withdrawn. Its directory may be
            about to be replaced, or software that left it there withdrew it.
    """
    doubts: list[str] = []
    withdrawn = False
    try:
        withdrawn = is_marked_beside(directory, digest)
    except PromiseError as error:
        doubts.append(str(error))
    if withdrawn:
        raise PromiseError(
            f"{directory}: was withdrawn, according to the record beside it. Use a later version"
        )
    try:
        read_offers(directory.resolve().parent)
    except PromiseError as error:
        doubts.append(f"{error}, and it may contain a revocation")
    record = record_beside(directory)
    if is_there(record):
        return Surroundings(tuple(doubts))
    absent = f"no {record.name} beside it: a withdrawal would not be noticed here"
    return Surroundings(tuple(doubts), (absent,))


@dataclass(frozen=True)
class WayIn:
    """A reader's way to open releases.

    Attributes:
        environ: the reader's, which says where cache and trust file are.
        announced: the digest that the publisher announced, where the reader gives it.
        limits: the sizes of tables that the reader takes.
        check: is run first, where the reader asks for it.
    """

    environ: Mapping[str, str]
    announced: str | None = None
    limits: ReadLimits = DEFAULT_LIMITS
    check: Check | None = None

    def open(self, directory: Path) -> Release:
        """Open a release; `verified` says whether anything vouches for its files.

        Raises:
            InputError: where there is no release, or it is larger than the limits.
            PromiseError: where its files are not those that its manifest lists, its digest is not
                the announced one, it does not pass the check, it is not signed as the reader's
                trust file demands, or it was withdrawn; with a check, also where a file beside it
                cannot be read.
        """
        refuse_tombstone(directory, self.environ)
        require_release(directory)
        standing = files_as_they_stand(directory)
        if self.check is not None:
            self.check(directory, self.announced, self.limits)
        release = open_release(directory)
        beside = look_beside(release.directory, release.manifest["sfumato"].get("digest"))
        if self.check is not None:
            beside.require_readable()
        record = self._record_of(release, standing)
        if self.announced is not None and self.announced != record.digest:
            raise PromiseError(
                f"{MANIFEST}: its digest is not the announced one. Check the digest and the version"
            )
        if not record.vouched and (self.check or self.announced):
            record = replace(record, vouched=True)
            self._keep(release, record, standing)
        author = author_of(directory, release.declared.name, record.digest, self.environ)
        return replace(
            release,
            verified=(record.vouched or author.trusted) and not beside.doubts,
            author=author.words,
            doubts=beside.doubts,
            remarks=beside.remarks,
        )

    def _record_of(self, release: Release, standing: Standing) -> VerificationRecord:
        """Return the record of the release from the cache, or make one by reading every file."""
        record = recall(release.directory, standing, self.environ)
        if record is not None:
            self.limits.require(record.extent, release.directory)
            return record
        require_regular_files(release.directory)
        require_intact(release)
        extent = extent_within(release.directory, self.limits)
        require_declared_tables(release.declared, _directories_of_tables(release))
        digest = release.manifest["sfumato"]["digest"]
        record = VerificationRecord(standing.key, digest, extent, False, this_software())
        self._keep(release, record, standing)
        return record

    def _keep(self, release: Release, record: VerificationRecord, standing: Standing) -> None:
        """Keep a record, unless a file changed so lately that another change could be missed."""
        if standing.settled:
            remember(release.directory, record, self.environ)


def _directories_of_tables(release: Release) -> Iterator[Path]:
    parts = release.declared.made_of
    places = [release.directory / PARTS / part.name for part in parts] or [release.directory]
    return (place / "data" for place in places)
