"""DuckDB, whose SQL defines the meaning of every query."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.dialects.dialect import Access, Dialect, Made, Storage
from sfumato.tasks.sql.dialects.outward import Arithmetic, Numeric, as_double
from sfumato.tasks.sql.dialects.statements import (
    create_function,
    drop,
    hide_progress,
    quoted_table,
    replacement,
    returns_table,
)

if TYPE_CHECKING:
    from sfumato.tasks.sql.dialects.address import Address


def _connect(address: "Address") -> tuple[Any, Callable[[], None]]:
    import duckdb as driver  # queries are rewritten without it

    own = driver.connect(address.database)
    hide_progress(own)
    return own, own.close


def _errors() -> tuple[type[Exception], ...]:
    import duckdb as driver

    return (driver.Error,)


def _execute(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.execute(statement).fetchall()
    return rows


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    columns = [exp.column(column, quoted=True) for column in table.column_names]
    into = quoted_table(name, table.column_names)
    rows = exp.select(*columns).from_("sfumato_arrow")
    connection.register("sfumato_arrow", table)
    try:
        connection.execute(exp.Insert(this=into, expression=rows).sql("duckdb"))
    finally:
        connection.unregister("sfumato_arrow")


def _function(name: str, query: tuple[str, str], _: Sequence[tuple[str, ColumnType]]) -> Made:
    before, after = (exp.Literal.string(part) for part in query)
    whole = exp.DPipe(
        this=exp.DPipe(this=before, expression=exp.column("condition")), expression=after
    )
    table = exp.select("*").from_(exp.Anonymous(this="query", expressions=[whole]))
    parameter = exp.to_identifier("condition")
    made = create_function("MACRO", name, parameter, [returns_table()], table)
    dropped = drop("MACRO TABLE", exp.table_(name))
    return Made(
        name,
        made.sql("duckdb", normalize_functions=False),
        replacement(made).sql("duckdb", normalize_functions=False),
        dropped.sql("duckdb"),
    )


def _huge(number: exp.Expr) -> exp.Expr:
    return exp.Cast(this=number.copy(), to=exp.DataType.build("INT128", "duckdb"))


def _whole(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    """Return the whole part of a quotient as a BIGINT: the cast of a HUGEINT may round twice."""
    whole = exp.IntDiv(this=_huge(over), expression=under.copy())
    return as_double(exp.Cast(this=whole, to=exp.DataType.build("BIGINT")))


def _rest(over: exp.Expr, under: exp.Expr, kind: Numeric) -> exp.Expr:
    """Return the rest of a division of whole decimals; others may have too many digits for it."""
    if kind == "integer":
        return exp.Mod(this=_huge(over), expression=under.copy())
    whole = exp.Anonymous(this="TRUNC", expressions=[over.copy()])
    is_whole = exp.EQ(this=over.copy(), expression=whole)
    rest = exp.Mod(this=_huge(whole), expression=under.copy())
    return exp.Case(ifs=[exp.If(this=is_whole, true=rest)])


duckdb = Dialect(
    name="duckdb",
    title="DuckDB",
    sqlglot="duckdb",
    spelling=None,
    storage=Storage(
        types={"float": "DOUBLE", "string": "VARCHAR", "timestamp": "TIMESTAMP"}, fill=_fill
    ),
    access=Access(
        scheme="duckdb",
        in_file=True,
        connect=_connect,
        execute=_execute,
        errors=_errors,
        begins=True,
        existing="SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() "
        "AND schema_name = current_schema() UNION ALL SELECT view_name FROM duckdb_views() "
        "WHERE database_name = current_database() AND schema_name = current_schema()",
    ),
    arithmetic=Arithmetic(whole=_whole, rest=_rest),
    function=_function,
    arrays=True,
)
