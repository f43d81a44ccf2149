"""Formulas as one query over the bounds of the questions that they are calculated from.

A formula is what an answer shows in one column: an aggregate (`Plain`), an aggregate over several
sets of rows (`Pooled`), rows that count among others (`AmongRows`), or a calculation. Its ends are
its lower and its upper bound; they are computed in SQL as `bounds/pooling.py` does.

Each set of rows is a question of its own. The innermost query has the bounds of all questions in a
row for each row of the answer. The next one computes ends of formulas, or whole dividends and
divisors, and the outermost one divides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce

from sqlglot import exp

from sfumato.tasks.query.bounds import arithmetic, pooling
from sfumato.tasks.query.question.formulas import (
    AmongRows,
    Calculation,
    Constant,
    Formula,
    PartAggregate,
    Plain,
    Pooled,
)
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.inquiry import Inquiry, Measure, RowWindow
from sfumato.tasks.query.question.question import BOUNDS, ROWS, Aggregate, GroupColumn, Question
from sfumato.tasks.query.sql.side_by_side import Writer, number_columns, same_keys
from sfumato.tasks.query.sql.trees import alias, join, own, quotient_bound, select

Ends = tuple[exp.Expr, exp.Expr]
"""The lower and the upper end of a formula."""
Columns = Callable[[PartAggregate], Ends]
"""Returns the columns with the bounds of a question's aggregate."""
_POOLED = frozenset({"count", "sum", "min", "max"})  # aggregates that databases can pool


def why_not_written(formula: Formula, types: Callable[[str], str]) -> str | None:
    """Return the reason why databases cannot be given a formula; None if they can.

    Args:
        formula: any formula.
        types: returns the type of a column.
    """
    if isinstance(formula, Pooled):
        return _why_not_pooled(formula, types)
    if isinstance(formula, Plain):
        return None
    times, inner = factor_of(formula)
    if not isinstance(inner, AmongRows) or not times:
        return "a calculation with aggregates"
    if inner.function not in (pooling.proportion, pooling.count_among):
        return "SUM or AVG of a CASE that returns a column"
    parts = (inner.part, inner.others, inner.rows)
    if not all(isinstance(part, Plain | Pooled | Constant) for part in parts):
        return "a share of a total over all groups"
    return next((why for part in parts if (why := _why_not_counted(part, types))), None)


def _why_not_counted(formula: Formula, types: Callable[[str], str]) -> str | None:
    return None if isinstance(formula, Constant) else why_not_written(formula, types)


def _why_not_pooled(formula: Pooled, types: Callable[[str], str]) -> str | None:
    where = "where OR joins conditions on columns that are published separately"
    if formula.name not in _POOLED:
        return f"{formula.name.upper()} {where}"
    if formula.name in ("min", "max") and len(formula.values) > 2:
        return f"{formula.name.upper()} {where} (more than two sets of rows)"
    if formula.name == "sum" and types(str(formula.values[0].aggregate.sensitive)) == "float":
        return f"SUM of floats {where}"
    return None


def factor_of(formula: Formula) -> tuple[Fraction, Formula]:
    """Return a constant and the formula that it multiplies; the constant may be 1."""
    if isinstance(formula, Calculation) and formula.function is arithmetic.multiply:
        first, second = formula.operands
        if isinstance(first, Constant):
            times, inner = factor_of(second)
            return first.value * times, inner
        if isinstance(second, Constant):
            times, inner = factor_of(first)
            return second.value * times, inner
    return Fraction(1), formula


@dataclass(frozen=True)
class Quotients:
    """Both ends of a formula as quotients of whole numbers; an end is null if its divisor is.

    Attributes:
        over: the dividends.
        under: the divisors.
    """

    over: Ends
    under: Ends


def quotients_of(formula: Formula, columns: Columns) -> Quotients | None:
    """Return both ends of a proportion, times a constant; None for other formulas."""
    times, inner = factor_of(formula)
    if not isinstance(inner, AmongRows) or inner.function is not pooling.proportion:
        return None
    part, others, rows = (
        _ends(operand, columns) for operand in (inner.part, inner.others, inner.rows)
    )
    most = _least(others[1], _less(rows[1], part[0]))
    fewest = _greatest(others[0], _less(rows[0], part[1]))
    low, high = _shares(part[0], most, rows[1], 1), _shares(part[1], fewest, rows[1], 0)
    first, last = (low, high) if times > 0 else (high, low)
    return Quotients(
        (_times(first[0], times.numerator), _times(last[0], times.numerator)),
        (_times(first[1], times.denominator), _times(last[1], times.denominator)),
    )


