"""SQL over the rows of one person, held to a list of what is allowed, and run for all at once.

Allowed is one value of aggregates (`COUNT(*)`, `SUM(cost) FILTER (WHERE …)`), or a SELECT of such a
value from the table of rows. Its FROM may be a query of the same rows, with windows, DISTINCT or
GROUP BY. Nothing reads other tables, other people's rows, files, clocks or random numbers.

The value is that of a query for each person: windows and groups are made within people. Rows that
an ORDER BY leaves equal are ordered by all their values, so that the value is the same each time.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.sql.parse import parse, quote_name
from sfumato.tasks.sql.predicate import column_named
from sfumato.tasks.sql.refusals import construct

OWNER, PLACE = "sfumato owner", "sfumato place"
"""The columns of a table of rows with the person of each, and its place among equal rows."""
VALUE = "sfumato value"
_MOST_LEVELS = 5
_AGGREGATES = (
    *(exp.Count, exp.CountIf, exp.Sum, exp.Min, exp.Max, exp.Avg, exp.Median),
    *(exp.LogicalOr, exp.LogicalAnd),
)
_RANKS = (exp.Rank, exp.DenseRank)
_PLACES = (exp.RowNumber, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
_CLAUSES = (exp.Filter, exp.Where, exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.Distinct)
_TESTS = (
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between),
    *(exp.In, exp.Is, exp.Like, exp.ILike, exp.NullSafeEQ, exp.NullSafeNEQ),
)
_VALUES = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Star),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs),
    *(exp.Round, exp.Floor, exp.Ceil, exp.Lower, exp.Upper, exp.Trim, exp.Length),
    *(exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var),
    *(exp.DateDiff, exp.Extract, exp.Year, exp.Month, exp.Day, exp.Quarter),
)
_ALLOWED = (*_AGGREGATES, *_RANKS, *_PLACES, *_CLAUSES, *_TESTS, *_VALUES)
_TYPES = frozenset(
    {"INT", "BIGINT", "SMALLINT", "DECIMAL", "BOOLEAN", "DATE", "DOUBLE", "VARCHAR", "TEXT"}
)
_OUTER = frozenset({"expressions", "from_", "where"})
_INNER = frozenset({*_OUTER, "group", "distinct", "qualify"})
_SPACE = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|\s+""")
_HOW = (
    "Write one value of aggregates, such as COUNT(*) FILTER (WHERE …) > 0, or SELECT it FROM "
    "(SELECT … FROM {table})"
)


@dataclass(frozen=True)
class PersonSql:
    """A value that is computed of the rows of one person.

    Attributes:
        table: the name of the table of rows.
        tree: the query of the value for one person, with columns by their exact names.
        columns: the columns of the table that it reads.
    """

    table: str
    tree: exp.Select
    columns: frozenset[str]

    def for_everybody(self) -> exp.Select:
        """Return the query of the values of all people with rows that count, each with its owner.

        It reads the table with the columns OWNER and PLACE. Who has no rows that count has no row.
        """
        return _within_people(self.tree, outermost=True)

    def for_nobody(self) -> exp.Select:
        """Return the query of the value of a person without rows; its table has no rows."""
        alone = _within_people(self.tree, outermost=False)
        (value,) = (item for item in alone.expressions if item.alias == VALUE)
        alone.set("expressions", [value])
        return alone


def one_line(text: str) -> str:
    """Return SQL with one space where it has spaces and ends of lines outside quotes."""
    return _SPACE.sub(lambda place: place[1] or " ", text.strip())


def parse_of_person(text: str, table: str, columns: Collection[str]) -> PersonSql:
    """Return the SQL of a text over the rows of one person.

    Args:
        text: one value, or a SELECT of one value.
        table: the name of the table of rows.
        columns: the columns of the table that it may read.

    Raises:
        QueryError: naming what is not allowed, with what to write instead.
    """
    try:
        tree = _parse_value(text, table)
        levels = _Levels(table, columns)
        levels.require(tree, _MOST_LEVELS, outermost=True)
    except RecursionError:
        raise QueryError("nested too deeply. Use fewer parentheses or queries") from None
    return PersonSql(table, tree, frozenset(levels.used))


