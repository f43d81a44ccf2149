"""Formulas as one query over the bounds of the questions that they are calculated of.

The ends are those of `bounds/among.py` and `bounds/pooling.py`.

Each set of rows is a question of its own. The innermost query has the bounds of all of them in a
row for each row of the answer; the next one makes ends of formulas, or whole dividends and
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
    AskedOfPart,
    Calculation,
    Constant,
    Formula,
    Plain,
    Pooled,
)
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.inquiry import Inquiry, Measure
from sfumato.tasks.query.question.question import BOUNDS, ROWS, Aggregate, GroupColumn, Question
from sfumato.tasks.query.sql.side_by_side import Written, number_columns, same_keys
from sfumato.tasks.query.sql.trees import alias, join, own, quotient_bound

Ends = tuple[exp.Expr, exp.Expr]
"""The lower and the upper end of something."""
Columns = Callable[[AskedOfPart], Ends]
"""The columns that hold the bounds of an aggregate of a question."""
_POOLED = frozenset({"count", "sum", "min", "max"})


def why_not_written(formula: Formula, types: Callable[[str], str]) -> str | None:
    """Return why databases cannot be given a formula; None where they can.

    Args:
        formula: any.
        types: the type of a column.
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
    if not all(isinstance(of, Plain | Pooled | Constant) for of in parts):
        return "a share of a total over all groups"
    return next((why for of in parts if (why := _why_not_counted(of, types))), None)


def _why_not_counted(formula: Formula, types: Callable[[str], str]) -> str | None:
    return None if isinstance(formula, Constant) else why_not_written(formula, types)


def _why_not_pooled(formula: Pooled, types: Callable[[str], str]) -> str | None:
    where = "where OR joins conditions on columns that are published apart"
    if formula.name not in _POOLED:
        return f"{formula.name.upper()} {where}"
    if formula.name in ("min", "max") and len(formula.values) > 2:
        return f"{formula.name.upper()} {where} (more than two sets of rows)"
    if formula.name == "sum" and types(str(formula.values[0].aggregate.sensitive)) == "float":
        return f"SUM of floats {where}"
    return None


def factor_of(formula: Formula) -> tuple[Fraction, Formula]:
    """Return a constant and what it multiplies; 1 where a formula is no such product."""
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
    """Both ends of a formula as quotients of whole numbers; null where a divisor is.

    Attributes:
        over: the dividends.
        under: the divisors.
    """

    over: Ends
    under: Ends


def quotients_of(formula: Formula, columns: Columns) -> Quotients | None:
    """Return both ends of a proportion, times a constant; None of what is no proportion."""
    times, inner = factor_of(formula)
    if not isinstance(inner, AmongRows) or inner.function is not pooling.proportion:
        return None
    part, others, rows = (_ends(of, columns) for of in (inner.part, inner.others, inner.rows))
    most = _least(others[1], _less(rows[1], part[0]))
    fewest = _greatest(others[0], _less(rows[0], part[1]))
    low, high = _shares(part[0], most, rows[1], 1), _shares(part[1], fewest, rows[1], 0)
    first, last = (low, high) if times > 0 else (high, low)
    return Quotients(
        (_times(first[0], times.numerator), _times(last[0], times.numerator)),
        (_times(first[1], times.denominator), _times(last[1], times.denominator)),
    )


def _shares(part: exp.Expr, others: exp.Expr, rows: exp.Expr, alone: int) -> Ends:
    """Return dividend and divisor of a part of all rows, 1 or 0 of 1 where that is of none."""
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
    scaled = [_scaled(end, times) for end in (low, high)]
    return (scaled[0], scaled[1]) if times > 0 else (scaled[1], scaled[0])


def _ends(formula: Formula, columns: Columns) -> Ends:
    if isinstance(formula, Constant):
        return _number(0), _number(0)
    if isinstance(formula, Plain):
        return columns(formula.of)
    if isinstance(formula, Pooled):
        return _pooled(formula, columns)
    if isinstance(formula, AmongRows):
        return _count_among(formula, columns)
    raise TypeError(formula)


def _count_among(formula: AmongRows, columns: Columns) -> Ends:
    parts = (formula.part, formula.others, formula.rows)
    (low, high), others, rows = (_ends(of, columns) for of in parts)
    alone = exp.and_(_is_zero(rows[0]), _is_zero(others[1]), _is_zero(low))
    low = exp.Case(ifs=[exp.If(this=alone, true=_number(1))], default=low)
    return _unless(_is_zero(rows[1]), low), _unless(_is_zero(rows[1]), high)


