"""Arrow tables as rows of Python values, inserted in chunks."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

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


def insert_rows(
    connection: Any, quoted: Callable[[str], str], name: str, table: pa.Table, mark: str
) -> None:
    """Insert all rows by a driver in whose statements `mark` stands for a value."""
    parts = [quoted(column) for column in table.column_names]
    names = ", ".join(parts if mark == "?" else [part.replace("%", "%%") for part in parts])
    values = ", ".join([mark] * len(parts))
    into = " ".join(["INSERT INTO", quoted(name), f"({names})", "VALUES", f"({values})"])
    cursor = connection.cursor()
    try:
        for rows in _rows(table):
            cursor.executemany(into, rows)
    finally:
        cursor.close()


def _rows(table: pa.Table) -> Iterator[list[tuple[Any, ...]]]:
    for batch in table.to_batches(_CHUNK):
        columns = [column.to_pylist() for column in batch.columns]
        yield list(zip(*columns, strict=True))
