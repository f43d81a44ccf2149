"""A release line: its public directory and its private state, which belong together.

The public record repeats a keyed mark of the private line, and a counter that grows with every
change of its state. So another work directory, and a state put back from an old backup, are noticed
before anything is decided with them.
"""

import errno
import hmac
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.machine.disks import unwritable
from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import (
    WAY_OUT,
    Fault,
    InputError,
    PromiseError,
    SfumatoError,
)
from sfumato.tasks.arrays.at_rest import is_encrypted, read_stage_table
from sfumato.tasks.lines.versions import RECORD, Record, read_record, write_record
from sfumato.tasks.private.durable import hold_lock, sync_directory, write_atomically
from sfumato.tasks.private.keys import line_key
from sfumato.tasks.private.people.lines import lock_of_lines
from sfumato.tasks.private.people.store import keep_map, write_map
from sfumato.tasks.private.state import LineState, read_state, write_state
from sfumato.tasks.private.workdir import private_directory, state_lock
from sfumato.tasks.schema.files import read_bytes, sha256_of
from sfumato.tasks.schema.stated import KeptBars, PublishedWords
from sfumato.tasks.verification.line_log import LoggedVersion, listing_beside
from sfumato.tasks.verification.log_writing import LogPlace
from sfumato.tasks.verification.signing_keys import Signer, fingerprint, open_signer, public_key

# errors of a directory in which this user cannot write
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOSPC, errno.EDQUOT)
_RESTORE = "restore the line's private state (sfumato line restore SPEC FILE)"


LOCK, UNFINISHED = ".lock", ".unfinished"
"""Files beside a line's versions: its lock, and the mark of a change that is not finished."""


@dataclass(frozen=True)
class Line:
    """A release line.

    Attributes:
        name: its name.
        public: the directory of its versions.
        private: the directory of its state.
        signing_key: the file of the key that signs its versions, None if they are not signed.
        people: the name of the set of people that it is about, None for none.
        groups: the line whose groups it shows, None if they are its own.
        same_as: the names of its columns in another line of the same people.
        pinned: the SHA-256 of its source file if row numbers are its units, otherwise None.
        accepts_lines: whether the spec accepts what it reveals together with other lines.
        as_of: the day that its next version describes, None if no spec states it.
        reviewers: how many people have to approve a version before it appears.
        bars: limits on the results of attacks: no version beyond one appears. None for no limits.
        window: the width of a small range, in which guesses count; None if none is stated.
        others: whether the user states that newcomers are not people who left, under other names.
        rows_apart: why rows in which an identifier repeats are not one person's, None for none.
        words: its spec's words about it and its columns, None if no spec is at hand.
        policy: the questions of its spec's policy with people's answers, None without a policy.
        two_tables: whether its spec is of two related tables, which cannot name their people.
    """

    name: str
    public: Path
    private: Path
    signing_key: Path | None = None
    people: str | None = None
    accepts_lines: bool = False
    as_of: date | None = None
    groups: str | None = None
    same_as: Mapping[str, str] = field(default_factory=dict)
    pinned: str | None = None
    reviewers: int = 0
    bars: KeptBars | None = None
    window: Decimal | None = None
    words: PublishedWords | None = None
    rows_apart: str | None = None
    others: bool = False
    policy: Mapping[str, Any] | None = None
    two_tables: bool = False

    @property
    def published_words(self) -> PublishedWords:
        """The published words about it and its columns, with its signing key."""
        words = self.words or PublishedWords()
        if self.signing_key is None:
            return words
        try:
            key = fingerprint(public_key(self.signing_key).public)
        except SfumatoError:  # a user who builds a version for reviewers need not have the key
            return words
        return words.model_copy(update={"key": key})

    @property
    def work(self) -> Path:
        """The work directory, which other lines share."""
        return self.private.parent

    def reports(self, version: str) -> Path:
        """Return the folder of a version's private reports."""
        return private_directory(private_directory(self.private / "reports") / version)


