"""Workers: who does the same for many jobs."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

J = TypeVar("J")
R = TypeVar("R")


class Workers(Protocol):
    """Who does the same for many jobs, perhaps at once and elsewhere."""

    def each(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """What work returns for each job, in the order of the jobs.

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
