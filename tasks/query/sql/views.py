"""Views and functions beside the tables of a release, so that simple queries need no tool.

Per sensitive column a view `groups_<name>` with the size of each group, and the sum, minimum and
maximum of its values, or their bounds where subdomains stand for values or people have left; and
`bounds_<name>(condition)`, which returns the number of rows that a condition on columns published
as they are selects, and the bounds of all aggregates over them. The condition is in the database's
own SQL. SQLite has no such functions.
"""

from sqlglot import exp

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.in_databases.arrays import by_arrays
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.question.question import BOUNDS, Question, sides
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.query.sql.bounds_query import bounds_query
from sfumato.tasks.query.sql.conditions.trees import same
from sfumato.tasks.query.sql.dialect_fixes import spell_bounds, write_bounds
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.dialects.dialect import Dialect, Made
from sfumato.tasks.sql.statements import create_view, drop, replacement

_CONDITION = "sfumato_condition"


def groups_view(declared: Terms, name: str, dialect: Dialect) -> Made:
    """The view of each group's size, and the sum, minimum and maximum of a column in it."""
    helping, called = help_name(name), f"groups_{safe_name(name)}"
    whole = exp.select("group_id", exp.alias_(exp.Max(this=exp.column("hits")), "hits"))
    shown = [("group_id", "group_id"), ("hits", "size")]
    exact = SQL_WAYS[declared.form.shows].exact_groups and not declared.composed
    shown += _of_groups(declared.columns[name], exact=exact)
    columns = [
        exp.alias_(exp.column(source, table=helping), label, quoted=True) for source, label in shown
    ]
    grouped = whole.from_(helping).group_by("group_id").subquery("whole")
    on = [same(column, "whole", helping) for column in ("group_id", "hits")]
    query = exp.select(*columns).from_(helping).join(grouped, on=exp.and_(*on))
    made = create_view(called, spell_bounds(query, dialect))
    statements = (made, replacement(made), drop("VIEW", exp.table_(called)))
    return Made(called, *(tree.sql(dialect.sqlglot, pretty=True) for tree in statements))


def _of_groups(column: DeclaredColumn, *, exact: bool) -> list[tuple[str, str]]:
    """The help table's columns about whole groups, and their names here: exact values or bounds."""
    sums = "sum" in {kind.name for kind in _kinds(column)}
    if exact:
        return [*([("l_sum", "sum")] if sums else []), ("l_min", "min"), ("u_max", "max")]
    functions = [*(["sum"] if sums else []), "min", "max"]
    ends = [("l", BOUNDS[0]), ("u", BOUNDS[1])]
    return [(f"{end}_{of}", f"{of}_{side}") for of in functions for end, side in ends]


def bounds_function(declared: Terms, name: str, dialect: Dialect, *, arrays: bool) -> Made | None:
    """The function that bounds aggregates over selected rows, None where databases lack such.

    Args:
        declared: what the release declares.
        name: the sensitive column.
        dialect: of the database.
        arrays: whether its help table stands there as arrays, too.
    """
    if dialect.function is None:
        return None
    called = f"bounds_{safe_name(name)}"
    returned = _returned(declared.columns[name])
    return dialect.function(called, _parts(declared, name, dialect, arrays), returned)


def _parts(declared: Terms, name: str, dialect: Dialect, arrays: bool) -> tuple[str, str]:
    """The query for bounds, before and after the condition."""
    marked = exp.column(_CONDITION)
    asked = tuple(Aggregate(kind.name, name, kind.name) for kind in _kinds(declared.columns[name]))
    query = bounds_query(Question(asked, marked, ()), relations(declared).rows)
    query = by_arrays(query, name) if arrays else query
    columns = []
    for label, type_ in _returned(declared.columns[name]):
        bound = exp.column(exp.to_identifier("count_lower" if label == "count" else label, True))
        told = dialect.function_types.get(type_)
        shown = exp.cast(bound, told, dialect=dialect.sqlglot) if told else bound
        columns.append(exp.alias_(shown, label, quoted=True))
    whole = exp.select(*columns).from_(query.subquery("answer"))
    types = {other: column.type for other, column in declared.columns.items()}
    before, _, after = write_bounds(whole, dialect, types).partition(_CONDITION)
    return f"{before}(", f"\n){after}"


def _kinds(column: DeclaredColumn) -> list[AggregateKind]:
    """The aggregates of a column whose bounds the help table holds, and the count of rows."""
    kinds = (kind for kind in AGGREGATES.values() if kind.help or kind.counts_rows)
    return [kind for kind in kinds if column.type in kind.takes]


def _returned(column: DeclaredColumn) -> list[tuple[str, ColumnType]]:
    """The columns of the answer, and their types."""
    found: list[tuple[str, ColumnType]] = []
    for kind in _kinds(column):
        names = (kind.name,) if kind.counts_rows else sides(kind.name)
        found += [(name, kind.returns(column.type)) for name in names]
    return found