def _parse_value(text: str, table: str) -> exp.Select:
    first = text.split(maxsplit=1)[:1]
    if not first or first[0].casefold() not in ("select", "with"):
        value = parse(text, exp.Condition)
        return exp.select(exp.alias_(value, VALUE, quoted=True)).from_(exp.to_table(table))
    tree = parse(text, exp.Select)
    if not isinstance(tree, exp.Select):
        raise QueryError(f"not allowed: {construct(tree)}. {_HOW.format(table=table)}")
    if len(tree.expressions) != 1:
        raise QueryError("must select one value. Write one column for each fact")
    value = tree.expressions[0].unalias()
    tree.set("expressions", [exp.alias_(value.copy(), VALUE, quoted=True)])
    return tree


class _Levels:
    """The queries of a value, from the outermost to that of the table of rows."""

    def __init__(self, table: str, columns: Collection[str]) -> None:
        self._table, self._columns = table, columns
        self.used: set[str] = set()

    def require(self, select: exp.Select, deepest: int, *, outermost: bool) -> list[str]:
        """Hold a query to the list, name its columns exactly, and return those that it has.

        Raises:
            QueryError: naming what is not allowed.
        """
        allowed = _OUTER if outermost else _INNER
        for key, value in select.args.items():
            if value and key not in allowed:
                raise self._refusal(key.strip("_").upper())
        source, called = self._source(select, deepest)
        for node in self._nodes(select):
            self._require_node(node)
            if isinstance(node, exp.Column):
                self._name(node, source, called)
        self._require_aggregates(select, outermost=outermost)
        self._require_names(select)
        return [item.alias_or_name for item in select.expressions]

    def _refusal(self, what: str) -> QueryError:
        return QueryError(f"not allowed: {what}. {_HOW.format(table=self._table)}")

    def _source(self, select: exp.Select, deepest: int) -> tuple[Collection[str], str]:
        """Return the columns that a query reads, and the name of what it reads."""
        from_ = select.args.get("from_")
        node: exp.Expr = exp.Null() if from_ is None else from_.this
        is_plain = not any(v for k, v in node.args.items() if k not in ("this", "alias"))
        inner = node.this if isinstance(node, exp.Subquery) else None
        if isinstance(inner, exp.Select) and is_plain:
            if not deepest:
                raise QueryError("nested too deeply. Use fewer queries in FROM")
            return self.require(inner, deepest - 1, outermost=False), node.alias
        if not (isinstance(node, exp.Table) and is_plain and isinstance(node.this, exp.Identifier)):
            raise self._refusal("this FROM")
        if node.name.casefold() != self._table.casefold():
            raise QueryError(
                f"unknown table {quote_name(node.name)}. It may read {self._table} and no other "
                "table"
            )
        called = node.alias or node.name
        node.set("this", exp.to_identifier(self._table, quoted=True))
        return self._columns, called

    def _nodes(self, select: exp.Select) -> list[exp.Expr]:
        """Return the nodes of a query, without those of its FROM."""
        parts = [item.unalias() for item in select.expressions]
        parts += [select.args[key] for key in ("where", "group", "qualify") if select.args.get(key)]
        roots = [(part.this if isinstance(part, exp.Qualify) else part) for part in parts]
        return [node for root in roots for node in root.walk() if not isinstance(node, exp.Group)]

    def _require_node(self, node: exp.Expr) -> None:
        if not isinstance(node, _ALLOWED) or isinstance(node, exp.Subquery):
            raise self._refusal(construct(node))
        if isinstance(node, exp.In) and not node.expressions:
            raise self._refusal("IN with a query")
        if isinstance(node, exp.Star) and (
            not isinstance(node.parent, exp.Count) or any(node.args.values())
        ):
            raise self._refusal("*, which names no columns")
        if isinstance(node, exp.DataType) and node.this.value not in _TYPES:
            raise self._refusal(f"the type {node.sql('duckdb')}")

    def _require_names(self, select: exp.Select) -> None:
        """Refuse groups by number, DISTINCT ON, and names that the query for all people uses."""
        group, distinct = select.args.get("group"), select.args.get("distinct")
        columns = [] if group is None else group.expressions
        by_columns = all(isinstance(column, exp.Column) for column in columns)
        if group is not None and (
            not by_columns or any(v for k, v in group.args.items() if k != "expressions")
        ):
            raise self._refusal("GROUP BY of anything but columns")
        if distinct is not None and distinct.args.get("on"):
            raise self._refusal("DISTINCT ON")
        if {item.alias_or_name for item in select.expressions} & {OWNER, PLACE}:
            raise self._refusal(f"the names {OWNER} and {PLACE}")

    def _name(self, column: exp.Column, source: Collection[str], called: str) -> None:
        """Give a column its exact name, and take the name of what is read away."""
        if column.table and column.table.casefold() != called.casefold():
            raise QueryError(f"unknown table {quote_name(column.table)}")
        column.set("table", None)
        try:
            name = column_named(column, source)
        except QueryError as error:
            raise QueryError(f"{error}. It can read {', '.join(source)}") from None
        column.set("this", exp.to_identifier(name, quoted=True))
        if source is self._columns:
            self.used.add(name)

    def _require_aggregates(self, select: exp.Select, *, outermost: bool) -> None:
        """Require aggregates of the outermost query; of others, within windows or GROUP BY."""
        parts = [item.unalias() for item in select.expressions]
        windows = [node for part in parts for node in part.find_all(exp.Window)]
        plain = [a for part in parts for a in part.find_all(*_AGGREGATES) if not _in_window(a)]
        if any(not _in_window(p) for part in parts for p in part.find_all(*_RANKS, *_PLACES)):
            raise self._refusal("a window function without OVER (ORDER BY …)")
        where = select.args.get("where")
        if where is not None and where.find(*_AGGREGATES, exp.Window):
            raise self._refusal("aggregates or windows in WHERE")
        if not outermost:
            if plain and not select.args.get("group"):
                raise self._refusal("aggregates of all rows in FROM")
            return
        if windows:
            raise self._refusal("a window beside aggregates")
        columns = [column for part in parts for column in part.find_all(exp.Column)]
        if not plain or any(
            column.find_ancestor(*_AGGREGATES, exp.Filter) is None for column in columns
        ):
            raise QueryError(
                "must be one value for each person, so that every column is in an aggregate. "
                f"{_HOW.format(table=self._table)}"
            )


