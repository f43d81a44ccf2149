"""HAVING in its two readings: the rows of an answer that certainly meet it, or possibly.

A comparison of an aggregate with a constant is certain if all values between its bounds meet it,
and possible if some value does. A certain row must be in the answer: a group is certain only if it
surely has rows, while without GROUP BY the answer always has one row, even of no rows at all.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
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
    """A comparison of an aggregate, or of a calculation with aggregates, with a constant.

    `literal` is the constant in SQL. In the clause of a question every left side is an aggregate.
    """

    aggregate: Any
    operator: Operator
    value: Value
    literal: exp.Expr

    @property
    def comparisons(self) -> list["Comparison"]:
        """The comparison itself."""
        return [self]

    @property
    def aggregates(self) -> list[Any]:
        """The compared aggregate."""
        return [self.aggregate]

    def holds(self, bounds: Mapping[Any, Bounds], reading: Reading) -> bool:
        """Decide whether it surely, or possibly, holds; a null answer meets no comparison."""
        ends = bounds[self.aggregate]
        low, high = ends.lower, ends.upper
        if ends.unbounded:
            return reading == "possible"
        if low is None or high is None or (ends.may_be_empty and reading == "certain"):
            return False
        if self.operator == "=":
            inside = low <= self.value <= high  # type: ignore[operator]
            return inside if reading == "possible" else low == high == self.value
        if self.operator == "<>":
            single = low == high == self.value
            return not single if reading == "possible" else not low <= self.value <= high  # type: ignore[operator]
        end = (low, high)[(self.operator[0] == ">") == (reading == "possible")]
        return _COMPARED[self.operator](end, self.value)


@dataclass(frozen=True)
class Joined:
    """Comparisons joined by AND or OR; a negation is pushed down to them."""

    kind: Literal["and", "or"]
    parts: tuple["Having", ...]

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons."""
        return [comparison for part in self.parts for comparison in part.comparisons]

    @property
    def aggregates(self) -> list[Any]:
        """All compared aggregates."""
        return [comparison.aggregate for comparison in self.comparisons]

    def holds(self, bounds: Mapping[Any, Bounds], reading: Reading) -> bool:
        """Decide whether it surely, or possibly, holds; each comparison is decided separately."""
        each = (part.holds(bounds, reading) for part in self.parts)
        return all(each) if self.kind == "and" else any(each)


Having = Comparison | Joined
Reader = Callable[[exp.Expr], Any]
"""Reads an aggregate, or a calculation with aggregates."""


def read_having(condition: exp.Expr, aggregate: Reader) -> Having:
    """Return the comparisons of a condition on groups; `aggregate` reads their sides.

    Raises:
        QueryError: naming what is not allowed.
    """
    having = _read(condition, aggregate, negated=False)
    if len(having.aggregates) > _MOST:
        raise QueryError(f"HAVING may have at most {_MOST} comparisons")
    return having


def on_groups(having: Having) -> Having:
    """Return the same clause for groups, which have at least one row in an answer.

    Therefore `COUNT(*) = 0` is never possible, and `COUNT(*) <> 1` means `COUNT(*) > 1`.
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
        equal = (exp.EQ(this=node.this.copy(), expression=member) for member in node.expressions)
        return _read(exp.or_(*equal, copy=False), aggregate, negated=negated)
    if type(node) not in _OPERATORS:
        raise QueryError(f"HAVING needs comparisons of aggregates, not {construct(node)}")
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
        raise QueryError("HAVING must compare an aggregate with a constant")
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
    raise QueryError(f"HAVING must compare an aggregate with a constant, not {construct(node)}")


def _moment(node: exp.Cast) -> date:
    try:
        if node.to.this == exp.DataType.Type.DATE:
            return date.fromisoformat(node.this.name)
        return datetime.fromisoformat(node.this.name)
    except ValueError:
        raise QueryError(
            "HAVING: this DATE or TIMESTAMP is not valid. Write it like DATE '2026-01-31'"
        ) from None
