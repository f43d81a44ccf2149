"""Bounds from help tables, and from the values of groups that may count.

DuckDB runs the same rewritten queries that analysts get, up to the step that would round: sums and
means are computed here, as exact integers and fractions.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import CountedValues
from sfumato.tasks.query.question.question import ROWS, Aggregate, Key, Question
from sfumato.tasks.query.question.ways import Relations
from sfumato.tasks.query.sql.bounds_query import bounds_query, totals_query
from sfumato.tasks.sql.session import fetch
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb

ExpectedSums = Mapping[str, Mapping[Key, Fraction]]
"""The expected sum of each sensitive column, by the values of the group columns."""


def bounds_from_help(
    connection: "duckdb.DuckDBPyConnection",
    declared: Declared,
    question: Question,
    expected: ExpectedSums,
    rows_in: str,
) -> dict[Key, dict[Aggregate, Bounds]]:
    """Return the bounds by the values of the group columns, from the help tables.

    Args:
        connection: a session that sees the published tables and help tables.
        declared: the declared columns of the release.
        question: a question without conditions on sensitive values.
        expected: the expected sums; empty without estimates.
        rows_in: the name of the table of the rows.
    """
    counted_question = question.with_aggregates([*question.aggregates, ROWS])
    width = len(question.group_by)
    rows = {}
    for row in fetch(connection, bounds_query(counted_question, rows_in, means="sums")):
        key, sides, count = row[:width], row[width:-2], int(row[-1])
        bounds = {}
        for a, low, high in zip(question.aggregates, sides[::2], sides[1::2], strict=True):
            if a.kind.help is None:
                bounds[a] = Bounds(int(low), int(high), int(low))
                continue
            whole = declared.columns[str(a.sensitive)].type == "integer"
            total = expected.get(str(a.sensitive), {}).get(key)
            bounds[a] = a.kind.help.bounds(low, high, count, total, whole)
        rows[key] = bounds
    return rows


def expected_sums(
    connection: "duckdb.DuckDBPyConnection", question: Question, tables: Relations
) -> dict[str, dict[Key, Fraction]]:
    """Return the expected sums: for each group, the number of its selected rows times its mean."""
    estimates: dict[str, dict[Key, Fraction]] = {}
    for name in columns_of_sums(question):
        expected: dict[Key, Fraction] = defaultdict(Fraction)
        for *key, size, hits, of_group in fetch(connection, totals_query(question, name, tables)):
            expected[tuple(key)] += Fraction(of_group) * int(hits) / int(size)
        estimates[name] = expected
    return estimates


def columns_of_sums(question: Question) -> list[str]:
    """Return the sensitive columns whose expected sums give an aggregate's estimate."""
    helped = ((a.sensitive, a.kind.help) for a in question.aggregates)
    return list(
        dict.fromkeys(
            str(name)
            for name, help_bounds in helped
            if help_bounds is not None and help_bounds.expected
        )
    )


@dataclass(frozen=True)
class CountedRows:
    """The number of rows that count in a cell: least, most, and expected (None: no estimates)."""

    least: int
    most: int
    expected: Fraction | None


def bounds_from_values(
    aggregate: Aggregate, rows: CountedRows, values: CountedValues | None
) -> Bounds:
    """Return the bounds of an aggregate over the rows that count in a cell.

    Args:
        aggregate: the aggregate.
        rows: the number of rows that count.
        values: the values of its column that may count; None if there are none.
    """
    fewest = aggregate.kind.fewest
    if aggregate.kind.counts_rows:
        return Bounds(rows.least, rows.most, rows.expected)
    if values is None or rows.most < fewest:
        return Bounds(None, None, None)
    return replace(aggregate.bounds_over(values), may_be_empty=rows.least < fewest)