def _pooled(formula: Pooled, columns: Columns) -> Ends:
    values, counts = ([columns(of) for of in all_] for all_ in (formula.values, formula.counts))
    if formula.name in ("min", "max"):
        return _extremes(values, counts, formula.name)
    added = formula.name == "sum"
    terms = [_or_zero(*of) for of in zip(values, counts, strict=True)] if added else values
    low, high = (reduce(_plus, ends) for ends in zip(*terms, strict=True))
    if formula.whole is not None:
        low, high = _narrowed(formula, formula.whole, (low, high), columns)
    if not added:
        return low, high
    nothing = exp.and_(*(_is_null(value[0]) for value in values))
    return _unless(nothing, low), _unless(nothing, high)


def _narrowed(formula: Pooled, whole: AskedOfPart, ends: Ends, columns: Columns) -> Ends:
    """Return ends that the rows around, and those of them that are left out, allow."""
    low, high = ends
    all_ = columns(whole)
    if formula.name == "count":
        high = _least(high, all_[1])
    if formula.rest is None:
        return low, high
    rest = columns(formula.rest)
    if formula.name == "sum":
        rest = _or_zero(rest, columns(AskedOfPart(formula.rest.part, ROWS)))
        all_ = _or_zero(all_, columns(AskedOfPart(whole.part, ROWS)))
    return _greatest(low, _less(all_[0], rest[1])), _least(high, _less(all_[1], rest[0]))


def counts_beside(formula: Formula) -> list[AskedOfPart]:
    """Return numbers of rows that the ends of a formula need besides what it asks for."""
    _, inner = factor_of(formula)
    if isinstance(inner, AmongRows):
        parts = (inner.part, inner.others, inner.rows)
        return [asked for of in parts for asked in counts_beside(of)]
    return [AskedOfPart(asked.part, ROWS) for asked in inner.asked]


def _or_zero(value: Ends, count: Ends) -> Ends:
    """Return the ends of a sum that is 0 where it is of no values."""
    found = []
    for end, beyond in ((value[0], exp.GT), (value[1], exp.LT)):
        none = exp.If(this=_is_null(end), true=_number(0))
        crossed = exp.and_(_is_zero(count[0]), beyond(this=end.copy(), expression=_number(0)))
        some = exp.If(this=crossed, true=_number(0))
        found.append(exp.Case(ifs=[none, some], default=end.copy()))
    return found[0], found[1]


def _extremes(values: Sequence[Ends], counts: Sequence[Ends], name: str) -> Ends:
    """Return the ends of a MIN, or MAX, of two parts: only values that are sure hold it back."""
    better, worse = (_least, _greatest) if name == "min" else (_greatest, _least)
    near, far = (0, 1) if name == "min" else (1, 0)
    best = _of_some(better, *(of[near] for of in values))
    sure = [
        _unless(_is_zero(count[0]), value[far]) for value, count in zip(values, counts, strict=True)
    ]
    held = exp.Coalesce(
        this=_of_some(better, *sure),
        expressions=[_of_some(worse, *(of[far] for of in values))],
    )
    return (best, held) if name == "min" else (held, best)


