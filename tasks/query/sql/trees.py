"""Small trees of DuckDB's SQL: queries with named parts, and quotients that are to be rounded."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import GROUP_ID
from sfumato.tasks.sql.parse import drop_places

Part = tuple[str, exp.Query]
"""A query with the name by which others read it."""
_SUMMED = "summed"


CELLED, VALUED, BOUNDS_OF, CHOSEN, RUNS = "celled", "valued_", "bounds_", "chosen", "runs_"
"""Names of parts, or their beginnings: groups in cells, values of a group, bounds of cells, rows of
labels, running totals. The number of an aggregated column ends the others."""
RANKED, PIECES, SUMS_OF, FEWEST = "ranked_", "pieces_", "sums_", "fewest_"
"""Beginnings of names of parts about the values of related rows: values in order, copies of them
that count together or not at all, sums of cells, and of the fewest values of groups."""


@cache
def _parse(text: str) -> exp.Expr:
    parsed = sqlglot.parse_one(text, read="duckdb")
    drop_places(parsed)
    return parsed


def tree(text: str) -> Any:
    """Return the tree of an expression or query that this program contains as a text.

    >>> tree("a + 1").sql()
    'a + 1'
    """
    return _parse(text).copy()


def trees(*texts: str) -> list[Any]:
    """Return the trees of several expressions."""
    return [tree(text) for text in texts]


def alias(expression: exp.Expr, name: str, *, quoted: bool = False) -> exp.Alias:
    """Return an expression under a name."""
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=quoted))


def select(
    columns: Sequence[exp.Expr],
    source: str | exp.Expr,
    *,
    where: Sequence[exp.Expr | None] = (),
    group_by: Sequence[exp.Expr] = (),
) -> exp.Select:
    """Return a query; its columns, source and keys become part of it, and conditions are copied.

    Args:
        columns: the columns.
        source: the name of a table or part, or a subquery.
        where: the conditions, all of which must hold; None is no condition.
        group_by: the keys.
    """
    table = exp.table_(source) if isinstance(source, str) else source
    query = exp.select(*columns, copy=False).from_(table, copy=False)
    for condition in where:
        if condition is not None:
            query.where(condition.copy(), copy=False)
    return query.group_by(*group_by, copy=False) if group_by else query


def join(query: exp.Select, table: exp.Expr | str, on: exp.Expr, kind: str = "") -> None:
    """Join a table to a query on a condition, which becomes part of the query."""
    joined = exp.table_(table) if isinstance(table, str) else table
    query.join(joined, on=on, join_type=kind, copy=False)


def own(name: str, table: str | None = None) -> exp.Column:
    """Return a column that a query of ours computes, with its table if that is needed."""
    return exp.column(exp.to_identifier(name), table=table)


def published_column(name: str) -> exp.Column:
    """Return a published column, which can have any name."""
    return exp.column(exp.to_identifier(name, quoted=True))


def same(name: str, first: str, second: str) -> exp.EQ:
    """Return the condition that two tables agree in a column."""
    return exp.EQ(this=own(name, first), expression=own(name, second))


def total_of(terms: Sequence[exp.Expr]) -> exp.Expr:
    """Return the sum of some terms."""
    total, *others = terms
    for other in others:
        total = exp.Add(this=total, expression=other)
    return total


def key_names(question: Question) -> list[str]:
    """Return the names of a question's group columns in its queries: k0, k1, …."""
    return [f"k{n}" for n in range(len(question.group_by))]


def keys_of(question: Question, table: str | None = None) -> list[exp.Column]:
    """Return the group columns of a question among the columns of a query."""
    return [own(key, table) for key in key_names(question)]


def cell_parts(question: Question, rows: str) -> list[Part]:
    """Return the parts that count each group's selected rows by cell.

    Their columns are k0, k1, …, group_id, hits, cell.
    """
    group_keys = [published_column(name) for name in question.group_by]
    keys = [
        alias(column.copy(), key)
        for column, key in zip(group_keys, key_names(question), strict=True)
    ]
    columns = [*keys, own(GROUP_ID), tree("COUNT(*) AS hits")]
    selected = select(
        columns, rows, where=[question.condition], group_by=[*group_keys, own(GROUP_ID)]
    )
    cell: exp.Expr = exp.Literal.number(1)
    if keys:
        ranked = exp.Order(expressions=[exp.Ordered(this=key) for key in keys_of(question)])
        cell = exp.Window(this=exp.DenseRank(), order=ranked, over="OVER")
    numbered = select([tree("selected.*"), alias(cell, "cell")], "selected")
    return [("selected", selected), (CELLED, numbered)]


