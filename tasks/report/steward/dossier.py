"""The private dossier of a version, for the people who answer for it, as a document and a page.

It measures nothing, and gathers what was declared, measured, attacked, decided and stated.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.report.rendering import render_private
from sfumato.tasks.report.steward.policy import policy_document, report_sections
from sfumato.tasks.report.steward.tables import (
    bar_table,
    outcome,
    promise_row,
    related_row_counts,
    risk_tables,
    row_counts,
    table_of,
    with_shares,
)
from sfumato.tasks.report.utility import accuracy_lines
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.schema.stated import DossierStatements
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared
from sfumato.tasks.terms.tombstone import Tombstone

DOSSIER, PAGE = "dossier.json", "dossier.html"
_FORMAT = 1


@dataclass(frozen=True)
class VersionFacts:
    """Facts about a version beside its files.

    Attributes:
        record: its entry in the public record, for JSON.
        number: its number.
        withheld: the columns of the source that are in no published table.
        risk: tables of the source's risk, by their names; empty if they were not kept.
        attacks: the guesses of attackers and the outcomes of bars, None without attacks.
        past: the outcomes of the line's candidates that were not published.
        policy: the questions of the spec's policy with the answers of people; None without one.
    """

    record: Mapping[str, Any]
    number: str
    withheld: Sequence[str]
    risk: Mapping[str, Sequence[Mapping[str, Any]]]
    attacks: Mapping[str, Any] | None
    past: Sequence[Mapping[str, Any]]
    policy: Mapping[str, Any] | None = None


def dossier(
    release: Release, facts: VersionFacts, stated: DossierStatements | None
) -> dict[str, Any]:
    """Return the whole dossier, for JSON."""
    declared, record = release.declared, facts.record
    return {
        "format": _FORMAT,
        "line": declared.name,
        "title": declared.title,
        "version": facts.number,
        "digest": record["digest"],
        "published": record["time"],
        "as_of": record.get("as_of"),
        "state": record["status"],
        "author": release.author,
        **_statements(stated),
        "data": {
            "rows": dict(row_counts(declared.rows)),
            **_of_two_tables(release),
            "counted": "people" if declared.rows_are_people else "rows",
            "columns": _columns(declared),
            "withheld": list(facts.withheld),
        },
        "identifiability": {
            "promises": release.manifest["sfumato"]["observed"],
            "partition": declared.partition.method,
            "form": declared.form.method,
            "risk_before": {name: list(rows) for name, rows in facts.risk.items()},
        },
        "attacks": None if facts.attacks is None else _attack_results(facts.attacks),
        "accuracy": accuracy_lines(record.get("accuracy") or ()),
        "decisions": _decisions(declared),
        "approvals": list(record.get("approvals") or ()),
        "turned_down": list(facts.past),
        "warnings": list(record.get("warnings") or ()),
        "withdrawn": None,
        "policy": policy_document(release, facts.policy),
    }


def dossier_of_withdrawn(
    place: Path, tombstone: Tombstone, stated: DossierStatements | None = None
) -> dict[str, Any] | None:
    """Return the dossier of a withdrawn version: what was kept of it, and the withdrawal.

    Args:
        place: the private directory of the version's reports.
        tombstone: what replaces the version.
        stated: the steward's new statements; None leaves the earlier ones.

    Returns:
        The whole dossier, for JSON; None if none was written before the withdrawal.
    """
    if not (place / DOSSIER).exists():
        return None
    document: dict[str, Any] = read_json(place / DOSSIER, None)
    withdrawn = {"time": tombstone.time, "reason": tombstone.reason}
    now = {} if stated is None else _statements(stated)
    return {**document, **now, "state": "withdrawn", "withdrawn": withdrawn}


def write_dossier(place: Path, document: Mapping[str, Any]) -> Path:
    """Write a dossier into a private directory, as page and document; return the page's path."""
    write_atomically(place / DOSSIER, json.dumps(document, indent=1, ensure_ascii=False).encode())
    page = render_private("dossier.html.j2", **{"policy": None, **document}, **_tables(document))
    write_atomically(place / PAGE, page.encode())
    return place / PAGE


def _statements(stated: DossierStatements | None) -> dict[str, Any]:
    statements = {} if stated is None else stated.model_dump(mode="json", by_alias=True)
    names = (field.alias or name for name, field in DossierStatements.model_fields.items())
    return {
        "stated": statements,
        "not_stated": [name for name in names if statements.get(name) is None],
    }


def _attack_results(attacks: Mapping[str, Any]) -> dict[str, Any]:
    """Return what attackers guessed, and each bar with its limit, observation and outcome."""
    bars = [{**bar, "outcome": outcome(bar)} for bar in attacks.get("bars", [])]
    return {**attacks, "bars": bars}


def _tables(document: Mapping[str, Any]) -> dict[str, Any]:
    identifiability, attacks = document["identifiability"], document["attacks"] or {}
    return {
        "promised": [promise_row(promise) for promise in identifiability["promises"]],
        "risks": risk_tables(identifiability["risk_before"]),
        "counted_rows": list(document["data"]["rows"].items()),
        "related": document["data"].get("related_rows", {}),
        "scores": [
            table_of(f"Shares of people, by what attackers guess of {name}", with_shares(rows))
            for name, rows in attacks.get("scores", {}).items()
        ],
        "bars": bar_table(attacks.get("bars", [])),
        "missing": attacks.get("missing", []),
        "report": report_sections(document),
    }


def _of_two_tables(release: Release) -> dict[str, Any]:
    """Return the numbers of rows of a second table, and its columns; empty for one table."""
    counts = related_row_counts(release)
    form = release.declared.form
    people_and_rows = {"people": form.table_of_rows, "related_columns": list(form.related_columns)}
    return {"related_rows": counts, **people_and_rows} if counts else {}


def _columns(declared: Declared) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "role": "weight" if column.weight else column.role,
            "type": column.type,
            "coded": list(column.codings),
        }
        for name, column in declared.columns.items()
    ]


def _decisions(declared: Declared) -> list[dict[str, str]]:
    """Return what the spec accepts, with the reasons that it gives."""
    decisions = [
        {"about": name, "decided": "is published without a promise", "reason": column.unprotected}
        for name, column in declared.columns.items()
        if column.unprotected is not None
    ]
    decisions += [
        {"about": name, "decided": "contains free text", "reason": column.free_text}
        for name, column in declared.columns.items()
        if column.free_text is not None
    ]
    if declared.versions == "accepted-risk":
        decisions.append({"about": "versions", "decided": "may be combined", "reason": ""})
    if declared.exposure is not None:
        decisions.append(
            {"about": "lines about the same people", "decided": "may be combined", "reason": ""}
        )
    if declared.unit == "row":
        why = declared.rows_apart or ""
        decisions.append({"about": "unit", "decided": "rows count as people", "reason": why})
    return decisions
