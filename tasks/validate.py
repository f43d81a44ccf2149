"""The task that judges the files that are about to be published."""

from pathlib import Path

from prefect.artifacts import create_table_artifact

from sfumato.tasks.declaration.assessment import promised, structure
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.policy import private_task
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.report.watched.verdicts import of_judged
from sfumato.tasks.stages.anonymize import declaration


@private_task()
def validate(candidate: Path, withheld: tuple[str, ...], name: str) -> Path:
    """Read the candidate back and let Great Expectations judge it; whatever fails is refused."""
    from sfumato.expectations.suites.gate import (
        judge,  # imports Great Expectations, which takes seconds
    )
    from sfumato.expectations.verdicts import require

    declared = declaration(candidate)
    tables = read_tables(declared, candidate / "data")
    rules = structure(declared, withheld)
    documents = private_directory(candidate.parent / "great-expectations")
    judged = judge(name, tables, rules, promised(declared, tables), documents)
    create_table_artifact(
        of_judged(judged),
        key=f"{name}-promises",
        description="Promises and structure, required and observed on the files to be published",
    )
    require(judged)
    return candidate
