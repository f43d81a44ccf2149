"""The task that takes away who the rows are about."""

from pathlib import Path

from tasks.policy import private_task
from tasks.release.declared import Terms
from tasks.release.publication import Line
from tasks.stages.deidentify import write_deidentified


@private_task()
def deidentify(ingested: Path, terms: Terms, unit: str | None, line: Line, run: Path) -> Path:
    """Keep only what is to be published, and a keyed fingerprint of it."""
    return write_deidentified(ingested, terms, unit, line.private, run)
