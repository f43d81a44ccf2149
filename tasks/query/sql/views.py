"""Views and functions beside the tables of a release, so that simple queries need no tool.

Per sensitive column a view `groups_<name>` with the size of each group, and the sum, minimum and
maximum of its values, or their bounds where subdomains stand for values; and
`bounds_<name>(condition)`, which returns the number of rows that a condition on columns published
as they are selects, and the bounds of all aggregates over them. The condition is in the database's
own SQL. SQLite has no such functions.
"""

from dataclasses import dataclass
from typing import get_args

from sqlglot import exp

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.aggregate import Aggregate, Function
from sfumato.tasks.query.question.question import BOUNDS, Question, sides
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.query.sql.bounds_query import bounds_query
from sfumato.tasks.query.sql.dialect_fixes import written
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.dialects import Dialect

_CONDITION = "sfumato_condition"
_NUMBERS = ("integer", "decimal", "float")
_POSTGRES = {
    "integer": "BIGINT",
    "float": "DOUBLE PRECISION",
    "decimal": "NUMERIC",
    "string": "TEXT",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "boolean": "BOOLEAN",
}


@dataclass(frozen=True)
class Ready:
    """A view or function: its name, and the statements that make it and do away with it."""

    name: str
    create: str
    drop: str


def groups_view(declared: Terms, name: str, dialect: Dialect) -> Ready:
    """The view of each group's size, and the sum, minimum and maximum of a column in it."""
    helping, called = help_name(name), f"groups_{safe_name(name)}"
    whole = exp.select("group_id", exp.alias_(exp.Max(this=exp.column("hits")), "hits"))
    shown = [("group_id", "group_id"), ("hits", "size")]
    shown += _of_groups(declared.columns[name], exact=declared.form.method != "redistributed")
    columns = [
        exp.alias_(exp.column(source, table=helping), label, quoted=True) for source, label in shown
    ]
    grouped = whole.from_(helping).group_by("group_id").subquery("whole")
    on = " AND ".join(f"whole.{column} = {helping}.{column}" for column in ("group_id", "hits"))
    query = exp.select(*columns).from_(helping).join(grouped, on=on)
    return Ready(
        called,
        f"CREATE VIEW {called} AS {written(query, dialect)}",
        f"DROP VIEW IF EXISTS {called}",
    )


def _of_groups(column: DeclaredColumn, *, exact: bool) -> list[tuple[str, str]]:
    """What a help table knows of all rows of a group, and how to call it: exactly, or as bounds."""
    sums = column.type in _NUMBERS
    if exact:
        return [*([("l_sum", "sum")] if sums else []), ("l_min", "min"), ("u_max", "max")]
    functions = [*(["sum"] if sums else []), "min", "max"]
    ends = [("l", BOUNDS[0]), ("u", BOUNDS[1])]
    return [(f"{end}_{of}", f"{of}_{side}") for of in functions for end, side in ends]


def bounds_function(declared: Terms, name: str, dialect: Dialect) -> Ready | None:
    """What returns the bounds over the rows that a condition selects, if the database has such."""
    called = f"bounds_{safe_name(name)}"
    before, after = _parts(declared, name, dialect)
    if dialect == "duckdb":
        text = f"{_text(before)} || condition || {_text(after)}"
        table = f"SELECT * FROM query({text})"  # noqa: S608 - written by sqlglot
        macro = f"CREATE MACRO {called}(condition) AS TABLE {table}"
        return Ready(called, macro, f"DROP MACRO TABLE IF EXISTS {called}")
    if dialect == "postgres":
        returned = ", ".join(
            f'"{label}" {type_}' for label, type_ in _returned(declared.columns[name])
        )
        body = f"BEGIN RETURN QUERY EXECUTE {_text(before)} || $1 || {_text(after)}; END"
        create = (
            f"CREATE FUNCTION {called}(condition TEXT) RETURNS TABLE ({returned}) "
            f"LANGUAGE plpgsql STABLE AS {_text(body)}"
        )
        return Ready(called, create, f"DROP FUNCTION IF EXISTS {called}(TEXT)")
    if dialect == "mariadb":
        quoted = [exp.Literal.string(part).sql("mysql") for part in (before, after)]
        create = (
            f"CREATE PROCEDURE {called}(IN selected_by LONGTEXT CHARACTER SET utf8mb4) "
            f"READS SQL DATA SQL SECURITY INVOKER "
            f"EXECUTE IMMEDIATE CONCAT({quoted[0]}, selected_by, {quoted[1]})"
        )
        return Ready(called, create, f"DROP PROCEDURE IF EXISTS {called}")
    return None


def _text(text: str) -> str:
    return exp.Literal.string(text).sql("duckdb")


def _parts(declared: Terms, name: str, dialect: Dialect) -> tuple[str, str]:
    """The query for bounds, before and after the condition."""
    marked = exp.column(_CONDITION)
    asked = tuple(Aggregate(f, name, f) for f in _functions(declared.columns[name]))
    query = bounds_query(Question(asked, marked, ()), relations(declared).rows)
    columns = []
    for label, type_ in _returned(declared.columns[name]):
        bound = exp.column(exp.to_identifier("count_lower" if label == "count" else label, True))
        shown = exp.cast(bound, type_, dialect="postgres") if dialect == "postgres" else bound
        columns.append(exp.alias_(shown, label, quoted=True))
    whole = exp.select(*columns).from_(query.subquery("answer"))
    types = {other: column.type for other, column in declared.columns.items()}
    before, _, after = written(whole, dialect, types).partition(_CONDITION)
    return f"{before}(", f"\n){after}"


def _functions(column: DeclaredColumn) -> list[Function]:
    numbers = column.type in _NUMBERS
    return [f for f in get_args(Function) if numbers or f not in ("sum", "avg")]


def _returned(column: DeclaredColumn) -> list[tuple[str, str]]:
    """The columns of the answer, and their types in PostgreSQL."""
    found = [("count", "BIGINT")]
    for function in _functions(column):
        if function != "count":
            type_ = {"sum": "NUMERIC", "avg": "DOUBLE PRECISION"}.get(
                function, _POSTGRES[column.type]
            )
            found += [(side, type_) for side in sides(function)]
    return found
