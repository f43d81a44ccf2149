"""As much of a release on disk as queries read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared
from tests.query.worlds import with_help


def write(directory: Path, microdata: pa.Table, declared: Declared) -> Release:
    for name, table in with_help(microdata, *declared.names_with_roles("sensitive")).items():
        path = directory / ("data" if name == "microdata" else "sql") / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    return Release(directory, declared, {})
