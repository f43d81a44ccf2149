"""PostgreSQL: texts in the collation "C", ILIKE as a regular expression, filled by COPY."""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
from sqlglot import exp

from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.dialects.common import misfitting_moments, misfitting_zeros, regular
from sfumato.tasks.sql.dialects.dialect import (
    Access,
    Dialect,
    Kind,
    Made,
    Spelling,
    Storage,
    double,
)
from sfumato.tasks.sql.dialects.outward import Arithmetic, Numeric, as_double
from sfumato.tasks.sql.dialects.statements import (
    column_definition,
    create_function,
    drop,
    quoted_table,
    replacement,
    returns_table,
)

if TYPE_CHECKING:
    from sfumato.tasks.sql.dialects.address import Address

_CHUNK = 20_000
_PATIENCE = "10"  # seconds until connected
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


def _with_collation(text: str) -> exp.Expr:
    return exp.Collate(this=exp.Literal.string(text), expression=_COLLATION.copy())


def _matches(text: exp.Expr, pattern: str, any_case: bool) -> exp.Expr:
    if any_case:
        return exp.RegexpLike(this=text, expression=_with_collation(regular(pattern, end="$")))
    return exp.Like(this=text, expression=_with_collation(pattern.replace("\\", "\\\\")))


def _text(text: exp.Literal) -> exp.Expr:
    """Return a text with a backslash as E'…': plain quotes need standard_conforming_strings."""
    return exp.ByteString(this=text.this) if "\\" in text.this else text


def _modulo_refused(kind: Kind, _: bool) -> str | None:
    return "% of floats" if kind == "float" else None


def _misfit(column: pa.ChunkedArray, kind: str, _: bool) -> str | None:
    return misfitting_zeros(column, kind) or misfitting_moments(column, kind)


def _connect(address: "Address") -> tuple[Any, Callable[[], None]]:
    import psycopg

    options: dict[str, Any] = {"connect_timeout": _PATIENCE, **address.account(), **address.options}
    own = psycopg.connect(dbname=address.database, **options)
    return own, own.close


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    statement = exp.Copy(
        this=quoted_table(name, table.column_names),
        kind=True,
        files=[exp.Var(this="STDIN")],
        params=[exp.CopyParameter(this=exp.Var(this="FORMAT"), expression=exp.Var(this="csv"))],
    )
    options = pa.csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with connection.cursor() as cursor, cursor.copy(statement.sql("postgres")) as copy:
        for batch in table.to_batches(_CHUNK):
            rows = io.BytesIO()
            pa.csv.write_csv(batch, rows, options)
            copy.write(rows.getvalue())


def _function(
    name: str, query: tuple[str, str], returned: Sequence[tuple[str, ColumnType]]
) -> Made:
    text = exp.DataType.build("TEXT")
    columns = [
        column_definition(label, exp.DataType.build(_RETURNED[type_], "postgres"), nullable=True)
        for label, type_ in returned
    ]
    properties = [
        returns_table(columns),
        exp.LanguageProperty(this=exp.Var(this="plpgsql")),
        exp.StabilityProperty(this=exp.Literal.string("STABLE")),
    ]
    parameter = exp.ColumnDef(this=exp.to_identifier("condition"), kind=text)
    body = _text(exp.Literal.string(_body(*query)))
    made = create_function("FUNCTION", name, parameter, properties, body)
    dropped = drop("FUNCTION", exp.table_(name), parameters=[text.copy()])
    statements = (tree.sql("postgres") for tree in (made, replacement(made), dropped))
    return Made(name, *statements)


def _body(before: str, after: str) -> str:
    """Return the function's text in PL/pgSQL, which sqlglot does not write."""
    start, end = (_text(exp.Literal.string(part)) for part in (before, after))
    condition = exp.Parameter(this=exp.Literal.number(1))
    whole = exp.DPipe(this=exp.DPipe(this=start, expression=condition), expression=end)
    return f"BEGIN RETURN QUERY EXECUTE {whole.sql('postgres')}; END"


def _numeric(number: exp.Expr) -> exp.Expr:
    """Return a number of unlimited length: products and sums of BIGINT are limited."""
    return exp.Cast(this=number.copy(), to=exp.DataType.build("DECIMAL"))


def _whole(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    return as_double(exp.IntDiv(this=_numeric(over), expression=_numeric(under)))


def _rest(over: exp.Expr, under: exp.Expr, _: Numeric) -> exp.Expr:
    return exp.Mod(this=_numeric(over), expression=_numeric(under))


postgres = Dialect(
    name="postgres",
    title="PostgreSQL",
    sqlglot="postgres",
    spelling=Spelling(
        matches=_matches,
        collation=_COLLATION,
        number=double,
        text=_text,
        modulo_refused=_modulo_refused,
        boolean_extremes=False,
    ),
    storage=Storage(
        types={
            "float": "DOUBLE PRECISION",
            "string": "TEXT",
            "timestamp": "TIMESTAMP(6)",
        },
        fill=_fill,
        collation=_COLLATION,
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
    arithmetic=Arithmetic(whole=_whole, rest=_rest, factor=_numeric),
    function=_function,
    arrays=True,
    function_types=_RETURNED,
)
