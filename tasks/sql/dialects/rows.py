"""Arrow tables as rows of Python values, inserted in chunks."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.sql.statements import quoted_table

_CHUNK = 20_000


def kind_of(type_: pa.DataType) -> str:
    """Our name of an Arrow type."""
    if pa.types.is_decimal(type_):
        return "decimal"
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_timestamp(type_):
        return "timestamp"
    if pa.types.is_date(type_):
        return "date"
    if pa.types.is_floating(type_):
        return "float"
    return "integer" if pa.types.is_integer(type_) else "string"


def insert_rows(connection: Any, dialect: str, name: str, table: pa.Table, mark: str) -> None:
    """Insert all rows by a driver in whose statements `mark` stands for a value.

    Args:
        connection: the driver's own.
        dialect: its name in sqlglot.
        name: of the table.
        table: the rows.
        mark: `?` or `%s`, beside which a percent sign in a name is written twice.
    """
    columns = table.column_names
    shown = columns if mark == "?" else [column.replace("%", "%%") for column in columns]
    values = exp.Tuple(expressions=[exp.Var(this=mark) for _ in columns])
    into = exp.Insert(this=quoted_table(name, shown), expression=exp.Values(expressions=[values]))
    statement = into.sql(dialect)
    cursor = connection.cursor()
    try:
        for rows in _rows(table):
            cursor.executemany(statement, rows)
    finally:
        cursor.close()


def _rows(table: pa.Table) -> Iterator[list[tuple[Any, ...]]]:
    for batch in table.to_batches(_CHUNK):
        columns = [column.to_pylist() for column in batch.columns]
        yield list(zip(*columns, strict=True))
