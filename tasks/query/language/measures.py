"""What is calculated of aggregates, as formulas over those of an inquiry's parts."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds import arithmetic
from sfumato.tasks.query.bounds import arithmetic as monotone
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.language.aggregates import read_call
from sfumato.tasks.query.language.calls import AggregateCalls
from sfumato.tasks.query.language.identities import ZERO, Counted, divisor_of, is_whole
from sfumato.tasks.query.language.parts import PartList
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.formulas import Calculation, Constant, Formula, Plain
from sfumato.tasks.query.question.having import Having
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import number_of
from sfumato.tasks.sql.refusals import construct, refusal, refusal_of_aggregates

_NUMBERS = ("integer", "decimal", "float")
_OF_NUMBERS: Mapping[type[exp.Expr], Callable[..., Bounds]] = {
    exp.Add: arithmetic.add,
    exp.Sub: arithmetic.subtract,
    exp.Mul: arithmetic.multiply,
    exp.Neg: arithmetic.negate,
    exp.Abs: arithmetic.absolute,
    exp.Floor: monotone.round_down,
    exp.Ceil: monotone.round_up,
    exp.Sqrt: monotone.root,
    exp.Greatest: monotone.greatest,
    exp.Least: monotone.least,
}
_WITH_CONSTANT: Mapping[type[exp.Expr], tuple[Callable[..., Bounds], str]] = {
    exp.Coalesce: (arithmetic.coalesce, "expressions"),
    exp.Round: (arithmetic.round_off, "decimals"),
    exp.Nullif: (arithmetic.null_if, "expression"),
}
"""Functions of an aggregate and a constant, and where in the tree that stands."""
_OF_WHOLE = {
    arithmetic.null_if: arithmetic.null_if_whole,
    arithmetic.divide: arithmetic.divide_by_whole,
}
"""What more is known where the number that is null, or divides, is whole."""
_TOTALS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Sum: frozenset({"count", "sum"}),
    exp.Min: frozenset({"min"}),
    exp.Max: frozenset({"max"}),
}
"""Aggregates over the rows of an answer, and of what they are what they are over all rows."""
_CASTS = exp.DataType.INTEGER_TYPES
_COMPARED: Mapping[str, type] = {"date": date, "timestamp": datetime, "string": str}


class Measures:
    """Reads what is calculated of aggregates, and asks parts for these."""

    def __init__(self, parts: PartList, calculations: Calculations) -> None:
        """Ask how many rows are `present`, and nothing more yet."""
        self._parts, self._calculations = parts, calculations
        self._calls = AggregateCalls(parts, calculations)
        self._totals: dict[Formula, Counted | None] = {}
        self.present = self._calls.rows

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
        if isinstance(bare, exp.Window):
            return self._total(bare)
        if isinstance(bare, exp.Subquery):
            return self._apart(bare.this)
        return self._calculation(bare)

    def _total(self, window: exp.Window) -> Formula:
        """The total over all rows of the answer: SUM(SUM(x)) OVER ()."""
        outer = window.this
        inner = read_call(outer.this.unnest()) if type(outer) in _TOTALS else None
        said = {key for key, value in window.args.items() if value} - {"this", "over"}
        if inner is None or said or inner.distinct or inner.kind.name not in _TOTALS[type(outer)]:
            raise refusal(window)
        found = AggregateCalls(self._parts.together(), self._calculations).formula(inner)
        in_cell = self._calls.counted(self._calls.formula(inner))
        if in_cell is not None and in_cell.count == self._calls.formula(inner):
            self._totals[found] = in_cell
        return found

    def _apart(self, select: exp.Select) -> Formula:
        """The answer of a query among values, which reads all rows of the microdata."""
        where = select.args.get("where")
        conditions = [] if where is None else [where.this]
        measures = Measures(self._parts.together(conditions), self._calculations)
        found = measures.formula(select.expressions[0])
        if where is None and found == measures.present:
            self._totals[found] = None
        return found

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
        if isinstance(node, exp.Div):
            return self._quotient(self._number(node.this), self._number(node.expression))
        if type(node) in _OF_NUMBERS:
            self._require_plain(node)
            operands = tuple(map(self._number, node.iter_expressions()))
            return Calculation(_OF_NUMBERS[type(node)], operands)
        if isinstance(node, exp.Coalesce) and not node.expressions:
            return self._number(node.this)
        if type(node) in _WITH_CONSTANT:
            function, place = _WITH_CONSTANT[type(node)]
            value, constant = self._number(node.this), _constant(node, node.args.get(place))
            found = Calculation(self._of_whole(function, value), (value, constant))
            is_filled = function is arithmetic.coalesce and constant == ZERO
            return self._calls.filled(value, found) if is_filled else found
        if isinstance(node, exp.Cast) and node.to.this in _CASTS:
            return Calculation(monotone.to_whole, (self._number(node.this),))
        if isinstance(node, exp.Cast) and node.to.this in exp.DataType.FLOAT_TYPES:
            return self._number(node.this)
        raise refusal_of_aggregates(node)

    def _require_plain(self, node: exp.Expr) -> None:
        """Refuse what a function is told besides its operands, as decimals of FLOOR."""
        for key in ("decimals", "to"):
            if node.args.get(key):
                raise refusal(key, f" in {construct(node)}")

    def _of_whole(self, function: Callable[..., Bounds], formula: Formula) -> Callable[..., Bounds]:
        """Return what stands for a function where a formula surely comes to whole numbers."""
        whole = is_whole(formula, self._calculations.terms)
        return _OF_WHOLE.get(function, function) if whole else function

    def _number(self, node: exp.Expr) -> Formula:
        found = self.formula(node)
        type_ = self._type(found)
        if type_ not in _NUMBERS:
            raise QueryError(
                f"arithmetic takes numbers alone, not {_called(found)} of type {type_}"
            )
        return found

    def _quotient(self, left: Formula, right: Formula) -> Formula:
        """Return a quotient, as a mean or a proportion where it is one."""
        divisor = divisor_of(right)
        narrower = self._narrower_quotient(left, divisor)
        if narrower is not None:
            return narrower
        if isinstance(left, Calculation) and left.function is arithmetic.multiply:
            first, second = left.operands
            for times, rest in ((first, second), (second, first)):
                is_multiple = isinstance(times, Constant)
                inner = self._narrower_quotient(rest, divisor) if is_multiple else None
                if inner is not None:
                    return Calculation(arithmetic.multiply, (times, inner))
        return Calculation(self._of_whole(arithmetic.divide, divisor), (left, divisor))

    def _narrower_quotient(self, left: Formula, right: Formula) -> Formula | None:
        """Return the mean, or the proportion, that a quotient is; None where it is neither."""
        if right in self._totals:
            return self._calls.proportion_of_total(left, right, self._totals[right])
        return self._calls.proportion(left, right) or self._calls.mean(left, right)

    def _type(self, formula: Formula) -> ColumnType:
        """The type of what a formula comes to."""
        if not isinstance(formula, Plain):
            return "float"
        of = formula.of.aggregate
        column = self._calculations.terms.columns.get(str(of.sensitive))
        return of.kind.returns("integer" if column is None else column.type)


def _constant(node: exp.Expr, given: Any) -> Constant:
    """The number besides an aggregate, 0 where there may be none; of several, COALESCE's first."""
    other = given[0] if isinstance(given, list) else given
    number = Fraction(0) if other is None else number_of(other.unnest())
    if number is None:
        raise QueryError(f"{construct(node)} of an aggregate takes a number besides")
    return Constant(number)


def _called(formula: Formula) -> str:
    return formula.of.aggregate.kind.called if isinstance(formula, Plain) else "a calculation"
