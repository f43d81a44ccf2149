"""Registry of engines: who makes the parts of a release.

An engine is a context in which there are workers, given the run's private directory and the
environment.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.workers.workers import Workers

Engine = Literal["local", "dask"]

ENGINES: Mapping[str, Callable[[Path, Mapping[str, str]], AbstractContextManager[Workers]]] = (
    Entries(
        "sfumato.tasks.workers",
        {
            "local": "workers:this_process",
            "dask": "dask:dask_workers",
        },
    )
)


def open_engine(
    engine: Engine, run: Path, environ: Mapping[str, str]
) -> AbstractContextManager[Workers]:
    """Return the workers of an engine; if SFUMATO_DASK names a cluster, that cluster's."""
    return ENGINES["dask" if environ.get("SFUMATO_DASK") else engine](run, environ)
