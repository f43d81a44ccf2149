"""Views and functions beside the tables of a release, so that simple queries need no tool.

A help table has a row for each number of hits in a group: rows that a query selects. The same
bounds as arrays have one row for each group, with the bounds of h hits at place h. They take half
of the space, and are read by one join of groups. The results are the same.

For each sensitive column there are a view and a function. The view `groups_<name>` has the size of
each group, and the sum, minimum and maximum of its values, or their bounds if the release shows
subdomains or people have left. The function `bounds_<name>(condition)` takes a condition, in the
database's own SQL, on columns published as they are. It returns the number of rows that the
condition selects, and the bounds of all aggregates over them. SQLite has no such functions.
"""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import BOUNDS, Aggregate, Question, sides
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.sql.bounds_query import bounds_query
from sfumato.tasks.query.sql.dialect_fixes import spell_bounds, write_bounds
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.query.sql.trees import same
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.dialects.dialect import Dialect, Made
from sfumato.tasks.sql.dialects.statements import (
    create_table_of,
    create_view,
    drop,
    drop_tables,
    replacement,
)
from sfumato.tasks.terms.terms import Terms

_CONDITION = "sfumato_condition"


_GROUP_ID, _HITS = "group_id", "hits"


def arrays_name(sensitive: str) -> str:
    """Return the name of the table of a sensitive column's arrays.

    >>> arrays_name("capital-loss")
    'arrays_capital_loss'
    """
    return f"arrays_{safe_name(sensitive)}"


def arrays_table(sensitive: str, columns: Sequence[str], dialect: Dialect) -> Made:
    """Return the table of the arrays of a help table with these columns, made from that table."""
    name = arrays_name(sensitive)
    bounds = (
        exp.alias_(exp.ArrayAgg(this=_by_hits(exp.column(column))), column)
        for column in columns
        if column not in (_GROUP_ID, _HITS)
    )
    query = exp.select(_GROUP_ID, *bounds).from_(help_name(sensitive)).group_by(_GROUP_ID)
    made = create_table_of(name, query)
    statements = (tree.sql(dialect.sqlglot) for tree in (made, made, drop_tables(name)))
    return Made(name, *statements)


def _by_hits(column: exp.Expr) -> exp.Order:
    ordered = exp.Ordered(this=exp.column(_HITS), nulls_first=False)
    return exp.Order(this=column, expressions=[ordered])


def by_arrays(query: exp.Select, sensitive: str) -> exp.Select:
    """Return a query for bounds that reads the arrays of a column in place of its help table.

    Args:
        query: a query that joins the help table by group and hits, see `bounds_query`.
        sensitive: the column.
    """
    changed, helping = query.copy(), help_name(sensitive)
    for part in list(changed.find_all(exp.Select)):
        for join in part.args.get("joins") or ():
            if join.this.name == helping:
                hits = exp.column(_HITS, table=part.args["from_"].this.name)
                arrays = exp.alias_(exp.table_(arrays_name(sensitive)), helping, table=True)
                join.set("this", arrays)
                join.set("using", [exp.to_identifier(_GROUP_ID)])
    for column in list(changed.find_all(exp.Column)):
        if column.table == helping:
            place = exp.Bracket(this=column.copy(), expressions=[hits.copy()], offset=1)
            column.replace(place)
    return changed


def groups_view(declared: Terms, name: str, dialect: Dialect) -> Made:
    """Return the view of each group's size, and the sum, minimum and maximum of a column in it."""
    helping, called = help_name(name), f"groups_{safe_name(name)}"
    whole = exp.select("group_id", exp.alias_(exp.Max(this=exp.column("hits")), "hits"))
    labels = [("group_id", "group_id"), ("hits", "size")]
    exact = SQL_WAYS[declared.form.shows].exact_groups and not declared.is_composed
    labels += _of_groups(declared.columns[name], exact=exact)
    columns = [
        exp.alias_(exp.column(source, table=helping), label, quoted=True)
        for source, label in labels
    ]
    grouped = whole.from_(helping).group_by("group_id").subquery("whole")
    on = [same(column, "whole", helping) for column in ("group_id", "hits")]
    query = exp.select(*columns).from_(helping).join(grouped, on=exp.and_(*on))
    made = create_view(called, spell_bounds(query, dialect))
    statements = (made, replacement(made), drop("VIEW", exp.table_(called)))
    return Made(called, *(tree.sql(dialect.sqlglot, pretty=True) for tree in statements))


def _of_groups(column: DeclaredColumn, *, exact: bool) -> list[tuple[str, str]]:
    """Return the help table's columns of whole groups, and their names in the view."""
    sums = "sum" in {kind.name for kind in _kinds(column)}
    if exact:
        return [*([("l_sum", "sum")] if sums else []), ("l_min", "min"), ("u_max", "max")]
    functions = [*(["sum"] if sums else []), "min", "max"]
    ends = [("l", BOUNDS[0]), ("u", BOUNDS[1])]
    return [
        (f"{end}_{function}", f"{function}_{side}") for function in functions for end, side in ends
    ]


def bounds_function(declared: Terms, name: str, dialect: Dialect, *, arrays: bool) -> Made | None:
    """Return the function that bounds aggregates over selected rows; None if databases have none.

    Args:
        declared: the terms of the release.
        name: the sensitive column.
        dialect: the dialect of the database.
        arrays: whether the database also has its help table as arrays.
    """
    if dialect.function is None:
        return None
    called = f"bounds_{safe_name(name)}"
    returned = _answer_columns(declared.columns[name])
    return dialect.function(called, _parts(declared, name, dialect, arrays), returned)


def _parts(declared: Terms, name: str, dialect: Dialect, arrays: bool) -> tuple[str, str]:
    """Return the query for bounds, before and after the condition."""
    marked = exp.column(_CONDITION)
    aggregates = tuple(
        Aggregate(kind.name, name, kind.name) for kind in _kinds(declared.columns[name])
    )
    query = bounds_query(Question(aggregates, marked, ()), relations(declared).rows)
    query = by_arrays(query, name) if arrays else query
    columns = []
    for label, type_ in _answer_columns(declared.columns[name]):
        bound = exp.column(exp.to_identifier("count_lower" if label == "count" else label, True))
        sql_type = dialect.function_types.get(type_)
        value = exp.cast(bound, sql_type, dialect=dialect.sqlglot) if sql_type else bound
        columns.append(exp.alias_(value, label, quoted=True))
    whole = exp.select(*columns).from_(query.subquery("answer"))
    types = {other: column.type for other, column in declared.columns.items()}
    before, _, after = write_bounds(whole, dialect, types).partition(_CONDITION)
    return f"{before}(", f"\n){after}"


def _kinds(column: DeclaredColumn) -> list[AggregateKind]:
    """Return a column's aggregates with bounds in the help table, and the count."""
    kinds = (kind for kind in AGGREGATES.values() if kind.help or kind.counts_rows)
    return [kind for kind in kinds if column.type in kind.takes]


def _answer_columns(column: DeclaredColumn) -> list[tuple[str, ColumnType]]:
    """Return the columns of the answer, and their types."""
    columns: list[tuple[str, ColumnType]] = []
    for kind in _kinds(column):
        names = (kind.name,) if kind.counts_rows else sides(kind.name)
        columns += [(name, kind.returns(column.type)) for name in names]
    return columns
