"""Risk before and after: of the table as it is, and of what would be shown of it."""

from typing import Any

from sfumato.expectations.measures.risk import Risk, risk
from sfumato.tasks.declaration.assessment import Assessment
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.table import Microdata


def risk_before_and_after(table: Microdata, assessment: Assessment) -> list[dict[str, Any]]:
    """How many rows stand alone or nearly so, by what an attacker knows of people.

    Where quasi-identifiers are published as they are, nothing of this changes: who is in the table
    can be told as before, and what is hidden is which value is whose.

    Args:
        table: the rows that were to be published.
        assessment: of the candidate.
    """
    declared = assessment.declared
    before = risk(groups_of(table, declared.named("quasi-identifier"), []))
    after = risk(assessment.groups.of_all()) if declared.recoded else before
    return compare_risks(before, after)


def compare_risks(before: Risk | None, after: Risk | None) -> list[dict[str, Any]]:
    """Measures of risk side by side; none where there are no rows."""
    if before is None or after is None:
        return []
    now = _shares(after)
    return [
        {"measure": measure, "before": share, "after": now[measure]}
        for measure, share in _shares(before).items()
    ]


def _shares(found: Risk) -> dict[str, float]:
    """The measures by their names, as shares of the rows."""
    small = {f"in groups of fewer than {size}": n / found.rows for size, n in found.smaller.items()}
    return {
        "alone with its quasi-identifiers": found.alone / found.rows,
        **small,
        "prosecutor risk, highest": float(found.highest),
        "prosecutor risk, average": float(found.average),
    }
