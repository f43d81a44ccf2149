"""Registry of engines: who makes the parts of a release.

An engine is a context in which there are workers, given the run's private directory and the
environment.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from sfumato.tasks.workers.dask import dask_workers
from sfumato.tasks.workers.workers import InTurn, Workers

Engine = Literal["local", "dask"]


@contextmanager
def _this_process(_run: Path, _environ: Mapping[str, str]) -> Iterator[Workers]:
    yield InTurn()


ENGINES: Mapping[Engine, Callable[[Path, Mapping[str, str]], AbstractContextManager[Workers]]] = {
    "local": _this_process,
    "dask": dask_workers,
}


def open_engine(
    engine: Engine, run: Path, environ: Mapping[str, str]
) -> AbstractContextManager[Workers]:
    """The workers of an engine; where SFUMATO_DASK names a cluster, those of that one."""
    return ENGINES["dask" if environ.get("SFUMATO_DASK") else engine](run, environ)
