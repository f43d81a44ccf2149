"""The task that groups the rows and decides what is shown of each group."""

from pathlib import Path

from sfumato.tasks.candidates.continued import Continuing
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.randomness import operating_system
from sfumato.tasks.policy import private_task
from sfumato.tasks.publication.line import Line
from sfumato.tasks.stages.anonymize import write_candidate


@private_task()
def anonymize(
    deidentified: Path, terms: Terms, run: Path, continuing: Continuing | None, line: Line
) -> Path:
    """Write the candidate tables, drawn from the operating system's randomness."""
    return write_candidate(deidentified, terms, run, operating_system, continuing, line)
