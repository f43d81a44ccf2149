"""Small trees of DuckDB's SQL, and queries with named ones before them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.relations import GROUP_ID
from sfumato.tasks.sql.parse import drop_places

CELLED, VALUED, BOUNDS_OF, CHOSEN, RUNS = "celled", "valued_", "bounds_", "chosen", "runs_"
"""Names, or how they start: groups in cells, values of a group, bounds of cells, rows of labels,
running totals."""
Part = tuple[str, exp.Query]
"""A query with the name that others read it by."""


@cache
def _parsed(text: str) -> exp.Expr:
    parsed = sqlglot.parse_one(text, read="duckdb")
    drop_places(parsed)
    return parsed


def tree(text: str) -> Any:
    """The tree of an expression or query that this program holds as a text.

    >>> tree("a + 1").sql()
    'a + 1'
    """
    return _parsed(text).copy()


def trees(*texts: str) -> list[Any]:
    """The trees of several expressions."""
    return [tree(text) for text in texts]


def alias(expression: exp.Expr, name: str, *, quoted: bool = False) -> exp.Alias:
    """An expression under a name."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=quoted))


def select(
    columns: Sequence[exp.Expr],
    source: str | exp.Expr,
    *,
    where: Sequence[exp.Expr | None] = (),
    by: Sequence[exp.Expr] = (),
) -> exp.Select:
    """A query that columns, source and keys become part of; conditions are copied into it."""
    table = exp.table_(source) if isinstance(source, str) else source
    query = exp.select(*columns, copy=False).from_(table, copy=False)
    for condition in where:
        if condition is not None:
            query.where(condition.copy(), copy=False)
    return query.group_by(*by, copy=False) if by else query


def join(query: exp.Select, table: exp.Expr | str, on: exp.Expr, kind: str = "") -> None:
    """Have a query join a table on a condition, which becomes part of it."""
    joined = exp.table_(table) if isinstance(table, str) else table
    query.join(joined, on=on, join_type=kind, copy=False)


def own(name: str, table: str | None = None) -> exp.Column:
    """A column that a query of ours made, of a table if that must be told."""
    return exp.column(exp.to_identifier(name), table=table)


def published_column(name: str) -> exp.Column:
    """A published column, which can have any name."""
    return exp.column(exp.to_identifier(name, quoted=True))


def same(name: str, first: str, second: str) -> exp.EQ:
    """The condition that two tables agree in a column."""
    return exp.EQ(this=own(name, first), expression=own(name, second))


def total_of(terms: Sequence[exp.Expr]) -> exp.Expr:
    """The sum of some terms."""
    total, *others = terms
    for other in others:
        total = exp.Add(this=total, expression=other)
    return total


def key_names(question: Question) -> list[str]:
    """The names of a question's group columns in its queries: k0, k1, …."""
    return [f"k{n}" for n in range(len(question.group_by))]


def keys_of(question: Question, table: str | None = None) -> list[exp.Column]:
    """The group columns of a question among the columns of a query."""
    return [own(key, table) for key in key_names(question)]


def cell_parts(question: Question, rows: str) -> list[Part]:
    """The parts that count each group's selected rows by cell: k0, k1, …, group_id, hits, cell."""
    by = [published_column(name) for name in question.group_by]
    keys = [alias(of.copy(), key) for of, key in zip(by, key_names(question), strict=True)]
    columns = [*keys, own(GROUP_ID), tree("COUNT(*) AS hits")]
    selected = select(columns, rows, where=[question.condition], by=[*by, own(GROUP_ID)])
    cell: exp.Expr = exp.Literal.number(1)
    if keys:
        ranked = exp.Order(expressions=[exp.Ordered(this=key) for key in keys_of(question)])
        cell = exp.Window(this=exp.DenseRank(), order=ranked, over="OVER")
    numbered = select([tree("selected.*"), alias(cell, "cell")], "selected")
    return [("selected", selected), (CELLED, numbered)]


def with_parts(parts: Sequence[Part], query: exp.Select) -> exp.Select:
    """A query with named ones before it."""
    for name, part in parts:
        query = query.with_(name, as_=part, copy=False)
    return query
