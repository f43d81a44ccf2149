"""log.json: the releases, withdrawals and key changes of a line, in a list that only grows.

The file is beside `releases.json`. It has all entries in order, and a head: the number of entries
and the root of their Merkle tree, signed if the line is. A reader who remembers a head can tell
whether the list still begins with all that it had then (`heads`).

    release      version, digest and time of a release that appeared
    withdrawal   version, digest and time of a release that was taken back
    key          a public key that the line offers
    rotation     the old key's statement that another takes its place
    revocation   the statement that nothing a key signed is to be trusted
    adopted      the first entry of a line that was published before: all of the above at that time

An entry is hashed as canonical JSON (RFC 8785). No entry has anything of a release's content.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.merkle import MerkleTree, leaf_hash, tree_of
from sfumato.tasks.schema.files import canonical_json, parse_json
from sfumato.tasks.schema.formats import read_content
from sfumato.tasks.terms.terms import LineName
from sfumato.tasks.verification.offered_keys import OfferedKeys, Revocation, Rotation, read_offers
from sfumato.tasks.verification.signing_keys import (
    PublicKey,
    Signed,
    Signer,
    Strict,
    statement,
    verifies,
)

LOG, RECORD = "log.json", "releases.json"
_WHAT = "the log of a line"
_HEAD = "head"
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[str, Field(pattern=r"^[0-9]+$", max_length=64)]
Time = Annotated[str, Field(max_length=64)]


class LoggedVersion(Strict):
    """A version as the log lists it.

    Attributes:
        digest: of its manifest.
        time: when it appeared.
        withdrawn: whether it was taken back since.
    """

    digest: Hex
    time: Time
    withdrawn: bool = False


class ReleaseEntry(Strict):
    """A release appeared."""

    kind: Literal["release"] = "release"
    version: Number
    digest: Hex
    time: Time


class WithdrawalEntry(Strict):
    """A release was taken back."""

    kind: Literal["withdrawal"] = "withdrawal"
    version: Number
    digest: Hex
    time: Time


class KeyEntry(PublicKey):
    """A key was offered."""

    kind: Literal["key"] = "key"


class RotationEntry(Rotation):
    """A key took another's place."""

    kind: Literal["rotation"] = "rotation"


class RevocationEntry(Revocation):
    """A key was revoked."""

    kind: Literal["revocation"] = "revocation"


class AdoptedEntry(Strict):
    """A line that had no log: its versions and keys when the log began."""

    kind: Literal["adopted"] = "adopted"
    time: Time
    versions: dict[Number, LoggedVersion]
    keys: tuple[PublicKey, ...] = ()
    rotations: tuple[Rotation, ...] = ()
    revocations: tuple[Revocation, ...] = ()


Entry = Annotated[
    ReleaseEntry | WithdrawalEntry | KeyEntry | RotationEntry | RevocationEntry | AdoptedEntry,
    Field(discriminator="kind"),
]


def entry_bytes(entry: Strict) -> bytes:
    """Return the bytes of an entry that are hashed."""
    return canonical_json(entry.model_dump(mode="json"))


class Head(Strict):
    """A head: what a log was at one time, in two numbers, and who signed that.

    Attributes:
        line: the line's name.
        size: the number of entries.
        root: of their Merkle tree.
        key: the key that signed it, None if nobody did.
        signature: of the statement `head` about line, root and size.
    """

    format: Literal[1] = 1
    line: LineName
    size: Annotated[int, Field(ge=1, lt=1 << 32, strict=True)]
    root: Hex
    key: PublicKey | None = Field(default=None, exclude_if=lambda key: key is None)
    signature: Signed | None = Field(default=None, exclude_if=lambda signed: signed is None)

    @property
    def tree(self) -> MerkleTree:
        """The number of entries and the root."""
        return MerkleTree(self.size, bytes.fromhex(self.root))

    def content(self) -> dict[str, Any]:
        """Return the object that is signed."""
        return {"line": self.line, "root": self.root, "size": self.size}

    def signer(self) -> PublicKey | None:
        """Return the key that signed it, trusted or not, or None if nobody did.

        Raises:
            PromiseError: where the signature is wrong.
        """
        if self.key is None and self.signature is None:
            return None
        message = statement(_HEAD, self.content())
        if self.key and self.signature and verifies(self.key.public, message, self.signature):
            return self.key
        raise PromiseError(
            f"the head of {self.line} with {self.size} entries: its signature does not match it. "
            "The head was changed"
        )


