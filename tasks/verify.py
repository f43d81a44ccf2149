"""The task that measures what is at stake before anything is published."""

from pathlib import Path

from prefect.artifacts import create_table_artifact

from tasks.policy import private_task
from tasks.release.declared import Terms
from tasks.release.publication import Line, standing
from tasks.stages.deidentify import identity
from tasks.stages.verify import stakes


@private_task()
def verify(deidentified: Path, terms: Terms, line: Line) -> Path | None:
    """Make sure that the promises can be kept; the version that stands already, if there is one."""
    create_table_artifact(
        stakes(deidentified, terms),
        key=f"{line.name}-at-stake",
        description="What is at stake: the de-identified table as it is (counts only)",
    )
    return standing(line, identity(deidentified), terms.versions)