def with_parts(parts: Sequence[Part], query: exp.Select) -> exp.Select:
    """Return a query with named queries before it."""
    for name, part in parts:
        query = query.with_(name, as_=part, copy=False)
    return query


_BELOW, _ABOVE = "SFUMATO_QUOTIENT_BELOW", "SFUMATO_QUOTIENT_ABOVE"


def quotient_bound(over: exp.Expr, under: exp.Expr, *, upper: bool) -> exp.Anonymous:
    """Return the mark of a quotient that is a bound, of a sum and a number of rows.

    It is written as a rounded quotient once the database is known (see `dialect_fixes`).
    """
    return exp.Anonymous(this=_ABOVE if upper else _BELOW, expressions=[over, under])


def marked_quotients(tree: exp.Expr) -> Iterator[tuple[exp.Anonymous, bool]]:
    """Yield the marks in a query, each with whether it is an upper bound."""
    for mark in list(tree.find_all(exp.Anonymous)):
        if mark.name in (_BELOW, _ABOVE):
            yield mark, mark.name == _ABOVE


def plain_quotient(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    """Return a quotient that is rounded to the nearest float."""
    return exp.Div(this=over, expression=under, typed=False, safe=False)


def over_sums(query: exp.Select) -> exp.Select:
    """Return a query with marked quotients over an inner one that has their parts as columns.

    A query without marks is returned unchanged.

    >>> over_sums(exp.select("a AS b").from_("t")).sql()
    'SELECT a AS b FROM t'
    """
    if not any(True for column in query.expressions for _ in marked_quotients(column)):
        return query
    names: dict[str, str] = {}
    parts: list[exp.Expr] = []
    columns = [
        alias(_replace_parts(item.this, names, parts), item.alias, quoted=True)
        for item in query.expressions
    ]
    common = query.args.get("with_")
    query.set("with_", None)
    inner = query.select(*parts, append=False, copy=False)
    outer = select(columns, inner.subquery(_SUMMED, copy=False))
    outer.set("with_", common)
    return outer


def _replace_parts(node: exp.Expr, names: dict[str, str], parts: list[exp.Expr]) -> exp.Expr:
    """Return a column with each of its parts replaced by a column of the inner query.

    The parts are what marks divide, or the whole column if it has no mark. `names` has the name of
    each part by its text, and `parts` has the parts; both are extended.
    """
    if any(True for _ in marked_quotients(node)):
        over, under = (_replace_parts(part, names, parts) for part in node.expressions)
        return exp.Anonymous(this=node.this, expressions=[over, under])
    text = node.sql()
    if text not in names:
        names[text] = f"part_{len(parts)}"
        parts.append(alias(node.copy(), names[text]))
    return own(names[text], _SUMMED)


def to_nearest(tree: exp.Select) -> exp.Select:
    """Return a query with its quotients rounded to the nearest float, without queries for sums.

    Queries had this shape before bounds were rounded outwards, both those of `over_sums` and means
    of running totals.
    """
    for outer in list(tree.find_all(exp.Select)):
        inner = _sums_below(outer)
        if inner is not None and outer.parent is not None:
            outer.replace(_inline(outer, inner))
    inner = _sums_below(tree)
    return tree if inner is None else _inline(tree, inner)


def _sums_below(query: exp.Select) -> exp.Select | None:
    """Return the query of sums that a query with quotients reads; None if there is none."""
    source = query.args.get("from_")
    divides = any(True for column in query.expressions for _ in marked_quotients(column))
    if source is None or source.this.alias != _SUMMED or not divides:
        return None
    below: exp.Select = source.this.this
    return below


def _inline(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """Return the inner query with the columns of the outer one, over its sums themselves."""
    sums = {item.alias: item.this for item in inner.expressions if isinstance(item, exp.Alias)}
    running = isinstance(outer.expressions[0], exp.Star)
    columns = [inner.expressions[0].copy()] if running else []
    columns += [
        alias(_nearest(column.this, sums, running), column.alias, quoted=not running)
        for column in outer.expressions[len(columns) :]
    ]
    merged = inner.select(*columns, append=False)
    if outer.args.get("with_"):
        merged.set("with_", outer.args["with_"].copy())
    return merged


def _nearest(node: exp.Expr, sums: Mapping[str, exp.Expr], running: bool) -> exp.Expr:
    if isinstance(node, exp.Column):
        return sums[node.name].copy()
    over, under = (sums[part.name].copy() for part in node.expressions)
    return plain_quotient(exp.cast(over, "double") if running else over, under)
