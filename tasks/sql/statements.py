"""Statements that make, fill and drop tables, views and functions, as trees."""

from collections.abc import Iterable, Sequence

from sqlglot import exp


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
