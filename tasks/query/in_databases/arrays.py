"""Help tables as one row of arrays per group, for databases that have arrays.

A help table has a row for each number of hits in a group; its arrays have the bounds of h hits at
place h, in half of the space, and are found by one join of groups. What is shown is the same.
"""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.sql.dialects.dialect import Dialect, Made
from sfumato.tasks.sql.statements import create_table_of, drop_tables

_GROUP_ID, _HITS = "group_id", "hits"


def arrays_name(sensitive: str) -> str:
    """The name of the table of a sensitive column's arrays.

    >>> arrays_name("capital-loss")
    'arrays_capital_loss'
    """
    return f"arrays_{safe_name(sensitive)}"


def arrays_table(sensitive: str, columns: Sequence[str], dialect: Dialect) -> Made:
    """The table of the arrays of a help table with these columns, made from it."""
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
    """A query for bounds, asking the arrays of a column in place of its help table.

    Args:
        query: joins the help table by group and hits, see `bounds_query`.
        sensitive: the column.
    """
    asked, helping = query.copy(), help_name(sensitive)
    for part in list(asked.find_all(exp.Select)):
        for join in part.args.get("joins") or ():
            if join.this.name == helping:
                hits = exp.column(_HITS, table=part.args["from_"].this.name)
                arrays = exp.alias_(exp.table_(arrays_name(sensitive)), helping, table=True)
                join.set("this", arrays)
                join.set("using", [exp.to_identifier(_GROUP_ID)])
    for column in list(asked.find_all(exp.Column)):
        if column.table == helping:
            place = exp.Bracket(this=column.copy(), expressions=[hits.copy()], offset=1)
            column.replace(place)
    return asked
