"""Bounds and estimates of counts on releases that show each quasi-identifier by itself.

DuckDB runs the rewritten queries that analysts are given.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import duckdb
from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.sql.marginal_counts import Estimator, MarginalCounts
from sfumato.tasks.sql.session import fetch, keep_rows, session
from sfumato.tasks.terms.terms import Declared


@contextmanager
def open_columns(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator["CountsEngine"]:
    """An engine that answers questions on the published tables and help tables."""
    with session(tables) as connection:
        yield CountsEngine(connection, declared, estimator)


@dataclass(frozen=True)
class CountsEngine:
    """A session that sees the published tables.

    What every question has alike, it counts once: `_tables` has the names of tables by the queries
    whose rows they keep.
    """

    connection: duckdb.DuckDBPyConnection
    declared: Declared
    estimator: Estimator
    _tables: dict[str, str] = field(default_factory=dict)

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """The bounds of each count by the values of the group columns.

        Raises:
            QueryError: where the query cannot be evaluated.
        """
        query = MarginalCounts(question, self.declared, self.estimator).counts(self._kept)
        answer = {}
        for *key, least, most, expected in fetch(self.connection, query):
            estimate = Fraction(float(expected)) if estimates else None
            bounds = Bounds(int(least), int(most), estimate)
            answer[tuple(key)] = dict.fromkeys(question.aggregates, bounds)
        return answer

    def _kept(self, query: exp.Select) -> exp.Select:
        """A query that reads the rows of another one, which are kept for as long as the session."""
        asked = query.sql("duckdb")
        if asked not in self._tables:
            name = f"kept_{len(self._tables)}"
            keep_rows(self.connection, name, query)
            self._tables[asked] = name
        return exp.select("*").from_(self._tables[asked])

    def starts(self, name: str) -> list[Any]:
        """The values of an ordered column that groups admit, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        query = exp.select(column).distinct().from_(help_name(name)).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]
