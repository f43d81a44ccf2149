"""The clauses of one SELECT over the microdata, with every name and position looked up.

GROUP BY, HAVING and ORDER BY may name what is selected, by its alias or by its position.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, product

from sqlglot import exp

from sfumato.expectations.errors import QueryError
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
_MOST_GROUPINGS = 1000  # more than are asked


@dataclass(frozen=True)
class SelectItem:
    """Something that is selected, and its name in the answer, if it was given one."""

    expression: exp.Expr
    alias: str | None


@dataclass(frozen=True)
class OrderItem:
    """Something that rows are ordered by."""

    expression: exp.Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Clauses:
    """One SELECT over the microdata; columns stand for those that are published, by exact names.

    Of several `groupings`, `group_by` are all columns.
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
    """The clauses of a SELECT.

    Args:
        select: what was parsed.
        schema: of the microdata.
        own: tables of the analyst's, which it may be joined with.

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
    """What a query is ordered by, as it is written.

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
    """Look up the columns of queries among values, each in what it reads itself."""
    nodes = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for node in filter(None, nodes):
        for query in list(node.find_all(exp.Subquery)):
            if query.find_ancestor(exp.Subquery) is None:
                query.set("this", _resolved(query, columns, named_queries(select)))


def _resolved(
    query: exp.Subquery, columns: Sequence[str], named: Mapping[str, exp.Select]
) -> exp.Select:
    """What a query among values asks of the microdata: one aggregate, and its conditions."""
    select = query.this
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise refusal(query)
    for key, value in select.args.items():
        if value and key not in ("expressions", "from_", "where"):
            raise refusal(key, " in a SUBQUERY among values")
    source = read_source(select, columns, named)
    where = select.args.get("where")
    conditions = [*source.where, *([] if where is None else [source.put(where.this)])]
    found = source.put(select.expressions[0].unalias())
    if found.find(exp.AggFunc) is None:
        raise refusal(query)
    whole = all_of(conditions)
    clause = None if whole is None else exp.Where(this=whole)
    return exp.Select(expressions=[found], where=clause)


class _ClauseReader:
    """Reads clauses that may refer to what is selected."""

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
            raise QueryError("not allowed: SELECT *: rows stand in the published tables; aggregate")
        own = inner.name if isinstance(inner, exp.Column) else None
        put = self._source.put(inner)
        alias = node.alias if isinstance(node, exp.Alias) else None
        is_own = isinstance(put, exp.Column) and own and own.casefold() == put.name.casefold()
        return SelectItem(put, alias or (None if is_own else own))

    def _groupings(self) -> tuple[tuple[exp.Expr, ...], ...]:
        """The columns of GROUP BY, of each grouping."""
        group = self._select.args.get("group")
        if self._select.args.get("distinct") is not None:
            return (self._each_once(group),)
        if group is None:
            return ((),)
        if group.args.get("all") is True:
            shown = [i.expression for i in self._items if not _aggregates(i) and not _constant(i)]
            return (tuple(_distinct(shown)),)
        for key, value in group.args.items():
            if value and key != "expressions":
                raise refusal(key, " in GROUP BY")
        found = product(*map(_groupings_of, group.expressions))
        return tuple(
            tuple(_distinct([self._named(node, "GROUP BY") for node in chain(*parts)]))
            for parts in islice(found, _MOST_GROUPINGS)
        )

    def _each_once(self, group: exp.Expr | None) -> tuple[exp.Expr, ...]:
        """What is selected, each combination once: GROUP BY of all of it says the same."""
        if self._select.args["distinct"].args.get("on") is not None:
            raise QueryError(
                "not allowed: DISTINCT ON: which row has which value is not published; use GROUP BY"
            )
        if group is not None or any(map(_aggregates, self._items)):
            raise QueryError(
                "not allowed: DISTINCT beside GROUP BY or an aggregate: GROUP BY shows each value "
                "once"
            )
        return tuple(_distinct([item.expression for item in self._items]))

    def _named(self, node: exp.Expr, clause: str) -> exp.Expr:
        """What GROUP BY or ORDER BY names: a position, a column, or an alias."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return self._at(node, clause)
        return self._referring(node, before_columns=clause == "ORDER BY")

    def _at(self, node: exp.Literal, clause: str) -> exp.Expr:
        if not node.name.isdecimal() or not 1 <= int(node.name) <= len(self._items):
            raise QueryError(f"{clause} {node.name}: {len(self._items)} columns are selected")
        return self._items[int(node.name) - 1].expression.copy()

    def _referring(self, node: exp.Expr, *, before_columns: bool) -> exp.Expr:
        """An expression in which aliases of what is selected stand for it."""
        aliases = {item.alias: item.expression for item in self._items if item.alias}

        def meant(column: exp.Column) -> exp.Expr:
            may_be_alias = not column.table and column.find_ancestor(exp.AggFunc) is None
            if name_among(column.name, self._source.columns) is not None:
                may_be_alias &= before_columns
            alias = name_among(column.name, aliases) if may_be_alias else None
            return self._source.meant(column) if alias is None else exp.paren(aliases[alias])

        return replace_columns(node, meant).unnest()

    def _order(self) -> tuple[OrderItem, ...]:
        return tuple(
            replace(one, expression=self._named(one.expression, "ORDER BY"))
            for one in order_items(self._select)
        )


def _groupings_of(node: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """The groupings that a part of GROUP BY stands for."""
    parts = [
        tuple(one.expressions) if isinstance(one, exp.Tuple) else (one.unnest(),)
        for one in node.expressions
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
    found: list[exp.Expr] = []
    for node in nodes:
        bare = node.unnest()
        if bare not in found:
            found.append(bare)
    return found


def _whole(node: exp.Expr | None, clause: str) -> int | None:
    if node is None:
        return None
    value = node.args.get("expression")
    if not isinstance(value, exp.Literal) or value.is_string or not value.name.isdecimal():
        raise QueryError(f"{clause} takes a whole number")
    return min(int(value.name), _MOST_ROWS)
