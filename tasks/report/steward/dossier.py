"""The dossier of a version: private, for who answers for it, as a document and as a page to print.

Nothing is measured here: it gathers what was declared, measured, attacked, decided and stated.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.report.rendering import render_private
from sfumato.tasks.report.steward.tables import (
    bar_table,
    outcome,
    promise_row,
    risk_tables,
    row_counts,
    table_of,
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
class KnownOfVersion:
    """What is known of a version beside its files.

    Attributes:
        record: what the public record says of it, for JSON.
        number: of it.
        withheld: the columns of the source that are in no published table.
        risk: tables of the source's risk, by their names; none where they were not kept.
        attacks: what attackers guessed and which bars are kept, None where nobody tried.
        past: what became of candidates of the line that were not published.
    """

    record: Mapping[str, Any]
    number: str
    withheld: Sequence[str]
    risk: Mapping[str, Sequence[Mapping[str, Any]]]
    attacks: Mapping[str, Any] | None
    past: Sequence[Mapping[str, Any]]


def dossier(
    release: Release, known: KnownOfVersion, stated: DossierStatements | None
) -> dict[str, Any]:
    """All of a dossier, for JSON."""
    declared, record = release.declared, known.record
    return {
        "format": _FORMAT,
        "line": declared.name,
        "title": declared.title,
        "version": known.number,
        "digest": record["digest"],
        "published": record["time"],
        "as_of": record.get("as_of"),
        "state": record["status"],
        "author": release.author,
        **_stated(stated),
        "data": {
            "rows": dict(row_counts(declared.rows)),
            "counted": "people" if declared.rows_are_people else "rows",
            "columns": _columns(declared),
            "withheld": list(known.withheld),
        },
        "identifiability": {
            "promises": release.manifest["sfumato"]["observed"],
            "partition": declared.partition.method,
            "form": declared.form.method,
            "risk_before": {name: list(rows) for name, rows in known.risk.items()},
        },
        "attacks": None if known.attacks is None else _attacked(known.attacks),
        "accuracy": accuracy_lines(record.get("accuracy") or ()),
        "decisions": _decisions(declared),
        "approvals": list(record.get("approvals") or ()),
        "turned_down": list(known.past),
        "warnings": list(record.get("warnings") or ()),
        "withdrawn": None,
    }


def dossier_of_withdrawn(
    place: Path, tombstone: Tombstone, stated: DossierStatements | None = None
) -> dict[str, Any] | None:
    """The dossier of a version that was withdrawn: what was kept of it, and the withdrawal.

    Args:
        place: the private directory of its reports.
        tombstone: what stands in the version's place.
        stated: what its steward states now; what was stated, where nothing is given.

    Returns:
        All of it, for JSON; None where no dossier was written before the withdrawal.
    """
    if not (place / DOSSIER).exists():
        return None
    kept: dict[str, Any] = read_json(place / DOSSIER, None)
    withdrawn = {"time": tombstone.time, "reason": tombstone.reason}
    now = {} if stated is None else _stated(stated)
    return {**kept, **now, "state": "withdrawn", "withdrawn": withdrawn}


def write_dossier(place: Path, document: Mapping[str, Any]) -> Path:
    """Write a dossier into a private directory, as a page and as a document; the page's place."""
    write_atomically(place / DOSSIER, json.dumps(document, indent=1, ensure_ascii=False).encode())
    page = render_private("dossier.html.j2", **document, **_tables(document))
    write_atomically(place / PAGE, page.encode())
    return place / PAGE


def _stated(stated: DossierStatements | None) -> dict[str, Any]:
    said = {} if stated is None else stated.model_dump(mode="json", by_alias=True)
    wanted = (field.alias or name for name, field in DossierStatements.model_fields.items())
    return {"stated": said, "not_stated": [name for name in wanted if said.get(name) is None]}


def _attacked(attacks: Mapping[str, Any]) -> dict[str, Any]:
    """What attackers guessed, each bar with what is allowed, what was observed, and its outcome."""
    bars = [{**bar, "outcome": outcome(bar)} for bar in attacks.get("bars", [])]
    return {**attacks, "bars": bars}


def _tables(document: Mapping[str, Any]) -> dict[str, Any]:
    found, attacks = document["identifiability"], document["attacks"] or {}
    return {
        "promised": [promise_row(one) for one in found["promises"]],
        "risks": risk_tables(found["risk_before"]),
        "counted_rows": list(document["data"]["rows"].items()),
        "scores": [
            table_of(f"Shares of people, by what attackers guess of {name}", rows)
            for name, rows in attacks.get("scores", {}).items()
        ],
        "bars": bar_table(attacks.get("bars", [])),
        "missing": attacks.get("missing", []),
    }


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
    """What the spec accepts, with the reasons that it gives."""
    found = [
        {"about": name, "decided": "stands without a promise", "reason": column.unprotected}
        for name, column in declared.columns.items()
        if column.unprotected is not None
    ]
    found += [
        {"about": name, "decided": "holds free text", "reason": column.free_text}
        for name, column in declared.columns.items()
        if column.free_text is not None
    ]
    if declared.versions == "accepted-risk":
        found.append({"about": "versions", "decided": "may be combined", "reason": ""})
    if declared.exposure is not None:
        found.append(
            {"about": "lines about the same people", "decided": "may be combined", "reason": ""}
        )
    if declared.unit == "row":
        why = declared.rows_apart or ""
        found.append({"about": "unit", "decided": "rows count as people", "reason": why})
    return found
