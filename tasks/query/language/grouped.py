"""Queries that pick, filter and order the groups of a query in FROM, merged into one SELECT.

The outer WHERE becomes HAVING, and names in it become the expressions of the inner query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.sources import (
    name_among,
    named_queries,
    read_source,
    replace_columns,
    unknown_column,
)
from sfumato.tasks.query.question.conditions import all_of
from sfumato.tasks.sql.parse import quote_name

_OUTER = frozenset({"expressions", "from_", "where", "order", "limit", "offset", "with_"})
_INNER = frozenset({"expressions", "from_", "where", "group", "having", "order", "with_", "joins"})


def merge_groups(select: exp.Select, columns: Sequence[str]) -> exp.Select:
    """Merge a query that picks, filters and orders the groups of another into one SELECT.

    Args:
        select: any query.
        columns: of the microdata.

    Raises:
        QueryError: if the outer query names a column that the inner one does not select.
    """
    while (inner := _grouping_query(select)) is not None:
        select = _GroupMerger(inner, columns).merge(select)
    return select


@dataclass(frozen=True)
class QueryInFrom:
    """A query in FROM, the name that refers to it, and the named queries before it."""

    select: exp.Select
    called: str
    before: Mapping[str, exp.Select]

    @property
    def groups(self) -> bool:
        """True if its rows are groups, or one row of aggregates."""
        return bool(self.select.args.get("group")) or any(map(_aggregates, self.select.expressions))


def _grouping_query(select: exp.Select) -> QueryInFrom | None:
    """Return the query in FROM that groups, if the outer one only picks, filters and orders."""
    inner = query_in_from(select)
    if inner is None or not isinstance(inner.select, exp.Select):
        return None
    outer_keys = {key for key, value in select.args.items() if value}
    inner_keys = {key for key, value in inner.select.args.items() if value}
    plain = outer_keys <= _OUTER and inner_keys <= _INNER
    outer = (select.args.get(key) for key in ("where", "order"))
    picks = not any(map(_aggregates, [*select.expressions, *filter(None, outer)]))
    clash = set(named_queries(inner.select)) & set(inner.before)
    return inner if inner.groups and plain and picks and not clash else None


def query_in_from(select: exp.Select) -> QueryInFrom | None:
    """Return the query that a SELECT reads; None if it reads a table, or several."""
    from_ = select.args.get("from_")
    table = from_.this if from_ else None
    named = named_queries(select)
    if isinstance(table, exp.Subquery):
        return QueryInFrom(table.this, table.alias, named)
    if not isinstance(table, exp.Table) or table.args.get("db"):
        return None
    name = name_among(table.name, named)
    if name is None:
        return None
    before = dict(list(named.items())[: list(named).index(name)])
    return QueryInFrom(named[name], table.alias or table.name, before)


def _aggregates(node: exp.Expr) -> bool:
    """Decide whether rows are aggregated, outside of totals of an answer and subqueries."""
    return any(not _is_apart(call, node) for call in node.find_all(exp.AggFunc))


def _is_apart(call: exp.Expr, node: exp.Expr) -> bool:
    """Decide whether a total or a scalar subquery lies between a call and the whole node."""
    above: exp.Expr | None = call
    while above is not None and above is not node:
        above = above.parent
        if isinstance(above, exp.Window | exp.Subquery):
            return True
    return False


class _GroupMerger:
    """Merges a query that groups into one that reads it."""

    def __init__(self, inner: QueryInFrom, columns: Sequence[str]) -> None:
        self._inner, self._select = inner, inner.select
        self._shown = {item.alias_or_name: item.unalias() for item in self._select.expressions}
        named = {**inner.before, **named_queries(inner.select)}
        self._published = read_source(inner.select, columns, named).columns

    def merge(self, outer: exp.Select) -> exp.Select:
        select = exp.Select(
            expressions=[new for item in outer.expressions for new in self._item(item)]
        )
        for key in ("from_", "where", "joins"):
            select.set(key, self._select.args.get(key))
        select.set("group", self._group())
        conditions = []
        if self._select.args.get("having"):
            conditions.append(self._with_aliases(self._select.args["having"].this))
        if outer.args.get("where"):
            conditions.append(exp.paren(replace_columns(outer.args["where"].this, self._resolve)))
        having = all_of(conditions)
        select.set("having", None if having is None else exp.Having(this=having))
        select.set("order", self._order(outer))
        for key in ("limit", "offset"):
            select.set(key, outer.args.get(key))
        select.set("with_", self._with_clause())
        return select

    def _item(self, item: exp.Expr) -> list[exp.Expr]:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star) and not any(star.args.values()):
            return [expression.copy() for expression in self._select.expressions]
        put = replace_columns(item.unalias(), self._resolve).unnest()
        name = item.alias_or_name
        return [exp.alias_(put, name, quoted=True) if name else put]

    def _resolve(self, column: exp.Column) -> exp.Expr:
        """Return the expression of the inner query that a column names."""
        if column.table and column.table.casefold() != self._inner.called.casefold():
            raise QueryError(
                f"column {quote_name(column.name)}: unknown table {quote_name(column.table)}"
            )
        name = name_among(column.name, self._shown)
        if name is None:
            raise unknown_column(column, self._shown)
        expression = self._shown[name].copy()
        return expression if isinstance(expression, exp.Column) else exp.Paren(this=expression)

    def _with_aliases(self, node: exp.Expr) -> exp.Expr:
        """Return an expression of the inner query with aliases replaced by their expressions."""

        def resolve(column: exp.Column) -> exp.Expr:
            own = column.table or column.find_ancestor(exp.AggFunc) is not None
            if own or name_among(column.name, self._published) is not None:
                return column.copy()
            return self._resolve(column)

        return replace_columns(node, resolve)

    def _group(self) -> exp.Group | None:
        group = self._select.args.get("group")
        if group is None:
            return None
        if group.args.get("all") is True:
            expressions = [
                expression for expression in self._shown.values() if not _aggregates(expression)
            ]
            return exp.Group(expressions=[expression.copy() for expression in expressions])
        changed: exp.Group = group.copy()
        changed.set("expressions", [self._key(expression) for expression in group.expressions])
        return changed

    def _key(self, node: exp.Expr) -> exp.Expr:
        """Return a column of GROUP BY, given by its position or its name."""
        if isinstance(node, exp.Literal) and not node.is_string:
            items = self._select.expressions
            if node.name.isdecimal() and 1 <= int(node.name) <= len(items):
                item: exp.Expr = items[int(node.name) - 1].unalias().copy()
                return item
        return self._with_aliases(node).unnest()

    def _order(self, outer: exp.Select) -> exp.Expr | None:
        order = outer.args.get("order")
        if order is None:
            return None
        aliases = [item.alias for item in outer.expressions if item.alias]

        def resolve(column: exp.Column) -> exp.Expr:
            named = not column.table and name_among(column.name, aliases) is not None
            return column.copy() if named else self._resolve(column)

        ordered: exp.Expr = order.copy()
        for item in ordered.expressions:
            item.set("this", replace_columns(item.this, resolve).unnest())
        return ordered

    def _with_clause(self) -> exp.With | None:
        named = {**self._inner.before, **named_queries(self._select)}
        ctes = [
            exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
            for name, query in named.items()
        ]
        return exp.With(expressions=ctes) if ctes else None
