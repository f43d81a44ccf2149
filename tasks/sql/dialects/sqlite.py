"""SQLite, which has neither moments nor decimals: texts and floats stand for them."""

import sqlite3
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.tasks.sql.dialects.dialect import (
    Access,
    Dialect,
    Kind,
    Spelling,
    Storage,
    connect_by_sqlalchemy,
)
from sfumato.tasks.sql.dialects.misfits import (
    misfitting_floats,
    misfitting_moments,
    misfitting_zeros,
)
from sfumato.tasks.sql.dialects.rows import insert_rows, kind_of
from sfumato.tasks.sql.patterns import glob_of

if TYPE_CHECKING:
    from sqlalchemy import URL  # takes a tenth of a second: databases alone need it

REAL_DIGITS = 15
"""Of a number that is held exactly."""
_BOOLEAN = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind="BOOLEAN")
"""A type by its name alone: sqlglot would write INTEGER."""


def _matches(text: exp.Expr, pattern: str, any_case: bool) -> exp.Expr:
    glob = exp.Literal.string(glob_of(pattern, any_case=any_case))
    return exp.Glob(this=text, expression=glob)


def _modulo_refused(kind: Kind, _: bool) -> str | None:
    return None if kind == "integer" else "% of other numbers than integers"


def _misfit(column: pa.ChunkedArray, kind: str, exact: bool) -> str | None:
    if kind == "decimal" and exact and not _is_real(column):
        return f"decimals of more than {REAL_DIGITS} digits, and SQLite holds no more"
    of_kind = misfitting_zeros, misfitting_floats, misfitting_moments
    return next((rule for rule in (find(column, kind) for find in of_kind) if rule), None)


def _is_real(column: pa.ChunkedArray) -> bool:
    """Decide whether decimals have few enough digits for a float to tell them apart."""
    largest: Decimal = pc.max(pc.abs(column)).as_py()
    return largest.scaleb(column.type.scale) < Decimal(10**REAL_DIGITS)


def _shown(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = kind_of(column.type)
    if kind in ("date", "timestamp"):
        return column.cast(pa.string())
    return column.cast(pa.string()).cast(pa.float64()) if kind == "decimal" else column


def _connect(address: "URL") -> tuple[Any, Callable[[], None]]:
    own, close = connect_by_sqlalchemy(address, "sqlite", {})
    own.isolation_level = None
    return own, close


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    shown = pa.table({column: _shown(table[column]) for column in table.column_names})
    insert_rows(connection, "sqlite", name, shown, "?")


sqlite = Dialect(
    name="sqlite",
    title="SQLite",
    sqlglot="sqlite",
    spelling=Spelling(
        matches=_matches,
        moment=lambda text, _: text,
        modulo_refused=_modulo_refused,
        casts_integers=True,
        moments_are_texts=True,
        decimals=False,
        nulls_first=True,
        groups_windows=True,
    ),
    storage=Storage(
        types={
            "integer": "INTEGER",
            "float": "REAL",
            "decimal": "REAL",
            "boolean": _BOOLEAN,
            "date": "TEXT",
            "timestamp": "TEXT",
            "string": "TEXT",
        },
        fill=_fill,
        misfit=_misfit,
    ),
    access=Access(
        scheme="sqlite",
        in_file=True,
        connect=_connect,
        errors=lambda: (sqlite3.Error,),
        existing="SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
        begins=True,
        analyzes=True,
        in_transaction=lambda connection: bool(connection.in_transaction),
    ),
)
