"""keys.json beside a line: the keys with which it is signed, and what became of them.

It is an offer, and makes nothing trusted. But whoever trusts one of the keys can follow it: a
rotation is signed by the old key and names the new one; a revocation is signed by the key itself or
by one that came after it.
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
    Signer,
    Strict,
    statement,
    verifies,
)

KEYS_FILE = "keys.json"


class Rotation(Strict):
    """The old key's word that another takes its place."""

    old: Public
    new: Public
    signature: Signed

    def holds(self) -> bool:
        """True where the old key signed it."""
        message = statement("rotation", self.model_dump(exclude={"signature"}))
        return verifies(self.old, message, self.signature)


class Revocation(Strict):
    """The word of a key, or of its successor, that nothing it signed is to be trusted."""

    key: Public
    by: Public
    signature: Signed

    def holds(self) -> bool:
        """True where the key that it says signed it."""
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
        """The keys by what verifies."""
        return {key.public: key for key in self.keys}

    def successors(self, public: str, gone: Collection[str] = ()) -> Iterator[str]:
        """The keys that came after one, each named by the one before it.

        Nothing follows a key that names two, or one of `gone`, whose secret others may have.
        """
        seen = {public}
        while public not in gone:
            named = {one.new for one in self.rotations if one.old == public and one.holds()}
            if len(named) != 1 or named & seen:
                return
            (public,) = named
            seen.add(public)
            yield public

    def revoked(self) -> frozenset[str]:
        """The keys that were revoked by themselves or by one that came after them.

        Of two that a key names, either will do: a thief cannot save what was stolen by naming one.
        """
        held = (one for one in self.revocations if one.holds())
        return frozenset(one.key for one in held if one.by in {one.key} | self._after(one.key))

    def _after(self, public: str) -> set[str]:
        """All keys that came after one, however many each names."""
        found: set[str] = set()
        ahead = {public}
        while ahead:
            ahead = {r.new for r in self.rotations if r.old in ahead and r.holds()} - found
            found |= ahead
        return found


def read_offers(line: Path) -> OfferedKeys | None:
    """The keys that a line's public directory offers, None where there are none.

    Raises:
        PromiseError: where the file is none of these.
    """
    try:
        return OfferedKeys.model_validate(read_json(line / KEYS_FILE))
    except FileNotFoundError:
        return None
    except (ValidationError, ValueError, OSError):
        raise PromiseError(f"{line / KEYS_FILE}: cannot be read as the keys of a line") from None


def offer(line: Path, name: str, key: PublicKey) -> None:
    """Publish a key beside the line of that name."""
    known = read_offers(line) or OfferedKeys(line=name)
    if key not in known.keys:
        _write(line, known.model_copy(update={"keys": (*known.keys, key)}))


def rotate(line: Path, old: Signer, new: PublicKey) -> None:
    """Publish that a key takes another's place.

    Raises:
        InputError: where the line does not offer the old key, or that has a successor already.
    """
    known = _offering(line, old.key)
    if old.key.public == new.public or any(one.old == old.key.public for one in known.rotations):
        raise InputError(f"key {old.key.name}: another key has taken its place already")
    pair = {"old": old.key.public, "new": new.public}
    rotation = Rotation(**pair, signature=old.sign("rotation", pair))
    keys = (*known.keys, *({new} - set(known.keys)))
    changes = {"keys": keys, "rotations": (*known.rotations, rotation)}
    _write(line, known.model_copy(update=changes))


def revoke(line: Path, key: PublicKey, by: Signer) -> None:
    """Publish that nothing a key signed is to be trusted.

    Raises:
        InputError: where the line does not offer the key, or `by` is neither it nor a successor.
    """
    known = _offering(line, key)
    if by.key.public not in (key.public, *known.successors(key.public)):
        raise InputError(f"key {by.key.name}: did not take the place of {key.name}")
    pair = {"key": key.public, "by": by.key.public}
    revocation = Revocation(**pair, signature=by.sign("revocation", pair))
    _write(line, known.model_copy(update={"revocations": (*known.revocations, revocation)}))


def require_next_signer(line: Path, name: str, key: PublicKey, before: PublicKey | None) -> None:
    """Refuse a key that readers of a line would not take for a version that stands.

    Args:
        line: its public directory.
        name: of the line.
        key: what is to sign.
        before: the key that signed the version, None where none did.

    Raises:
        InputError: where the key was revoked or another took its place, or where it did not take
            the place of the one before it and that was not revoked.
    """
    offered = read_offers(line) or OfferedKeys(line=name)
    if key.public in offered.revoked():
        raise InputError(f"key {key}: was revoked beside {line}")
    if any(one.old == key.public and one.holds() for one in offered.rotations):
        raise InputError(f"key {key}: another key took its place beside {line}")
    if before is None or before.public in offered.revoked():
        return
    if key.public not in (before.public, *offered.successors(before.public)):
        raise InputError(
            f"key {key}: did not take the place of {before}, which signed it "
            f"(sfumato keys rotate {before.name} {key.name} {line})"
        )


def offered_key(line: Path, name: str) -> PublicKey:
    """The key of that name that a line offers.

    Raises:
        InputError: where there is none, or there are several.
    """
    known = read_offers(line) or OfferedKeys(line=line.name)
    found = [key for key in known.keys if key.name == name]
    if len(found) != 1:
        raise InputError(f"{line / KEYS_FILE}: offers {len(found)} keys called {name}")
    return found[0]


def _offering(line: Path, key: PublicKey) -> OfferedKeys:
    known = read_offers(line)
    if known is None or key.public not in known.names():
        raise InputError(f"{line / KEYS_FILE}: does not offer key {key}")
    return known


def _write(line: Path, offered: OfferedKeys) -> None:
    write_atomically(line / KEYS_FILE, canonical_json(offered.model_dump(mode="json")), mode=0o644)
