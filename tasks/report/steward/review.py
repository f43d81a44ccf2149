"""The private page by which reviewers decide: what would be published, and what it risks.

Counts and widths of the source stand on it, as in the tables of a run: it is for those who may see
these, and is never published.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.tasks.report.accuracy_words import accuracy_lines
from sfumato.tasks.report.rendering import render_private
from sfumato.tasks.report.steward.tables import promise_row, risk_tables, row_counts, table_of
from sfumato.tasks.terms.opened import Release

REVIEW_PAGE = "review.html"


def write_review_page(
    place: Path,
    release: Release,
    risk: Mapping[str, Sequence[Mapping[str, Any]]],
    accuracy: Sequence[Mapping[str, Any]] | None,
    changes: Mapping[str, Any] | None,
    bars: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write the page into a private directory, two folders beside the release.

    Args:
        place: the directory.
        release: what would be published.
        risk: tables of the source's risk, by their names; none where it was not measured.
        accuracy: widths of bounds by workload, None where these were not measured.
        bars: on attacks, as they were judged against the truth.
        changes: from the version that is current (`difference`), None where there is none.
    """
    declared = release.declared
    page = render_private(
        "review.html.j2",
        title=declared.title,
        line=declared.name,
        digest=release.manifest["sfumato"]["digest"],
        rows=row_counts(declared.rows),
        promises=[promise_row(one) for one in release.manifest["sfumato"]["observed"]],
        risks=risk_tables(risk),
        accuracy=None if accuracy is None else table_of("Relative widths of the bounds", accuracy),
        words=accuracy_lines(accuracy or ()),
        changes=None if changes is None else _changes(changes),
        bars=bars,
        measured=(place / "accuracy.html").exists(),
    )
    path = place / REVIEW_PAGE
    path.write_text(page, encoding="utf-8")
    return path


def _changes(found: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        {"": f"rows {name}".replace("_", " "), "before": pair["before"], "now": pair["now"]}
        for name, pair in found["rows"].items()
    ]
    rows += [
        {"": f"groups {name}".replace("_", " "), "before": "", "now": number}
        for name, number in (found["groups"] or {}).items()
    ]
    rows += [
        {"": f"{one['promise']['model']}: {name}", "before": pair["before"], "now": pair["now"]}
        for one in found["promises"]
        for name, pair in one["observed"].items()
    ]
    before = found["before"]["version"]
    told = "continues" if found["follows"] else "is held against"
    return table_of(f"This candidate {told} version {before}", rows)