@dataclass(frozen=True)
class CandidateMap:
    """The group of each person of a candidate, in a file that is large and read only when needed.

    Attributes:
        path: of the file, in its stage.
        sha256: of its content, when the candidate was assessed.
    """

    path: Path
    sha256: str

    def read(self) -> pa.Table:
        """Return the map.

        Raises:
            PromiseError: where it was changed since.
        """
        return read_stage_table(self.file())

    def file(self) -> Path:
        """Return the file of the map, if it is still as it was assessed.

        Raises:
            PromiseError: where it was changed since.
        """
        self._require_same(sha256_of(self.path))
        return self.path

    def keep(self, line: Path, version: str) -> str:
        """Keep the map in a line's directory as that of a version; return its SHA-256.

        Raises:
            PromiseError: where it was changed since.
        """
        if is_encrypted(self.path):
            return write_map(line, version, self.read())
        sha256 = keep_map(line, version, self.file())
        self._require_same(sha256)
        return sha256

    def _require_same(self, sha256: str) -> None:
        if sha256 != self.sha256:
            raise PromiseError(
                "the candidate's map was changed after validation. Release the spec again"
            )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate for a version: files that were assessed.

    Attributes:
        release: the directory of the whole release.
        sha256: the SHA-256 of each of its files when it was assessed, by its path from there.
        versions: the rule for people in several versions of the line (`disjoint`, `accepted-risk`
            or `composed`).
        suppressed: the rows that are not published, in canonical order (bool), None if all are.
        map: the group of each person, None if the line keeps no map.
        made_after: the digest of the line's last version when the map was made, if it goes on.
        followed: the SHA-256 of the map whose groups it shows, None if they are its own.
        counts: the numbers of people and groups that go on, or do not.
        digest: the digest of the approved manifest, None if no approval was needed.
        made_again: whether, when it was assessed, its tables were read back and gave the same
            files; False for candidates that earlier software assessed.
    """

    release: Path
    sha256: Mapping[str, str]
    versions: str
    suppressed: np.ndarray | None = None
    map: CandidateMap | None = None
    made_after: str | None = None
    followed: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    digest: str | None = None
    made_again: bool = False


@contextmanager
def hold(line: Line) -> Iterator[None]:
    """Hold the locks of the work directory's people, the line, and its public directory.

    They are always taken in this order, so that no two lines of a work directory are compared at
    once. At the end, the public directory of a line that has published nothing is cleared.

    Raises:
        InputError: where a file is in the way of the public one.
        Fault: where the line's directories cannot be written.
    """
    with _named_where_closed(line):
        new = not line.public.is_dir() or (line.public / LOCK).exists()
        _make_public(line.public)
        with lock_of_lines(line.work), state_lock(line.private):
            _make_public(line.public)  # another run may have deleted it meanwhile
            with hold_lock(line.public / LOCK):
                try:
                    yield
                finally:
                    _clear_empty(line.public, made_here=new)


def _clear_empty(public: Path, *, made_here: bool) -> None:
    """Leave no directory of a line that has published nothing; keep one that others made."""
    with suppress(OSError):  # it may be gone, or its parent closed to this user
        if has_published_nothing(public):
            for name in (UNFINISHED, LOCK):
                (public / name).unlink(missing_ok=True)
            if made_here:
                public.rmdir()


def has_published_nothing(public: Path) -> bool:
    """Decide whether a directory contains nothing but a line's lock and mark."""
    return {path.name for path in public.iterdir()} <= {LOCK, UNFINISHED}


def begin_change(public: Path) -> None:
    """Mark a line's directory, whose lock is held, until its pages follow a change."""
    (public / UNFINISHED).touch(mode=0o644)
    sync_directory(public)


def end_change(public: Path) -> None:
    """Delete the mark of a change that is finished."""
    (public / UNFINISHED).unlink(missing_ok=True)


def require_writable(line: Line) -> None:
    """Refuse to begin a run whose version could not be written.

    Raises:
        Fault: where this user cannot write in the public directory.
    """
    error = unwritable(line.public)
    if error is not None:
        message = with_remedies(f"publish.uri: {line.public}: cannot be written", error)
        raise Fault(f"{message}{WAY_OUT}name another directory: --set publish.uri=DIRECTORY")


def _make_public(place: Path) -> None:
    """Make the directory of a line's versions if it is missing.

    Raises:
        InputError: where a file is in the way.
        Fault: where this user cannot.
    """
    if place.is_dir():
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (NotADirectoryError, FileExistsError):
        raise InputError(
            f"publish.uri: {place} cannot be created, because a file is in the way. Move "
            "the file, or change publish.uri"
        ) from None
    except OSError as error:
        raise Fault(with_remedies(f"{place}: cannot be created", error)) from None
    sync_directory(place.parent)


@contextmanager
def hold_privately(line: Line) -> Iterator[None]:
    """Hold the locks of `hold` except that of the public directory, which stays as it is."""
    with lock_of_lines(line.work), state_lock(line.private):
        yield


@contextmanager
def _named_where_closed(line: Line) -> Iterator[None]:
    """Name a line's directory that this user may not read or write, and nothing inside it."""
    try:
        yield
    except OSError as error:
        where = Path(os.fsdecode(error.filename2 or error.filename or ""))  # the target of a copy
        for place in (line.public, line.private):
            if error.errno in _CLOSED and (where == place or _is_beside(where, place)):
                raise Fault(with_remedies(f"{place}: cannot be written", error)) from None
        raise


def _is_beside(where: Path, place: Path) -> bool:
    """Decide whether a path is in a directory, or is a directory that it is to be made in."""
    return place in where.parents or where in place.parents