def _shares(part: exp.Expr, others: exp.Expr, rows: exp.Expr, alone: int) -> Ends:
    """Return the dividend and the divisor of the share of a part among itself and others.

    If neither has rows, they are `alone` (1 or 0) and 1. The divisor is null if no row (`rows`) is
    selected at all.
    """
    all_ = _plus(part, others)
    none = _is_zero(all_)
    over = exp.Case(ifs=[exp.If(this=none, true=_number(alone))], default=part.copy())
    no_rows = exp.If(this=_is_zero(rows), true=exp.Null())
    under = exp.Case(ifs=[no_rows, exp.If(this=none.copy(), true=_number(1))], default=all_.copy())
    return over, under


def ends_of(formula: Formula, columns: Columns) -> Ends:
    """Return both ends of a formula that is no proportion."""
    times, inner = factor_of(formula)
    low, high = _ends(inner, columns)
    if times == 1:
        return low, high
    scaled = [_scale(end, times) for end in (low, high)]
    return (scaled[0], scaled[1]) if times > 0 else (scaled[1], scaled[0])


def _ends(formula: Formula, columns: Columns) -> Ends:
    """Return both ends of a formula without a factor; those of a constant are 0.

    Raises:
        TypeError: for a calculation, which is not written.
    """
    if isinstance(formula, Constant):
        return _number(0), _number(0)
    if isinstance(formula, Plain):
        return columns(formula.operand)
    if isinstance(formula, Pooled):
        return _pool(formula, columns)
    if isinstance(formula, AmongRows):
        return _count_among(formula, columns)
    raise TypeError(formula)


def _count_among(formula: AmongRows, columns: Columns) -> Ends:
    """Return both ends of a count among others, which is null if there are neither."""
    parts = (formula.part, formula.others, formula.rows)
    (low, high), others, rows = (_ends(part, columns) for part in parts)
    # never is there a row that does not count, so at least 1 counts where the count is not null
    alone = exp.and_(_is_zero(rows[0]), _is_zero(others[1]), _is_zero(low))
    low = exp.Case(ifs=[exp.If(this=alone, true=_number(1))], default=low)
    return _unless(_is_zero(rows[1]), low), _unless(_is_zero(rows[1]), high)


def _pool(formula: Pooled, columns: Columns) -> Ends:
    """Return both ends of an aggregate over several sets of rows."""
    values, counts = (
        [columns(aggregate) for aggregate in all_] for all_ in (formula.values, formula.counts)
    )
    if formula.name in ("min", "max"):
        return _extremes(values, counts, formula.name)
    added = formula.name == "sum"
    terms = [_or_zero(*pair) for pair in zip(values, counts, strict=True)] if added else values
    low, high = (reduce(_plus, ends) for ends in zip(*terms, strict=True))
    if formula.whole is not None:
        low, high = _narrow(formula, formula.whole, (low, high), columns)
    if not added:
        return low, high
    nothing = exp.and_(*(_is_null(value[0]) for value in values))
    return _unless(nothing, low), _unless(nothing, high)


def _narrow(formula: Pooled, whole: PartAggregate, ends: Ends, columns: Columns) -> Ends:
    """Return the ends, narrowed by the aggregate of a larger set of rows (`whole`).

    If the other rows of that set are a question, too, the ends are narrowed by the difference.
    """
    low, high = ends
    all_ = columns(whole)
    if formula.name == "count":
        high = _least(high, all_[1])
    if formula.rest is None:
        return low, high
    rest = columns(formula.rest)
    if formula.name == "sum":
        rest = _or_zero(rest, columns(PartAggregate(formula.rest.part, ROWS)))
        all_ = _or_zero(all_, columns(PartAggregate(whole.part, ROWS)))
    return _greatest(low, _less(all_[0], rest[1])), _least(high, _less(all_[1], rest[0]))


def counts_beside(formula: Formula) -> list[PartAggregate]:
    """Return the numbers of rows that the ends of a formula need in addition to its aggregates."""
    _, inner = factor_of(formula)
    if isinstance(inner, AmongRows):
        parts = (inner.part, inner.others, inner.rows)
        return [aggregate for part in parts for aggregate in counts_beside(part)]
    return [PartAggregate(aggregate.part, ROWS) for aggregate in inner.aggregates]


