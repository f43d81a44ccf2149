"""Bounds and estimates of counts on releases that show each quasi-identifier by itself.

DuckDB runs the same rewritten queries that analysts get.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.sql.marginal_counts import Estimator, MarginalCounts
from sfumato.tasks.sql.session import fetch, keep_rows, session
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb


@contextmanager
def open_columns(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator["CountsEngine"]:
    """Open an engine that answers questions on the published tables and help tables."""
    with session(tables) as connection:
        yield CountsEngine(connection, declared, estimator)


@dataclass(frozen=True)
class CountsEngine:
    """A session that sees the published tables.

    Subqueries that questions share are run once: `_tables` maps a query's text to the table that
    keeps its rows.
    """

    connection: "duckdb.DuckDBPyConnection"
    declared: Declared
    estimator: Estimator
    _tables: dict[str, str] = field(default_factory=dict)

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of each count by the values of the group columns.

        Raises:
            QueryError: if the query cannot be evaluated.
        """
        query = MarginalCounts(question, self.declared, self.estimator).counts(self._keep)
        answer = {}
        for *key, least, most, expected in fetch(self.connection, query):
            estimate = Fraction(float(expected)) if estimates else None
            bounds = Bounds(int(least), int(most), estimate)
            answer[tuple(key)] = dict.fromkeys(question.aggregates, bounds)
        return answer

    def _keep(self, query: exp.Select) -> exp.Select:
        """Return a query that reads the rows of another query, kept until the session ends."""
        text = query.sql("duckdb")
        if text not in self._tables:
            name = f"kept_{len(self._tables)}"
            keep_rows(self.connection, name, query)
            self._tables[text] = name
        return exp.select("*").from_(self._tables[text])

    def starts(self, name: str) -> list[Any]:
        """Return the values of an ordered column that groups admit, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        query = exp.select(column).distinct().from_(help_name(name)).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]
