"""The task that measures what is at stake before anything is published."""

from pathlib import Path
from typing import Any

from prefect.artifacts import create_table_artifact

from sfumato.expectations.measures.risk import Risk
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.singling_out import SinglingOut
from sfumato.tasks.partitions.continued.parameters import rule_of
from sfumato.tasks.policy import private_task
from sfumato.tasks.publication.line import Line
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.report.watched.risk import homogeneity_rows, risk_rows, singling_out_rows
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.verify import measure_feasibility, measure_risks


@private_task()
def verify(deidentified: Path, terms: Terms, line: Line, base: Path, shown: bool) -> Path | None:
    """Make sure that the promises can be kept; the version that stands already, if there is one.

    What is at stake are artifacts, of counts, where these are to be shown.
    """
    risks = measure_risks(deidentified, terms)
    feasibility = measure_feasibility(deidentified, terms, base)
    if shown:
        _show(line.name, risks, feasibility)
    return existing_version(line, identity(deidentified), rule_of(terms.versions))


def _show(
    name: str, risks: tuple[Risk, Risk, SinglingOut], feasibility: list[dict[str, Any]]
) -> None:
    narrow, wide, single = risks
    for key, rows, description in (
        ("risk", risk_rows(narrow, wide), "Re-identification risk of the table as it is"),
        ("homogeneity", homogeneity_rows(narrow), "Rows that the homogeneity attack would reveal"),
        ("singling-out", singling_out_rows(single), "The fewest columns that single people out"),
    ):
        create_table_artifact(rows, key=f"{name}-{key}", description=f"{description} (counts)")
    create_table_artifact(
        feasibility,
        key=f"{name}-at-stake",
        description="Promises: required, in the de-identified table as it is, and at best (counts)",
    )
