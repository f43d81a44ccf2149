"""Attempts: what is done may be done twice, and one doing of it counts.

A worker that was thought dead may finish what another one does again. So each attempt writes into a
directory of its own, whoever asked keeps the one that was reported, and no other is left.
"""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.expectations.errors import Fault
from sfumato.tasks.private.workdir import private_directory

_ATTEMPTS = "attempts"
_ENDED = "attempts-ended"


@contextmanager
def open_attempts(stage: Path) -> Iterator[Path]:
    """A private directory for the attempts of a stage; what is not kept of them is deleted.

    Raises:
        Fault: where one is left.
    """
    place, ended = private_directory(stage / _ATTEMPTS), stage / _ENDED
    try:
        yield place
    finally:
        place.rename(ended)  # who comes late finds no place
        shutil.rmtree(ended, ignore_errors=True)
    if ended.exists() or place.exists():
        raise Fault(f"{_ATTEMPTS}: a worker still writes what nobody waits for: run again")


@contextmanager
def attempt(attempts: Path, name: str) -> Iterator[Path]:
    """A new private directory in which something is tried; it goes where that fails."""
    directory = attempts / f"{name}-{secrets.token_hex(8)}"
    directory.mkdir(mode=0o700)  # not its parents
    try:
        yield directory
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def keep_attempt(attempts: Path, reported: str, place: Path) -> None:
    """Make the attempt that was reported the one that counts, at its place."""
    (attempts / reported).rename(place)
