"""The private page of a draft: what would be published, and its risks, losses and answers.

It shows values of quasi-identifiers with the numbers of their missing rows: it is for people who
may see the source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.report.numbers import percent
from sfumato.tasks.report.rendering import render_private
from sfumato.tasks.report.steward.tables import (
    Table,
    accuracy_table,
    cell,
    promise_row,
    row_counts,
    table_of,
    with_shares,
)
from sfumato.tasks.report.utility import accuracy_charts, accuracy_lines
from sfumato.tasks.terms.opened import Release

DRAFT_PAGE, LEFT_OUT = "draft.html", "left-out.csv"
_MOST_VALUES = 40


@dataclass(frozen=True, eq=False)
class DraftContent:
    """Content of a draft's page.

    Attributes:
        rows: the counts of rows, by their names in a manifest.
        promises: the observations of each promise in the release.
        risk: shares of rows before and after, by measure.
        attacks: scores of attacks, by sensitive column.
        lost: measures of lost information in the tables, by name.
        accuracy: widths by workload and level.
        why: the numbers of rows that would not be published, by reason.
        who: the number of missing rows by value of a quasi-identifier.
        left_out: a line per row that would not be published, as CSV; empty if not available.
        warnings: reasons why the release may be of no use.
        advice: what answers more narrowly on the same table, where answers are too wide.
        related: the numbers of rows of a second table, in words, by its name.
        at_best: what the promises can be kept with at best, of two related tables, in words.
    """

    rows: Mapping[str, int]
    promises: Sequence[Mapping[str, Any]]
    risk: Sequence[Mapping[str, Any]]
    attacks: Mapping[str, Sequence[Mapping[str, Any]]]
    lost: Mapping[str, Any]
    accuracy: Sequence[Mapping[str, Any]]
    why: Mapping[str, int]
    who: Sequence[Mapping[str, Any]]
    left_out: str
    warnings: Sequence[str] = field(default_factory=tuple)
    advice: Sequence[str] = field(default_factory=tuple)
    related: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    at_best: Sequence[str] = field(default_factory=tuple)

    def document(self) -> dict[str, Any]:
        """Return the content for JSON, in counts and shares: without values, and without rows."""
        return {
            "rows": dict(self.rows),
            **({"related_rows": self.related} if self.related else {}),
            "promises": list(self.promises),
            **({"at_best": list(self.at_best)} if self.at_best else {}),
            "risk": list(self.risk),
            "attacks": {name: list(scores) for name, scores in self.attacks.items()},
            "lost": dict(self.lost),
            "accuracy": list(self.accuracy),
            "left_out": dict(self.why),
            "warnings": list(self.warnings),
            "advice": list(self.advice),
        }


def write_draft_page(place: Path, release: Release, content: DraftContent) -> Path:
    """Write the page and the list of rows that are left out into a private directory.

    Args:
        place: the directory, beside that of the release.
        release: the release that would be published.
        content: the content of the page.
    """
    declared = release.declared
    page = render_private(
        "draft.html.j2",
        title=declared.title,
        line=declared.name,
        warnings=content.warnings,
        advice=content.advice,
        rows=row_counts(declared.rows),
        related=content.related,
        promises=[promise_row(promise) for promise in content.promises],
        at_best=content.at_best,
        risk=table_of("Share of the rows", with_shares(content.risk)),
        attacks=_attacks(content.attacks),
        lost=[(name.replace("_", " "), cell(value)) for name, value in content.lost.items()],
        words=accuracy_lines(content.accuracy),
        accuracy=accuracy_table(content.accuracy),
        charts=accuracy_charts(content.accuracy),
        why=content.why,
        who=table_of(
            "Suppressed and withheld rows by value", with_shares(content.who[:_MOST_VALUES])
        ),
        more=max(len(content.who) - _MOST_VALUES, 0),
        left_out=LEFT_OUT if content.left_out else "",
    )
    if content.left_out:
        write_atomically(place / LEFT_OUT, content.left_out.encode())
    write_atomically(place / DRAFT_PAGE, page.encode())
    return place / DRAFT_PAGE


def _attacks(attacks: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Table]:
    return [
        table_of(f"Guesses of {name}: share of the people", with_shares(_guesses(scores)))
        for name, scores in attacks.items()
        if scores
    ]


def _guesses(scores: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each score with what it is compared with, which differs by attack."""
    return [
        {
            "measure": score["measure"],
            "share": score.get("share", "skipped"),
            "beside it": "; ".join(
                f"{name}: {percent(value) if isinstance(value, float) else cell(value)}"
                for name, value in score.items()
                if name not in ("measure", "share")
            ),
        }
        for score in scores
    ]
