"""The private accuracy report: how far the bounds are from the truth, for those who hold both.

Truth beside bounds gives answers away, so the report is for the steward's eyes: it is written into
private directories, readable by their owner alone.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from markupsafe import Markup

from sfumato.expectations.numbers import plain
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.report.accuracy_plots import draw_scores
from sfumato.tasks.report.accuracy_summary import MeasuredWorkload, Workload, summarize
from sfumato.tasks.report.rendering import environment

_READINGS: Mapping[str, str] = {
    "per_group": "by one of the groups that cover them",
    "one_record": "by all of these groups, a person having one record at most",
    "combined_or": "by all of them, each by itself",
    "combined_sum": "by all of them added up, which is what presence: combined promises",
    "weighted_presence": "by an attacker who fits how frequent values are (nothing is promised)",
}
_COLUMNS = (
    *("kind", "aggregate", "sensitive", "level", "lower", "upper", "truth"),
    *("estimate", "relative_error", "relative_width", "estimate_error", "inside"),
)


def write_accuracy_report(
    measured: Sequence[MeasuredWorkload],
    directory: Path,
    title: str,
    exposures: Sequence[Mapping[str, Any]] = (),
    coded: Sequence[str] = (),
) -> Path:
    """Write `accuracy.html` and `accuracy.csv` (a line per query) into a private directory.

    `exposures` say how present the represented people are (see
    `tasks.publication.exposure`); where there are any, `exposure.json` holds them, too.
    `coded` are the columns whose truth is that of coded values.

    Returns:
        The path of the HTML report.
    """
    workloads = summarize(measured)
    report = directory / "accuracy.html"
    write_atomically(directory / "accuracy.csv", _csv(measured).encode())
    write_atomically(report, _html(workloads, title, exposures, coded).encode())
    if exposures:
        write_atomically(
            directory / "exposure.json", json.dumps(list(exposures), indent=1).encode()
        )
    return report


def _csv(measured: Sequence[MeasuredWorkload]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for query in measured:
        writer.writerow([_cell(getattr(query, column)) for column in _COLUMNS])
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, bool):
        return str(value).lower()
    return value


def _html(
    workloads: Sequence[Workload],
    title: str,
    exposures: Sequence[Mapping[str, Any]],
    coded: Sequence[str],
) -> str:
    template = environment().get_template("accuracy.html.j2")
    sections: list[Mapping[str, object]] = [
        {
            "workload": workload,
            "error": Markup(draw_scores(workload, "error")),  # noqa: S704 -- drawn by us
            "width": Markup(draw_scores(workload, "width")),  # noqa: S704 -- drawn by us
            "estimate": Markup(draw_scores(workload, "estimate")),  # noqa: S704 -- drawn by us
        }
        for workload in workloads
    ]
    levels = [level for workload in workloads for level in workload.levels]
    return template.render(
        title=title,
        sections=sections,
        exposures=exposures,
        coded=coded,
        readings=_READINGS,
        queries=sum(level.queries for level in levels),
        outside=sum(level.outside for level in levels),
        unscored=sum(level.unscored for level in levels),
    )
