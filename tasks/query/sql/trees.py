"""Small trees of DuckDB's SQL: queries with named ones before them, and quotients to be rounded."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import GROUP_ID
from sfumato.tasks.sql.parse import drop_places

Part = tuple[str, exp.Query]
"""A query with the name that others read it by."""
_SUMMED = "summed"


CELLED, VALUED, BOUNDS_OF, CHOSEN, RUNS = "celled", "valued_", "bounds_", "chosen", "runs_"
"""Names, or how they start: groups in cells, values of a group, bounds of cells, rows of labels,
running totals."""


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


_BELOW, _ABOVE = "SFUMATO_QUOTIENT_BELOW", "SFUMATO_QUOTIENT_ABOVE"


def quotient_bound(over: exp.Expr, under: exp.Expr, *, upper: bool) -> exp.Anonymous:
    """The mark of a quotient that is a bound, of columns that hold a sum and a number of rows."""
    return exp.Anonymous(this=_ABOVE if upper else _BELOW, expressions=[over, under])


def marked_quotients(tree: exp.Expr) -> Iterator[tuple[exp.Anonymous, bool]]:
    """The marks in a query, each with whether it is an upper bound."""
    for mark in list(tree.find_all(exp.Anonymous)):
        if mark.name in (_BELOW, _ABOVE):
            yield mark, mark.name == _ABOVE


def plain_quotient(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    """A quotient that is rounded to the nearest float."""
    return exp.Div(this=over, expression=under, typed=False, safe=False)


def over_sums(query: exp.Select) -> exp.Select:
    """A query whose columns may be marked quotients, over one that has their parts as columns.

    >>> over_sums(exp.select("a AS b").from_("t")).sql()
    'SELECT a AS b FROM t'
    """
    if not any(True for column in query.expressions for _ in marked_quotients(column)):
        return query
    names: dict[str, str] = {}
    parts: list[exp.Expr] = []
    shown = [alias(_over(of.this, names, parts), of.alias, quoted=True) for of in query.expressions]
    common = query.args.get("with_")
    query.set("with_", None)
    inner = query.select(*parts, append=False)
    outer = exp.select(*shown).from_(inner.subquery(_SUMMED))
    outer.set("with_", common)
    return outer


def _over(node: exp.Expr, names: dict[str, str], parts: list[exp.Expr]) -> exp.Expr:
    """A column, with the name of a part of the inner query in the place of each of its parts."""
    if any(True for _ in marked_quotients(node)):
        over, under = (_over(part, names, parts) for part in node.expressions)
        return exp.Anonymous(this=node.this, expressions=[over, under])
    text = node.sql()
    if text not in names:
        names[text] = f"part_{len(parts)}"
        parts.append(alias(node.copy(), names[text]))
    return own(names[text], _SUMMED)


def to_nearest(tree: exp.Select) -> exp.Select:
    """Return a query with its quotients rounded to the nearest float, without queries for sums.

    It is what `over_sums`, and means of running totals, were before bounds were rounded outwards.
    """
    for outer in list(tree.find_all(exp.Select)):
        inner = _sums_below(outer)
        if inner is not None and outer.parent is not None:
            outer.replace(_inlined(outer, inner))
    inner = _sums_below(tree)
    return tree if inner is None else _inlined(tree, inner)


def _sums_below(query: exp.Select) -> exp.Select | None:
    """Return the query of sums that a query with quotients is over."""
    source = query.args.get("from_")
    divides = any(True for column in query.expressions for _ in marked_quotients(column))
    if source is None or source.this.alias != _SUMMED or not divides:
        return None
    below: exp.Select = source.this.this
    return below


def _inlined(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """Return the inner query with the columns of the outer one, of its sums themselves."""
    sums = {of.alias: of.this for of in inner.expressions if isinstance(of, exp.Alias)}
    running = isinstance(outer.expressions[0], exp.Star)
    columns = [inner.expressions[0].copy()] if running else []
    columns += [
        alias(_nearest(column.this, sums, running), column.alias, quoted=not running)
        for column in outer.expressions[len(columns) :]
    ]
    found = inner.select(*columns, append=False)
    if outer.args.get("with_"):
        found.set("with_", outer.args["with_"].copy())
    return found


def _nearest(node: exp.Expr, sums: Mapping[str, exp.Expr], running: bool) -> exp.Expr:
    if isinstance(node, exp.Column):
        return sums[node.name].copy()
    over, under = (sums[part.name].copy() for part in node.expressions)
    return plain_quotient(exp.cast(over, "double") if running else over, under)
