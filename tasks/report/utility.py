"""Measures of utility and of accuracy in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.tasks.report.numbers import four_decimals, thousands, width_in_words
from sfumato.tasks.terms.utility import Utility


@dataclass(frozen=True)
class UtilityLine:
    """A measure, what it means, and its value."""

    name: str
    meaning: str
    value: str


def utility_lines(utility: Utility, *, composed: bool = False) -> list[UtilityLine]:
    """Return the measures of a release in words; if `composed`, they are about present people."""
    told_by = "told apart by their group_id" if composed else "different combinations of labels"
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
        UtilityLine(
            "Imprecision",
            "mean level of a cell by the height of its hierarchy; 0 nothing is lost, 1 everything",
            four_decimals(utility.imprecision),
        ),
        UtilityLine(
            "NCP",
            "mean share of its domain that a label stands for; 0 nothing is lost, 1 everything",
            four_decimals(utility.ncp),
        ),
        UtilityLine(
            "Stars", "share of the cells that tell nothing", four_decimals(utility.starred_cells)
        ),
        UtilityLine(
            "Rows of stars", "published without any label", thousands(utility.starred_rows)
        ),
        UtilityLine("Suppressed rows", "not published", thousands(utility.suppressed_rows)),
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
        if {"workload", "level", "median"} <= set(summary):
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
    ('5', '1,000', '±10 %', 20)
    """
    return [
        MeasuredLevel(
            str(summary["workload"]),
            str(summary["level"]),
            thousands(int(summary["queries"])) if summary.get("queries") else "",
            width_in_words(summary["median"]),
            200 if summary["median"] is None else round(min(summary["median"], 2.0) * 100),
        )
        for summary in summaries
        if {"workload", "level", "median"} <= set(summary)
    ]


def _levels(levels: Sequence[Mapping[str, Any]]) -> str:
    """Return the accuracy of a workload at each level, and the number of queries if it is one."""
    texts = [f"{width_in_words(level['median'])} ({level['level']})" for level in levels]
    queries = {int(level["queries"]) for level in levels if level.get("queries") is not None}
    number = f" of {thousands(queries.pop())} queries" if len(queries) == 1 else ""
    return f"{', '.join(texts)}; medians{number}"