def head_of(line: str, tree: MerkleTree, signer: Signer | None) -> Head:
    """Return the head of a log, signed if there is a signer."""
    head = Head(line=line, size=tree.size, root=tree.root.hex())
    if signer is None:
        return head
    signature = signer.sign(_HEAD, head.content())
    return head.model_copy(update={"key": signer.key, "signature": signature})


class LineLog(Strict):
    """The content of the file."""

    format: Literal[1] = 1
    entries: Annotated[tuple[Entry, ...], Field(min_length=1)]
    head: Head

    @cached_property
    def leaves(self) -> list[bytes]:
        """The hashes of the entries."""
        return [leaf_hash(entry_bytes(entry)) for entry in self.entries]

    @cached_property
    def listing(self) -> "LoggedLine":
        """The versions and keys that the entries add up to."""
        return LoggedLine().with_entries(self.entries)

    def content(self) -> bytes:
        """Return the bytes of the file."""
        return canonical_json(self.model_dump(mode="json"))

    def begins_with(self, other: "LineLog") -> bool:
        """Decide whether the log has all entries of another one, in order."""
        return self.entries[: len(other.entries)] == other.entries


@dataclass(frozen=True)
class LoggedLine:
    """The versions and keys of a line, as its log or the files beside it list them."""

    versions: Mapping[str, LoggedVersion] = field(default_factory=dict)
    keys: tuple[PublicKey, ...] = ()
    rotations: tuple[Rotation, ...] = ()
    revocations: tuple[Revocation, ...] = ()

    @classmethod
    def of_files(
        cls, versions: Mapping[str, LoggedVersion], offered: OfferedKeys | None
    ) -> "LoggedLine":
        """Return what `releases.json` and `keys.json` list."""
        if offered is None:
            return cls(versions)
        return cls(versions, offered.keys, offered.rotations, offered.revocations)

    def with_entries(self, entries: Iterable[Strict]) -> "LoggedLine":
        """Return the listing with more entries.

        Raises:
            PromiseError: where an entry does not fit those before it.
        """
        growing = _GrowingLine(self)
        for position, entry in enumerate(entries):
            if not growing.take(entry, position):
                raise PromiseError(
                    f"{LOG}: entry {position} does not fit those before it. The log was changed"
                )
        return growing.listing()

    def entries_until(self, later: "LoggedLine", time: str) -> Iterator[Strict]:
        """Yield the entries that turn this listing into a later one.

        Args:
            later: has everything that this one has.
            time: of withdrawals.
        """
        yield from self._keys_until(later)
        for number, version in sorted(later.versions.items(), key=lambda pair: int(pair[0])):
            facts = {"version": number, "digest": version.digest}
            before = self.versions.get(number)
            if before is None:
                yield ReleaseEntry(**facts, time=version.time)
            if version.withdrawn and not (before and before.withdrawn):
                yield WithdrawalEntry(**facts, time=time)

    def _keys_until(self, later: "LoggedLine") -> Iterator[Strict]:
        for kind, here, there in (
            (KeyEntry, self.keys, later.keys),
            (RotationEntry, self.rotations, later.rotations),
            (RevocationEntry, self.revocations, later.revocations),
        ):
            yield from (kind(**dict(part)) for part in there if part not in here)

    def contradictions(self, beside: "LoggedLine") -> Iterator[str]:
        """Yield, in words, where the files beside a log contradict its listing.

        What takes trust away counts at once; what gives trust needs an entry. So a withdrawal or a
        revocation that has no entry yet, and a key that is only offered, contradict nothing.
        """
        for number, version in self.versions.items():
            difference = _difference(version, beside.versions.get(number))
            if difference is not None:
                yield f"version {number}: {difference}"
        for number in sorted(beside.versions.keys() - self.versions.keys()):
            yield f"version {number}: releases.json lists it, and the log does not"
        if not {*self.keys} <= {*beside.keys}:
            yield "keys.json leaves out a key that the log lists"
        if {*self.rotations} != {*beside.rotations}:
            yield "keys.json has other rotations than the log"
        if not {*self.revocations} <= {*beside.revocations}:
            yield "keys.json leaves out a revocation that the log lists"


def _difference(version: LoggedVersion, there: LoggedVersion | None) -> str | None:
    """Return how a version is listed otherwise in `releases.json`, or None if it is not."""
    if there is None:
        return "the log lists it, and releases.json leaves it out"
    if (there.digest, there.time) != (version.digest, version.time):
        return "releases.json has another digest or time than the log"
    if version.withdrawn and not there.withdrawn:
        return "the log lists it as withdrawn, and releases.json does not"
    return None


