"""keys.json beside a line: the keys with which it is signed, their rotations and revocations.

The file is an offer, and makes nothing trusted. But a reader who trusts one of the keys can follow
it: a rotation is signed by the old key and names the new one; a revocation is signed by the key
itself or by one that came after it.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.schema.files import canonical_json, read_json
from sfumato.tasks.terms.terms import LineName
from sfumato.tasks.verification.signing_keys import (
    Public,
    PublicKey,
    Signed,
    Strict,
    statement,
    verifies,
)

KEYS_FILE = "keys.json"


class Rotation(Strict):
    """The old key's statement that another takes its place."""

    old: Public
    new: Public
    signature: Signed

    def holds(self) -> bool:
        """Decide whether the old key signed it."""
        message = statement("rotation", self.model_dump(exclude={"signature"}))
        return verifies(self.old, message, self.signature)


class Revocation(Strict):
    """The statement of a key, or of its successor, that nothing it signed is to be trusted."""

    key: Public
    by: Public
    signature: Signed

    def holds(self) -> bool:
        """Decide whether the key that it names signed it."""
        message = statement("revocation", self.model_dump(exclude={"signature"}))
        return verifies(self.by, message, self.signature)


class OfferedKeys(Strict):
    """The content of keys.json."""

    format: Literal[1] = 1
    line: LineName
    keys: tuple[PublicKey, ...] = ()
    rotations: tuple[Rotation, ...] = ()
    revocations: tuple[Revocation, ...] = ()

    def names(self) -> dict[str, PublicKey]:
        """Return the keys by their public bytes, which verify signatures."""
        return {key.public: key for key in self.keys}

    def successors(self, public: str, gone: Collection[str] = ()) -> Iterator[str]:
        """Yield the keys that came after one, each named by the one before it.

        Nothing follows a key that names two, or one of `gone`, whose secret others may have.
        """
        seen = {public}
        while public not in gone:
            named = {
                rotation.new
                for rotation in self.rotations
                if rotation.old == public and rotation.holds()
            }
            if len(named) != 1 or named & seen:
                return
            (public,) = named
            seen.add(public)
            yield public

    def revoked_keys(self) -> frozenset[str]:
        """Return the keys that were revoked by themselves or by one that came after them.

        If a key names two successors, either may revoke it: a thief cannot save a stolen key by
        naming another.
        """
        valid = (revocation for revocation in self.revocations if revocation.holds())
        return frozenset(
            revocation.key
            for revocation in valid
            if revocation.by in {revocation.key} | self._all_successors(revocation.key)
        )

    def _all_successors(self, public: str) -> set[str]:
        """Return all keys that came after one, however many each names."""
        successors: set[str] = set()
        ahead = {public}
        while ahead:
            ahead = {r.new for r in self.rotations if r.old in ahead and r.holds()} - successors
            successors |= ahead
        return successors


def read_offers(line: Path) -> OfferedKeys | None:
    """Return the keys that a line's public directory offers, or None if there are none.

    Raises:
        PromiseError: where the file is none of these.
    """
    try:
        return OfferedKeys.model_validate(read_json(line / KEYS_FILE))
    except FileNotFoundError:
        return None
    except (ValidationError, ValueError, OSError):
        raise PromiseError(
            f"{line / KEYS_FILE}: cannot be read as the keys of a line. Restore it from a backup"
        ) from None


def offer(line: Path, name: str, key: PublicKey) -> None:
    """Publish a key beside the line of that name."""
    offered = read_offers(line) or OfferedKeys(line=name)
    if key not in offered.keys:
        write_offers(line, offered.model_copy(update={"keys": (*offered.keys, key)}))


def require_next_signer(line: Path, name: str, key: PublicKey, before: PublicKey | None) -> None:
    """Refuse a key that readers of a line would not accept for a published version.

    Args:
        line: its public directory.
        name: of the line.
        key: the key that is to sign.
        before: the key that signed the version, None if none did.

    Raises:
        InputError: where the key was revoked or another took its place, or where it did not take
            the place of the one before it and that was not revoked.
    """
    offered = read_offers(line) or OfferedKeys(line=name)
    if key.public in offered.revoked_keys():
        raise InputError(
            f"key {key}: was revoked in {line}, so it cannot sign here. Use another key"
        )
    if any(rotation.old == key.public and rotation.holds() for rotation in offered.rotations):
        raise InputError(f"key {key}: another key replaced it in {line}. Sign with that key")
    if before is None or before.public in offered.revoked_keys():
        return
    if key.public not in (before.public, *offered.successors(before.public)):
        raise InputError(
            f"key {key}: has not replaced {before}, which signed the line so far. To "
            f"replace it: sfumato keys rotate {before.name} {key.name} {line}"
        )


def offered_key(line: Path, name: str) -> PublicKey:
    """Return the key of that name that a line offers.

    Raises:
        InputError: where there is none, or there are several.
    """
    offered = read_offers(line) or OfferedKeys(line=line.name)
    matches = [key for key in offered.keys if key.name == name]
    if len(matches) != 1:
        raise InputError(
            f"{line / KEYS_FILE}: must offer one key called {name}, but offers {len(matches)}"
        )
    return matches[0]


def write_offers(line: Path, offered: OfferedKeys) -> None:
    """Replace the keys that a line offers."""
    write_atomically(line / KEYS_FILE, canonical_json(offered.model_dump(mode="json")), mode=0o644)
