"""Arrow tables as tables of a database, of exact types, filled as fast as its driver can."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.expectations.errors import InputError
from sfumato.tasks.sql.dialects.rows import kind_of
from sfumato.tasks.sql.target import TargetDatabase

_COMMON: Mapping[str, str] = {"integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATE"}


def create(database: TargetDatabase, name: str, table: pa.Table, key: Sequence[str] = ()) -> None:
    """Create an empty table for these columns, with a primary key.

    Raises:
        InputError: where a name is too long for the database, or it cannot hold a column.
    """
    _require_names([name, *table.column_names], database)
    quoted = database.dialect.quoted
    columns = [
        f"{quoted(column)} {sql_type(table[column], database)}"
        + ("" if table.schema.field(column).nullable and column not in key else " NOT NULL")
        for column in table.column_names
    ]
    if key:
        columns.append(f"PRIMARY KEY ({', '.join(map(quoted, key))})")
    options = database.dialect.storage.options
    database.execute(f"CREATE TABLE {quoted(name)} ({', '.join(columns)}){options}")


def index(database: TargetDatabase, table: str, column: str, name: str) -> None:
    """Index a table by a column."""
    parts = [database.dialect.quoted(part) for part in (name, table, column)]
    database.execute(f"CREATE INDEX {parts[0]} ON {parts[1]} ({parts[2]})")


def _require_names(names: Sequence[str], database: TargetDatabase) -> None:
    storage = database.dialect.storage
    for name in names:
        if storage.longest_name is not None and storage.name_size(name) > storage.longest_name:
            longest = storage.longest_name
            raise InputError(f"{database.place}: the name {name!r} is longer than {longest}")


def sql_type(column: pa.ChunkedArray, database: TargetDatabase) -> str:
    """The type of a column in a database."""
    kind, storage = kind_of(column.type), database.dialect.storage
    known = {**_COMMON, **storage.types}
    if kind == "decimal":
        return known.get(kind, f"NUMERIC(38, {column.type.scale})")
    if kind == "string" and storage.text_type is not None:
        return storage.text_type(column)
    return known[kind]


def require_fitting(database: TargetDatabase, name: str, table: pa.Table, *, exact: bool) -> None:
    """Make sure that the database can hold the values, and tell them apart and in order.

    Args:
        database: to be filled.
        name: of the table.
        table: its rows.
        exact: whether decimals must be held exactly, even where floats stand for them.

    Raises:
        InputError: naming a column.
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