class _GrowingLine:
    """A listing while entries are added to it, one after another."""

    def __init__(self, listing: LoggedLine) -> None:
        self._adopt(listing)

    def _adopt(self, whole: LoggedLine | AdoptedEntry) -> None:
        self._versions = dict(whole.versions)
        self._keys = dict.fromkeys(whole.keys)  # a set in order
        self._rotations = dict.fromkeys(whole.rotations)
        self._revocations = dict.fromkeys(whole.revocations)

    def listing(self) -> LoggedLine:
        """Return what was added up."""
        keys, rotations, revocations = self._keys, self._rotations, self._revocations
        return LoggedLine(self._versions, tuple(keys), tuple(rotations), tuple(revocations))

    def take(self, entry: Strict, position: int) -> bool:
        """Add an entry; return False if it does not fit those before it."""
        match entry:
            case AdoptedEntry():
                self._adopt(entry)
                return position == 0
            case ReleaseEntry(version=number, digest=digest, time=time):
                return _add(self._versions, number, LoggedVersion(digest=digest, time=time))
            case WithdrawalEntry():
                return self._withdraw(entry)
            case KeyEntry():
                return _add(self._keys, _plain(PublicKey, entry))
            case RotationEntry():
                return _add(self._rotations, _plain(Rotation, entry))
            case RevocationEntry():
                return _add(self._revocations, _plain(Revocation, entry))
        return False

    def _withdraw(self, entry: WithdrawalEntry) -> bool:
        version = self._versions.get(entry.version)
        if version is None or (version.digest, version.withdrawn) != (entry.digest, False):
            return False
        self._versions[entry.version] = version.model_copy(update={"withdrawn": True})
        return True


def _add(mapping: dict[Any, Any], key: Any, value: Any = None) -> bool:
    """Add a key to a mapping; return False if it was there."""
    if key in mapping:
        return False
    mapping[key] = value
    return True


def _plain(kind: type[Strict], entry: Strict) -> Any:
    """Return an entry as the object that `keys.json` has."""
    return kind(**entry.model_dump(exclude={"kind"}))


class _RecordedVersion(BaseModel):
    """The keys of a version in `releases.json` that a log repeats."""

    status: str
    digest: Hex
    time: Time


class _RecordedVersions(BaseModel):
    """The versions in a record of any format."""

    versions: dict[Number, _RecordedVersion]


def listing_beside(line: Path) -> LoggedLine:
    """Return what `releases.json` and `keys.json` in a line's public directory list.

    Raises:
        PromiseError: where one of them cannot be read.
    """
    place = line / RECORD
    content = read_content(place, "a record of versions")
    try:
        versions = (
            {} if content is None else _RecordedVersions.model_validate_json(content).versions
        )
    except ValidationError:
        raise PromiseError(f"{place}: cannot be read as a record of versions") from None
    return LoggedLine.of_files(
        {
            number: LoggedVersion(
                digest=version.digest, time=version.time, withdrawn=version.status == "withdrawn"
            )
            for number, version in versions.items()
        },
        read_offers(line),
    )


def read_log(line: Path) -> LineLog | None:
    """Return the log in a line's public directory, or None if there is none.

    Raises:
        PromiseError: where it cannot be read, or its head is not that of its entries.
    """
    return read_log_at(line / LOG)


def read_log_at(place: Path) -> LineLog | None:
    """Return the log in a file, or None if there is no file; errors are those of `read_log`."""
    content = read_content(place, _WHAT)
    return None if content is None else parse_log(place, content)


def parse_log(place: Path, content: bytes) -> LineLog:
    """Return a log as it is written; `place` is for messages.

    Raises:
        PromiseError: where it is no log, or its head is not that of its entries.
    """
    try:
        log = LineLog.model_validate(parse_json(content))
        if log.content() != content:
            raise ValueError
    except (ValidationError, ValueError):
        raise PromiseError(
            f"{place}: cannot be read as {_WHAT}. It is damaged or was changed, or newer software "
            "wrote it. Install a newer sfumato, or ask the publisher for the file"
        ) from None
    if log.head.tree != tree_of(log.leaves):
        raise PromiseError(
            f"{place}: its head is not that of its {len(log.entries)} entries. It is damaged or "
            "was changed. Ask the publisher for the file"
        )
    log.listing  # noqa: B018 - refuses entries that do not fit each other
    return log
