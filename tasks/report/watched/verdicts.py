"""Expectations and findings, as a table for people who watch a run: counts, never values."""

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.expectations.verdicts import GROUPS, Finding

_COLUMNS = ("column", "sensitive", "model")


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """One row per expectation: promises first, and of them and of the others what is broken.

    What an expectation is about comes last: lists of columns are wide, and the verdict should be
    seen beside them.
    """
    ordered = sorted(findings, key=lambda one: (one.table != GROUPS, one.passed))
    return [
        {
            "expectation": one.type,
            "required": _in_words(_thresholds(one.parameters)),
            "observed": _in_words(one.observed),
            "holds": one.passed,
            "table": one.table,
            "about": _in_words(_subject(one.parameters)),
        }
        for one in ordered
    ]


def _thresholds(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if not _names_columns(name, value)}


def _subject(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if _names_columns(name, value)}


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
