"""Calculations with aggregates, as formulas over the aggregates of an inquiry's parts."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
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
"""Functions of an aggregate and a constant, and the key of the constant in the tree."""
_OF_WHOLE = {
    arithmetic.null_if: arithmetic.null_if_whole,
    arithmetic.divide: arithmetic.divide_by_whole,
}
"""Narrower functions for a divisor, or a number compared in NULLIF, that is whole."""
_TOTALS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Sum: frozenset({"count", "sum"}),
    exp.Min: frozenset({"min"}),
    exp.Max: frozenset({"max"}),
}
"""Aggregates over the rows of an answer: of these inner aggregates they are that over all rows."""
_CASTS = exp.DataType.INTEGER_TYPES
_COMPARED: Mapping[str, type] = {"date": date, "timestamp": datetime, "string": str}


class Measures:
    """Reads calculations with aggregates, and asks parts for the aggregates in them."""

    def __init__(
        self, parts: PartList, calculations: Calculations, keys: Mapping[exp.Expr, str]
    ) -> None:
        """Ask only for the number of rows, as `present`.

        Args:
            parts: the sets of rows.
            calculations: the calculated columns.
            keys: the columns that totals may be divided by, by their expressions.
        """
        self._parts, self._calculations, self._keys = parts, calculations, keys
        self._calls = AggregateCalls(parts, calculations)
        self._totals: dict[Formula, Counted | None] = {}
        self.present = self._calls.rows

    def formula(self, node: exp.Expr) -> Formula:
        """Return the formula of an expression that contains aggregates.

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
            return self._subquery(bare.this)
        return self._calculation(bare)

    def _total(self, window: exp.Window) -> Formula:
        """Return the total over all rows of the answer, or of a partition: SUM(SUM(x)) OVER ()."""
        outer = window.this
        inner = read_call(outer.this.unnest()) if type(outer) in _TOTALS else None
        further = {key for key, value in window.args.items() if value} - {
            "this",
            "over",
            "partition_by",
        }
        if (
            inner is None
            or further
            or inner.distinct
            or inner.kind.name not in _TOTALS[type(outer)]
        ):
            raise refusal(window)
        together = self._parts.together(partition=self._partition(window))
        total = AggregateCalls(together, self._calculations).formula(inner)
        in_cell = self._calls.as_count(self._calls.formula(inner))
        if in_cell is not None and in_cell.count == self._calls.formula(inner):
            self._totals[total] = in_cell
        return total

    def _partition(self, window: exp.Window) -> tuple[str, ...]:
        """Return the group columns in which the rows of a window agree."""
        nodes = [node.unnest() for node in window.args.get("partition_by") or ()]
        if any(node not in self._keys for node in nodes):
            raise QueryError(
                "PARTITION BY of a total needs columns of GROUP BY, and none whose values are "
                "published apart from rows. Ask for the total in a query of its own"
            )
        return tuple(dict.fromkeys(self._keys[node] for node in nodes))

    def _subquery(self, select: exp.Select) -> Formula:
        """Return the answer of a scalar subquery, which reads all rows of the microdata."""
        where = select.args.get("where")
        conditions = [] if where is None else [where.this]
        measures = Measures(self._parts.together(conditions), self._calculations, {})
        formula = measures.formula(select.expressions[0])
        if where is None and formula == measures.present:
            self._totals[formula] = None
        return formula

    def require_comparable(self, having: Having) -> None:
        """Require that every comparison is of a value with a constant of the value's kind.

        Raises:
            QueryError: if one is not.
        """
        for comparison in having.comparisons:
            type_ = self._type(comparison.aggregate)
            if type(comparison.value) is not _COMPARED.get(type_, Fraction):
                called = _name(comparison.aggregate)
                raise QueryError(
                    f"HAVING: {called} of type {type_} cannot be compared with this "
                    "constant. Write a constant of that type"
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
            calculation = Calculation(self._of_whole(function, value), (value, constant))
            is_filled = function is arithmetic.coalesce and constant == ZERO
            return self._calls.note_filled(value, calculation) if is_filled else calculation
        if isinstance(node, exp.Cast) and node.to.this in _CASTS:
            return Calculation(monotone.to_whole, (self._number(node.this),))
        if isinstance(node, exp.Cast) and node.to.this in exp.DataType.FLOAT_TYPES:
            return self._number(node.this)
        raise refusal_of_aggregates(node)

    def _require_plain(self, node: exp.Expr) -> None:
        """Refuse arguments of a function other than its operands, such as decimals of FLOOR."""
        for key in ("decimals", "to"):
            if node.args.get(key):
                raise refusal(key, f" in {construct(node)}")

    def _of_whole(self, function: Callable[..., Bounds], formula: Formula) -> Callable[..., Bounds]:
        """Return the narrower function for formulas that are surely whole numbers."""
        whole = is_whole(formula, self._calculations.terms)
        return _OF_WHOLE.get(function, function) if whole else function

    def _number(self, node: exp.Expr) -> Formula:
        formula = self.formula(node)
        type_ = self._type(formula)
        if type_ not in _NUMBERS:
            raise QueryError(f"arithmetic needs numbers, but {_name(formula)} has type {type_}")
        return formula

    def _quotient(self, numerator: Formula, denominator: Formula) -> Formula:
        """Return a quotient, as a mean or a proportion if it equals one."""
        divisor = divisor_of(denominator)
        narrower = self._narrower_quotient(numerator, divisor)
        if narrower is not None:
            return narrower
        if isinstance(numerator, Calculation) and numerator.function is arithmetic.multiply:
            first, second = numerator.operands
            for times, rest in ((first, second), (second, first)):
                is_multiple = isinstance(times, Constant)
                inner = self._narrower_quotient(rest, divisor) if is_multiple else None
                if inner is not None:
                    return Calculation(arithmetic.multiply, (times, inner))
        return Calculation(self._of_whole(arithmetic.divide, divisor), (numerator, divisor))

    def _narrower_quotient(self, numerator: Formula, denominator: Formula) -> Formula | None:
        """Return the mean, or the proportion, that a quotient equals; None if it equals neither."""
        if denominator in self._totals:
            return self._calls.proportion_of_total(
                numerator, denominator, self._totals[denominator]
            )
        return self._calls.proportion(numerator, denominator) or self._calls.mean(
            numerator, denominator
        )

    def _type(self, formula: Formula) -> ColumnType:
        """Return the type of a formula's value."""
        if not isinstance(formula, Plain):
            return "float"
        aggregate = formula.operand.aggregate
        column = self._calculations.terms.columns.get(str(aggregate.sensitive))
        return aggregate.kind.returns("integer" if column is None else column.type)


def _constant(node: exp.Expr, operand: Any) -> Constant:
    """Return the number beside an aggregate: 0 if it is left out, and the first one of COALESCE."""
    other = operand[0] if isinstance(operand, list) else operand
    number = Fraction(0) if other is None else number_of(other.unnest())
    if number is None:
        raise QueryError(
            f"{construct(node)} of an aggregate needs a constant number as its second argument"
        )
    return Constant(number)


def _name(formula: Formula) -> str:
    return (
        formula.operand.aggregate.kind.sql_name if isinstance(formula, Plain) else "a calculation"
    )
