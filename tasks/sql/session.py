"""DuckDB for one use: its own database in memory, with only the given tables.

DuckDB is imported, and a database is made, when a connection is first used: most questions about
releases are answered without it.
"""

import atexit
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import InputError, QueryError
from sfumato.tasks.sql.dialects.statements import hide_progress
from sfumato.tasks.sql.parted import TableInParts, union_of_parts

if TYPE_CHECKING:
    import duckdb

_CALCULATED_OF = "published"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # or a query could read variables of this process
}


Limits = Mapping[str, str | int]
"""Settings of a session that limit what its queries take, such as `memory_limit`."""
_Rows = TypeVar("_Rows")


def _delete_types() -> None:
    """Delete the constants of DuckDB's types, which its modules hold beyond the interpreter's end.

    DuckDB's bindings (nanobind) print a page about those that are left, after each run of a worker.
    """
    if "duckdb" not in sys.modules:
        return
    kind = _duckdb().sqltypes.DuckDBPyType
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("duckdb", "_duckdb"):
            for constant, value in list(vars(module).items()):
                if isinstance(value, kind):
                    delattr(module, constant)


atexit.register(_delete_types)


def _duckdb() -> Any:
    return import_module("duckdb")


class _LaterConnection:
    """A connection that is opened when it is first used."""

    def __init__(
        self, tables: Mapping[str, pa.Table | Path | TableInParts], limits: Limits
    ) -> None:
        self._tables, self._limits = tables, limits
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        if self._is_closed:
            raise ValueError("the connection is closed")
        if self._connection is None:
            self._connection = open_session(self._tables, self._limits)
        return getattr(self._connection, name)

    def close(self) -> None:
        """Close what was opened; nothing is opened any more."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()


@contextmanager
def session(
    tables: Mapping[str, pa.Table | Path | TableInParts], limits: Limits | None = None
) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Provide a connection that sees the tables, in memory or as Parquet files, and no other file.

    Raises:
        InputError: if a file is missing, or when it is first used and a file is no Parquet file.
    """
    for table in tables.values():
        if not isinstance(table, pa.Table):
            _require_files(_files(table))
    with closing(_LaterConnection(tables, limits or {})) as connection:
        yield cast("duckdb.DuckDBPyConnection", connection)


def open_session(
    tables: Mapping[str, pa.Table | Path | TableInParts], limits: Limits | None = None
) -> "duckdb.DuckDBPyConnection":
    """Open such a connection at once, which the caller must close.

    Raises:
        InputError: if a file is missing or is no Parquet file.
    """
    files = {name: _files(t) for name, t in tables.items() if not isinstance(t, pa.Table)}
    for paths in files.values():
        _require_files(paths)
    connection = _open_database(files, limits or {})
    for name, table in tables.items():
        if isinstance(table, pa.Table):
            connection.register(name, table)
    return connection


def _require_files(table: TableInParts) -> None:
    for path in table.files:
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")


def _files(table: Path | TableInParts) -> TableInParts:
    if isinstance(table, TableInParts):
        return replace(table, files=tuple(path.absolute() for path in table.files))
    return TableInParts((table.absolute(),), ({},))


def _open_database(
    tables: Mapping[str, TableInParts], limits: Limits
) -> "duckdb.DuckDBPyConnection":
    """Open a connection to a database of its own, which reads these files and no other."""
    with ExitStack() as stack:
        database = closing(_duckdb().connect(":memory:", config={**_CONFIG, **limits}))
        connection: duckdb.DuckDBPyConnection = stack.enter_context(database)
        hide_progress(connection)
        paths = [str(path) for table in tables.values() for path in table.files]
        allowed = exp.Array(expressions=[exp.Literal.string(path) for path in paths])
        connection.execute(f"SET allowed_paths = {allowed.sql('duckdb')}")
        for name, table in tables.items():
            _show(connection, name, table)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        stack.pop_all()
        return connection


def fetch(connection: "duckdb.DuckDBPyConnection", tree: exp.Expression) -> list[tuple[Any, ...]]:
    """Return the rows of a query.

    Raises:
        QueryError: if DuckDB cannot evaluate the query.
    """
    return _evaluate(lambda: connection.execute(tree.sql("duckdb")).fetchall())


def keep_rows(connection: "duckdb.DuckDBPyConnection", name: str, query: exp.Query) -> None:
    """Keep the rows of a query in a table that only this connection has.

    Raises:
        QueryError: if DuckDB cannot evaluate the query.
    """
    alone = exp.Properties(expressions=[exp.TemporaryProperty()])
    table = exp.to_table(name)
    fetch(connection, exp.Create(this=table, kind="TABLE", expression=query, properties=alone))


def fetch_table(connection: "duckdb.DuckDBPyConnection", tree: exp.Expression) -> pa.Table:
    """Return the rows of a query as an Arrow table.

    Raises:
        QueryError: if DuckDB cannot evaluate the query.
    """
    return _evaluate(lambda: connection.sql(tree.sql("duckdb")).to_arrow_table())


def calculate(table: pa.Table, expressions: Iterable[exp.Expr]) -> pa.Table:
    """Return the values of expressions in each row of a table: a column each, in order.

    Raises:
        QueryError: if DuckDB cannot evaluate one.
    """
    columns = [exp.alias_(expression.copy(), f"c{n}") for n, expression in enumerate(expressions)]
    with session({_CALCULATED_OF: table}) as connection:
        return fetch_table(connection, exp.select(*columns).from_(_CALCULATED_OF))


def _evaluate(query: Callable[[], _Rows]) -> _Rows:
    """Run a query without passing on DuckDB's own messages, which may quote values."""
    try:
        return query()
    except _duckdb().Error as error:
        require_machine(error)
        kind = type(error).__name__
    except RecursionError:
        kind = "nested too deeply"
    raise QueryError(f"the query could not be evaluated: {kind}")


def _show(connection: "duckdb.DuckDBPyConnection", name: str, table: TableInParts) -> None:
    try:
        view = exp.Create(
            this=exp.table_(name, quoted=True),
            kind="VIEW",
            expression=union_of_parts([_source(str(path)) for path in table.files], table.added),
        )
        connection.execute(view.sql("duckdb"))
    except (_duckdb().Error, pa.ArrowException, OSError) as error:
        require_machine(error)
        where = table.files[0] if len(table.files) == 1 else f"{name}: a part"
        raise InputError(
            f"{where}: is not a readable Parquet file ({type(error).__name__})"
        ) from None


def _source(path: str) -> exp.Expr:
    return exp.Anonymous(
        this="read_parquet",
        expressions=[
            exp.Literal.string(path),
            # A directory named year=2024 is not a column of the table.
            exp.EQ(this=exp.column("hive_partitioning"), expression=exp.false()),
        ],
    )
