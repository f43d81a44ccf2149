"""SQLite, which has neither moments nor decimals: texts and floats stand for them."""

import math
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
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
LARGEST_WHOLE = 2**53
"""Up to here every whole number is a float."""
_ROUNDING = "5e-16"  # more than four roundings of a float near 1
_ENDS = {"l_sum": -math.inf, "u_sum": math.inf}  # of help tables, whose bounds are rounded outwards
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


def _shown(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = kind_of(column.type)
    if kind in ("date", "timestamp"):
        return column.cast(pa.string())
    if kind != "decimal":
        return column
    floats = column.cast(pa.string()).cast(pa.float64())
    end = _ENDS.get(name)
    return floats if end is None else _rounded(column, floats, end)


def _rounded(exact: pa.ChunkedArray, floats: pa.ChunkedArray, end: float) -> pa.ChunkedArray:
    """Floats that stand for bounds, beyond 2**53 the next towards an end where one has rounded."""
    found = []
    for value, near in zip(exact.to_pylist(), floats.to_pylist(), strict=True):
        beyond = near is not None and abs(near) > LARGEST_WHOLE
        within = beyond and (Decimal(near) > value if end < 0 else Decimal(near) < value)
        found.append(math.nextafter(near, end) if within else near)
    return pa.chunked_array([pa.array(found, pa.float64())])


def _outwards(bound: exp.Expr, is_upper: bool) -> exp.Expr:
    """A bound made of sums, further out by more than they can have rounded where they are floats.

    A sum of n floats is off by at most n - 1 roundings of the sum of their sizes.
    """
    sizes = [
        exp.Sum(this=exp.Abs(this=exp.Mul(this=exp.paren(of.this), expression=_number("1.0"))))
        for of in bound.find_all(exp.Sum)
    ]
    size = reduce(lambda left, right: exp.Add(this=left, expression=right), sizes, _number("0.0"))
    kind = exp.Anonymous(this="TYPEOF", expressions=[bound.copy()])
    inexact = exp.and_(
        exp.EQ(this=kind, expression=exp.Literal.string("real")),
        exp.GT(this=size.copy(), expression=_number(str(LARGEST_WHOLE))),
    )
    rows = exp.Add(this=exp.Count(this=exp.Star()), expression=_number("3"))
    spare = reduce(
        lambda left, right: exp.Mul(this=left, expression=right),
        [exp.paren(size), exp.paren(rows), _number(_ROUNDING)],
    )
    out = (exp.Add if is_upper else exp.Sub)(this=exp.paren(bound), expression=spare)
    return exp.Case().when(inexact, out).else_(bound.copy())


def _number(text: str) -> exp.Expr:
    return exp.Literal.number(text)


def _connect(address: "URL") -> tuple[Any, Callable[[], None]]:
    own, close = connect_by_sqlalchemy(address, "sqlite", {})
    own.isolation_level = None
    return own, close


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    shown = pa.table({column: _shown(table[column], column) for column in table.column_names})
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
        outwards=_outwards,
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
