"""What is calculated of aggregates, as formulas over those of an inquiry's parts."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds import arithmetic
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.language.aggregates import (
    number_of,
    read_call,
)
from sfumato.tasks.query.language.calls import AggregateCalls
from sfumato.tasks.query.language.parts import PartList
from sfumato.tasks.query.question import formulas
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.formulas import (
    Calculation,
    Constant,
    Formula,
    Plain,
)
from sfumato.tasks.query.question.having import Having
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import construct

_NUMBERS = ("integer", "decimal", "float")
_ZERO = Constant(Fraction(0))
_OF_TWO: Mapping[type[exp.Expr], Callable[..., Bounds]] = {
    exp.Add: arithmetic.add,
    exp.Sub: arithmetic.subtract,
    exp.Mul: arithmetic.multiply,
    exp.Div: arithmetic.divide,
}
_COMPARED: Mapping[str, type] = {"date": date, "timestamp": datetime, "string": str}


class Measures:
    """Reads what is calculated of aggregates, and asks parts for these."""

    def __init__(self, parts: PartList, calculations: Calculations) -> None:
        """Ask nothing yet."""
        self._calculations = calculations
        self._calls = AggregateCalls(parts, calculations)

    def formula(self, node: exp.Expr) -> Formula:
        """The formula of an expression with aggregates in it.

        Raises:
            QueryError: naming what is not allowed.
        """
        bare = node.unnest() if isinstance(node, exp.Paren) else node
        call = read_call(bare)
        if call is not None:
            return self._calls.formula(call)
        constant = number_of(bare)
        if constant is not None:
            return Constant(constant)
        return self._calculation(bare)

    def require_comparable(self, having: Having) -> None:
        """Make sure that every comparison is of a value with a constant of its own kind.

        Raises:
            QueryError: where one is not.
        """
        for comparison in having.comparisons:
            type_ = self._type(comparison.aggregate)
            if type(comparison.value) is not _COMPARED.get(type_, Fraction):
                called = _called(comparison.aggregate)
                raise QueryError(
                    f"HAVING: {called} of type {type_} is not comparable with this constant"
                )

    def _calculation(self, node: exp.Expr) -> Formula:
        function = _OF_TWO.get(type(node))
        if function is not None:
            left, right = (self._number(part) for part in (node.this, node.args["expression"]))
            if isinstance(node, exp.Div):
                return self._quotient(left, right)
            return Calculation(function, (left, right))
        if isinstance(node, exp.Neg | exp.Abs):
            named = arithmetic.negate if isinstance(node, exp.Neg) else arithmetic.absolute
            return Calculation(named, (self._number(node.this),))
        if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
            return Calculation(arithmetic.coalesce, self._with_constant(node, node.expressions[0]))
        if isinstance(node, exp.Nullif):
            operands = self._with_constant(node, node.expression)
            null_if = (
                arithmetic.null_if_whole if self._is_whole(operands[0]) else arithmetic.null_if
            )
            return Calculation(null_if, operands)
        if isinstance(node, exp.Round):
            return Calculation(
                arithmetic.round_off, self._with_constant(node, node.args.get("decimals"))
            )
        if isinstance(node, exp.Cast) and node.to.this in exp.DataType.FLOAT_TYPES:
            return self._number(node.this)
        raise QueryError(f"not allowed: {construct(node)} of aggregates")

    def _number(self, node: exp.Expr) -> Formula:
        found = self.formula(node)
        type_ = self._type(found)
        if type_ not in _NUMBERS:
            raise QueryError(
                f"arithmetic takes numbers alone, not {_called(found)} of type {type_}"
            )
        return found

    def _with_constant(self, node: exp.Expr, other: exp.Expr | None) -> tuple[Formula, Formula]:
        given = Fraction(0) if other is None else number_of(other.unnest())
        if given is None:
            raise QueryError(f"{construct(node)} of an aggregate takes a number besides")
        return self._number(node.this), Constant(given)

    def _quotient(self, left: Formula, right: Formula) -> Formula:
        """A quotient; that of a sum by the number of its values is their mean."""
        mean = self._calls.mean(left, right)
        if mean is not None:
            return mean
        if isinstance(left, Calculation) and left.function is arithmetic.multiply:
            first, second = left.operands
            for times, rest in ((first, second), (second, first)):
                inner = self._calls.mean(rest, right) if isinstance(times, Constant) else None
                if inner is not None:
                    return Calculation(arithmetic.multiply, (times, inner))
        divide = arithmetic.divide_by_whole if self._is_whole(right) else arithmetic.divide
        return Calculation(divide, (left, right))

    def _is_whole(self, formula: Formula) -> bool:
        columns = self._calculations.terms.columns
        return formulas.is_whole(formula, lambda name: columns[name].type == "integer")

    def _type(self, formula: Formula) -> ColumnType:
        """The type of what a formula comes to."""
        if not isinstance(formula, Plain):
            return "float"
        of = formula.of.aggregate
        column = self._calculations.terms.columns.get(str(of.sensitive))
        return of.kind.returns("integer" if column is None else column.type)


def _called(formula: Formula) -> str:
    return formula.of.aggregate.kind.called if isinstance(formula, Plain) else "a calculation"
