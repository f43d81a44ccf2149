"""Identities that replace a formula by a narrower one, each with its preconditions.

A CASE inside an aggregate is a condition on rows, a quotient may be a mean or a proportion, and a
sum may be a whole number. Both sides of each identity are the same under SQL's semantics wherever
its preconditions hold. This module is the only place that decides these preconditions: which
expressions are null, which constants occur, whether a column is weighted, and which rows a number
counts. A formula that no identity covers is bounded by interval arithmetic.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds.arithmetic import (
    absolute,
    add,
    coalesce,
    multiply,
    negate,
    null_if,
    null_if_whole,
    subtract,
)
from sfumato.tasks.query.bounds.pooling import count_among, sum_among
from sfumato.tasks.query.language.aggregates import Call, is_constant, narrow
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.query.question.formulas import (
    AmongRows,
    Calculation,
    Constant,
    Existing,
    Formula,
)
from sfumato.tasks.sql.parse import number_of
from sfumato.tasks.terms.terms import Terms

ZERO = Constant(Fraction(0))


@dataclass(frozen=True)
class Cased:
    """A CASE with one condition.

    Attributes:
        condition: of the CASE.
        then: the value of rows on which the condition holds.
        otherwise: the value of the other rows; None if it is null.
    """

    condition: exp.Expr
    then: exp.Expr
    otherwise: exp.Expr | None


def read_case(node: exp.Expr | None) -> Cased | None:
    """Return a CASE, or an IF, with one condition; None if the node is none."""
    if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        (only,) = node.args["ifs"]
        return Cased(only.this, only.args["true"].unnest(), _default(node.args.get("default")))
    if isinstance(node, exp.If):
        return Cased(node.this, node.args["true"].unnest(), _default(node.args.get("false")))
    return None


def _default(node: exp.Expr | None) -> exp.Expr | None:
    bare = None if node is None else node.unnest()
    return None if isinstance(bare, exp.Null) else bare


@dataclass(frozen=True)
class Narrowed:
    """An aggregate of a CASE, as an aggregate over the rows on which its condition holds.

    Attributes:
        call: over these rows; it counts them if each has the same number.
        condition: of the CASE; None if all rows have the number.
        all_rows: the condition on all rows in addition to WHERE.
        times: the number of each of these rows; 1 if they have values of their own.
        otherwise: the number of each other row; None if it is null.
    """

    call: Call
    condition: exp.Expr | None
    all_rows: exp.Expr | None
    times: Fraction
    otherwise: Fraction | None


def without_case(call: Call) -> Narrowed | None:
    """Return the call as one over fewer rows; None if no identity covers it.

    SUM(a) is a × COUNT(*). COUNT, SUM, AVG and any other aggregate of CASE WHEN c THEN x END are
    those aggregates of x over the rows on which c holds, since aggregates leave out nulls. With
    ELSE b, a number, COUNT counts all rows, and SUM and AVG add b for each row on which c is not
    true. A call with DISTINCT is not replaced.
    """
    constant = number_of(call.argument)
    if call.kind.name == "sum" and constant is not None:
        return Narrowed(_counting(call), None, call.where, constant, None)
    cased = read_case(call.argument)
    if cased is None or call.distinct:
        return None
    return _OF_CASE.get(call.kind.name, _other_case)(call, cased)


def _counted_case(call: Call, cased: Cased) -> Narrowed | None:
    if cased.otherwise is None:
        if isinstance(cased.then, exp.Null):
            nothing = narrow(_counting(call), exp.false())
            return Narrowed(nothing, None, call.where, Fraction(1), None)
        if is_constant(cased.then):
            return _narrowed_case(_counting(call), cased)
        return _narrowed_case(replace(call, argument=cased.then), cased)
    never_null = is_constant(cased.then) and not isinstance(cased.then, exp.Null)
    if never_null and is_constant(cased.otherwise):
        return Narrowed(_counting(call), None, call.where, Fraction(1), None)
    return None


def _summed_case(call: Call, cased: Cased) -> Narrowed | None:
    number = number_of(cased.then)
    otherwise = None if cased.otherwise is None else number_of(cased.otherwise)
    if cased.otherwise is not None and otherwise is None:
        return None
    if number is not None:
        return _narrowed_case(_counting(call), cased, number, otherwise)
    if is_constant(cased.then) or otherwise:
        return None
    return _narrowed_case(replace(call, argument=cased.then), cased, Fraction(1), otherwise)


def _other_case(call: Call, cased: Cased) -> Narrowed | None:
    if cased.otherwise is not None or is_constant(cased.then):
        return None
    return _narrowed_case(replace(call, argument=cased.then), cased)


def _narrowed_case(
    call: Call, cased: Cased, times: Fraction = Fraction(1), otherwise: Fraction | None = None
) -> Narrowed:
    part = narrow(call, cased.condition)
    return Narrowed(part, cased.condition, call.where, times, otherwise)


def _counting(call: Call) -> Call:
    return replace(call, kind=AGGREGATES["count"], argument=None)


_OF_CASE: Mapping[str, Callable[[Call, Cased], Narrowed | None]] = {
    "count": _counted_case,
    "sum": _summed_case,
    "avg": _summed_case,
}
"""Aggregates with further identities; of others only that they leave out nulls is used."""


@dataclass(frozen=True)
class RowSet:
    """Rows of an answer's cells.

    Attributes:
        where: the condition on them in addition to WHERE; None if there is none.
        values_of: a column in which they have values, if engines leave out its nulls.
    """

    where: exp.Expr | None
    values_of: str | None = None

    @property
    def conditions(self) -> Mapping[str, exp.Expr]:
        """The conjuncts of the condition, by their text."""
        parts = [] if self.where is None else conjuncts(self.where)
        return {part.unnest().sql("duckdb"): part.unnest() for part in parts}


@dataclass(frozen=True)
class Counted:
    """A formula that is a number of rows times a constant.

    Attributes:
        count: the number of rows, as a formula.
        rows: the counted rows.
        times: the constant.
        needs: the formula is null without any of these rows; None if it is never null.
    """

    count: Formula
    rows: RowSet
    times: Fraction = Fraction(1)
    needs: RowSet | None = None


def is_mean(summed: RowSet, counted: Counted) -> bool:
    """Decide whether SUM(x) over some rows, divided by a count, is AVG(x): both need the same rows.

    Rows with null in x must be left out of both or of neither.
    """
    return (
        counted.times == 1
        and summed.values_of == counted.rows.values_of
        and set(summed.conditions) == set(counted.rows.conditions)
    )


def further_conditions(part: RowSet, all_: RowSet) -> list[exp.Expr] | None:
    """Return the conditions on some rows in addition to those on a larger set of rows.

    Returns None if the larger set is not sure to contain the rows.
    """
    if all_.values_of is not None or part.values_of is not None:
        return None
    enclosing = all_.conditions
    if not set(enclosing) <= set(part.conditions):
        return None
    return [condition for text, condition in part.conditions.items() if text not in enclosing]


def divisor_of(formula: Formula) -> Formula:
    """Return y for a divisor NULLIF(y, 0), since a quotient by 0 is null anyway."""
    if not isinstance(formula, Calculation) or formula.function not in (null_if, null_if_whole):
        return formula
    value, instead = formula.operands
    return value if instead == ZERO else formula


def is_whole(formula: Formula, terms: Terms) -> bool:
    """Decide whether the value of a formula is surely a whole number.

    Sums of products with weights are whole if both columns are integers.
    """
    if isinstance(formula, Constant):
        return formula.value.denominator == 1
    if isinstance(formula, Existing):
        return is_whole(formula.value, terms)
    if isinstance(formula, AmongRows):
        return formula.function in _KEEPING_WHOLE_ROWS and is_whole(formula.part, terms)
    if isinstance(formula, Calculation):
        return formula.function in _KEEPING_WHOLE and all(
            is_whole(operand, terms) for operand in formula.operands
        )
    aggregate = formula.aggregates[0].aggregate
    if aggregate.kind.counts_rows:
        return True
    columns = [name for name in (aggregate.sensitive, aggregate.weight) if name is not None]
    integers = all(terms.columns[name].type == "integer" for name in columns)
    return aggregate.function in _OF_WHOLE and integers


_KEEPING_WHOLE = (add, subtract, multiply, negate, absolute, coalesce, null_if_whole)
_KEEPING_WHOLE_ROWS = (count_among, sum_among)
_OF_WHOLE = frozenset({"sum", "min", "max", "percentile_disc"})  # whole of whole numbers
