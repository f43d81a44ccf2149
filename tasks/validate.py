"""The task that judges the files that are about to be published."""

from pathlib import Path

from prefect.artifacts import create_table_artifact

from tasks.policy import private_task
from tasks.private.workdir import private_directory
from tasks.release.promised import promised, structure
from tasks.release.tables import read_tables
from tasks.report.judged import of_judged
from tasks.stages.anonymize import declaration


@private_task()
def validate(candidate: Path, withheld: tuple[str, ...], name: str) -> Path:
    """Read the candidate back and let Great Expectations judge it; whatever fails is refused."""
    from expectations.judged import require
    from expectations.suites.gate import judge  # imports Great Expectations, which takes seconds

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
