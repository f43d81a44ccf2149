"""The private accuracy report: the distance of the bounds from the truth, in plots and sums.

Truth beside bounds reveals answers, so the report is only for the steward: it is written into
private directories that only their owner can read.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.query.accuracy.noise import NoiseReference
from sfumato.tasks.report.charts import Chart, Frame, Words, number_axis, ticks_with_room
from sfumato.tasks.report.numbers import half_widths, percents, rough, thousands
from sfumato.tasks.report.rendering import render_private

_AXES: Mapping[str, str] = {
    "range": "span of the range",
    "arbitrary": "values selected",
    "counts": "% of the rows selected",
    "people": "rows of a person with the value, at least",
}
Score = Literal["error", "width", "estimate"]
_LABELS: Mapping[Score, str] = {
    "error": "Width of the bounds by the truth",
    "width": "Accuracy",
    "estimate": "Error of the estimate",
}
_UNITS: Mapping[Score, str] = {
    "error": "% of the truth",
    "width": "± %",
    "estimate": "% of the truth",
}
_FACTORS: Mapping[Score, int] = {"error": 100, "width": 50, "estimate": 100}
_WRITTEN: Mapping[Score, Callable[[Sequence[float | None]], list[str]]] = {
    "error": percents,
    "width": half_widths,
    "estimate": percents,
}
_HEIGHT = 230  # of a chart
_STEPS = 5  # of its vertical axis
_LevelScore = tuple[Fraction, Fraction, Fraction, Fraction, Fraction]
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


def draw_scores(workload: Workload, score: Score) -> Chart | None:
    """Return a chart of the mean over the middle half by level; None if nothing was scored.

    Args:
        workload: the queries.
        score: the score. Widths are halved, as everywhere.
    """
    levels = [
        _point_of(level, score)
        for level in workload.levels
        if _score(level, score).mean is not None
    ]
    if not levels:
        return None
    highest = max(number for _, *numbers in levels for number in numbers)
    x = number_axis(Fraction(0), levels[-1][0], whole=True)
    frame = Frame(x, number_axis(Fraction(0), highest, whole=False, steps=_STEPS), _HEIGHT)
    means = [(level, mean) for level, mean, *_ in levels]
    sign = "±" if score == "width" else ""
    texts = [f"{sign}{text}" for text in percents([mean / 100 for _, mean in means])]
    middle = [(level, median) for level, _, _, median, _ in levels]
    title = f"{_LABELS[score]}, {workload.title}"
    points = ", ".join(
        f"{text} at {thousands(level)}" for (level, _), text in zip(means, texts, strict=True)
    )
    return frame.chart(
        Words(_LABELS[score], f"{title}: {points}", workload.axis, _UNITS[score]),
        ticks_with_room([(frame.x_place(value), label) for value, label in x.ticks]),
        [
            ("body", _band(frame, levels)),
            ("edges", frame.line(means)),
            ("median", frame.line(middle)),
        ],
        [frame.dot(level, mean, text) for (level, mean), text in zip(means, texts, strict=True)],
    )


def _point_of(level: Level, score: Score) -> _LevelScore:
    """Return a level with its mean and quartiles in percent."""
    spread, factor = _score(level, score), _FACTORS[score]
    numbers = (spread.mean, *(spread.quartiles or ()))
    mean, low, median, high = (Fraction(number or 0) * factor for number in numbers)
    return Fraction(level.level), mean, low, median, high


def _band(frame: Frame, levels: Sequence[_LevelScore]) -> str:
    """Return the area between the quartiles."""
    low = [(level, low) for level, _, low, _, _ in levels]
    high = [(level, high) for level, *_, high in levels]
    return f"{frame.line([*low, *reversed(high)])}z" if len(levels) > 1 else ""


def _score(level: Level, score: Score) -> Spread:
    return {"error": level.error, "width": level.width, "estimate": level.estimate}[score]


def write_accuracy_report(
    measured: Sequence[MeasuredWorkload],
    directory: Path,
    title: str,
    exposures: Sequence[Mapping[str, Any]] = (),
    coded: Sequence[str] = (),
    reference: NoiseReference | None = None,
) -> Path:
    """Write `accuracy.html` and `accuracy.csv` (a line per query) into a private directory.

    `exposures` contain how present the represented people are (see
    `tasks.publication.exposure`); if there are any, they are also written to `exposure.json`.
    `coded` are the columns whose truth is that of coded values. `reference` is the noise of
    differential privacy for the same queries, None where it is not known.

    Returns:
        The path of the HTML report.
    """
    workloads = summarize(measured)
    report = directory / "accuracy.html"
    write_atomically(directory / "accuracy.csv", _csv(measured).encode())
    write_atomically(report, _html(workloads, title, exposures, coded, reference).encode())
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
    reference: NoiseReference | None,
) -> str:
    sections: list[Mapping[str, object]] = [
        {
            "workload": workload,
            "charts": [chart for score in _LABELS if (chart := draw_scores(workload, score))],
            "scores": _scores_table(workload),
        }
        for workload in workloads
    ]
    levels = [level for workload in workloads for level in workload.levels]
    return render_private(
        "accuracy.html.j2",
        title=title,
        sections=sections,
        exposures=[_exposure(seen) for seen in exposures],
        coded=coded,
        reference=reference,
        queries=sum(level.queries for level in levels),
        outside=sum(level.outside for level in levels),
        unscored=sum(level.without_error for level in levels),
    )


def _scores_table(workload: Workload) -> dict[str, Any]:
    """Return the scores of a workload: a row for each level, and columns of the same decimals."""
    scores = [score for score in _LABELS if score != "estimate" or workload.has_estimates]
    columns = [
        _WRITTEN[score]([numbers[place] for numbers in _numbers_of(workload, score)])
        for score in scores
        for place in range(4)
    ]
    rows = [
        {
            "level": thousands(level.level),
            "queries": thousands(level.queries),
            "scores": [column[place] for column in columns],
            "unscored": thousands(level.without_error),
            "outside": level.outside,
        }
        for place, level in enumerate(workload.levels)
    ]
    return {"groups": [_LABELS[score] for score in scores], "rows": rows}


def _numbers_of(workload: Workload, score: Score) -> list[tuple[float | None, ...]]:
    """Return mean, quarter, median and three quarters at each level."""
    spreads = [_score(level, score) for level in workload.levels]
    return [(spread.mean, *(spread.quartiles or (None,) * 3)) for spread in spreads]


def _exposure(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return how present people are, in words; see `tasks.publication.exposure`."""
    if "skipped" in seen:
        return {"skipped": {name: thousands(n) for name, n in seen["skipped"].items()}}
    shares = percents([seen["rows_above_alpha"][name] for name in _READINGS])
    return {
        "alpha": seen["alpha"],
        "groups": rough(seen["covering_groups"]["mean"]),
        "most_groups": thousands(seen["covering_groups"]["most"]),
        "records": rough(seen["weighted_presence"]["median"]),
        "most_records": rough(seen["weighted_presence"]["largest"]),
        "readings": list(zip(_READINGS.values(), shares, strict=True)),
    }
