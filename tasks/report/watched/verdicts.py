"""What was expected and seen, as a table for people who watch a run: counts, never values."""

from collections.abc import Iterable
from typing import Any

from sfumato.expectations.verdicts import Judged


def of_judged(rows: Iterable[Judged]) -> list[dict[str, Any]]:
    """One row per expectation."""
    return [
        {
            "table": row.table,
            "expectation": row.type,
            "required": dict(row.parameters),
            "observed": row.observed,
            "holds": row.passed,
        }
        for row in rows
    ]
