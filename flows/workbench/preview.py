"""The step of the preview: a draft as it would be published, and who is left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.flows.workbench.results import PREVIEW, page_of_draft
from sfumato.flows.workbench.visit import Visit
from sfumato.tasks.report.steward.tables import (
    accuracy_table,
    count_words,
    promise_row,
    table_of,
    with_shares,
)
from sfumato.tasks.report.utility import accuracy_charts, accuracy_lines

_ROWS: Mapping[str, str] = {"read": "rows of the table", "published": "rows to be published"}


def show(visit: Visit) -> dict[str, Any]:
    """Return what the page shows: the latest draft of this spec, or how to make one."""
    job = visit.latest("plan")
    place = visit.bench.place
    view: dict[str, Any] = {
        "job": job,
        "draft": None,
        "is_present": job is not None and visit.is_present(job),
        "report": page_of_draft(place, job),
        "page": None,
    }
    if job is None or job.state != "done" or "rows" not in job.document:
        return view
    return {
        **view,
        "draft": draft_view(job.document),
        "page": f"{place}/private/{job.id}/{PREVIEW}/index.html",
    }


def draft_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft for its page: counts, promises, risks, accuracy, warnings.

    Args:
        document: the answer of `sfumato plan --format json`.
    """
    rows = document["rows"]
    return {
        "stands": document.get("stands"),
        "rows": [(words, rows.get(name, 0)) for name, words in _ROWS.items()],
        "related": {
            name: count_words(counts) for name, counts in document.get("related_rows", {}).items()
        },
        "at_best": document.get("at_best", ()),
        "why": document["left_out"],
        "promises": [promise_row(promise) for promise in document["promises"]],
        "risk": table_of("Share of the rows", with_shares(document["risk"])),
        "attacks": [
            table_of(f"Guesses of {name}: share of the people", with_shares(_guesses(scores)))
            for name, scores in document["attacks"].items()
            if scores
        ],
        "words": accuracy_lines(document["accuracy"]),
        "accuracy": accuracy_table(document["accuracy"]),
        "charts": accuracy_charts(document["accuracy"]),
        "warnings": document["warnings"],
        "advice": document["advice"],
        "policy": document.get("policy"),
    }


def _guesses(scores: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the shares that attackers guess, without what each is compared with."""
    return [
        {"measure": score["measure"], "share": score.get("share", "skipped")} for score in scores
    ]


def make_draft(visit: Visit) -> str:
    """Start a draft of the next version; nothing is published."""
    return visit.start(
        ["plan", str(visit.spec.path), "--format=json"], f"Draft of {visit.spec.name}"
    )


ACTIONS = {"plan": make_draft}
"""What the forms of the page do."""
