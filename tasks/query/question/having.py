"""HAVING in its two readings: rows of an answer that surely, and that possibly, are wanted.

A comparison of an aggregate with a constant is certain where all values between its bounds keep it,
and possible where some does. What is certain is in the answer: a group is only where it surely has
rows, while without GROUP BY there is one row of the answer, be it of no rows at all.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds, Value
from sfumato.tasks.sql.parse import number_of
from sfumato.tasks.sql.refusals import construct

Reading = Literal["certain", "possible"]
Operator = Literal["<", "<=", ">", ">=", "=", "<>"]

_OPERATORS: Mapping[type[exp.Expr], Operator] = {
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.EQ: "=",
    exp.NEQ: "<>",
}
_MIRRORED: Mapping[Operator, Operator] = {
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "=": "=",
    "<>": "<>",
}
_NEGATED: Mapping[Operator, Operator] = {
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "=": "<>",
    "<>": "=",
}
_COMPARED: Mapping[Operator, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST = 100


@dataclass(frozen=True)
class Comparison:
    """An aggregate, or what is calculated of some, compared with a constant.

    The constant is written as `literal` in SQL. In the clause of a question all are aggregates.
    """

    aggregate: Any
    operator: Operator
    value: Value
    literal: exp.Expr

    @property
    def comparisons(self) -> list["Comparison"]:
        """Itself."""
        return [self]

    @property
    def aggregates(self) -> list[Any]:
        """What is compared."""
        return [self.aggregate]

    def holds(self, bounds: Mapping[Any, Bounds], reading: Reading) -> bool:
        """Decide whether it surely, or possibly, holds; an answer that is null keeps nothing."""
        found = bounds[self.aggregate]
        low, high = found.lower, found.upper
        if found.unbounded:
            return reading == "possible"
        if low is None or high is None or (found.may_be_empty and reading == "certain"):
            return False
        if self.operator == "=":
            inside = low <= self.value <= high  # type: ignore[operator]
            return inside if reading == "possible" else low == high == self.value
        if self.operator == "<>":
            alone = low == high == self.value
            return not alone if reading == "possible" else not low <= self.value <= high  # type: ignore[operator]
        end = (low, high)[(self.operator[0] == ">") == (reading == "possible")]
        return _COMPARED[self.operator](end, self.value)


@dataclass(frozen=True)
class Joined:
    """Comparisons joined by AND or OR; a negation was pushed down to them."""

    kind: Literal["and", "or"]
    parts: tuple["Having", ...]

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons."""
        return [comparison for part in self.parts for comparison in part.comparisons]

    @property
    def aggregates(self) -> list[Any]:
        """All that is compared."""
        return [comparison.aggregate for comparison in self.comparisons]

    def holds(self, bounds: Mapping[Any, Bounds], reading: Reading) -> bool:
        """Decide whether it surely, or possibly, holds, each comparison taken by itself."""
        each = (part.holds(bounds, reading) for part in self.parts)
        return all(each) if self.kind == "and" else any(each)


Having = Comparison | Joined
Reader = Callable[[exp.Expr], Any]
"""Reads an aggregate, or what is calculated of some."""


def read_having(condition: exp.Expr, aggregate: Reader) -> Having:
    """The comparisons of a condition on groups; `aggregate` reads what stands in their sides.

    Raises:
        QueryError: naming what is not allowed.
    """
    having = _read(condition, aggregate, negated=False)
    if len(having.aggregates) > _MOST:
        raise QueryError(f"HAVING takes at most {_MOST} comparisons")
    return having


def on_groups(having: Having) -> Having:
    """The same clause about groups, which are in an answer with at least one row.

    So `COUNT(*) = 0` is never possible, and `COUNT(*) <> 1` means `COUNT(*) > 1`.
    """
    if isinstance(having, Joined):
        return replace(having, parts=tuple(on_groups(part) for part in having.parts))
    aggregate, value = having.aggregate, having.value
    if not getattr(aggregate, "counts_all_rows", False):
        return having
    if having.operator == "<>" and value == 1:
        return replace(having, operator=">")
    too_few = value < 1 or (having.operator == "<" and value == 1)  # type: ignore[operator]
    if having.operator in ("<", "<=", "=") and too_few:
        zero = exp.Literal.number(0)
        return replace(having, operator="<", value=Fraction(0), literal=zero)
    return having


def _read(node: exp.Expr, aggregate: Reader, *, negated: bool) -> Having:
    if isinstance(node, exp.Paren):
        return _read(node.this, aggregate, negated=negated)
    if isinstance(node, exp.Not):
        return _read(node.this, aggregate, negated=not negated)
    if isinstance(node, exp.And | exp.Or):
        both = node.this, node.args["expression"]
        parts = tuple(_read(part, aggregate, negated=negated) for part in both)
        return Joined("and" if isinstance(node, exp.And) != negated else "or", parts)
    if isinstance(node, exp.Between):
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
        return _read(exp.And(this=low, expression=high), aggregate, negated=negated)
    if isinstance(node, exp.In) and node.expressions:
        equal = (exp.EQ(this=node.this.copy(), expression=one) for one in node.expressions)
        return _read(exp.or_(*equal, copy=False), aggregate, negated=negated)
    if type(node) not in _OPERATORS:
        raise QueryError(f"HAVING takes comparisons of aggregates, not {construct(node)}")
    return _comparison(node, aggregate, negated=negated)


def _comparison(node: exp.Expr, aggregate: Reader, *, negated: bool) -> Comparison:
    sides: Sequence[exp.Expr] = (node.this, node.args["expression"])
    kind = _OPERATORS[type(node)]
    first, second = (side.find(exp.AggFunc) is not None for side in sides)
    if first and second:
        difference = exp.Sub(this=exp.paren(sides[0].copy()), expression=exp.paren(sides[1].copy()))
        sides = (difference, exp.Literal.number(0))
    elif second:
        sides, kind = sides[::-1], _MIRRORED[kind]
    elif not first:
        raise QueryError("HAVING compares an aggregate with a constant")
    value = _constant(sides[1])
    return Comparison(aggregate(sides[0]), _NEGATED[kind] if negated else kind, value, sides[1])


def _constant(node: exp.Expr) -> Value:
    number = number_of(node)
    if number is not None:
        return number
    if isinstance(node, exp.Literal):
        return node.name
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return _moment(node)
    raise QueryError(f"HAVING compares an aggregate with a constant, not {construct(node)}")


def _moment(node: exp.Cast) -> date:
    try:
        if node.to.this == exp.DataType.Type.DATE:
            return date.fromisoformat(node.this.name)
        return datetime.fromisoformat(node.this.name)
    except ValueError:
        raise QueryError("HAVING: an invalid DATE or TIMESTAMP") from None
