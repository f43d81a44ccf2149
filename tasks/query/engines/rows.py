"""Bounds on releases that show exact rows beside grouped values: DuckDB counts, Python divides.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
DuckDB runs the rewritten queries that analysts are given, up to the step that would round: sums and
means are taken here, as exact integers and fractions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.exact import exact
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.extremes import Counting, expected_sum, greatest, least, mean, total
from sfumato.tasks.query.bounds.values import sum_of, value_of
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key, Question
from sfumato.tasks.query.question.relations import Relations, relations
from sfumato.tasks.query.sql.bounds_query import bounds_query, totals_query
from sfumato.tasks.query.sql.sensitive_conditions import Matched
from sfumato.tasks.sql.session import fetch, session


@contextmanager
def grouped(tables: Mapping[str, pa.Table | Path], declared: Declared) -> Iterator["Grouped"]:
    """An engine that answers questions on the published tables and help tables."""
    with session(tables) as connection:
        yield Grouped(connection, declared)


@dataclass(frozen=True)
class Grouped:
    """A session that sees the published tables."""

    connection: duckdb.DuckDBPyConnection
    declared: Declared

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """The bounds of each aggregate by the values of the group columns.

        Raises:
            QueryError: where the query cannot be evaluated.
        """
        if question.matching:
            return self._matched(question, estimates)
        whole = self._relations.rows
        expected = _estimates(self.connection, question, whole) if estimates else {}
        return bounds_of(self.connection, self.declared, question, expected, whole)

    @property
    def _relations(self) -> Relations:
        return relations(self.declared)

    def _matched(self, question: Question, estimates: bool) -> dict[Key, dict[Aggregate, Bounds]]:
        matched = Matched(question, self._relations)
        width = len(question.group_by)
        rows: dict[Key, tuple[int, int, Fraction | None]] = {}
        for row in fetch(self.connection, matched.counts()):
            low, high, expected = row[width:]
            if int(high) or not width:
                estimate = Fraction(float(expected)) if estimates else None
                rows[row[:width]] = int(low), int(high), estimate
        values = {name: self._of_values(matched, name) for name in matched.aggregated}
        return {
            key: {a: self._bound(a, values, key, counted) for a in question.aggregates}
            for key, counted in rows.items()
        }

    def _of_values(self, matched: Matched, name: str) -> dict[Key, list[tuple[Any, ...]]]:
        width = len(matched.question.group_by)
        found = defaultdict(list)
        for row in fetch(self.connection, matched.of_values(name)):
            if any(row[width + 1 : -1]):
                found[row[:width]].append(row[width:])
        return {key: sorted(rows, key=lambda row: row[0]) for key, rows in found.items()}

    def _bound(
        self,
        aggregate: Aggregate,
        values: Mapping[str, Mapping[Key, list[tuple[Any, ...]]]],
        key: Key,
        counted: tuple[int, int, Fraction | None],
    ) -> Bounds:
        low, high, expected = counted
        if aggregate.function == "count":
            return Bounds(low, high, expected)
        rows = values[str(aggregate.sensitive)].get(key, [])
        if not rows or not high:
            return Bounds(None, None, None)
        whole = self.declared.columns[str(aggregate.sensitive)].type == "integer"
        limits = _limits(aggregate.function, rows, whole, estimates=expected is not None)
        return replace(limits, may_be_empty=low == 0)

    def starts(self, name: str) -> list[Any]:
        """The published values of an ordered column, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        query = exp.select(column).distinct().from_(self._relations.rows).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]


def _limits(
    function: str, rows: Sequence[tuple[Any, ...]], whole: bool, *, estimates: bool
) -> Bounds:
    """The bounds of an aggregate over values and how many of their copies count."""
    values, *counts, expected = zip(*rows, strict=True)
    low_sure, low_maybe, high_sure, high_maybe = (np.array(of, np.int64) for of in counts)
    low, high = Counting(low_sure, low_maybe), Counting(high_sure, high_maybe)
    if function in ("min", "max"):
        first, last = (least if function == "min" else greatest)(low, high)
        return Bounds(value_of(values[first], whole), value_of(values[last], whole))
    numbers = exact(pa.array(values), function)
    scale, chances = 10**numbers.digits, np.array(expected, np.float64)
    middle = expected_sum(numbers.units, chances) / scale
    if function == "sum":
        bottom, top = (Fraction(side, scale) for side in total(numbers.units, low, high))
        estimate = within(Fraction(middle), bottom, top) if estimates else None
        return Bounds(sum_of(bottom, whole), sum_of(top, whole), estimate)
    bottom, top = (side / scale for side in mean(numbers.units, low, high))
    some = estimates and chances.any()
    estimate = Fraction(middle / float(chances.sum())) if some else None
    return Bounds(bottom, top, within(estimate, bottom, top))


def bounds_of(
    connection: duckdb.DuckDBPyConnection,
    declared: Declared,
    question: Question,
    expected: Mapping[str, Mapping[Key, Fraction]],
    rows_in: str,
) -> dict[Key, dict[Aggregate, Bounds]]:
    """The bounds by the values of the group columns, from the help tables.

    Args:
        connection: sees the published tables and help tables.
        declared: of the release.
        question: without conditions on sensitive values.
        expected: per sensitive column and group columns the sum that is expected.
        rows_in: the table of the rows.
    """
    whole = [
        replace(aggregate, function="sum") if aggregate.function == "avg" else aggregate
        for aggregate in question.aggregates
    ]
    asked = question.asking([*whole, Aggregate("count", None, "rows")])
    query = bounds_query(asked, rows_in)
    width = len(question.group_by)
    rows = {}
    for row in fetch(connection, query):
        key, sides, count = row[:width], row[width:-2], row[-1]
        bounds = [
            _bound(a, declared, low, high, int(count), expected.get(str(a.sensitive), {}).get(key))
            for a, low, high in zip(question.aggregates, sides[::2], sides[1::2], strict=True)
        ]
        rows[key] = dict(zip(question.aggregates, bounds, strict=True))
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
        low, high = Fraction(lower) / rows, Fraction(upper) / rows
        return Bounds(low, high, within(None if total is None else total / rows, low, high))
    whole = declared.columns[str(aggregate.sensitive)].type == "integer"
    summed = function == "sum"
    estimate = within(total, Fraction(lower), Fraction(upper)) if summed else None
    return Bounds(value_of(lower, whole), value_of(upper, whole), estimate)


def _estimates(
    connection: duckdb.DuckDBPyConnection, question: Question, rows_in: str
) -> dict[str, dict[Key, Fraction]]:
    """Per sensitive column and group columns the expected sum: hits times the group's mean."""
    names = dict.fromkeys(a.sensitive for a in question.aggregates if a.function in ("sum", "avg"))
    estimates: dict[str, dict[Key, Fraction]] = {}
    for name in map(str, names):
        expected: dict[Key, Fraction] = defaultdict(Fraction)
        for *key, size, hits, of_group in fetch(connection, totals_query(question, name, rows_in)):
            expected[tuple(key)] += Fraction(of_group) * int(hits) / int(size)
        estimates[name] = expected
    return estimates
