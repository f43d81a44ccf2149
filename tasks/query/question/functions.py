"""Calculations on the values of one row: an allow-list of what is the same whenever it is done.

DuckDB calculates them, and holds their arguments to its types. Nothing here draws a number, asks
for the time, or reads anything but its arguments.
"""

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.sql.constructs.names import construct
from sfumato.tasks.sql.constructs.refusals import refusal
from sfumato.tasks.sql.parse import number_of

_BINARY = frozenset({"this", "expression"})
_MANY = frozenset({"this", "expressions"})
_ONE = frozenset({"this"})

_ALLOWED: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Column: _ONE,
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _ONE,
    exp.Null: frozenset(),
    exp.Paren: _ONE,
    exp.Neg: _ONE,
    exp.Not: _ONE,
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Pow), _BINARY),
    **dict.fromkeys((exp.And, exp.Or, exp.Is), _BINARY),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), _BINARY),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    **dict.fromkeys((exp.Like, exp.ILike), frozenset({"this", "expression", "negate"})),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: _MANY,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _ONE,
    **dict.fromkeys((exp.Abs, exp.Sign, exp.Sqrt, exp.Exp, exp.Ln), _ONE),
    exp.Round: frozenset({"this", "decimals"}),
    **dict.fromkeys((exp.Floor, exp.Ceil), _ONE),
    **dict.fromkeys((exp.Lower, exp.Upper), _ONE),
    exp.Length: frozenset({"this", "binary", "encoding"}),
    exp.Trim: _ONE,
    exp.Substring: frozenset({"this", "start", "length"}),
    **dict.fromkeys((exp.Left, exp.Right, exp.StartsWith), _BINARY),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Coalesce: frozenset({"this", "expressions", "is_nvl", "is_null"}),
    exp.Nullif: _BINARY,
    **dict.fromkeys((exp.Greatest, exp.Least), frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Extract: _BINARY,
    exp.Var: _ONE,
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Week), _ONE),
    **dict.fromkeys((exp.DayOfWeek, exp.DayOfYear), _ONE),
    exp.DateTrunc: frozenset({"unit", "this", "zone"}),
    exp.TimestampTrunc: frozenset({"this", "unit", "zone"}),
}
_KINDS = frozenset(
    {"INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "DECIMAL", "TEXT", "VARCHAR"}
    | {"DATE", "TIMESTAMP", "TIMESTAMPNTZ", "BOOLEAN", "UNKNOWN"}
)
_LISTED = 1_000


def require_calculation(node: exp.Expr) -> None:
    """Hold an expression to what may be calculated of a row.

    Raises:
        QueryError: naming what is not allowed.
    """
    for part in node.walk():
        allowed = _ALLOWED.get(type(part))
        if allowed is None:
            raise refusal(part)
        for key, value in part.args.items():
            if value and key not in allowed:
                raise refusal(key, f" in {construct(part)}")
        if isinstance(part, exp.DataType) and part.this.value not in _KINDS:
            raise QueryError(
                "not allowed: a CAST to such a type: a value is a number, a text, a moment or a "
                "truth value; CAST to INTEGER, DECIMAL, DOUBLE, VARCHAR, DATE or TIMESTAMP"
            )
        if isinstance(part, exp.In) and len(part.expressions) > _LISTED:
            raise QueryError(f"IN takes 1 to {_LISTED:,} literals")


_NEVER_NULL = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Paren, exp.Var),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Floor, exp.Ceil, exp.Abs, exp.Round, exp.Sign),
    *(exp.Not, exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Like, exp.ILike),
    *(exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Left, exp.Right),
    *(exp.StartsWith, exp.Concat, exp.DPipe, exp.Coalesce, exp.Greatest, exp.Least),
    *(exp.Extract, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Week, exp.If),
    *(exp.Cast, exp.DataType, exp.DataTypeParam),
)
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)


def may_be_null(node: exp.Expr) -> bool:
    """Decide whether a calculation may come to null where none of its columns is null.

    >>> import sqlglot
    >>> texts = "age / 10", "10 / age", "NULLIF(age, 0)"
    >>> [may_be_null(sqlglot.parse_one(text)) for text in texts]
    [False, True, True]
    """
    return any(map(_makes_null, node.walk()))


def _makes_null(part: exp.Expr) -> bool:
    """Decide whether a part of a calculation may be null where none of its own parts is."""
    if isinstance(part, exp.Case):
        return part.args.get("default") is None
    if isinstance(part, _DIVISIONS):
        return not number_of(part.expression.unnest())
    if isinstance(part, exp.If) and not isinstance(part.parent, exp.Case):
        return part.args.get("false") is None
    return not isinstance(part, _NEVER_NULL)


_SAME_WAY = (exp.Paren, exp.Floor, exp.Ceil, exp.Round, exp.Sqrt, exp.Exp, exp.Ln, exp.Year)


def direction(node: exp.Expr) -> int:
    """Return 1 where a calculation never falls as its one column grows, -1 where it never rises.

    0 is returned where neither is known.

    >>> import sqlglot
    >>> [direction(sqlglot.parse_one(text)) for text in ("FLOOR(age / 10)", "5 - age", "age % 2")]
    [1, -1, 0]
    """
    if isinstance(node, exp.Column):
        return 1
    if isinstance(node, _SAME_WAY):
        return direction(node.this)
    if isinstance(node, exp.Neg):
        return -direction(node.this)
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.IntDiv):
        return 0
    left, right = node.this, node.expression
    first, second = number_of(left.unnest()), number_of(right.unnest())
    if second is not None:
        scaled = isinstance(node, exp.Mul | exp.Div | exp.IntDiv)
        return direction(left) * (_sign(second) if scaled else 1)
    if first is None or isinstance(node, exp.Div | exp.IntDiv):
        return 0
    times = _sign(first) if isinstance(node, exp.Mul) else -1 if isinstance(node, exp.Sub) else 1
    return direction(right) * times


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)