def _of_some(choose: Callable[..., exp.Expr], first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """Return the chosen one of two values, or the one that is not null."""
    only = exp.If(this=_is_null(first), true=second.copy())
    other = exp.If(this=_is_null(second), true=first.copy())
    return exp.Case(ifs=[only, other], default=choose(first, second))


def _least(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return _chosen(exp.LTE, left, right)


def _greatest(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return _chosen(exp.GTE, left, right)


def _chosen(compared: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    test = compared(this=exp.paren(left.copy()), expression=exp.paren(right.copy()))
    return exp.Case(ifs=[exp.If(this=test, true=left.copy())], default=right.copy())


def _unless(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return a value, null where a condition holds."""
    return exp.Case(ifs=[exp.If(this=condition, true=exp.Null())], default=value.copy())


def _plus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Add(this=exp.paren(left.copy()), expression=exp.paren(right.copy()))


def _less(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Sub(this=exp.paren(left.copy()), expression=exp.paren(right.copy()))


def _times(value: exp.Expr, number: int) -> exp.Expr:
    if number == 1:
        return value.copy()
    return exp.Mul(this=exp.paren(value.copy()), expression=_number(number))


def _scaled(value: exp.Expr, times: Fraction) -> exp.Expr:
    return _times(value, times.numerator)


def _number(value: int) -> exp.Expr:
    found = exp.Literal.number(abs(value))
    return exp.Neg(this=found) if value < 0 else found


def _is_zero(value: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.paren(value.copy()), expression=_number(0))


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.Null())


_ANSWER, _PART, _BESIDE, _MADE = "asked", "part_{}", "beside", "made"


@dataclass(frozen=True)
class FormulaQuery:
    """The query for the bounds of an inquiry's formulas.

    Attributes:
        inquiry: without HAVING, whose formulas all can be written.
        written: makes the query of one question.
    """

    inquiry: Inquiry
    written: Written

    def tree(self, reading: Reading) -> exp.Select:
        """Return the query; rows that may not be there are in it if they are read as possible."""
        keys = range(len(self.inquiry.keys))
        made: list[exp.Expr] = [alias(own(f"k{n}", _BESIDE), f"k{n}") for n in keys]
        shown: list[exp.Expr] = []
        for number, item in enumerate(self.inquiry.shown):
            if isinstance(item, GroupColumn):
                place = [key.name for key in self.inquiry.keys].index(item.name)
                shown.append(alias(own(f"k{place}", _MADE), item.label, quoted=True))
            elif isinstance(item, Measure):
                columns, ends = self._formula_columns(item.formula, number)
                made += columns
                names = (f"{item.label}_{end}" for end in BOUNDS)
                shown += [
                    alias(of, name, quoted=True) for of, name in zip(ends, names, strict=True)
                ]
        inner = exp.select(*made, copy=False).from_(self._joined_bounds(), copy=False)
        kept = self._group_condition(reading)
        inner = inner if kept is None else inner.where(kept, copy=False)
        return exp.select(*shown, copy=False).from_(inner.subquery(_MADE), copy=False)

    def _formula_columns(self, formula: Formula, number: int) -> tuple[list[exp.Expr], Ends]:
        """Return columns that are made for a formula, and its ends over these."""
        overs, unders = ([f"{of}{number}_{end}" for end in BOUNDS] for of in ("over", "under"))
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
        return [alias(of, name) for of, name in both], (low, high)

    def _columns(self, asked: AskedOfPart) -> Ends:
        place = self._asked[asked.part].index(asked.aggregate)
        low, high = (own(f"p{asked.part}_{place}_{end}", _BESIDE) for end in BOUNDS)
        return low, high

    @cached_property
    def _asked(self) -> Mapping[int, Sequence[Aggregate]]:
        """By its number, all that is asked of each part, the number of rows first."""
        asked: dict[int, list[Aggregate]] = {}
        for formula in (*self.inquiry.formulas, self.inquiry.present):
            for of in (*counts_beside(formula), *formula.asked):
                aggregates = asked.setdefault(of.part, [ROWS])
                if of.aggregate not in aggregates:
                    aggregates.append(of.aggregate)
        return asked

    def _joined_bounds(self) -> exp.Subquery:
        """Return the bounds of all questions, in a row for each row of the answer."""
        names = tuple(key.name for key in self.inquiry.keys)
        base = self.inquiry.parts[self._base].question(names).with_aggregates([ROWS])
        columns: list[exp.Expr] = [alias(own(f"k{n}", _ANSWER), f"k{n}") for n in range(len(names))]
        query = exp.select().from_(self._rows(base, _ANSWER), copy=False)
        for number, aggregates in self._asked.items():
            part, table = self.inquiry.parts[number], _PART.format(number)
            question = part.question(names if part.grouped else ())
            question = question.with_aggregates(aggregates)
            same = same_keys(question, _ANSWER, table)
            join(query, self._rows(question, table), same, "LEFT")
            columns += _bounds_of(number, aggregates, table)
        return query.select(*columns, append=False, copy=False).subquery(_BESIDE, copy=False)

    @property
    def _base(self) -> int:
        """The part that has every row of the answer."""
        present = self.inquiry.present
        return present.whole.part if isinstance(present, Pooled) and present.whole else 0

    def _rows(self, question: Question, name: str) -> exp.Subquery:
        calculated = {column.name: column.expression for column in self.inquiry.calculated}
        asked = replace(number_columns(question, question.aggregates), calculated=calculated)
        return self.written(asked, "possible").subquery(name, copy=False)

    def _group_condition(self, reading: Reading) -> exp.Expr | None:
        """Return the condition that a group has rows, possibly or certainly."""
        if not self.inquiry.keys:
            return None
        low, high = ends_of(self.inquiry.present, self._columns)
        end = low if reading == "certain" else high
        return exp.GT(this=exp.paren(end), expression=exp.Literal.number(0))


def _bounds_of(number: int, aggregates: Sequence[Aggregate], table: str) -> list[exp.Expr]:
    """Return the columns of a question's bounds; it counts 0 where it has no row."""
    found: list[exp.Expr] = []
    for place, aggregate in enumerate(aggregates):
        for end in BOUNDS:
            bound: exp.Expr = own(f"a{place}_{end}", table)
            if aggregate.kind.counts_rows:
                bound = exp.Coalesce(this=bound, expressions=[exp.Literal.number(0)])
            found.append(alias(bound, f"p{number}_{place}_{end}"))
    return found
