"""Reading from PostgreSQL by ADBC: one snapshot, read only, its rows streamed as Arrow batches.

Parameters are bound as settings of the transaction, and the query reads these: PostgreSQL streams
no query that has parameters of its own.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.machine.packages import import_extra
from sfumato.tasks.microdata.databases.faults import REFUSED, fault_of_state, unreachable
from sfumato.tasks.microdata.notation.parameters import BindParameter
from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.microdata.readers.distinct import Distinct, distinct
from sfumato.tasks.microdata.readers.input_error import (
    input_error,
    require_distinct_names,
)
from sfumato.tasks.microdata.readers.typed import adopt, parse
from sfumato.tasks.schema.columns import ColumnType

_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_SETTING = "sfumato.parameter_"
_TYPES: Mapping[ColumnType, str] = {
    "integer": "BIGINT",
    "decimal": "DECIMAL",
    "float": "DOUBLE PRECISION",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "string": "TEXT",
    "boolean": "BOOLEAN",
}


def read(
    address: str, query: exp.Query, parameters: Mapping[str, BindParameter], file: str
) -> dict[str, pa.ChunkedArray]:
    """Return the columns that a query gives, texts by their dictionaries.

    Args:
        address: the address of the database, with its secrets.
        query: a query that `tasks.sql.source_query` has checked.
        parameters: the parameters that it names.
        file: the name of the source in errors.

    Raises:
        InputError: if the server refuses the connection or the query.
        TransientFault: if it cannot be reached, or breaks off.
    """
    names = sorted(parameters)
    batches: list[pa.RecordBatch] = []
    with _connection(address, file) as connection, connection.cursor() as cursor:
        cursor.execute(_SNAPSHOT)
        if names:
            cursor.execute(_settings(names), _bound(names, parameters))
            cursor.fetchall()
        cursor.execute(_with_settings(query, names, parameters))
        for batch in _stream(cursor):
            require_distinct_names(batch.schema.names, file)
            batches.append(_compact(batch))
    if not batches:
        raise input_error(file, "has no rows")
    table = pa.Table.from_batches(batches)
    return dict(zip(table.column_names, table.columns, strict=True))


def convert(
    values: pa.ChunkedArray, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
) -> Distinct:
    """Convert a column to values of the declared type, if that loses nothing; texts are parsed.

    Raises:
        InputError: if the types do not fit, or with the first row whose value does not.
    """
    if _is_numeric(values.type) and type_ != "string":
        return parse(distinct(values.cast(pa.string())), type_, file, name)
    if pa.types.is_dictionary(values.type):
        return parse(distinct(values), type_, file, name, spelling)
    return adopt(values, type_, file, name, spelling)


def _settings(names: list[str]) -> str:
    """Return the statement that sets a setting for each parameter until the transaction ends."""
    calls = [
        exp.func(
            "set_config",
            exp.Literal.string(f"{_SETTING}{place}"),
            exp.Parameter(this=exp.Literal.number(place + 1)),
            exp.true(),
        )
        for place in range(len(names))
    ]
    return exp.select(*calls).sql("postgres")


def _bound(names: list[str], parameters: Mapping[str, BindParameter]) -> pa.RecordBatch:
    values = [pa.array([parameters[name].value], pa.string()) for name in names]
    return pa.record_batch(values, names=names)


def _with_settings(
    query: exp.Query, names: list[str], parameters: Mapping[str, BindParameter]
) -> str:
    """Return the query, with each parameter read from its setting as a value of its type."""

    def read_setting(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Placeholder):
            return node
        setting = exp.Literal.string(f"{_SETTING}{names.index(node.name)}")
        type_ = exp.DataType.build(_TYPES[parameters[node.name].type], "postgres")
        return exp.Cast(this=exp.func("current_setting", setting), to=type_)

    return query.transform(read_setting).sql("postgres", normalize_functions=False, comments=False)


@contextmanager
def _connection(address: str, file: str) -> Iterator[Any]:
    """Open a connection, and translate the driver's errors to ours."""
    manager = import_extra("adbc_driver_manager", "postgres", file)
    driver = import_extra("adbc_driver_postgresql.dbapi", "postgres", file)
    try:
        connection = driver.connect(address)
    except manager.Error as error:
        # libpq gives no code, and only what the server says has this word.
        refused = "FATAL:" in str(error) and not _is_busy(str(error))
        raise (input_error(file, REFUSED) if refused else unreachable(file, "libpq")) from None
    try:
        with connection:
            yield connection
    except manager.Error as error:
        state = error.sqlstate
        raise (fault_of_state(file, state) if state else unreachable(file, "libpq")) from None


def _is_busy(message: str) -> bool:
    """Return whether a server that refused the connection may accept it later."""
    return any(word in message for word in ("starting up", "shutting down", "clients", "slots"))


def _stream(cursor: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows as they come, by ADBC's reader, which gives a failure's SQLSTATE."""
    from adbc_driver_manager._reader import AdbcRecordBatchReader

    handle = cursor.fetch_arrow()
    with AdbcRecordBatchReader._import_from_c(handle.address) as reader:
        yield from reader


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        pc.dictionary_encode(column) if pa.types.is_string(column.type) else column
        for column in batch
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def _is_numeric(type_: pa.DataType) -> bool:
    return isinstance(type_, pa.OpaqueType) and type_.type_name == "numeric"
