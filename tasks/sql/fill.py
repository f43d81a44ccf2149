"""Arrow tables as tables of a database, of exact types, filled as fast as its driver can.

PostgreSQL is given CSV through COPY, DuckDB the table itself, SQLite and MariaDB rows in chunks.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from sqlglot import exp

from sfumato.expectations.errors import InputError
from sfumato.tasks.sql.dialects import Dialect
from sfumato.tasks.sql.target import Target

_CHUNK = 20_000
_NAMES: Mapping[Dialect, int] = {"postgres": 63, "mariadb": 64}
_REAL_DIGITS = 15
_SORTED = 255  # characters of a text: MariaDB sorts by 1,024 bytes (max_sort_length)
_YEARS = (-719162, 2932896)  # the first and the last day that four digits of a year can name
_MICROSECONDS = 86_400_000_000
_PLAIN: Mapping[Dialect, Mapping[str, str]] = {
    "duckdb": {"float": "DOUBLE", "string": "VARCHAR", "timestamp": "TIMESTAMP"},
    "sqlite": {
        "integer": "INTEGER",
        "float": "REAL",
        "decimal": "REAL",
        "boolean": "BOOLEAN",
        "date": "TEXT",
        "timestamp": "TEXT",
        "string": "TEXT",
    },
    "postgres": {
        "float": "DOUBLE PRECISION",
        "string": 'TEXT COLLATE "C"',
        "timestamp": "TIMESTAMP(6)",
    },
    "mariadb": {"float": "DOUBLE", "timestamp": "DATETIME(6)"},
}
_COMMON = {"integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATE"}


def quoted(name: str, dialect: Dialect) -> str:
    """A name as a database's SQL has it.

    >>> quoted('a"b', "sqlite"), quoted("a`b", "mariadb")
    ('"a""b"', '`a``b`')
    """
    called = "mysql" if dialect == "mariadb" else dialect
    return exp.to_identifier(name, quoted=True).sql(called)


def create(database: Target, name: str, table: pa.Table, key: Sequence[str] = ()) -> None:
    """Create an empty table for these columns, with a primary key.

    Raises:
        InputError: where a name is too long for the database, or it cannot hold a column.
    """
    _require_names([name, *table.column_names], database)
    columns = [
        f"{quoted(column, database.dialect)} {sql_type(table[column], database)}"
        + ("" if table.schema.field(column).nullable and column not in key else " NOT NULL")
        for column in table.column_names
    ]
    if key:
        columns.append(f"PRIMARY KEY ({', '.join(quoted(k, database.dialect) for k in key)})")
    options = ""
    if database.dialect == "mariadb":
        options = " ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    named = quoted(name, database.dialect)
    database.execute(f"CREATE TABLE {named} ({', '.join(columns)}){options}")


def index(database: Target, table: str, column: str, name: str) -> None:
    """Index a table by a column."""
    parts = [quoted(part, database.dialect) for part in (name, table, column)]
    database.execute(f"CREATE INDEX {parts[0]} ON {parts[1]} ({parts[2]})")


def _require_names(names: Sequence[str], database: Target) -> None:
    longest = _NAMES.get(database.dialect)
    for name in names if longest else ():
        size = len(name.encode() if database.dialect == "postgres" else name)
        if size > longest:  # type: ignore[operator]
            raise InputError(f"{database.place}: the name {name!r} is longer than {longest}")


def sql_type(column: pa.ChunkedArray, database: Target) -> str:
    """The type of a column in a database."""
    kind = _kind(column.type)
    known = {**_COMMON, **_PLAIN[database.dialect]}
    if kind == "decimal":
        return known.get(kind, f"NUMERIC(38, {column.type.scale})")
    if kind == "string" and database.dialect == "mariadb":
        longest = pc.max(pc.utf8_length(column)).as_py() or 0
        return f"VARCHAR({max(longest, 1)})"
    return known[kind]


def _kind(type_: pa.DataType) -> str:
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


def require_fitting(database: Target, name: str, table: pa.Table, *, exact: bool) -> None:
    """Make sure that the database can hold the values, and tell them apart and in order.

    Args:
        database: to be filled.
        name: of the table.
        table: its rows.
        exact: whether SQLite must hold decimals exactly, as it does those of few digits.

    Raises:
        InputError: naming a column.
    """
    for column in table.column_names:
        rule = _misfit(table[column], database.dialect, exact)
        if rule:
            raise InputError(f"{database.place}: {name}: column {column!r}: {rule}")


def _misfit(column: pa.ChunkedArray, dialect: Dialect, exact: bool) -> str | None:
    """What a database cannot hold of a column, if anything."""
    kind = _kind(column.type)
    if dialect == "duckdb" or len(column) == column.null_count:
        return None
    if kind == "string":
        return _misfitting_text(column, dialect)
    if kind == "float" and dialect != "postgres" and not pc.all(pc.is_finite(column)).as_py():
        return "a float that is infinite or no number"
    if kind == "decimal" and dialect == "sqlite" and exact and not _is_real(column):
        return f"decimals of more than {_REAL_DIGITS} digits, and SQLite holds no more"
    if kind in ("date", "timestamp"):
        scale = 1 if kind == "date" else _MICROSECONDS
        days = column.cast(pa.int32() if kind == "date" else pa.int64())
        low, high = pc.min(days).as_py(), pc.max(days).as_py()
        if not _YEARS[0] * scale <= low <= high < (_YEARS[1] + 1) * scale:
            return "a year outside of 1 to 9999"
    return None


def _misfitting_text(column: pa.ChunkedArray, dialect: Dialect) -> str | None:
    if dialect != "mariadb" and pc.any(pc.match_substring(column, "\0")).as_py():
        return "a text with a zero character"
    if dialect == "mariadb" and pc.max(pc.utf8_length(column)).as_py() > _SORTED:
        return f"a text of more than {_SORTED} characters, and MariaDB sorts by no more"
    return None


def _is_real(column: pa.ChunkedArray) -> bool:
    """Whether decimals have few enough digits for a float to tell them apart."""
    largest: Decimal = pc.max(pc.abs(column)).as_py()
    return largest.scaleb(column.type.scale) < Decimal(10**_REAL_DIGITS)


def fill(database: Target, name: str, table: pa.Table) -> None:
    """Insert all rows of a table into one that has the same columns."""
    _FILLING[database.dialect](database, name, table)


def _fill_duckdb(database: Target, name: str, table: pa.Table) -> None:
    columns = ", ".join(quoted(column, "duckdb") for column in table.column_names)
    database.connection.register("sfumato_arrow", table)
    try:
        into = f"INSERT INTO {quoted(name, 'duckdb')} ({columns})"
        database.execute(f"{into} SELECT {columns} FROM sfumato_arrow")  # noqa: S608 - quoted names
    finally:
        database.connection.unregister("sfumato_arrow")


def _fill_postgres(database: Target, name: str, table: pa.Table) -> None:
    columns = ", ".join(quoted(column, "postgres") for column in table.column_names)
    statement = f"COPY {quoted(name, 'postgres')} ({columns}) FROM STDIN (FORMAT csv)"
    options = pa.csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with database.connection.cursor() as cursor, cursor.copy(statement) as copy:
        for batch in table.to_batches(_CHUNK):
            text = io.BytesIO()
            pa.csv.write_csv(batch, text, options)
            copy.write(text.getvalue())


def _fill_rows(database: Target, name: str, table: pa.Table) -> None:
    mark = "?" if database.dialect == "sqlite" else "%s"
    parts = [quoted(column, database.dialect) for column in table.column_names]
    names = ", ".join(parts if mark == "?" else [part.replace("%", "%%") for part in parts])
    values = ", ".join([mark] * len(parts))
    into = quoted(name, database.dialect)
    cursor = database.connection.cursor()
    try:
        for rows in _rows(table, database.dialect):
            statement = f"INSERT INTO {into} ({names}) VALUES ({values})"  # noqa: S608 - quoted
            cursor.executemany(statement, rows)
    finally:
        cursor.close()


def _rows(table: pa.Table, dialect: Dialect) -> Iterator[list[tuple[Any, ...]]]:
    shown = pa.table({n: _shown(table[n], dialect) for n in table.column_names})
    for batch in shown.to_batches(_CHUNK):
        columns = [column.to_pylist() for column in batch.columns]
        yield list(zip(*columns, strict=True))


def _shown(column: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """A column as a driver takes it; SQLite has no moments and no decimals."""
    kind = _kind(column.type)
    if dialect == "sqlite":
        if kind in ("date", "timestamp"):
            return column.cast(pa.string())
        if kind == "decimal":
            return column.cast(pa.string()).cast(pa.float64())
    return column


_FILLING: Mapping[Dialect, Callable[[Target, str, pa.Table], None]] = {
    "duckdb": _fill_duckdb,
    "postgres": _fill_postgres,
    "sqlite": _fill_rows,
    "mariadb": _fill_rows,
}
