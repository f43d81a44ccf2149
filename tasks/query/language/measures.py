"""What is calculated of aggregates, as formulas over those of an inquiry's parts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.language.aggregates import (
    Call,
    Narrowed,
    number_of,
    read_call,
    without_case,
)
from sfumato.tasks.query.language.calculations import Calculations
from sfumato.tasks.query.language.parts import PartList
from sfumato.tasks.query.question import formulas
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.question.formulas import (
    Calculation,
    Constant,
    Existing,
    Formula,
    Plain,
    pool,
)
from sfumato.tasks.query.question.having import Having
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import construct, quote_name

_NUMBERS = ("integer", "decimal", "float")
_ZERO = Constant(Fraction(0))
_OF_TWO: Mapping[type[exp.Expr], Callable[..., Bounds]] = {
    exp.Add: formulas.add,
    exp.Sub: formulas.subtract,
    exp.Mul: formulas.multiply,
    exp.Div: formulas.divide,
}
_COMPARED: Mapping[str, type] = {"date": date, "timestamp": datetime, "string": str}


class Measures:
    """Reads what is calculated of aggregates, and asks parts for these."""

    def __init__(self, parts: PartList, calculations: Calculations) -> None:
        """Ask nothing yet."""
        self._parts, self._calculations = parts, calculations

    def formula(self, node: exp.Expr) -> Formula:
        """The formula of an expression with aggregates in it.

        Raises:
            QueryError: naming what is not allowed.
        """
        bare = node.unnest() if isinstance(node, exp.Paren) else node
        call = read_call(bare)
        if call is not None:
            return self._of_call(call)
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
            named = formulas.negate if isinstance(node, exp.Neg) else formulas.absolute
            return Calculation(named, (self._number(node.this),))
        if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
            return Calculation(formulas.coalesce, self._with_constant(node, node.expressions[0]))
        if isinstance(node, exp.Nullif):
            operands = self._with_constant(node, node.expression)
            null_if = formulas.null_if_whole if self._is_whole(operands[0]) else formulas.null_if
            return Calculation(null_if, operands)
        if isinstance(node, exp.Round):
            return Calculation(
                formulas.round_off, self._with_constant(node, node.args.get("decimals"))
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
        mean = self._mean(left, right)
        if mean is not None:
            return mean
        if isinstance(left, Calculation) and left.function is formulas.multiply:
            first, second = left.operands
            for times, rest in ((first, second), (second, first)):
                inner = self._mean(rest, right) if isinstance(times, Constant) else None
                if inner is not None:
                    return Calculation(formulas.multiply, (times, inner))
        divide = formulas.divide_by_whole if self._is_whole(right) else formulas.divide
        return Calculation(divide, (left, right))

    def _is_whole(self, formula: Formula) -> bool:
        columns = self._calculations.terms.columns
        return formulas.is_whole(formula, lambda name: columns[name].type == "integer")

    def _mean(self, left: Formula, right: Formula) -> Formula | None:
        if not isinstance(left, Plain) or not isinstance(right, Plain):
            return None
        over, under = left.of, right.of
        same = over.part == under.part and over.aggregate.function == "sum"
        if (
            not same
            or over.aggregate.weight is not None
            or not under.aggregate.kind.counts_rows
            or under.aggregate.distinct
        ):
            return None
        if self._calculations.terms.columns[str(over.aggregate.sensitive)].nulls:
            return None
        return Plain(
            self._asked(over.part, Call(AGGREGATES["avg"], None), over.aggregate.sensitive)
        )

    def _of_call(self, call: Call) -> Formula:
        narrowed = without_case(call)
        if narrowed is not None:
            return self._of_case(call, narrowed)
        if call.of is None:
            return self._pooled(call, None, call.where)
        weighted = self._weighted(call)
        if weighted is not None:
            return weighted
        if call.descending:
            opposite = replace(call, of=exp.Neg(this=exp.paren(call.of)), descending=False)
            return Calculation(formulas.negate, (self._of_call(opposite),))
        name = self._calculations.column(call.of).name
        column = self._calculations.terms.columns[name]
        where = call.where
        if column.nulls and not self._beside_labels(name):
            where = _and_there(where, name)
        if call.kind.counts_rows and not call.distinct:
            return self._pooled(call, name if self._beside_labels(name) else None, where)
        self._require_type(call, name, column.type)
        return self._pooled(call, name, where)

    def _weighted(self, call: Call) -> Formula | None:
        """The sum of a sensitive column times one that is published as it is; None of no such."""
        terms = self._calculations.terms
        factors = (call.of.this, call.of.expression) if isinstance(call.of, exp.Mul) else ()
        way = WAYS[terms.form.shows]
        if call.kind.name != "sum" or not (way.shows_rows and factors):
            return None
        if "sensitive" not in way.calculable:
            return None
        bare = [factor.unnest() for factor in factors]
        apart = [self._is_sensitive(factor) for factor in bare]
        if sorted(apart) != [False, True] or not all(f.find(exp.Column) for f in bare):
            return None
        value, other = bare if apart[0] else bare[::-1]
        if not isinstance(value, exp.Column):
            return None
        weight = self._calculations.column(other).name
        self._require_type(call, weight, terms.columns[value.name].type)
        nullable = self._calculations.terms.columns[weight].nulls
        where = _and_there(call.where, weight) if nullable else call.where
        parts = self._parts.over(where)
        aggregate = Aggregate("sum", value.name, f"sum({value.name})", weight=weight)
        values = tuple(self._parts.ask(part, aggregate, exact=True) for part in parts)
        if len(parts) == 1:
            return Plain(values[0])
        return pool("sum", values, tuple(self._parts.ask(part, ROWS) for part in parts))

    def _is_sensitive(self, node: exp.Expr) -> bool:
        columns = self._calculations.terms.columns
        return any(columns[c.name].role == "sensitive" for c in node.find_all(exp.Column))

    def _beside_labels(self, name: str) -> bool:
        """Whether values, and nulls, stand in rows beside labels, where engines count them."""
        terms = self._calculations.terms
        way = WAYS[terms.form.shows]
        return way.groups_by_sensitive and terms.columns[name].role in way.calculable

    def _require_type(self, call: Call, name: str, type_: ColumnType) -> None:
        if type_ not in call.kind.takes:
            what = quote_name(name) if name.isprintable() else "what is calculated"
            raise QueryError(f"{call.kind.called} takes numbers, and {what} is of type {type_}")

    def _pooled(self, call: Call, name: str | None, where: exp.Expr | None) -> Formula:
        parts = self._parts.over(where)
        values = tuple(self._asked(part, call, name) for part in parts)
        if len(parts) == 1:
            return Plain(values[0])
        if call.distinct:
            raise QueryError("COUNT(DISTINCT …) is not answered where OR joins such conditions")
        counts = tuple(self._parts.ask(part, ROWS) for part in parts)
        return pool(call.kind.name, values, counts)

    def _asked(self, part: int, call: Call, name: str | None) -> formulas.AskedOfPart:
        """The aggregate over a part: bounds, or exact values where those stand in rows."""
        if name is None:
            return self._parts.ask(part, ROWS)
        terms = self._calculations.terms
        way = WAYS[terms.form.shows]
        label = f"{call.kind.name}({name})"
        aggregate = Aggregate(call.kind.name, name, label, call.distinct, call.share)
        exact = terms.columns[name].role != "sensitive" and way.shows_rows
        if call.distinct and not exact:
            raise QueryError(
                "not allowed: COUNT(DISTINCT …): how many different values the selected rows have "
                "is not bounded"
            )
        if not exact:
            way.aggregated(call.kind, name, terms)
        return self._parts.ask(part, aggregate, exact=exact)

    def _of_case(self, call: Call, narrowed: Narrowed) -> Formula:
        """What a CASE comes to, where it says which rows count."""
        value = self._of_call(narrowed.call)
        if narrowed.otherwise == "share":
            times = Calculation(formulas.multiply, (Constant(narrowed.times), value))
            return Calculation(formulas.divide, (times, self._pooled(call, None, call.where)))
        if narrowed.otherwise == "null" and narrowed.call.kind.counts_rows:
            value = Calculation(formulas.null_if_whole, (value, _ZERO))
        if narrowed.times != 1:
            value = Calculation(formulas.multiply, (Constant(narrowed.times), value))
        if narrowed.otherwise == "zero" and call.kind.name == "sum":
            filled = Calculation(formulas.coalesce, (value, _ZERO))
            return Existing(filled, self._pooled(call, None, call.where))
        return value

    def _type(self, formula: Formula) -> ColumnType:
        """The type of what a formula comes to."""
        if not isinstance(formula, Plain):
            return "float"
        of = formula.of.aggregate
        column = self._calculations.terms.columns.get(str(of.sensitive))
        return of.kind.returns("integer" if column is None else column.type)


def _and_there(where: exp.Expr | None, name: str) -> exp.Expr:
    """A condition, and that a column is not null."""
    there = exp.Not(this=exp.Is(this=exp.column(name, quoted=True), expression=exp.Null()))
    return there if where is None else exp.and_(where.copy(), there, copy=False)


def _called(formula: Formula) -> str:
    return formula.of.aggregate.kind.called if isinstance(formula, Plain) else "a calculation"
