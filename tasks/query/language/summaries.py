"""Aggregates over the groups of a query in FROM, as summaries of the rows of its answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.grouped import query_in_from
from sfumato.tasks.query.language.sources import name_among, unknown_column
from sfumato.tasks.query.question.inquiry import RowSummary
from sfumato.tasks.sql.parse import quote_name

_OUTER = frozenset({"expressions", "from_", "where", "with_"})
_NAMES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True)
class SummarizingQuery:
    """A query that only aggregates the groups of another one.

    Attributes:
        rows: the query that returns these groups.
        calls: the selected aggregates, by their labels.
        called: the name that their columns may be qualified with.
    """

    rows: exp.Select
    calls: tuple[tuple[str, exp.Expr], ...]
    called: str

    def summaries(self, labels: Sequence[str]) -> tuple[RowSummary, ...]:
        """Return the summaries of the groups' rows.

        Args:
            labels: the columns of these rows.

        Raises:
            QueryError: if an aggregate is unknown, or is not of one of the columns.
        """
        return tuple(
            RowSummary(_NAMES[type(call)], self._column(call, labels), label)
            for label, call in self.calls
        )

    def _column(self, call: exp.Expr, labels: Sequence[str]) -> str | None:
        """Return the column of an aggregate; None for COUNT(*)."""
        argument = call.this.unnest()
        if isinstance(argument, exp.Star):
            return None
        if not isinstance(argument, exp.Column) or _has_more(call):
            raise QueryError(
                "not allowed: a calculation inside an aggregate of groups, because their values "
                "have bounds. Calculate in the inner query, and give the result a name"
            )
        if argument.table and argument.table.casefold() != self.called.casefold():
            raise QueryError(f"unknown table {quote_name(argument.table)}")
        name = name_among(argument.name, labels)
        if name is None:
            raise unknown_column(argument, dict.fromkeys(labels))
        return name


def _has_more(call: exp.Expr) -> bool:
    """Decide whether a call has more than one argument."""
    return bool(call.expressions)


def read_summarizing(select: exp.Select) -> SummarizingQuery | None:
    """Return a query that only aggregates the groups of a query in FROM; None for other queries."""
    inner = query_in_from(select)
    if inner is None or not isinstance(inner.select, exp.Select) or not inner.groups:
        return None
    if any(value and key not in _OUTER for key, value in select.args.items()):
        return None
    calls = tuple((item.alias, item.unalias()) for item in select.expressions)
    if not all(type(call) in _NAMES for _, call in calls):
        return None
    rows = exp.Select(expressions=[exp.Star()])
    for key in ("from_", "where", "with_"):
        if select.args.get(key):
            rows.set(key, select.args[key].copy())
    labelled = tuple((alias or call.sql("duckdb").lower(), call) for alias, call in calls)
    return SummarizingQuery(rows, labelled, inner.called)
