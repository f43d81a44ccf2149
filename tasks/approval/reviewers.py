"""The publishing user's trust file of reviewers, by names of lines or patterns of them.

    $XDG_CONFIG_HOME/sfumato/reviewers.json

Only that user may be able to write or replace the file. Otherwise the builder of a release could
name reviewers of their own.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.verification.signing_keys import PublicKey
from sfumato.tasks.verification.trust import Trust, read_trust_at, trust_file, write_trust_at

_OTHERS_WRITE = 0o022


def reviewers_file(environ: Mapping[str, str]) -> Path:
    """Return the place of the file."""
    return trust_file(environ).with_name("reviewers.json")


def read_reviewers(environ: Mapping[str, str]) -> Trust:
    """Return the reviewers whom the user trusts; empty if there is no file.

    Raises:
        InputError: where the file cannot be read, or others could write it.
    """
    place = reviewers_file(environ)
    if place.exists():
        for path in (place, place.parent):
            _require_ours(path)
        for path in {*place.absolute().parents, *place.resolve().parents}:
            _require_safe_parent(path)
    return read_trust_at(place)


def trust_reviewer(key: PublicKey, pattern: str, environ: Mapping[str, str]) -> None:
    """Let a reviewer's approval count for the lines of a pattern.

    Raises:
        InputError: where the file cannot be read or written, or others could write it.
    """
    write_trust_at(reviewers_file(environ), read_reviewers(environ).with_keys(pattern, [key]))


def distrust_reviewer(fingerprint_: str, environ: Mapping[str, str]) -> list[PublicKey]:
    """Let a key count for no line any more, by its fingerprint.

    Raises:
        InputError: where no reviewer has it, or the file cannot be read or written.
    """
    trust = read_reviewers(environ)
    remaining, gone = trust.remove_key(fingerprint_)
    if not gone:
        raise InputError(
            f"{fingerprint_}: no reviewer's key has this fingerprint. To see all: sfumato "
            "review reviewers"
        )
    write_trust_at(reviewers_file(environ), remaining)
    return gone


def _require_ours(path: Path) -> None:
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(status.st_mode) & _OTHERS_WRITE:
        raise _not_ours(path)


def _require_safe_parent(path: Path) -> None:
    """Refuse a directory in which others could replace the user's entries."""
    status = path.stat()
    anothers = path != path.parent and status.st_uid not in (os.geteuid(), 0)
    open_ = stat.S_IMODE(status.st_mode) & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX
    if anothers or open_:
        raise _not_ours(path)


def _not_ours(path: Path) -> InputError:
    return InputError(
        f"{path}: other users can write this file, and could add reviewers. Make it "
        "yours (chown), and let only you write it (chmod go-w)"
    )