def owner_mark(secret: bytes) -> str:
    """Return the public record's mark of a private line, keyed against claims by other lines."""
    return hmac.digest(secret, b"owner of the public record", "sha256").hex()


def with_change(state: LineState, record: Record, line: Line) -> tuple[LineState, Record]:
    """Return state and record with the next value of the counter, and the line's mark."""
    counter = max(state.counter, record.counter) + 1
    mark = owner_mark(line_key(line.private))
    return (
        state.model_copy(update={"counter": counter, "former_mark": None}),
        record.model_copy(update={"counter": counter, "owner": mark}),
    )


def take_ownership(line: Line) -> None:
    """Note in the public record that the line's state changed, and its present mark."""
    state, record = with_change(read_state(line.private), read_record(line.public), line)
    replace_record(line, record)
    write_state(line.private, state)


def replace_record(
    line: Line,
    record: Record,
    time: str | None = None,
    signer: Signer | None = None,
    *,
    in_any_case: bool = False,
) -> tuple[str, ...]:
    """Write the public record, and the log beside it; keep an older record with the private state.

    Args:
        line: the line, whose locks are held.
        record: the record to be written.
        time: of a withdrawal that is new in it; now, unless it is given.
        signer: signs the log; the line's key, unless it is given.
        in_any_case: whether the record is written even if the log cannot follow: a withdrawal does
            not wait for a damaged log.

    Returns:
        A warning if the log does not follow.

    Raises:
        PromiseError: where the log is missing or damaged, or contradicts the record.
    """
    try:
        prepare_log(line, record, time, signer)
    except SfumatoError as error:
        if not in_any_case:
            raise
        _write_record(line, record)
        return (f"warning: the log of the line has no entry of the withdrawal: {error}",)
    _write_record(line, record)
    log_of(line).install(listing_beside(line.public))
    return ()


def log_of(line: Line) -> LogPlace:
    """Return the place of a line's log."""
    return LogPlace(line.name, line.public, line.private)


def prepare_log(
    line: Line, record: Record, time: str | None = None, signer: Signer | None = None
) -> None:
    """Write the log that goes with a record, beside the present one; see `replace_record`."""
    before = listing_beside(line.public)
    after = replace(before, versions=_logged_versions(record))
    log_of(line).prepare(before, after, time or _now(), lambda: signer or _open_signer(line))


def mend_log(line: Line) -> None:
    """Finish or forget what a killed process began in the line's log."""
    log_of(line).mend(listing_beside(line.public), _now(), lambda: _open_signer(line))


def sign_log(line: Line, signer: Signer) -> None:
    """Write what the log of a line lacks, and sign its head if no valid key did."""
    prepare_log(line, read_record(line.public), signer=signer)
    log_of(line).install(listing_beside(line.public))


def _logged_versions(record: Record) -> dict[str, LoggedVersion]:
    return {
        number: LoggedVersion(
            digest=version.digest, time=version.time, withdrawn=version.status == "withdrawn"
        )
        for number, version in record.versions.items()
    }


def _open_signer(line: Line) -> Signer | None:
    """Return the line's signing key, or None if there is none or it cannot be opened here."""
    if line.signing_key is None:
        return None
    try:
        return open_signer(line.signing_key)
    except SfumatoError:
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write_record(line: Line, record: Record) -> None:
    place = line.public / RECORD
    if place.exists():
        older = read_record(line.public).format
        if older != record.lowest_format:
            write_atomically(line.private / f"releases.format-{older}.json", read_bytes(place))
    write_record(line.public, record)


def require_ours(line: Line, state: LineState, record: Record, directories: list[str]) -> None:
    """Refuse to decide about versions that are another line's, or that the state does not know.

    Args:
        line: the line that publishes.
        state: its private state.
        record: the public record.
        directories: the versions that are there, recorded or not.

    Raises:
        PromiseError: with what to do.
    """
    if record.owner is not None:
        _require_mark(line, state, record.owner)
    if state.counter < record.counter:
        raise PromiseError(
            f"the private state of {line.name} is lost or from an old backup: it is "
            f"older than its public record ({state.counter} < {record.counter}). To "
            f"continue, {_RESTORE}"
        )
    unknown = sorted({*record.versions, *directories} - state.versions.keys())
    if unknown:
        raise PromiseError(
            f"version {unknown[0]} in {line.public} is not known here. To continue, {_RESTORE}"
        )


def _require_mark(line: Line, state: LineState, owner: str) -> None:
    if owner not in (owner_mark(line_key(line.private)), state.former_mark):
        raise PromiseError(
            f"{line.public}: belongs to the private state of another work directory. "
            f"Use that directory (SFUMATO_WORK), or {_RESTORE}"
        )
