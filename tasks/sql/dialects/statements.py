"""Statements that make, fill and drop tables, views, functions and schemas, as trees."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    import duckdb


def quoted_table(name: str, columns: Iterable[str] = ()) -> exp.Table | exp.Schema:
    """A table by its quoted name, with the names of its columns where some are told."""
    table = exp.table_(name, quoted=True)
    quoted = [exp.to_identifier(column, quoted=True) for column in columns]
    return exp.Schema(this=table, expressions=quoted) if quoted else table


def create_table(
    name: str,
    columns: Sequence[exp.ColumnDef],
    key: Sequence[str] = (),
    options: Sequence[exp.Property] = (),
) -> exp.Create:
    """Make a table of these columns, with a primary key where columns of one are named."""
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
    """A column of a table to be made."""
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
    """Make an index of a table by a column."""
    by = exp.column(column, quoted=True)
    index = exp.Index(
        this=exp.to_identifier(name, quoted=True),
        table=quoted_table(table),
        params=exp.IndexParameters(columns=[by]),
    )
    return exp.Create(this=index, kind="INDEX")


def create_table_of(name: str, query: exp.Expr) -> exp.Create:
    """Make a table of what a query returns."""
    return exp.Create(this=quoted_table(name), kind="TABLE", expression=query)


def create_view(name: str, query: exp.Expr) -> exp.Create:
    """Make a view of a query."""
    return exp.Create(this=exp.table_(name), kind="VIEW", expression=query)


def create_function(
    kind: str,
    name: str,
    parameter: exp.Expr,
    properties: Sequence[exp.Property],
    body: exp.Expr,
) -> exp.Create:
    """Make a function of one parameter."""
    return exp.Create(
        this=exp.UserDefinedFunction(this=exp.table_(name), expressions=[parameter], wrapped=True),
        kind=kind,
        properties=exp.Properties(expressions=list(properties)),
        expression=body,
    )


def returns_table(columns: Sequence[exp.ColumnDef] = ()) -> exp.ReturnsProperty:
    """Say that a function returns a table, of these columns where they must be told."""
    table = exp.Schema(this=exp.Var(this="TABLE"), expressions=list(columns))
    return exp.ReturnsProperty(this=table, is_table=True)


def replacement(statement: exp.Create) -> exp.Create:
    """The same statement, for what may be there already."""
    changed = statement.copy()
    changed.set("replace", True)
    return changed


def drop(kind: str, *names: exp.Table, parameters: Sequence[exp.DataType] = ()) -> exp.Drop:
    """Do away with what is there of these names; functions can be told by their parameters."""
    return exp.Drop(tables=list(names), kind=kind, exists=True, expressions=list(parameters))


def drop_tables(*names: str) -> exp.Drop:
    """Do away with the tables that are there of these names."""
    return drop("TABLE", *(exp.table_(name, quoted=True) for name in names))


def analyze(name: str) -> exp.Analyze:
    """Gather the statistics of a table, by which queries are planned."""
    return exp.Analyze(tables=[quoted_table(name)])


def schema(name: str) -> exp.Table:
    """A schema by its quoted name."""
    return exp.Table(db=exp.to_identifier(name, quoted=True))


def member(name: str, of: str) -> exp.Table:
    """What has a name in a schema."""
    return exp.table_(name, db=of, quoted=True)


def create_schema(name: str) -> exp.Create:
    """Make a schema."""
    return exp.Create(this=schema(name), kind="SCHEMA")


def drop_schema(name: str) -> exp.Drop:
    """Do away with a schema in which nothing is left."""
    return exp.Drop(tables=[schema(name)], kind="SCHEMA")


def drop_member(kind: str, name: str, of: str, *, cascade: bool) -> exp.Drop:
    """Do away with what has a name in a schema, and where that is said with what needs it."""
    return exp.Drop(tables=[member(name, of)], kind=kind, cascade=cascade)


def comment(kind: str, on: exp.Table, text: str) -> exp.Comment:
    """Say something of a schema, or of what stands in one."""
    return exp.Comment(this=on, kind=kind, expression=exp.Literal.string(text))


def view_of(name: str, within: str, of: str) -> exp.Create:
    """Make a view, or replace it, of what has the same name in another schema."""
    query = exp.select("*").from_(member(name, of))
    return exp.Create(this=member(name, within), kind="VIEW", replace=True, expression=query)


def grant(right: str, kind: str | None, on: exp.Table, roles: Sequence[str]) -> exp.Grant:
    """Let roles use a schema, or read what stands in one."""
    return exp.Grant(
        privileges=[exp.GrantPrivilege(this=exp.Var(this=right))],
        kind=kind,
        securable=on,
        principals=[
            exp.GrantPrincipal(this=exp.to_identifier(role, quoted=True)) for role in roles
        ],
    )


def set_locally(name: str, value: str) -> exp.Select:
    """Have a setting until the transaction ends."""
    texts = [exp.Literal.string(text) for text in (name, value)]
    return exp.select(exp.func("set_config", *texts, exp.true()))


def of_namespace(name: str) -> exp.Expr:
    """The number of a schema in PostgreSQL's catalogue, null where there is none."""
    quoted = exp.func("quote_ident", exp.Literal.string(name))
    return exp.func("to_regnamespace", quoted)


def hide_progress(connection: "duckdb.DuckDBPyConnection") -> None:
    """Turn off DuckDB's progress bar, which it draws if somebody looks on.

    In a notebook without ipywidgets the setting cannot be changed; no bar is drawn there.
    """
    setting = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    if setting is not None and setting[0]:
        connection.execute("SET enable_progress_bar = false")
