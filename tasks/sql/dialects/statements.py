"""Statements that make, fill and drop tables, views, functions and schemas, as trees."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    import duckdb


def quoted_table(name: str, columns: Iterable[str] = ()) -> exp.Table | exp.Schema:
    """Return a table by its quoted name, with the names of its columns if any are given."""
    table = exp.table_(name, quoted=True)
    quoted = [exp.to_identifier(column, quoted=True) for column in columns]
    return exp.Schema(this=table, expressions=quoted) if quoted else table


def create_table(
    name: str,
    columns: Sequence[exp.ColumnDef],
    key: Sequence[str] = (),
    options: Sequence[exp.Property] = (),
) -> exp.Create:
    """Return the statement that makes a table of these columns, with any primary key `key`."""
    parts: list[exp.Expr] = list(columns)
    if key:
        of_key = [exp.to_identifier(column, quoted=True) for column in key]
        parts.append(exp.PrimaryKey(expressions=of_key))
    return exp.Create(
        this=exp.Schema(this=quoted_table(name), expressions=parts),
        kind="TABLE",
        properties=exp.Properties(expressions=list(options)) if options else None,
    )


def column_definition(
    name: str, type_: exp.DataType, *, nullable: bool, collation: exp.Expr | None = None
) -> exp.ColumnDef:
    """Return the definition of a column of a new table."""
    rules: list[exp.Expr] = []
    if collation is not None:
        rules.append(exp.CollateColumnConstraint(this=collation.copy()))
    if not nullable:
        rules.append(exp.NotNullColumnConstraint())
    return exp.ColumnDef(
        this=exp.to_identifier(name, quoted=True),
        kind=type_,
        constraints=[exp.ColumnConstraint(kind=rule) for rule in rules],
    )


def create_index(name: str, table: str, column: str) -> exp.Create:
    """Return the statement that makes an index of a table by a column."""
    key_column = exp.column(column, quoted=True)
    index = exp.Index(
        this=exp.to_identifier(name, quoted=True),
        table=quoted_table(table),
        params=exp.IndexParameters(columns=[key_column]),
    )
    return exp.Create(this=index, kind="INDEX")


def create_table_of(name: str, query: exp.Expr) -> exp.Create:
    """Return the statement that makes a table of the rows of a query."""
    return exp.Create(this=quoted_table(name), kind="TABLE", expression=query)


def create_view(name: str, query: exp.Expr) -> exp.Create:
    """Return the statement that makes a view of a query."""
    return exp.Create(this=exp.table_(name), kind="VIEW", expression=query)


def create_function(
    kind: str,
    name: str,
    parameter: exp.Expr,
    properties: Sequence[exp.Property],
    body: exp.Expr,
) -> exp.Create:
    """Return the statement that makes a function of one parameter."""
    return exp.Create(
        this=exp.UserDefinedFunction(this=exp.table_(name), expressions=[parameter], wrapped=True),
        kind=kind,
        properties=exp.Properties(expressions=list(properties)),
        expression=body,
    )


def returns_table(columns: Sequence[exp.ColumnDef] = ()) -> exp.ReturnsProperty:
    """Return the property that a function returns a table, with columns if they must be named."""
    table = exp.Schema(this=exp.Var(this="TABLE"), expressions=list(columns))
    return exp.ReturnsProperty(this=table, is_table=True)


def replacement(statement: exp.Create) -> exp.Create:
    """Return the statement that also replaces what exists."""
    changed = statement.copy()
    changed.set("replace", True)
    return changed


def drop(kind: str, *names: exp.Table, parameters: Sequence[exp.DataType] = ()) -> exp.Drop:
    """Return the statement that drops what exists of these names; functions need `parameters`."""
    return exp.Drop(tables=list(names), kind=kind, exists=True, expressions=list(parameters))


def drop_tables(*names: str) -> exp.Drop:
    """Return the statement that drops the existing tables of these names."""
    return drop("TABLE", *(exp.table_(name, quoted=True) for name in names))


def analyze(name: str) -> exp.Analyze:
    """Return the statement that gathers a table's statistics, by which queries are planned."""
    return exp.Analyze(tables=[quoted_table(name)])


def schema(name: str) -> exp.Table:
    """Return a schema by its quoted name."""
    return exp.Table(db=exp.to_identifier(name, quoted=True))


def member(name: str, schema_name: str) -> exp.Table:
    """Return the name of something in a schema."""
    return exp.table_(name, db=schema_name, quoted=True)


def create_schema(name: str) -> exp.Create:
    """Return the statement that makes a schema."""
    return exp.Create(this=schema(name), kind="SCHEMA")


def drop_schema(name: str) -> exp.Drop:
    """Return the statement that drops an empty schema."""
    return exp.Drop(tables=[schema(name)], kind="SCHEMA")


def drop_member(kind: str, name: str, schema_name: str, *, cascade: bool) -> exp.Drop:
    """Return the statement that drops something in a schema, and what needs it if `cascade`."""
    return exp.Drop(tables=[member(name, schema_name)], kind=kind, cascade=cascade)


def comment(kind: str, on: exp.Table, text: str) -> exp.Comment:
    """Return the statement that comments on a schema, or on something in one."""
    return exp.Comment(this=on, kind=kind, expression=exp.Literal.string(text))


def view_of(name: str, within: str, source_schema: str) -> exp.Create:
    """Return the statement that makes or replaces a view of the same name in another schema."""
    query = exp.select("*").from_(member(name, source_schema))
    return exp.Create(this=member(name, within), kind="VIEW", replace=True, expression=query)


def grant(right: str, kind: str | None, on: exp.Table, roles: Sequence[str]) -> exp.Grant:
    """Return the statement that lets roles use a schema, or read something in one."""
    return exp.Grant(
        privileges=[exp.GrantPrivilege(this=exp.Var(this=right))],
        kind=kind,
        securable=on,
        principals=[
            exp.GrantPrincipal(this=exp.to_identifier(role, quoted=True)) for role in roles
        ],
    )


def set_locally(name: str, value: str) -> exp.Select:
    """Return the query that changes a setting until the transaction ends."""
    texts = [exp.Literal.string(text) for text in (name, value)]
    return exp.select(exp.func("set_config", *texts, exp.true()))


def of_namespace(name: str) -> exp.Expr:
    """Return the number of a schema in PostgreSQL's catalogue, null if there is no such schema."""
    quoted = exp.func("quote_ident", exp.Literal.string(name))
    return exp.func("to_regnamespace", quoted)


def hide_progress(connection: "duckdb.DuckDBPyConnection") -> None:
    """Turn off DuckDB's progress bar, which it draws in terminals and notebooks.

    In a notebook without ipywidgets the setting cannot be changed; no bar is drawn there.
    """
    setting = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if setting is not None and setting[0]:
        connection.execute("SET enable_progress_bar = false")
