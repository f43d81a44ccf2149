"""Heads of logs: those that a reader remembers, and files with which readers exchange them.

    $XDG_CONFIG_HOME/sfumato/heads/<line>-<hash of the place>.json      beside the trust file

A head is remembered for the place where a line was checked. It is also compared with a copy of the
line elsewhere, which is recognised by the first entry of its log. Nothing but a passed check writes
here, and no head is replaced by one with fewer entries.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.expectations.shared.merkle import includes, inclusion_path, leaf_hash
from sfumato.tasks.private.durable import hold_lock, write_atomically
from sfumato.tasks.schema.files import canonical_json, parse_json, read_bytes
from sfumato.tasks.verification.line_log import (
    AdoptedEntry,
    Entry,
    Head,
    Hex,
    LineLog,
    ReleaseEntry,
    entry_bytes,
)
from sfumato.tasks.verification.signing_keys import Strict
from sfumato.tasks.verification.trust import trust_file

_MOST = 1 << 20  # bytes of a head: its proof may contain an entry of a line published before


class Inclusion(Strict):
    """A proof that a log has an entry.

    Attributes:
        entry: the entry.
        index: its place in the log, from 0.
        path: the proof.
    """

    entry: Entry
    index: Annotated[int, Field(ge=0, lt=1 << 32, strict=True)]
    path: tuple[Hex, ...]


class ExchangedHead(Head):
    """A head in a file, which a reader wrote for others, with a proof for one release."""

    inclusion: Inclusion | None = Field(default=None, exclude_if=lambda proof: proof is None)

    def includes(self, digest: str) -> bool:
        """Decide whether its proof shows that the log has a release."""
        proof = self.inclusion
        if proof is None or not has_release(proof.entry, digest):
            return False
        path = [bytes.fromhex(node) for node in proof.path]
        return includes(self.tree, leaf_hash(entry_bytes(proof.entry)), proof.index, path)


class RememberedHead(Strict):
    """A head that a reader has seen.

    Attributes:
        place: where the line was.
        first: the hash of the log's first entry.
        seen: the time.
        head: the head.
    """

    format: Literal[1] = 1
    place: str
    first: Hex
    seen: str
    head: Head


@dataclass(frozen=True)
class EarlierHead:
    """A head with which a log is compared.

    Attributes:
        head: the head.
        origin: in words, where it is from.
        file: the file that has it.
        by_reader: whether the reader named the file; False for a remembered one.
        elsewhere: whether it is remembered for another place than that of the log.
    """

    head: ExchangedHead | Head
    origin: str
    file: Path
    by_reader: bool = False
    elsewhere: bool = False


def has_release(entry: Strict, digest: str) -> bool:
    """Decide whether an entry says that a release appeared."""
    if isinstance(entry, AdoptedEntry):
        return any(version.digest == digest for version in entry.versions.values())
    return isinstance(entry, ReleaseEntry) and entry.digest == digest


def find_release(log: LineLog, digest: str) -> Inclusion | None:
    """Return the proof that a log has a release, or None if it has no entry of it."""
    for index, entry in enumerate(log.entries):
        if has_release(entry, digest):
            path = tuple(node.hex() for node in inclusion_path(log.leaves, index))
            return Inclusion(entry=entry, index=index, path=path)
    return None


def exchanged_head(log: LineLog, digest: str) -> bytes:
    """Return the content of a head's file, with the proof for a release if the log has it."""
    head = ExchangedHead(**dict(log.head), inclusion=find_release(log, digest))
    return canonical_json(head.model_dump(mode="json"))


def read_head(file: Path) -> EarlierHead:
    """Return the head in a file that a reader wrote.

    Raises:
        InputError: where it is none.
    """
    try:
        document = parse_json(read_bytes(file, _MOST))
        head = ExchangedHead.model_validate(document)
    except (ValidationError, ValueError, OSError):
        raise InputError(
            f"--head {file}: cannot be read as a head. Give a file that sfumato check LINE "
            "--write-head FILE wrote"
        ) from None
    return EarlierHead(head, f"in {file}", file, by_reader=True)


def heads_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of the reader's remembered heads."""
    return trust_file(environ).parent / "heads"


def remembered_heads(
    name: str, line: Path, log: LineLog | None, environ: Mapping[str, str]
) -> Iterator[EarlierHead]:
    """Yield the remembered heads of a line: of its place, and of its log wherever that was.

    Args:
        name: the line's name.
        line: its directory.
        log: its log now, None if there is none.
        environ: the reader's.

    Raises:
        InputError: where a remembered head cannot be read: a reader who remembers something must
            not be told that nothing is remembered.
    """
    first = None if log is None else log.leaves[0].hex()
    for file in sorted(heads_directory(environ).glob(f"{name}-*.json")):
        remembered = _read_remembered(file)
        same_place = remembered.place == str(line)
        if remembered.head.line == name and (same_place or remembered.first == first):
            day = remembered.seen[:10]
            place = "" if same_place else f" in {remembered.place}"
            origin = f"seen on {day}{place}"
            yield EarlierHead(remembered.head, origin, file, elsewhere=not same_place)


def remember_head(line: Path, log: LineLog, environ: Mapping[str, str]) -> str | None:
    """Remember the head of a log that was checked; return why that failed, or None.

    Args:
        line: the directory of the line.
        log: its log.
        environ: the reader's.
    """
    directory = heads_directory(environ)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_lock(directory / ".lock"):
            _keep_longest(head_file(log.head.line, line, environ), line, log)
    except OSError as error:
        return f"{directory}: the head cannot be remembered ({reason_of(error)})"
    except Fault as error:
        return f"{directory}: the head cannot be remembered ({error})"
    return None


def head_file(name: str, line: Path, environ: Mapping[str, str]) -> Path:
    """Return the file of the head that is remembered for a place."""
    place = hashlib.sha256(os.fsencode(line)).hexdigest()[:16]
    return heads_directory(environ) / f"{name}-{place}.json"


def _keep_longest(file: Path, line: Path, log: LineLog) -> None:
    """Write a head, unless another process has remembered a longer log meanwhile."""
    if file.exists() and _read_remembered(file).head.size > log.head.size:
        return
    remembered = RememberedHead(
        place=str(line),
        first=log.leaves[0].hex(),
        seen=datetime.now(UTC).isoformat(timespec="seconds"),
        head=log.head,
    )
    write_atomically(file, canonical_json(remembered.model_dump(mode="json")), mode=0o600)


def _read_remembered(file: Path) -> RememberedHead:
    try:
        return RememberedHead.model_validate(parse_json(read_bytes(file, _MOST)))
    except (ValidationError, ValueError, OSError):
        raise InputError(
            f"{file}: cannot be read as a head that you have seen. Restore it from a backup, or "
            "delete it: then nothing before the next check is compared"
        ) from None
