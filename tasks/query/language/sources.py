"""A SELECT over the published microdata, through aliases, CTEs and subqueries, and its names.

A query in FROM that picks columns, calculates some, and leaves rows out is merged into the query
that reads it, so that the result is one SELECT over the microdata.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.question.calculations import JoinedTable
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.sql.refusals import construct, refusal

_INNER = frozenset({"expressions", "from_", "where", "with_"})
_CLAUSES = {"group": "GROUP BY", "order": "ORDER BY"}
_NESTED = 20
_OTHER_TABLE = f"FROM names another table. A release has one, so write FROM {TABLE}"


def name_among(written: str, names: Iterable[str]) -> str | None:
    """Return the name that is written exactly so, or else the only one that differs in case.

    Raises:
        QueryError: if several names differ only in case.
    """
    choices = list(names)
    if written in choices:
        return written
    alike = [name for name in choices if name.casefold() == written.casefold()]
    if len(alike) > 1:
        raise QueryError(f"ambiguous column {quote_name(written)}")
    return alike[0] if alike else None


def unknown_column(node: exp.Column, columns: Mapping[str, object]) -> QueryError:
    """Return the refusal of a column that does not exist, with a suggestion if one is similar."""
    return QueryError(f"unknown column {quote_name(node.name)}{_suggestion(node, list(columns))}")


def _suggestion(node: exp.Column, names: list[str]) -> str:
    unquoted = _as_difference(node)
    if unquoted is not None and (name := name_among(unquoted, names)) is not None:
        return f': write a name with a hyphen in quotes, "{name}"'
    close = get_close_matches(node.name, names, n=1)
    return f": did you mean {quote_name(close[0])}?" if close else ""


def _as_difference(node: exp.Column) -> str | None:
    """Return the name that was read as a chain of differences, because it has no quotes."""
    top: exp.Expr = node
    while isinstance(top.parent, exp.Sub):
        top = top.parent
    parts = []
    while isinstance(top, exp.Sub):
        parts.append(top.args["expression"])
        top = top.this
    parts.append(top)
    if len(parts) < 2 or not all(isinstance(part, exp.Column) for part in parts):
        return None
    return "-".join(part.name for part in reversed(parts))


@dataclass(frozen=True)
class RowSource:
    """The source of a SELECT.

    Attributes:
        columns: the expressions over the microdata, by the names of the columns.
        where: the conditions on rows that inner queries require.
        called: the name that its columns may be qualified with.
        others: the columns of joined tables, by the names that they may be qualified with.
        ambiguous: the names that columns of several tables have.
        joins: the joined tables.
    """

    columns: Mapping[str, exp.Expr]
    where: tuple[exp.Expr, ...]
    called: str | None
    others: Mapping[str, Mapping[str, exp.Expr]] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    joins: tuple[JoinedTable, ...] = ()

    def put(self, node: exp.Expr) -> exp.Expr:
        """Return an expression with its columns replaced by expressions over the microdata.

        Raises:
            QueryError: where there is no such column.
        """
        return replace_columns(node, self.resolve)

    def resolve(self, column: exp.Column) -> exp.Expr:
        """Return the expression over the microdata that a column names.

        Raises:
            QueryError: if there is no such column, or more than one.
        """
        if isinstance(column.this, exp.Star):
            return column
        columns = self._columns_of(column)
        name = name_among(column.name, columns)
        if name is None:
            raise unknown_column(column, columns)
        if not column.table and name in self.ambiguous:
            raise QueryError(
                f"ambiguous column {quote_name(name)}, which several tables have. Write the "
                "table before it, as in m.town"
            )
        expression = columns[name].copy()
        return expression if isinstance(expression, exp.Column) else exp.Paren(this=expression)

    def _columns_of(self, column: exp.Column) -> Mapping[str, exp.Expr]:
        """Return the columns among which a column is looked up."""
        table = column.table.casefold()
        if column.args.get("db"):
            raise QueryError(
                f"column {quote_name(column.name)}: a schema is not allowed. Write the name only"
            )
        if not table or table == (self.called or "").casefold():
            return self.columns
        columns = next(
            (
                table_columns
                for called, table_columns in self.others.items()
                if called.casefold() == table
            ),
            None,
        )
        if columns is None:
            raise QueryError(
                f"column {quote_name(column.name)}: there is no table "
                f"{quote_name(column.table)} in this query"
            )
        return columns


def replace_columns(node: exp.Expr, replacement: Callable[[exp.Column], exp.Expr]) -> exp.Expr:
    """Return an expression with each of its columns replaced."""
    root = exp.Paren(this=node.copy())
    for column in list(root.find_all(exp.Column)):
        if column.find_ancestor(exp.Subquery) is not None:
            continue  # looked up in the subquery's own source
        column.replace(replacement(column))
    replaced: exp.Expr = root.this
    replaced.pop()
    return replaced


def read_source(
    select: exp.Select, columns: Sequence[str], within: Mapping[str, exp.Select] | None = None
) -> RowSource:
    """Return the source of a SELECT: the microdata, or another SELECT over it.

    Args:
        select: its FROM and WITH are read.
        columns: of the microdata.
        within: the named queries that it may read.

    Raises:
        QueryError: if it reads anything else.
    """
    named = {**(within or {}), **named_queries(select)}
    if len(named) > _NESTED:
        raise QueryError(f"WITH may have at most {_NESTED} queries")
    from_ = select.args.get("from_")
    table = from_.this if from_ else None
    if isinstance(table, exp.Subquery):
        _require_plain(table, frozenset({"this", "alias"}), "a query in FROM")
        return _of_query(table.this, columns, named, table.alias or None)
    if isinstance(table, exp.Table) and not isinstance(table.this, exp.Identifier):
        raise QueryError(_OTHER_TABLE)
    if not isinstance(table, exp.Table):
        what = f", not {construct(table)}" if table is not None else f": {_without_table(select)}"
        raise QueryError(f"the table is {TABLE}{what}")
    _require_plain(table, frozenset({"this", "alias"}), table.name)
    if table.args.get("alias") and table.args["alias"].args.get("columns"):
        raise QueryError(
            "not allowed: names of columns in an alias. Write the names with AS in SELECT"
        )
    called = table.alias or table.name
    inner = next((q for name, q in named.items() if name.casefold() == table.name.casefold()), None)
    if inner is not None:
        before = dict(list(named.items())[: list(named.values()).index(inner)])
        return _of_query(inner, columns, before, called)
    if table.name.casefold() != TABLE:
        raise QueryError(_OTHER_TABLE)
    return RowSource({name: exp.column(name, quoted=True) for name in columns}, (), called)


def named_queries(select: exp.Select) -> dict[str, exp.Select]:
    """Return the queries that WITH names, in their order.

    Raises:
        QueryError: if WITH has more than names and queries.
    """
    with_ = select.args.get("with_")
    if with_ is None:
        return {}
    _require_plain(with_, frozenset({"expressions"}), "WITH")
    queries: dict[str, exp.Select] = {}
    for query in with_.expressions:
        _require_plain(query, frozenset({"this", "alias"}), "WITH")
        if query.args["alias"].args.get("columns"):
            raise QueryError(
                "not allowed: names of columns in WITH. Write the names with AS in SELECT"
            )
        queries[query.alias] = query.this
    return queries


def _of_query(
    select: exp.Expr,
    columns: Sequence[str],
    named: Mapping[str, exp.Select],
    called: str | None,
) -> RowSource:
    """Return the source that a query in FROM makes of the microdata."""
    if not isinstance(select, exp.Select):
        raise refusal(select, " in FROM")
    _require_plain(
        select,
        _INNER,
        "a query in FROM",
        "its bounds cannot be used in a calculation. Ask one question about the microdata, or "
        "only COUNT, SUM, AVG, MIN and MAX of the groups",
    )
    if any(item.find(exp.AggFunc) for item in select.expressions):
        raise QueryError(
            "a query in FROM cannot aggregate, because its answer has bounds, and calculations "
            "with them row by row have none. Ask for both in one SELECT"
        )
    inner = read_source(select, columns, named)
    selected: dict[str, exp.Expr] = {}
    for item in select.expressions:
        selected |= _select_item(item, inner)
    where = select.args.get("where")
    conditions = (*inner.where, inner.put(where.this)) if where is not None else inner.where
    return RowSource(selected, conditions, called, joins=inner.joins)


def _select_item(item: exp.Expr, inner: RowSource) -> dict[str, exp.Expr]:
    star = item.this if isinstance(item, exp.Column) else item
    if isinstance(star, exp.Star):
        _require_plain(star, frozenset(), "*")
        return dict(inner.columns)
    name = item.alias_or_name
    if not name:
        raise QueryError(
            f"a query in FROM needs a name for each calculation. Use AS for {construct(item)}"
        )
    return {name: inner.put(item.unalias())}


def _require_plain(node: exp.Expr, allowed: frozenset[str], within: str, hint: str = "") -> None:
    for key, value in node.args.items():
        if value and key not in allowed:
            if not hint:
                raise refusal(key, f" in {within}")
            clause = _CLAUSES.get(key, key.strip("_").upper())
            raise QueryError(f"not allowed: {within} with {clause}, because {hint}")


def _without_table(select: exp.Select) -> str:
    """Return the message for a query that reads nothing, or reads only within its calculations."""
    if select.find(exp.Subquery) is None:
        return "FROM is missing"
    instead = "AVG(x) FILTER (WHERE …) - AVG(x) FILTER (WHERE …)"
    return f"FROM is missing. To compare, use one SELECT: {instead}"
