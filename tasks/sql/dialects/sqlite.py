"""SQLite, which has neither moments nor decimals: texts and floats represent them."""

import math
import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.tasks.sql.dialects.common import (
    glob_of,
    insert_rows,
    kind_of,
    misfitting_floats,
    misfitting_moments,
    misfitting_zeros,
)
from sfumato.tasks.sql.dialects.dialect import (
    Access,
    Dialect,
    Kind,
    Spelling,
    Storage,
)
from sfumato.tasks.sql.dialects.outward import (
    Arithmetic,
    Numeric,
    add,
    as_double,
    multiply,
    number,
    step_out,
    sum_of_floats,
    sum_within,
)

if TYPE_CHECKING:
    from sfumato.tasks.sql.dialects.address import Address

REAL_DIGITS = 15
"""The most digits of a number that is stored exactly."""
LARGEST_WHOLE = 2**53
"""The largest number up to which every whole number is a float."""
_PLACE, _FAR = 2**32, 2**30  # the low bits of an integer; high bits that leave no room for them
_ENDS = {"l_sum": -math.inf, "u_sum": math.inf}  # of help tables, whose bounds are rounded outwards
_BOOLEAN = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind="BOOLEAN")
"""A type only by its name: sqlglot would write INTEGER."""


def _matches(text: exp.Expr, pattern: str, any_case: bool) -> exp.Expr:
    glob = exp.Literal.string(glob_of(pattern, any_case=any_case))
    return exp.Glob(this=text, expression=glob)


def _modulo_refused(kind: Kind, _: bool) -> str | None:
    return None if kind == "integer" else "% of numbers other than integers"


def _misfit(column: pa.ChunkedArray, kind: str, exact: bool) -> str | None:
    if kind == "decimal" and exact and not _is_real(column):
        return f"decimals with more than {REAL_DIGITS} digits, the most that SQLite stores exactly"
    of_kind = misfitting_zeros, misfitting_floats, misfitting_moments
    return next((rule for rule in (find(column, kind) for find in of_kind) if rule), None)


def _is_real(column: pa.ChunkedArray) -> bool:
    """Return whether decimals have few enough digits for a float to tell them apart."""
    largest: Decimal = pc.max(pc.abs(column)).as_py()
    return largest.scaleb(column.type.scale) < Decimal(10**REAL_DIGITS)


def _as_stored(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = kind_of(column.type)
    if kind in ("date", "timestamp"):
        return column.cast(pa.string())
    if kind != "decimal":
        return column
    floats = column.cast(pa.string()).cast(pa.float64())
    end = _ENDS.get(name)
    return floats if end is None else _round_outwards(column, floats, end)


def _round_outwards(exact: pa.ChunkedArray, floats: pa.ChunkedArray, end: float) -> pa.ChunkedArray:
    """Return floats as bounds: those beyond 2**53 that were rounded inwards move towards an end."""
    rounded = []
    for value, near in zip(exact.to_pylist(), floats.to_pylist(), strict=True):
        beyond = near is not None and abs(near) > LARGEST_WHOLE
        within = beyond and (Decimal(near) > value if end < 0 else Decimal(near) < value)
        rounded.append(math.nextafter(near, end) if within else near)
    return pa.chunked_array([pa.array(rounded, pa.float64())])


def _whole(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    return as_double(exp.Div(this=over.copy(), expression=under.copy(), typed=True, safe=False))


def _rest(over: exp.Expr, under: exp.Expr, _: Numeric) -> exp.Expr:
    return exp.Mod(this=over.copy(), expression=under.copy())


def _total(sums: Sequence[exp.Expr], upper: bool) -> exp.Expr:
    """Return a sum of integers by the sums of their high and low bits, which cannot be too long."""
    high, low = (add(*(_of_bits(term, bits) for term in sums)) for bits in (_high, _low))
    whole = add(multiply(exp.paren(high), number(_PLACE)), low)
    as_float = add(multiply(exp.paren(high.copy()), number(f"{_PLACE}.0")), low.copy())
    far = exp.GTE(this=exp.Abs(this=high.copy()), expression=number(_FAR))
    ifs = [exp.If(this=far, true=step_out(as_float, upper))]
    column = sum_within(sums[0]).this
    if isinstance(column, exp.Column):  # of a help table, whose sums may be floats
        types = exp.Anonymous(this="TYPEOF", expressions=[column.copy()])
        floats = sum_of_floats(sums, upper)
        ifs.insert(0, exp.If(this=_is_real_type(exp.Max(this=types)), true=floats))
    return exp.Case(ifs=ifs, default=whole)


def _of_bits(node: exp.Expr, bits: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return a SUM of values, or their products with counts, with only some of the values' bits."""
    whole = node.copy()
    summed = sum_within(whole)
    products = (product.this for product in summed.find_all(exp.Mul))
    values = [summed.this] if isinstance(summed.this, exp.Column) else list(products)
    for value in values:
        value.replace(exp.paren(bits(value.copy())))
    return whole


def _high(value: exp.Expr) -> exp.Expr:
    return exp.BitwiseRightShift(this=value, expression=number(32))


def _low(value: exp.Expr) -> exp.Expr:
    return exp.BitwiseAnd(this=value, expression=number(_PLACE - 1))


def _may_be_floats(value: exp.Expr) -> exp.Expr:
    return _is_real_type(exp.Anonymous(this="TYPEOF", expressions=[value.copy()]))


def _is_real_type(kind: exp.Expr) -> exp.Expr:
    return exp.EQ(this=kind, expression=exp.Literal.string("real"))


def _connect(address: "Address") -> tuple[Any, Callable[[], None]]:
    own = sqlite3.connect(address.database, isolation_level=None)
    return own, own.close


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    stored = pa.table({column: _as_stored(table[column], column) for column in table.column_names})
    insert_rows(connection, "sqlite", name, stored, "?")


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
    arithmetic=Arithmetic(
        whole=_whole,
        rest=_rest,
        total=_total,
        decimals=False,
        may_be_floats=_may_be_floats,
    ),
)