def _or_zero(value: Ends, count: Ends) -> Ends:
    """Return the ends of a sum that is 0 if it is of no values.

    Args:
        value: the ends of the sum, null over no values.
        count: the ends of the number of rows.
    """
    ends = []
    for end, beyond in ((value[0], exp.GT), (value[1], exp.LT)):
        none = exp.If(this=_is_null(end), true=_number(0))
        crossed = exp.and_(_is_zero(count[0]), beyond(this=end.copy(), expression=_number(0)))
        some = exp.If(this=crossed, true=_number(0))
        ends.append(exp.Case(ifs=[none, some], default=end.copy()))
    return ends[0], ends[1]


def _extremes(values: Sequence[Ends], counts: Sequence[Ends], name: str) -> Ends:
    """Return the ends of a MIN or MAX of two parts.

    The best value of either part may be reached. Only values that are surely there limit the other
    end.
    """
    better, worse = (_least, _greatest) if name == "min" else (_greatest, _least)
    near, far = (0, 1) if name == "min" else (1, 0)
    best = _of_some(better, *(ends[near] for ends in values))
    sure = [
        _unless(_is_zero(count[0]), value[far]) for value, count in zip(values, counts, strict=True)
    ]
    far_end = exp.Coalesce(
        this=_of_some(better, *sure),
        expressions=[_of_some(worse, *(ends[far] for ends in values))],
    )
    return (best, far_end) if name == "min" else (far_end, best)


