"""The private accuracy report: the distance of the bounds from the truth, in plots and sums.

Truth beside bounds reveals answers, so the report is only for the steward: it is written into
private directories that only their owner can read.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from markupsafe import Markup

from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.report.numbers import percent
from sfumato.tasks.report.rendering import environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_AXES: Mapping[str, str] = {
    "range": "span of the range",
    "arbitrary": "values selected",
    "counts": "selectivity in percent",
}
Score = Literal["error", "width", "estimate"]
_LABELS: Mapping[Score, str] = {
    "error": "relative error",
    "width": "relative width",
    "estimate": "relative error of the estimate",
}
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


class MeasuredWorkload(Protocol):
    """A query of a workload, answered on the release and on the original.

    `level` is the span, the number of values selected or the selectivity in percent; `truth` is
    None if the original has no answer, `estimate` if none was made, errors and width if they are
    not defined.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def aggregate(self) -> str: ...  # noqa: D102
    @property
    def sensitive(self) -> str | None: ...  # noqa: D102
    @property
    def level(self) -> int: ...  # noqa: D102
    @property
    def lower(self) -> Fraction | None: ...  # noqa: D102
    @property
    def upper(self) -> Fraction | None: ...  # noqa: D102
    @property
    def truth(self) -> Fraction | None: ...  # noqa: D102
    @property
    def estimate(self) -> Fraction | None: ...  # noqa: D102
    @property
    def estimate_error(self) -> float | None: ...  # noqa: D102
    @property
    def relative_error(self) -> float | None: ...  # noqa: D102
    @property
    def relative_width(self) -> float | None: ...  # noqa: D102
    @property
    def inside(self) -> bool: ...  # noqa: D102


@dataclass(frozen=True)
class Spread:
    """Number, mean and quartiles of some scores; mean and quartiles are None without scores."""

    scored: int
    mean: float | None
    quartiles: tuple[float, float, float] | None

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Mean, quarter, median and three quarters in words."""
        if self.mean is None or self.quartiles is None:
            return ("–",) * 4
        first, second, third, fourth = (percent(v) for v in (self.mean, *self.quartiles))
        return first, second, third, fourth


@dataclass(frozen=True)
class Level:
    """The queries of a workload at one level."""

    level: int
    queries: int
    outside: int
    error: Spread
    width: Spread
    estimate: Spread

    @property
    def without_error(self) -> int:
        """Queries whose relative error is not defined."""
        return self.queries - self.error.scored


@dataclass(frozen=True)
class Workload:
    """The queries of one kind, aggregate and sensitive column, by level."""

    title: str
    axis: str
    levels: tuple[Level, ...]

    @property
    def has_estimates(self) -> bool:
        """True where estimates were compared with truths."""
        return any(level.estimate.scored for level in self.levels)


def summarize(measured: Iterable[MeasuredWorkload]) -> tuple[Workload, ...]:
    """Return the workloads in the order of asking, with their levels ascending."""
    queries_by_workload: dict[tuple[str, str, str | None], list[MeasuredWorkload]] = {}
    for query in measured:
        queries_by_workload.setdefault((query.kind, query.aggregate, query.sensitive), []).append(
            query
        )
    return tuple(_workload(*key, queries) for key, queries in queries_by_workload.items())


def _workload(
    kind: str, aggregate: str, sensitive: str | None, queries: Sequence[MeasuredWorkload]
) -> Workload:
    levels = sorted({query.level for query in queries})
    return Workload(
        title=f"{aggregate.upper()}({sensitive or '*'}), {kind} queries",
        axis=_AXES[kind],
        levels=tuple(_level(level, [q for q in queries if q.level == level]) for level in levels),
    )


def _level(level: int, queries: Sequence[MeasuredWorkload]) -> Level:
    return Level(
        level=level,
        queries=len(queries),
        outside=sum(not query.inside for query in queries),
        error=_spread(query.relative_error for query in queries),
        width=_spread(query.relative_width for query in queries),
        estimate=_spread(query.estimate_error for query in queries),
    )


def _spread(scores: Iterable[float | None]) -> Spread:
    defined = np.array([score for score in scores if score is not None], dtype=np.float64)
    if not len(defined):
        return Spread(0, None, None)
    low, middle, high = (float(q) for q in np.quantile(defined, (0.25, 0.5, 0.75)))
    return Spread(len(defined), float(defined.mean()), (low, middle, high))


def draw_scores(workload: Workload, score: Score) -> str:
    """Draw the mean over the middle half by level, as SVG; '' if nothing was scored."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    points = [(level.level, _score(level, score)) for level in workload.levels]
    scored = [(x, s.mean, s.quartiles) for x, s in points if s.mean is not None and s.quartiles]
    if not scored:
        return ""
    levels = [x for x, _, _ in scored]
    with rc_context({"svg.hashsalt": f"{workload.title} {score}"}):
        figure = Figure(figsize=(4.6, 2.9), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(levels, *_middle_half(scored), color="#e6cfb2", lw=0, label="middle half")
        axes.plot(levels, [m for _, m, _ in scored], "o-", color="#8a5524", label="mean")
        axes.plot(levels, [q[1] for _, _, q in scored], "--", color="#25675d", label="median")
        axes.set(xlabel=workload.axis, ylabel=_LABELS[score], xticks=levels)
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_ylim(0, 1.1 * max(max(m, q[2]) for _, m, q in scored) or 1)
        axes.legend(frameon=False)
        return _svg(figure)


def _middle_half(
    scored: Sequence[tuple[int, float, tuple[float, float, float]]],
) -> tuple[list[float], list[float]]:
    return [q[0] for _, _, q in scored], [q[2] for _, _, q in scored]


def _score(level: Level, score: Score) -> Spread:
    return {"error": level.error, "width": level.width, "estimate": level.estimate}[score]


def _svg(figure: "Figure") -> str:
    """Return only the drawing, without the XML prologue, which HTML does not allow."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def write_accuracy_report(
    measured: Sequence[MeasuredWorkload],
    directory: Path,
    title: str,
    exposures: Sequence[Mapping[str, Any]] = (),
    coded: Sequence[str] = (),
) -> Path:
    """Write `accuracy.html` and `accuracy.csv` (a line per query) into a private directory.

    `exposures` contain how present the represented people are (see
    `tasks.publication.exposure`); if there are any, they are also written to `exposure.json`.
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
        unscored=sum(level.without_error for level in levels),
    )
