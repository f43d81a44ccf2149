"""Expectations and findings, as a table for people who watch a run: counts, never values."""

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.expectations.verdicts import GROUPS, Finding

_COLUMNS = ("column", "column_A", "column_B", "sensitive", "model")
_OF_VALUES = ("value_set", "regex")  # the owner's: what they name may be somebody's


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """One row per expectation: promises first, and of them and of the others what is broken.

    What an expectation is about comes last: lists of columns are wide, and the verdict should be
    seen beside them.
    """
    ordered = sorted(findings, key=lambda one: (one.table != GROUPS, one.passed))
    return [_row(one) for one in ordered]


def _row(finding: Finding) -> dict[str, Any]:
    shown = {name: of for name, of in finding.parameters.items() if name not in _OF_VALUES}
    about = {name: of for name, of in shown.items() if _names_columns(name, of)}
    required = {name: of for name, of in shown.items() if name not in about}
    return {
        "expectation": finding.type,
        "required": _in_words(required),
        "observed": _in_words(finding.observed),
        "holds": finding.passed,
        "table": finding.table,
        "about": _in_words(about),
    }


def _names_columns(name: str, value: object) -> bool:
    return name in _COLUMNS or isinstance(value, list | tuple | Mapping)


def _in_words(value: Any) -> Any:
    """Short text: `k 5, groups 1120`.

    >>> _in_words({"k": 5, "quasi_identifiers": ("age", "sex")})
    'k 5, quasi_identifiers age sex'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(of)}".rstrip() for name, of in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value
