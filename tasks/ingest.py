"""The task that reads the source."""

from collections.abc import Mapping
from pathlib import Path

from tasks.microdata.schema import ColumnSpec, NullPolicy, Source
from tasks.policy import private_task
from tasks.stages.ingest import write_ingested


@private_task(retries=2)
def ingest(
    source: Source, columns: Mapping[str, ColumnSpec], nulls: NullPolicy, base: Path, run: Path
) -> Path:
    """Read the source as it is declared into dictionary codes."""
    return write_ingested(source, columns, nulls, base, run)
