"""Additions to a line's log: prepared beside it, and in its place once the other files are.

    <line>/.log-next.json        the next log, with its signed head
    <work>/<line>/log.json       the last log that was written here, privately

`releases.json` and `keys.json` are replaced between the two steps. A process that is killed between
them leaves the prepared log, which the next command puts in its place without a key (`mend_log`),
or deletes, if the other files were not replaced.

A line that was published before begins its log with an entry of everything that is there. The
private copy keeps a log from being begun a second time: readers would take that for a fork.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.shared.errors import WAY_OUT, PromiseError, SfumatoError
from sfumato.expectations.shared.merkle import leaf_hash, tree_of
from sfumato.tasks.private.durable import sync_directory, write_atomically
from sfumato.tasks.schema.files import is_there, read_bytes
from sfumato.tasks.verification.line_log import (
    LOG,
    AdoptedEntry,
    KeyEntry,
    LineLog,
    LoggedLine,
    entry_bytes,
    head_of,
    read_log,
    read_log_at,
)
from sfumato.tasks.verification.signing_keys import Signer, Strict

NEXT_LOG = ".log-next.json"
OpenSigner = Callable[[], Signer | None]
"""Opens the key that signs a head; it is called only if a head is to be signed."""


def no_signer() -> Signer | None:
    """Return None: heads are not signed."""
    return None


@dataclass(frozen=True)
class LogPlace:
    """The log of a line.

    Attributes:
        line: the line's name.
        public: the line's public directory, whose lock is held.
        private: the line's private directory, None if it is not at hand.
    """

    line: str
    public: Path
    private: Path | None = None

    def prepare(
        self, before: LoggedLine, after: LoggedLine, time: str, open_signer: OpenSigner = no_signer
    ) -> None:
        """Write the log that goes with files that are about to be written, beside the present one.

        A log that was prepared already for these files stays.

        Args:
            before: what the line's files list now.
            after: what they are about to list.
            time: of the entries that have no other.
            open_signer: opens the key that signs the head.

        Raises:
            PromiseError: where the present log is missing or damaged, or contradicts the files.
        """
        if self._prepared_for(after) is not None:
            return
        present = self._read_present(before)
        entries = _entries(present, before, after, time)
        following = LoggedLine().with_entries(entries)
        _require_agreement(self.public / LOG, following, after)
        log = self._with_head(present, entries, after, open_signer)
        if log is not None:
            write_atomically(self.public / NEXT_LOG, log.content(), mode=0o644)

    def install(self, beside: LoggedLine) -> None:
        """Put the prepared log in its place, if it goes with the files as they are now.

        Args:
            beside: what the line's files list.
        """
        if self._prepared_for(beside) is None:
            return
        (self.public / NEXT_LOG).replace(self.public / LOG)
        sync_directory(self.public)
        if self.private is not None:
            write_atomically(self.private / LOG, read_bytes(self.public / LOG))

    def discard(self) -> None:
        """Delete a prepared log whose files are not going to be written."""
        (self.public / NEXT_LOG).unlink(missing_ok=True)

    def mend(self, beside: LoggedLine, time: str, open_signer: OpenSigner = no_signer) -> None:
        """Finish or forget an addition that was stopped; add what other software left out.

        A log that is missing or damaged, or contradicts the files, stays: what adds to it says so.

        Args:
            beside: what the line's files list.
            time: of the entries that have no other.
            open_signer: opens the key that signs the head.
        """
        if self._prepared_for(beside) is None:
            self.discard()
            if not is_there(self.public / LOG):
                return
            with suppress(SfumatoError):
                self.prepare(beside, beside, time, open_signer)
        self.install(beside)

    def prepared_time(self, number: str) -> str | None:
        """Return the time of a version in the prepared log, or None if it has none."""
        log = self._read_prepared()
        version = None if log is None else log.listing.versions.get(number)
        return None if version is None else version.time

    def _prepared_for(self, after: LoggedLine) -> LineLog | None:
        """Return the prepared log if it goes with these files, and continues the present one."""
        log, present = self._read_prepared(), _read_if_whole(self.public / LOG)
        if log is None or any(log.listing.contradictions(after)):
            return None
        if any(log.listing.entries_until(after, "")) or not (
            present is None or log.begins_with(present)
        ):
            return None
        return log

    def _read_prepared(self) -> LineLog | None:
        return _read_if_whole(self.public / NEXT_LOG)

    def _read_present(self, before: LoggedLine) -> LineLog | None:
        """Return the log that is to be continued, or None if none was ever begun.

        The private copy says nothing of a public place that is empty.

        Raises:
            PromiseError: where it lacks entries that were written here.
        """
        present, private = read_log(self.public), self._private_copy()
        begun = present is not None or bool(before.versions)
        place = self.private / LOG if self.private else LOG
        if private and begun and not (present and present.begins_with(private)):
            raise PromiseError(
                f"{self.public / LOG}: is missing, or is not the log that was written here. "
                "Readers would take another one for a fork. Put back the private copy:"
                f"{WAY_OUT}cp {place} {self.public / LOG}"
            )
        return present

    def _private_copy(self) -> LineLog | None:
        return None if self.private is None else read_log_at(self.private / LOG)

    def _with_head(
        self,
        present: LineLog | None,
        entries: tuple[Strict, ...],
        after: LoggedLine,
        open_signer: OpenSigner,
    ) -> LineLog | None:
        """Return the log to be written, or None if the present one is to stay.

        A line that offers keys begins its log with a signed head only, and a key that is only
        offered waits for a signed head: readers who trust a key refuse a head without signature.
        """
        added = entries[len(present.entries) if present else 0 :]
        revoked = {revocation.key for revocation in after.revocations}
        if present and not added and (not after.keys or _is_signed(present, revoked)):
            return None
        signer = open_signer()
        if signer is not None and signer.key.public in revoked:
            signer = None
        waits = present is None or all(isinstance(entry, KeyEntry) for entry in added)
        if not entries or (signer is None and after.keys and waits):
            return None
        head = head_of(self.line, tree_of([leaf_hash(entry_bytes(e)) for e in entries]), signer)
        return LineLog(entries=entries, head=head)


def _read_if_whole(place: Path) -> LineLog | None:
    """Return a log, or None if there is none or it is damaged."""
    try:
        return read_log_at(place)
    except SfumatoError:
        return None


def _is_signed(log: LineLog, revoked: set[str]) -> bool:
    return log.head.key is not None and log.head.key.public not in revoked


def _entries(
    present: LineLog | None, before: LoggedLine, after: LoggedLine, time: str
) -> tuple[Strict, ...]:
    """Return all entries of the log that goes with files: those there are, and new ones."""
    if present is not None:
        return (*present.entries, *present.listing.entries_until(after, time))
    if not before.versions:
        return tuple(LoggedLine().entries_until(after, time))
    adopted = AdoptedEntry(
        time=time,
        versions=dict(before.versions),
        keys=before.keys,
        rotations=before.rotations,
        revocations=before.revocations,
    )
    return (adopted, *before.entries_until(after, time))


def _require_agreement(place: Path, listing: LoggedLine, after: LoggedLine) -> None:
    """Refuse to continue a log that contradicts the files beside it.

    Raises:
        PromiseError: with the first contradiction.
    """
    for contradiction in listing.contradictions(after):
        raise PromiseError(
            f"{place}: contradicts the files beside it ({contradiction}). Put these files back as "
            "they were published last"
        )
