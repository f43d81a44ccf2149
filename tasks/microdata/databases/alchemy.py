"""Reading from any database of SQLAlchemy: rows of one transaction, some at a time, as cells."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlglot import Dialect, exp

from sfumato.expectations.shared.errors import SfumatoError, TransientFault
from sfumato.tasks.microdata.databases.faults import REFUSED, fault_of_state, unreachable
from sfumato.tasks.microdata.notation.address import scheme_of
from sfumato.tasks.microdata.notation.parameters import BindParameter
from sfumato.tasks.microdata.readers.cells import CellColumn, CellsMet, convert_cells
from sfumato.tasks.microdata.readers.input_error import input_error, require_distinct_names

_AT_ONCE = 10_000  # rows
_PLACE = "sfumato_parameter_"
_DRIVERS: Mapping[str, str] = {"mariadb": "mariadb+pymysql", "mysql": "mysql+pymysql"}
_DIALECTS: Mapping[str, str] = {"mariadb": "mysql", "mssql": "tsql"}
_SNAPSHOTS: Mapping[str, tuple[str, ...]] = {
    "mysql": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    "mariadb": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    "oracle": ("SET TRANSACTION READ ONLY",),
    "sqlite": ("PRAGMA query_only = ON",),
}
_STATES: Mapping[object, str] = {
    **dict.fromkeys((1040, 1041, 1203, 1226), "53300"),
    **dict.fromkeys((1205, 1213), "40001"),
    **dict.fromkeys((1053, 1077, 1079, 1927), "57P01"),
    **dict.fromkeys((2002, 2003, 2005, 2006, 2013, 2055), "08006"),
    **dict.fromkeys((1044, 1045, 1698), "28000"),
    **dict.fromkeys((1142, 1143, 1370), "42501"),
    **dict.fromkeys((1049,), "3D000"),
    **dict.fromkeys((1051, 1146), "42S02"),
    **dict.fromkeys((1054,), "42S22"),
    **dict.fromkeys((1290, 1792), "25006"),
    **dict.fromkeys((1969, 3024), "57014"),
    **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR"), "57000"),
    **dict.fromkeys(("SQLITE_READONLY",), "25006"),
}
"""The SQLSTATEs of the error codes of MariaDB, MySQL and SQLite."""


def dialect_of(scheme: str) -> str | None:
    """Return sqlglot's name of the SQL of a database's scheme, or None for unknown ones.

    >>> dialect_of("mariadb+pymysql"), dialect_of("sqlite"), dialect_of("ingres")
    ('mysql', 'sqlite', None)
    """
    name = scheme.partition("+")[0]
    name = _DIALECTS.get(name, name)
    return name if Dialect.get(name) is not None else None


def read(
    address: str, query: exp.Query, parameters: Mapping[str, BindParameter], file: str
) -> dict[str, CellColumn]:
    """Return the columns of a query, as cells.

    Args:
        address: the address of the database, with its secrets.
        query: a query that `tasks.sql.source_query` has checked.
        parameters: the parameters that it names.
        file: the name of the source in errors.

    Raises:
        InputError: if the database refuses the connection or the query.
        TransientFault: if it cannot be reached, or breaks off.
    """
    from sqlalchemy import text

    names = sorted(parameters)
    bound = {f"{_PLACE}{place}": parameters[name].bound() for place, name in enumerate(names)}
    statement = text(_statement_text(query, names, scheme_of(address) or ""))
    with _connection(address, file) as connection:
        for begin in _SNAPSHOTS.get(connection.dialect.name, ()):
            connection.exec_driver_sql(begin)
        streamed = connection.execution_options(stream_results=True)
        with streamed.execute(statement, bound) as rows:
            column_names = list(rows.keys())
            require_distinct_names(column_names, file)
            columns = [CellsMet() for _ in column_names]
            for some in rows.partitions(_AT_ONCE):
                for column, values in zip(columns, zip(*some, strict=True), strict=True):
                    column.add(values)
    return {name: column.finish() for name, column in zip(column_names, columns, strict=True)}


convert = convert_cells


def _statement_text(query: exp.Query, names: list[str], scheme: str) -> str:
    """Return the query as SQLAlchemy takes it: parameters as `:place`, other colons escaped."""
    mark = "sfumatoparameter"
    while mark in query.sql():
        mark += "x"

    def replace_placeholder(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Placeholder):
            return node
        return exp.Var(this=f"{mark}{names.index(node.name)}q")

    whole = query.transform(replace_placeholder)
    sql = whole.sql(dialect_of(scheme), normalize_functions=False, comments=False)
    sql = sql.replace(":", "\\:")
    for place in range(len(names)):
        sql = sql.replace(f"{mark}{place}q", f":{_PLACE}{place}")
    return sql


@contextmanager
def _connection(address: str, file: str) -> Iterator[Any]:
    """Open a connection whose transaction is undone, and translate the driver's errors to ours."""
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        url = make_url(address)
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        if url.get_backend_name() == "sqlite":
            url = _read_only(url, file)
        engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError):
        raise input_error(
            file,
            (
                "no database has such an address, or its driver is not installed. Correct the "
                "address, or install the driver"
            ),
        ) from None
    try:
        with engine.connect() as connection:
            yield connection
    except (SQLAlchemyError, OSError) as error:
        raise _as_our_error(error, file) from None
    finally:
        engine.dispose()


def _read_only(url: Any, file: str) -> Any:
    """Return the address that makes SQLite open an existing file only for reading."""
    from pathlib import Path
    from urllib.parse import quote

    if not url.database or not Path(url.database).is_file():
        raise input_error(file, "the database file does not exist. Correct the path")
    return url.set(database=f"file:{quote(url.database)}").update_query_dict(
        {"mode": "ro", "uri": "true"}
    )


def _as_our_error(error: Exception, file: str) -> SfumatoError:
    """Return the error as ours, by its code and nothing else of it."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorname", None) or next(iter(cause.args), None)
    code = "_".join(code.split("_")[:2]) if isinstance(code, str) else code
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    state = state or (_STATES.get(code) if isinstance(code, int | str) else None)
    if getattr(error, "connection_invalidated", False) and not state:
        state = "08006"
    if isinstance(state, str):
        fault = fault_of_state(file, state)
        return input_error(file, REFUSED) if state == "28000" else fault
    if isinstance(error, OSError):
        return TransientFault(str(unreachable(file, type(error).__name__)))
    number = f" (error {code})" if isinstance(code, int) else ""
    return input_error(file, f"the database refuses the query{number}")
