"""Specs of two tables in the workbench: which table a page shows, and what steps show instead."""

from collections.abc import Mapping
from typing import Any

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.workbench.desk import OpenedSpec
from sfumato.flows.workbench.visit import Visit, read_mapping
from sfumato.flows.workbench.yaml_edits import flow_text

TEMPLATE = "two_tables"
PROMISES: Mapping[str, tuple[str, str]] = {
    "people": (
        "`{model: people, k: 5}`",
        "each row may belong to any of at least k people",
    ),
    "related-l-diversity": (
        "`{model: related-l-diversity, l: 3, sensitive: COLUMN}`",
        "everyone with rows may have at least l values of the column, and no value is certain. "
        "With `insiders: 1` people of the same group cannot be certain either",
    ),
    "related-alpha": (
        "`{model: related-alpha, alpha: 0.5, sensitive: COLUMN}`",
        "at most this share of the people of a group can have any one value of the column",
    ),
}
"""The promises of two tables: how a spec writes each, and what it means."""
_HIERARCHIES = (
    "Two tables need no hierarchies, because quasi-identifiers of people are published as they "
    "are. If they must be hidden, release one row for each person. To begin, draft the table of "
    "people from the first page, without the other table."
)


def hierarchies_of_two(_visit: Visit) -> dict[str, Any]:
    """Return what the step of hierarchies shows."""
    return {"page_template": TEMPLATE, "words": _HIERARCHIES, "promises": None}


def promises_of_two(visit: Visit) -> dict[str, Any]:
    """Return what the step of promises shows: each as text, and what can be kept at best."""
    job = visit.latest("plan")
    is_done = job is not None and job.state == "done"
    document = job.document if job is not None and is_done else {}
    written = visit.spec.document.get("promises") or ()
    return {
        "page_template": TEMPLATE,
        "words": "",
        "promises": [flow_text(promise) for promise in written],
        "kinds": PROMISES,
        "at_best": document.get("at_best", ()),
        "drafted": job,
        "is_present": job is not None and visit.is_present(job),
    }


def write_promises(visit: Visit) -> None:
    """Write the promises as the steward typed them; an empty field takes a promise away.

    Raises:
        SpecError: where a text is no mapping in YAML, or none is left.
    """
    texts = [text.strip() for text in visit.sent.all("promise")]
    promises = [read_mapping("promise", text) for text in texts if text]
    if not promises:
        raise SpecError("promises: at least one is needed. Write `{model: people, k: 5}`")
    visit.set({("promises",): promises}, "the promises")


def tables_of(spec: OpenedSpec) -> list[dict[str, str]]:
    """Return the two tables of a spec: the name of each, and the table to which it belongs."""
    tables = spec.document.get("tables")
    if not isinstance(tables, Mapping):
        return []
    return [
        {"name": name, "of": str(tables[name].get("of", "")), "key": key_of(tables[name])}
        for name in spec.table_names
    ]


def key_of(table: Mapping[str, Any]) -> str:
    """Return the column by which rows name people, or people are named; empty without one."""
    columns = table.get("columns") or {}
    keys = (
        str(name)
        for name, column in columns.items()
        if isinstance(column, Mapping) and (column.get("role") == "key" or column.get("unit"))
    )
    return next(keys, "")
