"""The private page by which reviewers decide: what would be published, and what it risks.

Counts and widths of the source stand on it, as in the tables of a run: it is for those who may see
these, and is never published.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.report.rendering import environment, stylesheet

REVIEW_PAGE = "review.html"
_RISKS = {
    "risk": "Re-identification risk of the table as it is",
    "homogeneity": "Rows that the homogeneity attack would reveal in the table as it is",
    "singling-out": "The fewest columns that single people out in the table as it is",
    "at-stake": "Promises: required, in the table as it is, and at best",
}
_ROWS = {
    "read": "read",
    "dropped_by_filter": "removed by the filter",
    "dropped_for_nulls": "removed for missing values",
    "dropped_as_repeats": "removed as repeats",
    "suppressed": "suppressed",
    "not_represented_versions": "kept out by earlier versions",
    "published": "published",
    "vacant": "published and vacant",
    "fakes": "made up",
}


def write_review_page(
    place: Path,
    release: Release,
    risk: Mapping[str, Sequence[Mapping[str, Any]]],
    accuracy: Sequence[Mapping[str, Any]] | None,
    changes: Mapping[str, Any] | None,
) -> Path:
    """Write the page into a private directory, two folders beside the release.

    Args:
        place: the directory.
        release: what would be published.
        risk: tables of the source's risk, by their names; none where it was not measured.
        accuracy: widths of bounds by workload, None where these were not measured.
        changes: from the version that is current (`difference`), None where there is none.
    """
    style, declared = stylesheet(), release.declared
    counts = declared.rows.model_dump()
    page = (
        environment()
        .get_template("review.html.j2")
        .render(
            css=style.css,
            css_hash=style.sha256,
            title=declared.title,
            line=declared.name,
            digest=release.manifest["sfumato"]["digest"],
            rows=[(words, counts[name]) for name, words in _ROWS.items() if counts.get(name)],
            promises=[_promise(one) for one in release.manifest["sfumato"]["observed"]],
            risks=[_table(_RISKS[name], rows) for name, rows in risk.items() if rows],
            accuracy=None
            if accuracy is None
            else _table("Relative widths of the bounds", accuracy),
            changes=None if changes is None else _changes(changes),
            measured=(place / "accuracy.html").exists(),
        )
    )
    path = place / REVIEW_PAGE
    path.write_text(page, encoding="utf-8")
    return path


def _promise(observation: Mapping[str, Any]) -> tuple[str, str, str, Any]:
    promise, observed = observation["promise"], observation["observed"]
    required = {name: promise[name] for name in observed if name in promise}
    about = promise.get("sensitive") or ", ".join(promise.get("quasi_identifiers") or ())
    words = f"{promise['model']} of {about}" if about else promise["model"]
    return words, _numbers(required), _numbers(observed), observation.get("groups")


def _numbers(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_cell(value)}" for name, value in values.items())


def _table(caption: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name, "")) for name in header] for row in rows]
    return {"caption": caption, "header": header, "rows": cells}


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
    return _table(f"This candidate {told} version {before}", rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else _fraction(value)


def _fraction(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