def _of_some(choose: Callable[..., exp.Expr], first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """Return the chosen one of two values, or the one that is not null."""
    only = exp.If(this=_is_null(first), true=second.copy())
    other = exp.If(this=_is_null(second), true=first.copy())
    return exp.Case(ifs=[only, other], default=choose(first, second))


def _least(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    return _choose(exp.LTE, first, second)


def _greatest(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    return _choose(exp.GTE, first, second)


def _choose(comparison: type[exp.Binary], first: exp.Expr, second: exp.Expr) -> exp.Expr:
    test = comparison(this=exp.paren(first.copy()), expression=exp.paren(second.copy()))
    return exp.Case(ifs=[exp.If(this=test, true=first.copy())], default=second.copy())


def _unless(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return a value, or null if a condition holds."""
    return exp.Case(ifs=[exp.If(this=condition, true=exp.Null())], default=value.copy())


def _plus(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    return exp.Add(this=exp.paren(first.copy()), expression=exp.paren(second.copy()))


def _less(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    return exp.Sub(this=exp.paren(first.copy()), expression=exp.paren(second.copy()))


def _times(value: exp.Expr, number: int) -> exp.Expr:
    if number == 1:
        return value.copy()
    return exp.Mul(this=exp.paren(value.copy()), expression=_number(number))


def _scale(value: exp.Expr, times: Fraction) -> exp.Expr:
    return _times(value, times.numerator)


def _number(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def _is_zero(value: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.paren(value.copy()), expression=_number(0))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.Null())


_ANSWER, _PART, _BESIDE, _MADE = "asked", "part_{}", "beside", "made"


@dataclass(frozen=True)
class FormulaQuery:
    """The query for the bounds of an inquiry's formulas.

    Attributes:
        inquiry: an inquiry without HAVING; all of its formulas can be written.
        write: returns the query of one question.
    """

    inquiry: Inquiry
    write: Writer

    def tree(self, reading: Reading) -> exp.Select:
        """Return the query; with the reading "possible" it includes rows that may not exist."""
        keys = range(len(self.inquiry.keys))
        made: list[exp.Expr] = [alias(own(f"k{n}", _BESIDE), f"k{n}") for n in keys]
        selected: list[exp.Expr] = []
        for number, item in enumerate(self.inquiry.shown):
            if isinstance(item, GroupColumn):
                place = [key.name for key in self.inquiry.keys].index(item.name)
                selected.append(alias(own(f"k{place}", _MADE), item.label, quoted=True))
            elif isinstance(item, Measure) and not isinstance(item.formula, RowWindow):
                columns, ends = self._formula_columns(item.formula, number)
                made += columns
                names = (f"{item.label}_{end}" for end in BOUNDS)
                selected += [
                    alias(bound, name, quoted=True) for bound, name in zip(ends, names, strict=True)
                ]
        inner = exp.select(*made, copy=False).from_(self._joined_bounds(), copy=False)
        condition = self._group_condition(reading)
        inner = inner if condition is None else inner.where(condition, copy=False)
        return select(selected, inner.subquery(_MADE, copy=False))

    def _formula_columns(self, formula: Formula, number: int) -> tuple[list[exp.Expr], Ends]:
        """Return the columns that a formula needs, and its ends over these."""
        overs, unders = (
            [f"{prefix}{number}_{end}" for end in BOUNDS] for prefix in ("over", "under")
        )
        quotients = quotients_of(formula, self._columns)
        if quotients is None:
            ends = ends_of(formula, self._columns)
            columns: list[exp.Expr] = list(map(alias, ends, overs))
            return columns, (own(overs[0], _MADE), own(overs[1], _MADE))
        both = zip((*quotients.over, *quotients.under), (*overs, *unders), strict=True)
        low, high = (
            quotient_bound(own(above, _MADE), own(below, _MADE), upper=upper)
            for above, below, upper in zip(overs, unders, (False, True), strict=True)
        )
        return [alias(column, name) for column, name in both], (low, high)

    def _columns(self, aggregate: PartAggregate) -> Ends:
        """Return the columns with the bounds of an aggregate in the innermost query."""
        place = self._aggregates[aggregate.part].index(aggregate.aggregate)
        low, high = (own(f"p{aggregate.part}_{place}_{end}", _BESIDE) for end in BOUNDS)
        return low, high

    @cached_property
    def _aggregates(self) -> Mapping[int, Sequence[Aggregate]]:
        """All aggregates that are asked of each part, by its number; ROWS comes first."""
        by_part: dict[int, list[Aggregate]] = {}
        for formula in (*self.inquiry.formulas, self.inquiry.present):
            for part_aggregate in (*counts_beside(formula), *formula.aggregates):
                aggregates = by_part.setdefault(part_aggregate.part, [ROWS])
                if part_aggregate.aggregate not in aggregates:
                    aggregates.append(part_aggregate.aggregate)
        return by_part

    def _joined_bounds(self) -> exp.Subquery:
        """Return the bounds of all questions, in a row for each row of the answer."""
        names = tuple(key.name for key in self.inquiry.keys)
        base = self.inquiry.parts[self._base].question(names).with_aggregates([ROWS])
        columns: list[exp.Expr] = [alias(own(f"k{n}", _ANSWER), f"k{n}") for n in range(len(names))]
        query = exp.select().from_(self._rows(base, _ANSWER), copy=False)
        for number, aggregates in self._aggregates.items():
            part, table = self.inquiry.parts[number], _PART.format(number)
            question = part.question(names if part.grouped else ())
            question = question.with_aggregates(aggregates)
            same = same_keys(question, _ANSWER, table)
            join(query, self._rows(question, table), same, "LEFT")
            columns += _bounds_of(number, aggregates, table)
        return query.select(*columns, append=False, copy=False).subquery(_BESIDE, copy=False)

    @property
    def _base(self) -> int:
        """The number of the part that has every row of the answer."""
        present = self.inquiry.present
        return present.whole.part if isinstance(present, Pooled) and present.whole else 0

    def _rows(self, question: Question, name: str) -> exp.Subquery:
        """Return the query of a question's bounds under a name, with numbered columns."""
        calculated = {column.name: column.expression for column in self.inquiry.calculated}
        numbered = replace(number_columns(question, question.aggregates), calculated=calculated)
        return self.write(numbered, "possible").subquery(name, copy=False)

    def _group_condition(self, reading: Reading) -> exp.Expr | None:
        """Return the condition that a group possibly or certainly has rows."""
        if not self.inquiry.keys:
            return None
        low, high = ends_of(self.inquiry.present, self._columns)
        end = low if reading == "certain" else high
        return exp.GT(this=exp.paren(end), expression=exp.Literal.number(0))


def _bounds_of(number: int, aggregates: Sequence[Aggregate], table: str) -> list[exp.Expr]:
    """Return the columns of a question's bounds; counts are 0 where it has no row."""
    columns: list[exp.Expr] = []
    for place, aggregate in enumerate(aggregates):
        for end in BOUNDS:
            bound: exp.Expr = own(f"a{place}_{end}", table)
            if aggregate.kind.counts_rows:
                bound = exp.Coalesce(this=bound, expressions=[exp.Literal.number(0)])
            columns.append(alias(bound, f"p{number}_{place}_{end}"))
    return columns
