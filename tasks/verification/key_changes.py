"""Changes of keys: rotations and revocations, published beside a line and in its log.

The key that signs a change also signs the log's head, unless it is the key that is revoked: that
head stays without a signature until another key signs a version or a withdrawal.
"""

from datetime import UTC, datetime
from pathlib import Path

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.private.durable import hold_lock
from sfumato.tasks.verification.line_log import LoggedLine, listing_beside
from sfumato.tasks.verification.log_writing import LogPlace
from sfumato.tasks.verification.offered_keys import (
    KEYS_FILE,
    OfferedKeys,
    Revocation,
    Rotation,
    read_offers,
    write_offers,
)
from sfumato.tasks.verification.signing_keys import PublicKey, Signer

_LOCK = ".lock"  # of the line's public directory


def rotate(line: Path, old: Signer, new: PublicKey) -> None:
    """Publish that a key takes another's place.

    Raises:
        InputError: where the line does not offer the old key, or that has a successor already.
    """
    offered = _require_offered(line, old.key)
    if old.key.public == new.public or any(
        earlier.old == old.key.public for earlier in offered.rotations
    ):
        raise InputError(f"key {old.key.name}: another key has already replaced it")
    pair = {"old": old.key.public, "new": new.public}
    rotation = Rotation(**pair, signature=old.sign("rotation", pair))
    keys = (*offered.keys, *({new} - set(offered.keys)))
    changes = {"keys": keys, "rotations": (*offered.rotations, rotation)}
    _publish(line, offered, offered.model_copy(update=changes), old)


def revoke(line: Path, key: PublicKey, signer: Signer) -> None:
    """Publish that nothing a key signed is to be trusted.

    Raises:
        InputError: where the line does not offer the key, or the signer is neither it nor a
            successor.
    """
    offered = _require_offered(line, key)
    if signer.key.public not in (key.public, *offered.successors(key.public)):
        raise InputError(
            f"key {signer.key.name}: has not replaced {key.name}, so it cannot revoke it"
        )
    pair = {"key": key.public, "by": signer.key.public}
    revocation = Revocation(**pair, signature=signer.sign("revocation", pair))
    revocations = (*offered.revocations, revocation)
    _publish(line, offered, offered.model_copy(update={"revocations": revocations}), signer)


def _require_offered(line: Path, key: PublicKey) -> OfferedKeys:
    offered = read_offers(line)
    if offered is None or key.public not in offered.names():
        raise InputError(
            f"{line / KEYS_FILE}: does not offer key {key}. Check the name and the directory"
        )
    return offered


def _publish(line: Path, offered: OfferedKeys, changed: OfferedKeys, signer: Signer) -> None:
    """Write changed keys, and the log that goes with them.

    Raises:
        PromiseError: where the log is damaged, or contradicts the files beside it.
    """
    log = LogPlace(offered.line, line)
    with hold_lock(line / _LOCK):
        before = listing_beside(line)
        after = LoggedLine.of_files(before.versions, changed)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        log.prepare(before, after, time, lambda: signer)
        write_offers(line, changed)
        log.install(after)
