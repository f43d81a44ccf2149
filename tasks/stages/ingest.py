"""Ingest: the source as it is declared, in dictionary codes."""

import os
from collections.abc import Mapping
from pathlib import Path

from tasks.microdata.schema import ColumnSpec, NullPolicy, Source
from tasks.microdata.source import ingest
from tasks.microdata.table import save
from tasks.stages.stage import new_stage, note


def write_ingested(
    source: Source, columns: Mapping[str, ColumnSpec], nulls: NullPolicy, base: Path, run: Path
) -> Path:
    """Read the source, whose paths are relative to `base`, into a stage of `run`."""
    ingested = ingest(source, columns, nulls, base, os.environ)
    stage = new_stage(run, "ingested")
    save(ingested.microdata, stage)
    counts = {k: v for k, v in vars(ingested).items() if k != "microdata"}
    note(stage, "counts", counts)
    return stage
