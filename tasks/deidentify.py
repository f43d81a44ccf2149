"""The task that takes away who the rows are about."""

from pathlib import Path

from sfumato.tasks.candidates.remember import Remember
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.policy import private_task
from sfumato.tasks.publication.line import Line
from sfumato.tasks.stages.deidentify import write_deidentified


@private_task()
def deidentify(
    ingested: Path, terms: Terms, unit: str | None, line: Line, run: Path, remember: Remember
) -> Path:
    """Keep only what is to be published, and a keyed fingerprint of it."""
    return write_deidentified(ingested, terms, unit, line.private, run, remember)
