"""Measures of utility and of accuracy in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.tasks.report.charts import Chart, Frame, Words, number_axis, ticks_with_room
from sfumato.tasks.report.numbers import (
    four_decimals,
    half_widths,
    percents,
    thousands,
    width_in_words,
)
from sfumato.tasks.terms.utility import Utility

if TYPE_CHECKING:
    from sfumato.tasks.query.accuracy.spans import Spans

_NEEDED = frozenset({"workload", "level", "median"})
_HEIGHT = 210  # of a chart
_STEPS = 5  # of its vertical axis


@dataclass(frozen=True)
class UtilityLine:
    """A measure, what it means, and its value."""

    name: str
    meaning: str
    value: str


def utility_lines(
    utility: Utility, *, composed: bool = False, in_percent: bool = True
) -> list[UtilityLine]:
    """Return the measures of a release in words.

    Args:
        utility: the measures.
        composed: whether they are about the people who are present.
        in_percent: whether shares are percentages; pages before layout 9 have decimals.
    """
    told_by = "distinguished by their group_id" if composed else "different combinations of labels"
    lines = [
        UtilityLine("Groups", told_by, thousands(utility.classes)),
        UtilityLine("Average group", "rows", four_decimals(utility.average_class_size)),
    ]
    if utility.c_avg is not None:
        lines.append(
            UtilityLine(
                "C_avg",
                "average group by the promised k; 1 is the best",
                four_decimals(utility.c_avg),
            )
        )
    return [
        *lines,
        UtilityLine(
            "Discernibility",
            "each row counts the rows that look like it, a suppressed one all rows",
            thousands(utility.discernibility),
        ),
        UtilityLine(
            "Height", "sum of the highest levels of the hierarchies", thousands(utility.height)
        ),
        *_shares(utility, in_percent=in_percent),
        UtilityLine(
            "Rows of stars", "published without any label", thousands(utility.starred_rows)
        ),
        UtilityLine("Suppressed rows", "not published", thousands(utility.suppressed_rows)),
    ]


def _shares(utility: Utility, *, in_percent: bool) -> list[UtilityLine]:
    shares = [utility.imprecision, utility.ncp, utility.starred_cells]
    values = percents(shares) if in_percent else [four_decimals(share) for share in shares]
    ends = "" if in_percent else "; 0 nothing is lost, 1 everything"
    meanings = {
        "Imprecision": f"mean level of a cell by the height of its hierarchy{ends}",
        "NCP": f"share of a column's range that a label covers on average{ends}",
        "Stars": "share of the cells that show nothing",
    }
    return [
        UtilityLine(name, meaning, value)
        for (name, meaning), value in zip(meanings.items(), values, strict=True)
    ]


def accuracy_lines(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each workload of a public summary: the accuracy at each of its levels.

    >>> ranges = {"workload": "avg(cost) by range of age", "queries": 100}
    >>> widths = [{**ranges, "level": 5, "median": 0.2}, {**ranges, "level": 10, "median": 2.5}]
    >>> accuracy_lines(widths)
    ['avg(cost) by range of age: ±10 % (5), too wide to use (10); medians of 100 queries']
    """
    by_workload: dict[str, list[Mapping[str, Any]]] = {}
    for summary in summaries:
        if set(summary) >= _NEEDED:
            by_workload.setdefault(str(summary["workload"]), []).append(summary)
    return [f"{name}: {_levels(levels)}" for name, levels in by_workload.items()]


@dataclass(frozen=True)
class MeasuredLevel:
    """The accuracy of a workload at one level, as a page shows it.

    Attributes:
        workload: its name.
        level: the length of its ranges, say, as a text.
        queries: the number of queries; empty if it is not known.
        words: half the width of bounds, relative to their middle.
        place: the same on a scale from 0 to 200, which ends at 100 %.
    """

    workload: str
    level: str
    queries: str
    words: str
    place: int


def measured_levels(summaries: Sequence[Mapping[str, Any]]) -> list[MeasuredLevel]:
    """Return the accuracy of each workload of a public summary at each of its levels.

    >>> ranges = {"workload": "avg(cost) by range of age", "queries": 1000, "level": 5}
    >>> (level,) = measured_levels([{**ranges, "median": 0.2}])
    >>> level.level, level.queries, level.words, level.place
    ('5', '1,000', '±10.0 %', 20)
    """
    measured = [summary for summary in summaries if set(summary) >= _NEEDED]
    accuracies = half_widths([summary["median"] for summary in measured])
    return [
        MeasuredLevel(
            str(summary["workload"]),
            str(summary["level"]),
            thousands(int(summary["queries"])) if summary.get("queries") else "",
            "not measured" if summary["median"] is None else accuracy,
            200 if summary["median"] is None else round(min(summary["median"], 2.0) * 100),
        )
        for summary, accuracy in zip(measured, accuracies, strict=True)
    ]


