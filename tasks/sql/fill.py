"""Arrow tables as tables of a database, with exact types, filled as fast as its driver can."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.sql.dialects.common import kind_of
from sfumato.tasks.sql.dialects.statements import column_definition, create_index, create_table
from sfumato.tasks.sql.target import TargetDatabase

_COMMON: Mapping[str, str] = {"integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATE"}


def create(database: TargetDatabase, name: str, table: pa.Table, key: Sequence[str] = ()) -> None:
    """Create an empty table with the columns of an Arrow table.

    Args:
        database: the database.
        name: the name of the new table.
        table: an Arrow table, whose texts may determine types.
        key: the columns of the primary key; empty for none.

    Raises:
        InputError: if a name is too long for the database, or it cannot hold a column.
    """
    _require_names([name, *table.column_names], database)
    storage = database.dialect.storage
    columns = [
        column_definition(
            column,
            sql_type(table[column], database),
            nullable=table.schema.field(column).nullable and column not in key,
            collation=storage.collation if kind_of(table[column].type) == "string" else None,
        )
        for column in table.column_names
    ]
    database.run(create_table(name, columns, key, storage.options))


def index(database: TargetDatabase, table: str, column: str, name: str) -> None:
    """Create an index, called `name`, on a column of a table."""
    database.run(create_index(name, table, column))


def _require_names(names: Sequence[str], database: TargetDatabase) -> None:
    """Refuse names that are too long for the database."""
    storage = database.dialect.storage
    for name in names:
        if storage.longest_name is not None and storage.name_size(name) > storage.longest_name:
            longest = storage.longest_name
            raise InputError(
                f"{database.place}: the name {name!r} is longer than {longest}, the limit "
                "of this database"
            )


def sql_type(column: pa.ChunkedArray, database: TargetDatabase) -> exp.DataType:
    """Return the type of a column in a database; that of texts may depend on the texts."""
    kind, storage = kind_of(column.type), database.dialect.storage
    types = {**_COMMON, **storage.types}
    if kind == "decimal":
        types.setdefault(kind, f"NUMERIC(38, {column.type.scale})")
    if kind == "string" and storage.text_type is not None:
        types[kind] = storage.text_type(column)
    return exp.DataType.build(types[kind], database.dialect.sqlglot)


def require_fitting(database: TargetDatabase, name: str, table: pa.Table, *, exact: bool) -> None:
    """Make sure that the database can store, distinguish and order the values of a table.

    Args:
        database: the database to fill.
        name: the name of the table.
        table: its rows.
        exact: whether decimals must be exact, even if floats represent them.

    Raises:
        InputError: naming the first column with a value that the database cannot treat so.
    """
    for column in table.column_names:
        values = table[column]
        if len(values) == values.null_count:
            continue
        rule = database.dialect.storage.misfit(values, kind_of(values.type), exact)
        if rule:
            raise InputError(f"{database.place}: {name}: column {column!r}: {rule}")


def fill(database: TargetDatabase, name: str, table: pa.Table) -> None:
    """Insert all rows of a table into one that has the same columns."""
    database.dialect.storage.fill(database.connection, name, table)
