"""The task that measures what is at stake before anything is published."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.expectations.measures.risk import Risk
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.singling_out import SinglingOut
from sfumato.tasks.policy import private_task
from sfumato.tasks.private.references import References
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.report.watched import homogeneity_rows, risk_rows, singling_out_rows, whole_rows
from sfumato.tasks.shown import show_table
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.hold import RISK
from sfumato.tasks.stages.stage import write_note
from sfumato.tasks.stages.verify import measure_feasibility, measure_risks, measure_whole
from sfumato.tasks.terms.terms import Terms

_DESCRIPTIONS = {
    "risk": "Re-identification risk of the table as it is (counts)",
    "homogeneity": "Rows that the homogeneity attack would reveal (counts)",
    "singling-out": "The fewest columns that single people out (counts)",
    "people": "Risk of people, by all of their rows in the table as it is (counts)",
    "households": "Risk of households in the table as it is (counts)",
    "at-stake": "Promises, as required, in the de-identified table, and at best (counts)",
}


@private_task()
def verify(
    deidentified: Path, terms: Terms, line: Line, references: References, show_counts: bool
) -> Path | None:
    """Make sure that the promises can be kept; the version that stands already, if there is one.

    What is at stake are artifacts, of counts, where these are to be shown.
    """
    risks = measure_risks(deidentified, terms)
    whole = measure_whole(deidentified, terms)
    feasibility = measure_feasibility(deidentified, terms, references)
    tables = _tables(risks, feasibility)
    if whole is not None:
        tables[terms.kept_over] = whole_rows(whole, terms.kept_over)
    write_note(deidentified, RISK, tables)
    if show_counts:
        _show(line.name, tables)
    return existing_version(line, identity(deidentified), rule_of(terms.versions))


def _tables(
    risks: tuple[Risk, Risk, SinglingOut], feasibility: list[dict[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """Return what is at stake, by the keys of the artifacts that show it."""
    narrow, wide, single = risks
    return {
        "risk": risk_rows(narrow, wide),
        "homogeneity": homogeneity_rows(narrow),
        "singling-out": singling_out_rows(single),
        "at-stake": feasibility,
    }


def _show(name: str, tables: Mapping[str, list[dict[str, Any]]]) -> None:
    for key, table in tables.items():
        show_table(table, key=f"{name}-{key}", description=_DESCRIPTIONS[key])
