"""Answers to aggregate queries on a release, with bounds that surely contain the truth.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
The truth is that over the represented rows. DuckDB runs the same rewritten query that analysts are
given, except that quotients are taken here, as exact fractions.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tasks.query.bounds import Bounds, Json, Value, nearest
from tasks.query.help_table import help_name
from tasks.query.question import TABLE, Aggregate, GroupColumn, Question, read_question
from tasks.query.rewrite import bounds_query, totals_query
from tasks.release.declared import Declared
from tasks.release.opened import Release
from tasks.sql.session import fetch, session

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Answer:
    """The answer to a query: rows by the names of their columns.

    Attributes:
        form: of publication, which says how the bounds come about.
        guaranteed: whether the truth over the represented rows surely lies within the bounds.
        not_represented: how many rows of the source were left out, and why.
        columns: names in the order of the query.
        rows: a value for each column of the GROUP BY that is shown, bounds for each aggregate;
            in ascending order of those values, nulls last.
    """

    form: str
    guaranteed: bool
    not_represented: Mapping[str, int]
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


def answer(release: Release, sql: str) -> Answer:
    """Answer a query from the files of a release.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
        InputError: where a file of the release is missing.
    """
    question = read_question(sql, release.declared)
    with session(published(release, question.helped_by)) as connection:
        return ask(connection, release.declared, question)


def answer_on(tables: Mapping[str, pa.Table | Path], declared: Declared, sql: str) -> Answer:
    """Answer a query from `microdata` and the help tables by their names, in memory or in files.

    Raises:
        QueryError: where the query is not allowed, or cannot be evaluated.
    """
    question = read_question(sql, declared)
    with session(tables) as connection:
        return ask(connection, declared, question)


def published(release: Release, sensitive: Sequence[str]) -> dict[str, Path]:
    """The files that queries on these sensitive columns read, by the names of their tables."""
    helping = {help_name(name): release.directory / "sql" for name in sensitive}
    files = {name: directory / f"{name}.parquet" for name, directory in helping.items()}
    return {TABLE: release.path(TABLE)} | files


def ask(
    connection: duckdb.DuckDBPyConnection,
    declared: Declared,
    question: Question,
    estimates: bool = True,
) -> Answer:
    """Answer a question in a session that sees the published tables."""
    expected = _estimates(connection, question) if estimates else {}
    rows = _bounds(connection, declared, question, expected)
    return Answer(
        form=declared.form.method,
        guaranteed=True,
        not_represented={
            "nulls": declared.rows.dropped_for_nulls,
            "suppressed": declared.rows.suppressed,
        },
        columns=tuple(item.label for item in question.shown),
        rows=tuple(rows[key] for key in sorted(rows, key=_order)),
    )


def document(answer: Answer) -> dict[str, Any]:
    """The answer as JSON; bounds that are no integers are floats rounded outward."""
    return {
        "form": answer.form,
        "guaranteed": answer.guaranteed,
        "not_represented": dict(answer.not_represented),
        "columns": list(answer.columns),
        "rows": [{name: _json(value) for name, value in row.items()} for row in answer.rows],
    }


def _json(value: Any) -> Json | dict[str, Json]:
    if isinstance(value, Bounds):
        return value.document()
    return str(value) if isinstance(value, Decimal) else nearest(value)


def _order(key: Key) -> list[tuple[bool, Any]]:
    return [(value is None, value) for value in key]


def _bounds(
    connection: duckdb.DuckDBPyConnection,
    declared: Declared,
    question: Question,
    expected: Mapping[str, Mapping[Key, Fraction]],
) -> dict[Key, dict[str, Any]]:
    """The rows of the answer by the values of the group columns."""
    whole = [
        replace(aggregate, function="sum") if aggregate.function == "avg" else aggregate
        for aggregate in question.aggregates
    ]
    query = bounds_query(question.asking([*whole, Aggregate("count", None, "rows")]))
    width = len(question.group_by)
    rows = {}
    for row in fetch(connection, query):
        key, sides, count = row[:width], row[width:-2], row[-1]
        bounds = [
            _bound(a, declared, low, high, int(count), expected.get(str(a.sensitive), {}).get(key))
            for a, low, high in zip(question.aggregates, sides[::2], sides[1::2], strict=True)
        ]
        rows[key] = _named(question, key, bounds)
    return rows


def _named(question: Question, key: Key, bounds: Sequence[Bounds]) -> dict[str, Any]:
    of_group = dict(zip(question.group_by, key, strict=True))
    of_aggregate = iter(bounds)
    return {
        item.label: of_group[item.name] if isinstance(item, GroupColumn) else next(of_aggregate)
        for item in question.shown
    }


def _bound(
    aggregate: Aggregate,
    declared: Declared,
    lower: Any,
    upper: Any,
    rows: int,
    total: Fraction | None,
) -> Bounds:
    """The bounds of an aggregate over so many rows, whose expected sum is `total`."""
    function = aggregate.function
    if function == "count":
        return Bounds(int(lower), int(upper), int(lower))
    if rows == 0:
        return Bounds(None, None, None)
    if function == "avg":
        mean = None if total is None else total / rows
        return Bounds(Fraction(lower) / rows, Fraction(upper) / rows, mean)
    whole = declared.columns[str(aggregate.sensitive)].type == "integer"
    estimate = total if function == "sum" else None
    return Bounds(_value(lower, whole), _value(upper, whole), estimate)


def _value(value: Any, whole: bool) -> Value:
    """What DuckDB returned, exactly: a float counts as the decimal number that is printed."""
    if whole:
        return int(value)
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Decimal | date | str | int):
        return value
    raise TypeError(type(value).__name__)


def _estimates(
    connection: duckdb.DuckDBPyConnection, question: Question
) -> dict[str, dict[Key, Fraction]]:
    """Per sensitive column and group columns the expected sum: hits times the group's mean."""
    names = dict.fromkeys(a.sensitive for a in question.aggregates if a.function in ("sum", "avg"))
    estimates: dict[str, dict[Key, Fraction]] = {}
    for name in map(str, names):
        expected: dict[Key, Fraction] = defaultdict(Fraction)
        for *key, size, hits, total in fetch(connection, totals_query(question, name)):
            expected[tuple(key)] += Fraction(total) * int(hits) / int(size)
        estimates[name] = expected
    return estimates
