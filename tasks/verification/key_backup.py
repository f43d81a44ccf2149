"""Backups of signing keys: all keys as one file, each wrapped under its passphrase as on disk."""

from pathlib import Path

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.backup import pack, unpack_files
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes
from sfumato.tasks.verification.signing_keys import (
    KEYS,
    PublicKey,
    own_keys,
    parse_key,
    signing_key,
)


def backup_keys(work: Path) -> bytes:
    """Return all signing keys as one archive; no passphrase is needed, and none is removed.

    Raises:
        InputError: where there are none.
        PromiseError: where a file is no signing key.
    """
    files = {key.name: read_bytes(signing_key(work, key.name)) for key in own_keys(work)}
    if not files:
        raise InputError(
            f"{work / KEYS}: there are no signing keys to back up. To create one: sfumato "
            "keys generate NAME"
        )
    return pack(KEYS, files)


def restore_keys(work: Path, place: Path, content: bytes) -> list[PublicKey]:
    """Put back the signing keys of a backup that are missing; a key that is there stays as it is.

    Args:
        work: the work directory.
        place: the backup, for messages.
        content: its content.

    Returns:
        The keys that were put back.

    Raises:
        InputError: where it is no whole backup of signing keys, or another key has the name of one
            of them; then none is put back.
    """
    files = unpack_files(place, content, KEYS)
    saved = {name: _saved_key(place, name, part) for name, part in files.items()}
    missing = [name for name, key in saved.items() if not _is_there(work, key)]
    private_directory(private_directory(work) / KEYS)
    for name in missing:
        write_atomically(signing_key(work, name), files[name])
    return [saved[name] for name in missing]


def _saved_key(place: Path, name: str, content: bytes) -> PublicKey:
    try:
        key, _ = parse_key(place, content)
    except PromiseError:
        raise InputError(
            f"{place}: the backup is damaged or incomplete. Use another backup"
        ) from None
    if key.name != name:
        raise InputError(f"{place}: the backup is damaged or incomplete. Use another backup")
    return key


def _is_there(work: Path, key: PublicKey) -> bool:
    """Decide whether the key is in its place.

    Raises:
        InputError: where another key is in its place.
    """
    path = signing_key(work, key.name)
    if not path.exists():
        return False
    if parse_key(path, read_bytes(path))[0] != key:
        raise InputError(
            f"{path}: another key has this name, so no key was restored. Restore into "
            "another work directory (SFUMATO_WORK)"
        )
    return True
