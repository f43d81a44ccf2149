"""Directories that exist while something runs: they are deleted when it ends, however it ends.

A process that is killed leaves its directory behind. Every command deletes such directories of all
processes when it starts, and so does `sfumato sweep`.
"""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sfumato.expectations.machine.disks import writing_below
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.private.durable import hold_lock, hold_lock_if_free, was_left, write_atomically
from sfumato.tasks.private.workdir import is_private, private_directory, work_directory
from sfumato.tasks.schema.files import read_bytes, read_json

_ALIVE = "alive"  # the lock that a process holds while it uses a directory
_LOCK = ".lock"
_RETAIN = "retain.json"  # the time until which a directory stays
_RUNS = "runs"
_SCRATCH = ".scratch"
_DRAFTS = ".drafts"


@contextmanager
def run_directory(line: Path, retain_hours: int = 0) -> Iterator[Path]:
    """Yield a new directory for the stages of one run of a line.

    With `retain_hours` the stages stay that long.
    """
    with _retained_directory(line / _RUNS, retain_hours) as run:
        yield run


@contextmanager
def draft_directory(work: Path, retain_hours: int) -> Iterator[Path]:
    """Yield a new directory for drafts that are never published, which stays for some hours."""
    with _retained_directory(private_directory(work) / _DRAFTS, retain_hours) as draft:
        yield draft


@contextmanager
def scratch_directory(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yield a new private directory for files that are written only to be compared."""
    with _living_directory(private_directory(work_directory(environ)) / _SCRATCH) as scratch:
        yield scratch


@contextmanager
def comparison_directory(work: Path, key: str, hours: int) -> Iterator[Path]:
    """Yield the directory of a comparison, which can be reused by its key for some hours.

    Args:
        work: the work directory.
        key: sixteen hexadecimal digits.
        hours: the number of hours for which it stays.

    Raises:
        InputError: where another process compares the same.
    """
    with _retained_directory(private_directory(work) / _DRAFTS, hours, key) as directory:
        _retain(directory, hours)  # even if the process is killed: its results can be reused
        yield directory


@contextmanager
def _retained_directory(parent: Path, hours: int, name: str | None = None) -> Iterator[Path]:
    with _living_directory(parent, name) as new:
        try:
            yield new
        finally:
            if hours:
                _retain(new, hours)


@contextmanager
def _living_directory(parent: Path, name: str | None = None) -> Iterator[Path]:
    place = private_directory(parent)
    with hold_lock(place / _LOCK):
        new = private_directory(place / (name or secrets.token_hex(8)))
        alive = hold_lock_if_free(new / _ALIVE)
        if not alive.__enter__():
            raise InputError(f"{new}: another process uses this directory. Wait until it ends")
    try:
        with writing_below(new):
            yield new
    finally:
        is_over = not _is_retained(new)
        if is_over:
            shutil.rmtree(new, ignore_errors=True)
        alive.__exit__(None, None, None)
        if is_over and new.exists():  # Windows deletes no file that is open
            shutil.rmtree(new, ignore_errors=True)


_STARTED, _PARENTHESIS = 19, b")"  # the place of the start in /proc/<pid>/stat, after the name


def _retain(directory: Path, hours: int) -> None:
    until = json.dumps({"until": time.time() + 3600 * hours})
    write_atomically(directory / _RETAIN, until.encode())


def sweep(environ: Mapping[str, str] = os.environ) -> int:
    """Delete directories left behind in the work directory, and those whose time is over.

    Returns:
        The number of directories that were deleted.
    """
    work = work_directory(environ)
    if not is_private(work):
        return 0
    lines = [lock.parents[1] for lock in work.glob(f"*/{_RUNS}/{_LOCK}")]
    lines = [line for line in lines if is_private(line)]
    for temporary in (temporary for line in lines for temporary in _half_written(line)):
        if was_left(temporary):
            temporary.unlink(missing_ok=True)
    places = [work / _SCRATCH, work / _DRAFTS, *(line / _RUNS for line in lines)]
    return sum(_sweep(place) for place in places if is_private(place))


def _half_written(line: Path) -> list[Path]:
    return [*line.glob(".*.tmp"), *line.glob("*/.*.tmp")]


def _sweep(place: Path) -> int:
    swept = 0
    with hold_lock(place / _LOCK):
        for directory in filter(_is_ours, place.iterdir()):
            with hold_lock_if_free(directory / _ALIVE) as free:
                is_over = free and not _is_retained(directory)
                if is_over:
                    shutil.rmtree(directory, ignore_errors=True)
            if is_over:
                shutil.rmtree(directory, ignore_errors=True)  # on Windows it still had the lock
                swept += 1
    return swept


def _is_ours(directory: Path) -> bool:
    """Decide whether a directory was made here: nothing else is ever deleted."""
    named = re.fullmatch(r"[0-9a-f]{16}", directory.name) is not None
    return named and is_private(directory) and _is_marked(directory)


def _is_marked(directory: Path) -> bool:
    """Decide whether a directory is marked, or empty because its maker was killed before."""
    return (directory / _ALIVE).is_file() or not any(directory.iterdir())


def _is_retained(directory: Path) -> bool:
    try:
        until = read_json(directory / _RETAIN, None)["until"]
        return time.time() < float(until)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def start_of_process(pid: int) -> str:
    """Return when a process started, as no other process did; empty if there is none."""
    try:
        status = read_bytes(Path("/proc") / str(pid) / "stat")
        boot = read_bytes(Path("/proc/sys/kernel/random/boot_id")).decode("ascii").strip()
        state, *fields = status.rpartition(_PARENTHESIS)[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in (b"Z", b"X") else f"{boot} {int(fields[_STARTED - 1])}"
