"""Workers, who do the same for many jobs, and attempts, of which one counts.

A worker that was thought dead may finish what another one does again. So each attempt writes into a
directory of its own; the caller keeps the one that was reported, and deletes the others.
"""

import gc
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.private.workdir import private_directory

_ATTEMPTS = "attempts"
_ENDED = "attempts-ended"


J = TypeVar("J")


R = TypeVar("R")


class Workers(Protocol):
    """Workers that do the same for many jobs, perhaps at once and elsewhere."""

    def each(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """Yield the results of the work for each job, in the order of the jobs.

        Args:
            work: a function of a module; it may be called twice for a job.
            jobs: what is said of a job: paths and counts, and nothing about people.

        Raises:
            SfumatoError: as work does, for the first job for which it does.
        """
        ...


class InTurn:
    """This process, which does one job after another."""

    def each(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """See `Workers`."""
        for job in jobs:
            yield work(job)
            gc.collect()  # what refers to itself would hold part after part


@contextmanager
def this_process(_run: Path, _environ: Mapping[str, str]) -> Iterator[Workers]:
    """Let this process be the workers."""
    yield InTurn()


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
        raise Fault(f"{_ATTEMPTS}: a stopped worker was still writing. Run again")


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
