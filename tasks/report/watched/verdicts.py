"""Expectations and findings, as a table for people who watch a run: counts, never values."""

from collections.abc import Iterable
from typing import Any

from sfumato.expectations.verdicts import Finding


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """One row per expectation."""
    return [
        {
            "table": one.table,
            "expectation": one.type,
            "required": dict(one.parameters),
            "observed": one.observed,
            "holds": one.passed,
        }
        for one in findings
    ]
