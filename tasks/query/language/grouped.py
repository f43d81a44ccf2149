"""Queries that pick, filter and order what a query in FROM groups, as one SELECT.

The outer WHERE is HAVING then, and what it names are the expressions of the inner one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sfumato.expectations.errors import QueryError
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
    """The one SELECT that groups, where another only picks, filters and orders what it shows.

    Args:
        select: any.
        columns: of the microdata.

    Raises:
        QueryError: where the outer one names what the inner one does not show.
    """
    while (found := _grouped(select)) is not None:
        select = _Merging(found, columns).merged(select)
    return select


@dataclass(frozen=True)
class _Grouped:
    """A query in FROM that groups, the name it is read by, and the queries that it may read."""

    select: exp.Select
    called: str
    before: Mapping[str, exp.Select]


def _grouped(select: exp.Select) -> _Grouped | None:
    found = _in_from(select)
    if found is None or not isinstance(found.select, exp.Select):
        return None
    outer_keys = {key for key, value in select.args.items() if value}
    inner_keys = {key for key, value in found.select.args.items() if value}
    groups = "group" in inner_keys or any(map(_aggregates, found.select.expressions))
    plain = outer_keys <= _OUTER and inner_keys <= _INNER
    outer = (select.args.get(key) for key in ("where", "order"))
    picks = not any(map(_aggregates, [*select.expressions, *filter(None, outer)]))
    clash = set(named_queries(found.select)) & set(found.before)
    return found if groups and plain and picks and not clash else None


def _in_from(select: exp.Select) -> _Grouped | None:
    from_ = select.args.get("from_")
    table = from_.this if from_ else None
    named = named_queries(select)
    if isinstance(table, exp.Subquery):
        return _Grouped(table.this, table.alias, named)
    if not isinstance(table, exp.Table) or table.args.get("db"):
        return None
    name = name_among(table.name, named)
    if name is None:
        return None
    before = dict(list(named.items())[: list(named).index(name)])
    return _Grouped(named[name], table.alias or table.name, before)


def _aggregates(node: exp.Expr) -> bool:
    """Whether rows are aggregated, which totals of an answer and queries among values are not."""
    return any(not _is_apart(call, node) for call in node.find_all(exp.AggFunc))


def _is_apart(call: exp.Expr, node: exp.Expr) -> bool:
    """Whether a total, or a query among values, stands between a call and the whole of a node."""
    above: exp.Expr | None = call
    while above is not None and above is not node:
        above = above.parent
        if isinstance(above, exp.Window | exp.Subquery):
            return True
    return False


class _Merging:
    """Puts a query that groups into one that reads it."""

    def __init__(self, inner: _Grouped, columns: Sequence[str]) -> None:
        self._inner, self._select = inner, inner.select
        self._shown = {one.alias_or_name: one.unalias() for one in self._select.expressions}
        named = {**inner.before, **named_queries(inner.select)}
        self._published = read_source(inner.select, columns, named).columns

    def merged(self, outer: exp.Select) -> exp.Select:
        found = exp.Select(
            expressions=[new for one in outer.expressions for new in self._item(one)]
        )
        for key in ("from_", "where", "joins"):
            found.set(key, self._select.args.get(key))
        found.set("group", self._group())
        conditions = []
        if self._select.args.get("having"):
            conditions.append(self._with_aliases(self._select.args["having"].this))
        if outer.args.get("where"):
            conditions.append(exp.paren(replace_columns(outer.args["where"].this, self._meant)))
        having = all_of(conditions)
        found.set("having", None if having is None else exp.Having(this=having))
        found.set("order", self._order(outer))
        for key in ("limit", "offset"):
            found.set(key, outer.args.get(key))
        found.set("with_", self._with())
        return found

    def _item(self, item: exp.Expr) -> list[exp.Expr]:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star) and not any(star.args.values()):
            return [one.copy() for one in self._select.expressions]
        put = replace_columns(item.unalias(), self._meant).unnest()
        name = item.alias_or_name
        return [exp.alias_(put, name, quoted=True) if name else put]

    def _meant(self, column: exp.Column) -> exp.Expr:
        """What stands for a column of the inner query."""
        if column.table and column.table.casefold() != self._inner.called.casefold():
            raise QueryError(
                f"column {quote_name(column.name)}: unknown table {quote_name(column.table)}"
            )
        name = name_among(column.name, self._shown)
        if name is None:
            raise unknown_column(column, self._shown)
        found = self._shown[name].copy()
        return found if isinstance(found, exp.Column) else exp.Paren(this=found)

    def _with_aliases(self, node: exp.Expr) -> exp.Expr:
        """An expression of the inner query without names that it gave to others."""

        def meant(column: exp.Column) -> exp.Expr:
            own = column.table or column.find_ancestor(exp.AggFunc) is not None
            if own or name_among(column.name, self._published) is not None:
                return column.copy()
            return self._meant(column)

        return replace_columns(node, meant)

    def _group(self) -> exp.Group | None:
        group = self._select.args.get("group")
        if group is None:
            return None
        if group.args.get("all") is True:
            shown = [one for one in self._shown.values() if not _aggregates(one)]
            return exp.Group(expressions=[one.copy() for one in shown])
        changed: exp.Group = group.copy()
        changed.set("expressions", [self._key(one) for one in group.expressions])
        return changed

    def _key(self, node: exp.Expr) -> exp.Expr:
        """A column of GROUP BY, by its position or its name."""
        if isinstance(node, exp.Literal) and not node.is_string:
            items = self._select.expressions
            if node.name.isdecimal() and 1 <= int(node.name) <= len(items):
                found: exp.Expr = items[int(node.name) - 1].unalias().copy()
                return found
        return self._with_aliases(node).unnest()

    def _order(self, outer: exp.Select) -> exp.Expr | None:
        order = outer.args.get("order")
        if order is None:
            return None
        aliases = [one.alias for one in outer.expressions if one.alias]

        def meant(column: exp.Column) -> exp.Expr:
            named = not column.table and name_among(column.name, aliases) is not None
            return column.copy() if named else self._meant(column)

        found: exp.Expr = order.copy()
        for one in found.expressions:
            one.set("this", replace_columns(one.this, meant).unnest())
        return found

    def _with(self) -> exp.With | None:
        named = {**self._inner.before, **named_queries(self._select)}
        ctes = [
            exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
            for name, query in named.items()
        ]
        return exp.With(expressions=ctes) if ctes else None
