"""Bounds on permuted releases: DuckDB runs the rewritten query that analysts are given.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
Quotients are taken here, as exact fractions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from tasks.query.bounds import Bounds, Value
from tasks.query.question import TABLE, Aggregate, Key, Question, named
from tasks.query.rewrite import bounds_query, totals_query
from tasks.release.declared import Declared
from tasks.sql.session import fetch, session


@contextmanager
def permuted(tables: Mapping[str, pa.Table | Path], declared: Declared) -> Iterator["Permuted"]:
    """An engine that answers questions on `microdata` and the help tables."""
    with session(tables) as connection:
        yield Permuted(connection, declared)


@dataclass(frozen=True)
class Permuted:
    """A session that sees the published tables."""

    connection: duckdb.DuckDBPyConnection
    declared: Declared

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[str, Any]]:
        """The rows of an answer by the values of its group columns.

        Raises:
            QueryError: where the query cannot be evaluated.
        """
        expected = _estimates(self.connection, question) if estimates else {}
        return _bounds(self.connection, self.declared, question, expected)

    def starts(self, name: str) -> list[Any]:
        """The published values of an ordered column, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        query = exp.select(column).distinct().from_(TABLE).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]


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
        rows[key] = named(question, key, bounds)
    return rows


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
