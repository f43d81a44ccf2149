"""The clauses of one SELECT over the microdata, with every name and position looked up.

GROUP BY, HAVING and ORDER BY may name what is selected, by its alias or by its position.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, product

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.grouped import merge_groups
from sfumato.tasks.query.language.joins import join_tables
from sfumato.tasks.query.language.sources import (
    RowSource,
    name_among,
    named_queries,
    read_source,
    replace_columns,
)
from sfumato.tasks.query.question.calculations import JoinedTable, OwnTables
from sfumato.tasks.query.question.conditions import all_of
from sfumato.tasks.schema.published import Schema
from sfumato.tasks.sql.refusals import refusal

_ROWS = ("with_", "from_", "joins", "where")
_ANSWER = ("expressions", "group", "having", "order", "limit", "offset")
_CLAUSES = frozenset((*_ROWS, *_ANSWER, "distinct"))
_MOST_ROWS = 10**9
_MOST_GROUPINGS = 1000  # more than a query may ask


@dataclass(frozen=True)
class SelectItem:
    """A selected expression, and its alias if it has one."""

    expression: exp.Expr
    alias: str | None


@dataclass(frozen=True)
class OrderItem:
    """An expression that rows are ordered by."""

    expression: exp.Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Clauses:
    """The clauses of one SELECT over the microdata; columns have their exact published names.

    If there are several `groupings`, `group_by` contains the columns of all of them.
    """

    items: tuple[SelectItem, ...]
    where: exp.Expr | None
    group_by: tuple[exp.Expr, ...]
    groupings: tuple[tuple[exp.Expr, ...], ...]
    having: exp.Expr | None
    order: tuple[OrderItem, ...]
    limit: int | None
    offset: int
    joins: tuple[JoinedTable, ...]


def read_clauses(select: exp.Expr, schema: Schema, own: OwnTables) -> Clauses:
    """Return the clauses of a SELECT.

    Args:
        select: the parsed query.
        schema: of the microdata.
        own: the analyst's tables, which it may be joined with.

    Raises:
        QueryError: naming what is not allowed.
    """
    if not isinstance(select, exp.Select):
        raise refusal(select)
    for key, value in select.args.items():
        if value and key not in _CLAUSES:
            raise refusal(key)
    select = merge_groups(select, list(schema))
    _resolve_subqueries(select, list(schema))
    source = read_source(select, list(schema))
    joins = select.args.get("joins") or ()
    return _ClauseReader(select, join_tables(source, joins, schema, own)).clauses()


def order_items(select: exp.Expr) -> Iterator[OrderItem]:
    """Yield the expressions that a query is ordered by, as they are written.

    Raises:
        QueryError: naming what is not allowed.
    """
    order = select.args.get("order")
    for node in [] if order is None else order.expressions:
        for key, value in node.args.items():
            if value and key not in ("this", "desc", "nulls_first"):
                raise refusal(key, " in ORDER BY")
        yield OrderItem(node.this, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _resolve_subqueries(select: exp.Select, columns: Sequence[str]) -> None:
    """Look up the columns of scalar subqueries, each in its own source."""
    nodes = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for node in filter(None, nodes):
        for query in list(node.find_all(exp.Subquery)):
            if query.find_ancestor(exp.Subquery) is None:
                query.set("this", _resolve(query, columns, named_queries(select)))


def _resolve(
    query: exp.Subquery, columns: Sequence[str], named: Mapping[str, exp.Select]
) -> exp.Select:
    """Return a scalar subquery over the microdata: one aggregate, and its conditions."""
    select = query.this
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise refusal(query)
    for key, value in select.args.items():
        if value and key not in ("expressions", "from_", "where"):
            raise refusal(key, " in a SUBQUERY among values")
    source = read_source(select, columns, named)
    where = select.args.get("where")
    conditions = [*source.where, *([] if where is None else [source.put(where.this)])]
    aggregate = source.put(select.expressions[0].unalias())
    if aggregate.find(exp.AggFunc) is None:
        raise refusal(query)
    whole = all_of(conditions)
    clause = None if whole is None else exp.Where(this=whole)
    return exp.Select(expressions=[aggregate], where=clause)


class _ClauseReader:
    """Reads clauses that may refer to selected expressions."""

    def __init__(self, select: exp.Select, source: RowSource) -> None:
        self._select, self._source = select, source
        self._items = tuple(self._item(node) for node in select.expressions)

    def clauses(self) -> Clauses:
        select = self._select
        where, having = select.args.get("where"), select.args.get("having")
        conditions = [*self._source.where]
        conditions += [self._source.put(where.this)] if where is not None else []
        groupings = self._groupings()
        return Clauses(
            self._items,
            all_of(conditions),
            tuple(_distinct([key for grouping in groupings for key in grouping])),
            groupings,
            None if having is None else self._referring(having.this, before_columns=False),
            self._order(),
            _whole(select.args.get("limit"), "LIMIT"),
            _whole(select.args.get("offset"), "OFFSET") or 0,
            self._source.joins,
        )

    def _item(self, node: exp.Expr) -> SelectItem:
        inner = node.unalias()
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and inner.is_star):
            raise QueryError(
                "not allowed: SELECT *, because rows are in the published tables. Use aggregates"
            )
        own = inner.name if isinstance(inner, exp.Column) else None
        put = self._source.put(inner)
        alias = node.alias if isinstance(node, exp.Alias) else None
        is_own = isinstance(put, exp.Column) and own and own.casefold() == put.name.casefold()
        return SelectItem(put, alias or (None if is_own else own))

    def _groupings(self) -> tuple[tuple[exp.Expr, ...], ...]:
        """Return the columns of each grouping of GROUP BY."""
        group = self._select.args.get("group")
        if self._select.args.get("distinct") is not None:
            return (self._each_once(group),)
        if group is None:
            return ((),)
        if group.args.get("all") is True:
            selected = [
                i.expression for i in self._items if not _aggregates(i) and not _constant(i)
            ]
            return (tuple(_distinct(selected)),)
        for key, value in group.args.items():
            if value and key != "expressions":
                raise refusal(key, " in GROUP BY")
        combined = product(*map(_groupings_of, group.expressions))
        return tuple(
            tuple(_distinct([self._look_up(node, "GROUP BY") for node in chain(*parts)]))
            for parts in islice(combined, _MOST_GROUPINGS)
        )

    def _each_once(self, group: exp.Expr | None) -> tuple[exp.Expr, ...]:
        """Return the selected expressions of a SELECT DISTINCT, which is GROUP BY all of them."""
        if self._select.args["distinct"].args.get("on") is not None:
            raise QueryError(
                "not allowed: DISTINCT ON, because the release does not show which row "
                "has which value. Use GROUP BY"
            )
        if group is not None or any(map(_aggregates, self._items)):
            raise QueryError(
                "not allowed: DISTINCT together with GROUP BY or an aggregate, because "
                "GROUP BY shows each value once. Leave DISTINCT out"
            )
        return tuple(_distinct([item.expression for item in self._items]))

    def _look_up(self, node: exp.Expr, clause: str) -> exp.Expr:
        """Return what GROUP BY or ORDER BY names by a position, a column, or an alias."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return self._item_at(node, clause)
        return self._referring(node, before_columns=clause == "ORDER BY")

    def _item_at(self, node: exp.Literal, clause: str) -> exp.Expr:
        if not node.name.isdecimal() or not 1 <= int(node.name) <= len(self._items):
            raise QueryError(
                f"{clause} {node.name}: the query selects only {len(self._items)} columns"
            )
        return self._items[int(node.name) - 1].expression.copy()

    def _referring(self, node: exp.Expr, *, before_columns: bool) -> exp.Expr:
        """Return an expression with aliases replaced by the expressions that they name."""
        aliases = {item.alias: item.expression for item in self._items if item.alias}

        def resolve(column: exp.Column) -> exp.Expr:
            may_be_alias = not column.table and column.find_ancestor(exp.AggFunc) is None
            if name_among(column.name, self._source.columns) is not None:
                may_be_alias &= before_columns
            alias = name_among(column.name, aliases) if may_be_alias else None
            return self._source.resolve(column) if alias is None else exp.paren(aliases[alias])

        return replace_columns(node, resolve).unnest()

    def _order(self) -> tuple[OrderItem, ...]:
        return tuple(
            replace(item, expression=self._look_up(item.expression, "ORDER BY"))
            for item in order_items(self._select)
        )


def _groupings_of(node: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """Return the groupings that a part of GROUP BY describes."""
    parts = [
        tuple(part.expressions) if isinstance(part, exp.Tuple) else (part.unnest(),)
        for part in node.expressions
    ]
    if isinstance(node, exp.GroupingSets):
        return parts
    if isinstance(node, exp.Rollup):
        return [tuple(chain(*parts[:many])) for many in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        sizes = range(len(parts), -1, -1)
        return [tuple(chain(*some)) for many in sizes for some in combinations(parts, many)]
    return [(node,)]


def _constant(item: SelectItem) -> bool:
    return item.expression.find(exp.Column) is None


def _aggregates(item: SelectItem) -> bool:
    return item.expression.find(exp.AggFunc) is not None


def _distinct(nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    distinct: list[exp.Expr] = []
    for node in nodes:
        bare = node.unnest()
        if bare not in distinct:
            distinct.append(bare)
    return distinct


def _whole(node: exp.Expr | None, clause: str) -> int | None:
    if node is None:
        return None
    value = node.args.get("expression")
    if not isinstance(value, exp.Literal) or value.is_string or not value.name.isdecimal():
        raise QueryError(f"{clause} needs a whole number")
    return min(int(value.name), _MOST_ROWS)