def accuracy_charts(summaries: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Return a chart of accuracy by span for each workload that has numbers at two levels.

    Answers that are too wide to use are drawn at 100 %.

    Args:
        summaries: a public summary: workloads at their levels, with the median width.
    """
    points: dict[str, list[tuple[Fraction, float]]] = {}
    for summary in summaries:
        if not set(summary) >= _NEEDED or not isinstance(summary["level"], int):
            continue
        if summary["median"] is not None:
            point = Fraction(summary["level"]), float(summary["median"])
            points.setdefault(str(summary["workload"]), []).append(point)
    return [_chart(name, sorted(levels)) for name, levels in points.items() if len(levels) > 1]


def _chart(workload: str, points: Sequence[tuple[Fraction, float]]) -> Chart:
    accuracies = half_widths([width for _, width in points])
    places = [(level, min(50 * Fraction(width), Fraction(100))) for level, width in points]
    texts = [
        f"{text} at {thousands(level)}" for (level, _), text in zip(points, accuracies, strict=True)
    ]
    return _line(workload, _level_name(workload), places, texts, hints=texts)


def _line(
    title: str,
    x_title: str,
    places: Sequence[tuple[Fraction, Fraction]],
    texts: Sequence[str],
    *,
    hints: Sequence[str] = (),
) -> Chart:
    """Return a line of accuracies.

    Args:
        title: the heading.
        x_title: the words below the horizontal axis.
        places: the levels, ascending, and half the widths of bounds in percent.
        texts: both in words, for who does not see the chart.
        hints: the texts that a pointer shows at the dots, if any does.
    """
    x = number_axis(Fraction(0), places[-1][0], whole=True)
    y = number_axis(Fraction(0), max(height for _, height in places), whole=False, steps=_STEPS)
    frame = Frame(x, y, _HEIGHT)
    words = Words(title, f"How accurate: {title}: {', '.join(texts)}", x_title, "± %")
    ticks = ticks_with_room([(frame.x_place(value), label) for value, label in x.ticks])
    dots = [
        frame.dot(*place, text)
        for place, text in zip(places, hints or [""] * len(places), strict=True)
    ]
    return frame.chart(words, ticks, [("edges", frame.line(places))], dots)


@dataclass(frozen=True)
class SpansFigure:
    """The accuracy of an aggregate over ranges of a column, as a chart and as lines of a table.

    Attributes:
        chart: the chart.
        lines: the length of ranges, and the median of their accuracy.
    """

    chart: Chart
    lines: tuple[tuple[str, str], ...]


def spans_figure(spans: "Spans", units: str) -> SpansFigure:
    """Return the figure of measured accuracies; `units` are what rows count."""
    measured = spans.measured
    what = f"Number of {units}"
    if measured.value is not None:
        what = f"Share of {units} with {measured.column} = {measured.value}"
    elif measured.column is not None:
        what = f"Average of {measured.column}"
    lengths = [round(100 * span.share) for span in spans.by_length]
    medians = [span.median for span in spans.by_length]
    accuracies = half_widths([2 * share for share in medians])
    chart = _line(
        f"{what}, over ranges of {spans.over}",
        "length of the range, %",
        [(Fraction(n), 100 * share) for n, share in zip(lengths, medians, strict=True)],
        [f"{text} at {length} %" for length, text in zip(lengths, accuracies, strict=True)],
    )
    lines = zip((f"{length} %" for length in lengths), accuracies, strict=True)
    return SpansFigure(chart, tuple(lines))


def _level_name(workload: str) -> str:
    """Return the title of the axis of a workload's levels.

    >>> _level_name("avg(cost) by range of age"), _level_name("sum(cost) of arbitrary selections")
    ('span of age', 'values selected')
    """
    _, is_range, column = workload.partition(" by range of ")
    if is_range:
        return f"span of {column}"
    return "values selected" if workload.endswith(" selections") else "% of the rows selected"


def _levels(levels: Sequence[Mapping[str, Any]]) -> str:
    """Return the accuracy of a workload at each level, and the number of queries if it is one."""
    texts = [f"{width_in_words(level['median'])} ({level['level']})" for level in levels]
    queries = {int(level["queries"]) for level in levels if level.get("queries") is not None}
    number = f" of {thousands(queries.pop())} queries" if len(queries) == 1 else ""
    return f"{', '.join(texts)}; medians{number}"
