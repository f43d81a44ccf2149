"""Directories for as long as something runs: they go when it ends, however it ends.

Whatever is killed leaves its directory behind. Every command deletes such directories when it
starts, whoever they were of, and so does `sfumato sweep`.
"""

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sfumato.tasks.private.durable import locked, locked_if_free, was_left, write_atomically
from sfumato.tasks.private.workdir import private_directory, work_directory

_ALIVE = "alive"
_LOCK = ".lock"
_RETAIN = "retain.json"
_RUNS = "runs"
_SCRATCH = ".scratch"


@contextmanager
def run_directory(line: Path, retain_hours: int = 0) -> Iterator[Path]:
    """A new directory for the stages of one run of a line.

    With `retain_hours` the stages stay that long.
    """
    with _living_directory(line / _RUNS) as run:
        try:
            yield run
        finally:
            if retain_hours:
                until = json.dumps({"until": time.time() + 3600 * retain_hours})
                write_atomically(run / _RETAIN, until.encode())


@contextmanager
def scratch_directory(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """A new private directory for what is written only to be compared."""
    with _living_directory(private_directory(work_directory(environ)) / _SCRATCH) as scratch:
        yield scratch


@contextmanager
def _living_directory(parent: Path) -> Iterator[Path]:
    place = private_directory(parent)
    with locked(place / _LOCK):
        new = private_directory(place / secrets.token_hex(8))
        alive = locked(new / _ALIVE)
        alive.__enter__()
    try:
        yield new
    finally:
        if not _retained(new):
            shutil.rmtree(new, ignore_errors=True)
        alive.__exit__(None, None, None)


def sweep(environ: Mapping[str, str] = os.environ) -> int:
    """Delete what was left behind in the work directory, and what need no longer be retained.

    Returns:
        The number of directories that were deleted.
    """
    work = work_directory(environ)
    places = [work / _SCRATCH, *work.glob(f"*/{_RUNS}")]
    for temporary in (*work.glob("*/.*.tmp"), *work.glob("*/*/.*.tmp")):
        if was_left(temporary):
            temporary.unlink(missing_ok=True)
    return sum(_sweep(place) for place in places if place.is_dir() and os.access(place, os.W_OK))


def _sweep(place: Path) -> int:
    swept = 0
    with locked(place / _LOCK):
        for directory in (entry for entry in place.iterdir() if entry.is_dir()):
            with locked_if_free(directory / _ALIVE) as free:
                if free and not _retained(directory):
                    shutil.rmtree(directory, ignore_errors=True)
                    swept += 1
    return swept


def _retained(directory: Path) -> bool:
    try:
        until = json.loads((directory / _RETAIN).read_text(encoding="utf-8"))["until"]
        return time.time() < float(until)
    except (OSError, ValueError, KeyError, TypeError):
        return False
