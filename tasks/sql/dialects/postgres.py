"""PostgreSQL: texts in the collation "C", ILIKE as a regular expression, filled by COPY."""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
from sqlglot import exp

from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.dialects.dialect import (
    Access,
    Dialect,
    Kind,
    Made,
    Spelling,
    Storage,
    connect_by_sqlalchemy,
    double,
)
from sfumato.tasks.sql.dialects.duckdb import text
from sfumato.tasks.sql.dialects.misfits import misfitting_moments, misfitting_zeros
from sfumato.tasks.sql.patterns import regular

if TYPE_CHECKING:
    from sqlalchemy import URL  # takes a tenth of a second: databases alone need it

_CHUNK = 20_000
_COLLATION = exp.to_identifier("C", quoted=True)
_RETURNED: dict[ColumnType, str] = {
    "integer": "BIGINT",
    "float": "DOUBLE PRECISION",
    "decimal": "NUMERIC",
    "string": "TEXT",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "boolean": "BOOLEAN",
}


def _errors() -> tuple[type[Exception], ...]:
    import psycopg

    return (psycopg.Error,)


def _collated(text: str) -> exp.Expr:
    return exp.Collate(this=exp.Literal.string(text), expression=_COLLATION.copy())


def _matches(text: exp.Expr, pattern: str, any_case: bool) -> exp.Expr:
    if any_case:
        return exp.RegexpLike(this=text, expression=_collated(regular(pattern, end="$")))
    return exp.Like(this=text, expression=_collated(pattern.replace("\\", "\\\\")))


def _modulo_refused(kind: Kind, _: bool) -> str | None:
    return "% of floats" if kind == "float" else None


def _misfit(column: pa.ChunkedArray, kind: str, _: bool) -> str | None:
    return misfitting_zeros(column, kind) or misfitting_moments(column, kind)


def _connect(address: "URL") -> tuple[Any, Callable[[], None]]:
    return connect_by_sqlalchemy(address, "postgresql+psycopg", {})


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    columns = ", ".join(postgres.quoted(column) for column in table.column_names)
    statement = f"COPY {postgres.quoted(name)} ({columns}) FROM STDIN (FORMAT csv)"
    options = pa.csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for batch in table.to_batches(_CHUNK):
            rows = io.BytesIO()
            pa.csv.write_csv(batch, rows, options)
            copy.write(rows.getvalue())


def _function(
    name: str, query: tuple[str, str], returned: Sequence[tuple[str, ColumnType]]
) -> Made:
    shown = ", ".join(f'"{label}" {_RETURNED[type_]}' for label, type_ in returned)
    before, after = map(text, query)
    body = f"BEGIN RETURN QUERY EXECUTE {before} || $1 || {after}; END"
    create = (
        f"CREATE FUNCTION {name}(condition TEXT) RETURNS TABLE ({shown}) "
        f"LANGUAGE plpgsql STABLE AS {text(body)}"
    )
    return Made(create, f"DROP FUNCTION IF EXISTS {name}(TEXT)")


postgres = Dialect(
    name="postgres",
    title="PostgreSQL",
    sqlglot="postgres",
    spelling=Spelling(
        matches=_matches,
        collation=_COLLATION,
        number=double,
        modulo_refused=_modulo_refused,
        boolean_extremes=False,
    ),
    storage=Storage(
        types={
            "float": "DOUBLE PRECISION",
            "string": 'TEXT COLLATE "C"',
            "timestamp": "TIMESTAMP(6)",
        },
        fill=_fill,
        longest_name=63,
        name_size=lambda name: len(name.encode()),
        misfit=_misfit,
    ),
    access=Access(
        scheme="postgresql",
        in_file=False,
        connect=_connect,
        errors=_errors,
        existing="SELECT relname FROM pg_catalog.pg_class WHERE relkind <> 'i' AND relnamespace = "
        "pg_catalog.to_regnamespace(pg_catalog.quote_ident(current_schema()))",
        analyzes=True,
        require=("SHOW server_encoding", "UTF8", "texts are not stored as UTF-8"),
    ),
    function=_function,
    function_types=_RETURNED,
)
