"""The private page of a comparison: alternatives side by side, by risk and width."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.query.accuracy.noise import NoiseReference
from sfumato.tasks.report.charts import CHARACTER, WIDTH, Axis, Tick, coordinate, number_axis
from sfumato.tasks.report.group_plots import BOTTOM, HEIGHT, TOP
from sfumato.tasks.report.numbers import half_widths, percent, percents, with_decimals
from sfumato.tasks.report.rendering import render_private
from sfumato.tasks.report.steward.tables import Table, table_of, with_shares

_RIGHT = WIDTH - 40  # the label of the last point is right of it
_NAMED = 3  # marks beside a place, at most
_POINT = 4  # radius of a point
_PERCENT = 100
_Place = tuple[Fraction, Fraction]
_Box = tuple[Fraction, Fraction, Fraction, Fraction]
_ACCURACY = "Accuracy by workload: half the width of the bounds, relative to their middle (median)"
_ERRORS = "Error of the estimate by workload, relative to the truth (median)"
_CAPTIONS = ("Alternatives, the narrowest answers first", "Alternatives, as they were asked for")


_HIGH, _BESIDE = 15, 7  # height of a text, and how far it is from its point


@dataclass(frozen=True)
class ParetoPoint:
    """A place in the plot, with the marks of the alternatives there, as far as there is room.

    Attributes:
        x: coordinate.
        y: coordinate.
        marks: the marks of all alternatives there.
        label: the text beside it, '' if another label is in the way.
        chosen: whether the recommended alternative is there.
    """

    x: str
    y: str
    marks: tuple[str, ...]
    label: str
    chosen: bool


@dataclass(frozen=True)
class ParetoPlot:
    """Geometry and words that the template needs to draw and describe the plot.

    Attributes:
        left: the left edge of what is inside the axes.
        x_ticks: the ticks of the widths.
        y_ticks: the ticks of the risks.
        points: the alternatives.
        front: a line through the alternatives that no other beats in both.
        best: the marks of the alternatives on that line.
    """

    left: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    points: tuple[ParetoPoint, ...]
    front: str
    best: tuple[str, ...]

    width, height, top, bottom, right = WIDTH, HEIGHT, TOP, BOTTOM, _RIGHT


def plot_pareto(points: Sequence[tuple[str, float, float]], chosen: str | None) -> ParetoPlot:
    """Return alternatives as points of a plot.

    Args:
        points: the mark, width and risk of each alternative (shares), the best first.
        chosen: the mark of the recommended alternative.
    """
    widths = _axis([width for _, width, _ in points])
    risks = _axis([risk for _, _, risk in points])
    left_edge = 14 + CHARACTER * max(len(label) for _, label in risks.ticks)
    frame = _Frame(widths, risks, left_edge)
    marks: dict[_Place, list[str]] = {}
    for mark, width, risk in points:
        marks.setdefault(frame.place(width, risk), []).append(mark)
    front = _front(points)
    line = "L".join(_point_text(frame.place(width, risk)) for _, width, risk in front)
    return ParetoPlot(
        left=left_edge,
        x_ticks=tuple(Tick(coordinate(frame.x(value)), label) for value, label in widths.ticks),
        y_ticks=tuple(Tick(coordinate(frame.y(value)), label) for value, label in risks.ticks),
        points=tuple(_label_points(marks, chosen)),
        front=f"M{line}",
        best=tuple(mark for mark, _, _ in front),
    )


@dataclass(frozen=True)
class _Frame:
    """Coordinates of widths and risks."""

    widths: Axis
    risks: Axis
    left: int

    def x(self, percent: Fraction) -> Fraction:
        return self.left + self.widths.place(percent) * (_RIGHT - self.left)

    def y(self, percent: Fraction) -> Fraction:
        return BOTTOM - self.risks.place(percent) * (BOTTOM - TOP)

    def place(self, width: float, risk: float) -> _Place:
        """Return a place to half a unit: points that are nearer are one."""
        x, y = self.x(Fraction(width) * _PERCENT), self.y(Fraction(risk) * _PERCENT)
        return Fraction(round(2 * x), 2), Fraction(round(2 * y), 2)


def _axis(shares: Sequence[float]) -> Axis:
    return number_axis(Fraction(0), max(map(Fraction, shares)) * _PERCENT, whole=False)


def _point_text(place: _Place) -> str:
    return " ".join(map(coordinate, place))


def _label_points(marks: dict[_Place, list[str]], chosen: str | None) -> list[ParetoPoint]:
    """Return the points, with the recommended one on top of the others and labelled first."""
    order = sorted(marks, key=lambda place: chosen not in marks[place])
    taken: list[_Box] = []
    points = []
    for place in order:
        best, named = chosen in marks[place], marks[place]
        label = ", ".join(named[:_NAMED]) + "…" * (len(named) > _NAMED)
        box = _box(place, CHARACTER * len(label))
        others = [other for other in order if other != place]
        free = _is_free(box, taken, others)
        if free:
            taken.append(box)
        x, y = map(coordinate, place)
        points.append(ParetoPoint(x, y, tuple(named), label if free else "", best))
    return points[::-1]


def _box(place: _Place, width: int) -> _Box:
    """Return left, right, top and bottom of the text beside a point."""
    left_edge, bottom = place[0] + _BESIDE, place[1] - 2
    return left_edge, left_edge + width, bottom - _HIGH, bottom


def _is_free(box: _Box, taken: Sequence[_Box], points: Sequence[_Place]) -> bool:
    """Return whether a box overlaps no other box and no point."""
    left_edge, right, top, bottom = box
    boxes = [*taken, *((x - _POINT, x + _POINT, y - _POINT, y + _POINT) for x, y in points)]
    return not any(
        left_edge < end and start < right and top < lower and upper < bottom
        for start, end, upper, lower in boxes
    )


def _front(points: Sequence[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Return the points that no other point beats in both width and risk, by width."""
    front: list[tuple[str, float, float]] = []
    for point in sorted(points, key=lambda point: point[1:]):
        if not front or point[2] < front[-1][2]:
            front.append(point)
    return front