def _in_window(node: exp.Expr) -> bool:
    """Decide whether a function is what a window is computed of."""
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def _within_people(select: exp.Select, *, outermost: bool) -> exp.Select:
    """Return a query with its windows, groups and different rows made within people.

    Every query but the outermost one shows the owners of its rows, and their places if it has some.
    """
    query = select.copy()
    owner, place = (exp.column(name, quoted=True) for name in (OWNER, PLACE))
    source = query.args["from_"].this
    has_places, group = True, query.args.get("group")
    if isinstance(source, exp.Subquery):
        inner = _within_people(source.this, outermost=False)
        has_places = any(item.alias_or_name == PLACE for item in inner.expressions)
        source.set("this", inner)
    roots = [*query.expressions, *([query.args["qualify"]] if query.args.get("qualify") else [])]
    for window in [node for root in roots for node in root.find_all(exp.Window)]:
        window.set("partition_by", [owner.copy(), *(window.args.get("partition_by") or [])])
        if has_places and group is None:
            _order_equal_rows(window, place)
    if outermost:
        query.set("group", exp.Group(expressions=[owner.copy()]))
        query.set("expressions", [owner.copy(), *query.expressions])
        return query
    added = [owner.copy()]
    if group is not None:
        group.set("expressions", [owner.copy(), *group.expressions])
    elif has_places and not query.args.get("distinct"):
        added.append(place.copy())
    query.set("expressions", [*added, *query.expressions])
    return query


def _order_equal_rows(window: exp.Window, place: exp.Column) -> None:
    """Order rows by their places where a window's order leaves them equal, and that matters."""
    spec, order = window.args.get("spec"), window.args.get("order")
    by_rows = spec is not None and spec.args.get("kind") == "ROWS"
    if by_rows or window.this.unnest().find(*_PLACES) is not None:
        ordered = [] if order is None else list(order.expressions)
        last = exp.Ordered(this=place.copy(), nulls_first=False)
        window.set("order", exp.Order(expressions=[*ordered, last]))