COMPARISON_PAGE, COMPARISON_CSV = "comparison.html", "comparison.csv"


class AskedQuery(Protocol):
    """A query that all alternatives were asked."""

    @property
    def workload(self) -> str: ...  # noqa: D102


class TriedAlternative(Protocol):
    """Outcome of an alternative."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def groups(self) -> int: ...  # noqa: D102
    @property
    def published(self) -> int: ...  # noqa: D102
    @property
    def suppressed(self) -> int: ...  # noqa: D102
    @property
    def relative(self) -> Sequence[float | None]: ...  # noqa: D102
    @property
    def errors(self) -> Sequence[float | None]: ...  # noqa: D102
    @property
    def attacks(self) -> Mapping[str, Sequence[Mapping[str, Any]]]: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def chose(self) -> str: ...  # noqa: D102
    @property
    def typical(self) -> float | None: ...  # noqa: D102
    @property
    def hidden_shares(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def emptied_columns(self) -> Sequence[str]: ...  # noqa: D102


class RankedAlternative(Protocol):
    """An alternative beside the others."""

    @property
    def outcome(self) -> TriedAlternative: ...  # noqa: D102
    @property
    def width(self) -> float: ...  # noqa: D102
    @property
    def in_groups(self) -> float: ...  # noqa: D102
    @property
    def guessed(self) -> float | None: ...  # noqa: D102
    @property
    def base(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class ComparisonContent:
    """Content of a comparison's page.

    Attributes:
        ranked: the alternatives that keep their promises, the best first.
        chosen: the recommended alternative, None if no alternative keeps its promises.
        broken: why other alternatives break theirs, by name.
        refused: why the spec does not admit other alternatives, by name.
        queries: the queries that all alternatives answered.
        spec: the path of the recommended spec, or None.
        sweep: the only parameter of promises that differs, if its cost was asked for.
        others: the names of alternatives with other promises, which are never recommended.
        reference: the noise of differential privacy for the workloads, None where it is not known.
        of_two: whether the spec has two related tables.
    """

    ranked: Sequence[RankedAlternative]
    chosen: RankedAlternative | None
    broken: Mapping[str, str]
    refused: Mapping[str, str]
    queries: Sequence[AskedQuery]
    spec: Path | None
    sweep: str = ""
    others: frozenset[str] = frozenset()
    reference: NoiseReference | None = None
    of_two: bool = False


def write_comparison_page(place: Path, title: str, content: ComparisonContent) -> Path:
    """Write the page, and its numbers as CSV, into a private directory."""
    rows = _rows(content)
    marks = {
        alternative.outcome.name: str(number)
        for number, alternative in enumerate(content.ranked, start=1)
    }
    chosen = None if content.chosen is None else content.chosen.outcome.name
    points = [
        (marks[alternative.outcome.name], alternative.width, alternative.guessed)
        for alternative in content.ranked
        if alternative.guessed is not None
    ]
    plot = plot_pareto(points, marks.get(chosen or "")) if points else None
    page = render_private(
        "comparison.html.j2",
        title=title,
        chosen=chosen,
        sweep=content.sweep,
        base=percent(max((alternative.base for alternative in content.ranked), default=0.0)),
        spec=None if content.spec is None else str(content.spec),
        alternatives=table_of(_CAPTIONS[bool(content.sweep)], rows),
        plot=plot,
        widths=_by_workload(content, "relative", _ACCURACY, half_widths),
        errors=_by_workload(content, "errors", _ERRORS, percents),
        attacks=_attacks(content),
        broken=names_by_reason(content.broken),
        refused=names_by_reason(content.refused),
        queries=len(content.queries),
        others=len(content.others),
        of_two=content.of_two,
        reference=content.reference,
        emptied=any(alternative.outcome.emptied_columns for alternative in content.ranked),
    )
    write_atomically(place / COMPARISON_CSV, _csv(content).encode())
    write_atomically(place / COMPARISON_PAGE, page.encode())
    return place / COMPARISON_PAGE


def _promise_of(alternative: RankedAlternative, content: ComparisonContent) -> str:
    return "another" if alternative.outcome.name in content.others else "the spec's"


def name_of(outcome: TriedAlternative) -> str:
    """Return the name of an alternative, and what it chose if that was left open."""
    return f"{outcome.name}, which chose {outcome.chose}" if outcome.chose else outcome.name


def emptied_in_words(outcome: TriedAlternative) -> str:
    """Return which columns an alternative hides in nearly all rows; empty if it hides none."""
    if not outcome.emptied_columns:
        return ""
    shares = [
        f"{name} in {percent(outcome.hidden_shares[name])}" for name in outcome.emptied_columns
    ]
    return f"hides {', '.join(shares)} of the rows"


def _rows(content: ComparisonContent) -> list[dict[str, Any]]:
    hides = any(alternative.outcome.emptied_columns for alternative in content.ranked)
    accuracies = half_widths([alternative.outcome.typical for alternative in content.ranked])
    rows = [
        {
            "number": number,
            "alternative": name_of(alternative.outcome),
            "accuracy": accuracy,
            "mean width": alternative.width,
            "guessed in groups": _share_guessed(alternative, alternative.in_groups),
            "guessed by an attacker": _share_guessed(alternative, alternative.guessed),
            "groups": alternative.outcome.groups,
            "suppressed": alternative.outcome.suppressed,
            **({"hides": emptied_in_words(alternative.outcome)} if hides else {}),
            **({"promise": _promise_of(alternative, content)} if content.others else {}),
            "CPU seconds": with_decimals(alternative.outcome.seconds, 1),
        }
        for number, (alternative, accuracy) in enumerate(
            zip(content.ranked, accuracies, strict=True), start=1
        )
    ]
    return with_shares(rows)


def _share_guessed(alternative: RankedAlternative, share: float | None) -> float | str:
    return "not attacked" if share is None or alternative.guessed is None else float(share)


def _by_workload(
    content: ComparisonContent,
    scores: str,
    caption: str,
    write: Callable[[Sequence[float | None]], list[str]],
) -> Table:
    """Return the median of a score as a table: a row per workload, a column per alternative."""
    names = list(dict.fromkeys(query.workload for query in content.queries))
    columns = {
        str(number): write(
            [_median(content.queries, getattr(alternative.outcome, scores), name) for name in names]
        )
        for number, alternative in enumerate(content.ranked, start=1)
    }
    rows = [
        {"workload": name} | {number: texts[place] for number, texts in columns.items()}
        for place, name in enumerate(names)
    ]
    return table_of(caption, rows)


def _median(
    queries: Sequence[AskedQuery], scores: Sequence[float | None], name: str
) -> float | None:
    pairs = zip(queries, scores, strict=True)
    defined = [score for query, score in pairs if query.workload == name and score is not None]
    return median(defined) if defined else None


def _attacks(content: ComparisonContent) -> list[Table]:
    """Return the guesses of attackers: a table for each sensitive column, by alternative."""
    return [
        table_of(f"Guesses of {column}: share of the people", _guesses(content, column))
        for column in _attacked_columns(content)
    ]


def _attacked_columns(content: ComparisonContent) -> list[str]:
    """Return the sensitive columns of which something is guessed in any alternative."""
    return list(
        dict.fromkeys(
            name for alternative in content.ranked for name in alternative.outcome.attacks
        )
    )


def _guesses(content: ComparisonContent, column: str) -> list[dict[str, Any]]:
    shares = [_shares(alternative.outcome, column) for alternative in content.ranked]
    return with_shares(
        [
            {"measure": measure}
            | {str(n): _share(scores, measure) for n, scores in enumerate(shares, start=1)}
            for measure in _measures(content, column)
        ]
    )


def _share(scores: Mapping[str, float | None], measure: str) -> float | str | None:
    share = scores.get(measure)
    if share is not None:
        return float(share)
    return "skipped" if measure in scores else None


def _shares(outcome: TriedAlternative, column: str) -> dict[str, float | None]:
    """Return the shares that attackers guess of a column by measure; None if it was skipped."""
    return {score["measure"]: score.get("share") for score in outcome.attacks.get(column, ())}


def _measures(content: ComparisonContent, column: str) -> list[str]:
    """Return all measures of a column in any alternative."""
    shares = (_shares(alternative.outcome, column) for alternative in content.ranked)
    return list(dict.fromkeys(measure for scores in shares for measure in scores))


def names_by_reason(refused: Mapping[str, str]) -> dict[str, list[str]]:
    """Return names by the reason that they share."""
    names: dict[str, list[str]] = {}
    for name, why in refused.items():
        names.setdefault(why, []).append(name)
    return names


def _csv(content: ComparisonContent) -> str:
    """Return a line for each query and alternative, with what attackers guess of the latter."""
    risks = [(name, m) for name in _attacked_columns(content) for m in _measures(content, name)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    risk_columns = [f"{name}: {measure}" for name, measure in risks]
    writer.writerow(["alternative", "workload", "query", "relative_width", "error", *risk_columns])
    for alternative in content.ranked:
        shares = {name: _shares(alternative.outcome, name) for name in _attacked_columns(content)}
        guessed = [shares[name].get(measure) for name, measure in risks]
        scores = zip(
            content.queries, alternative.outcome.relative, alternative.outcome.errors, strict=True
        )
        for number, (query, width, error) in enumerate(scores, start=1):
            writer.writerow(
                [alternative.outcome.name, query.workload, number, width, error, *guessed]
            )
    return text.getvalue()
