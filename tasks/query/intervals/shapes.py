"""The shapes of queries, and the families whose intervals are calibrated.

A family is queries of alike aggregates and one shape. It has one factor, by which the width of its
intervals is corrected. Intervals are calibrated on random queries of simple shapes. They hold for
queries that could have been drawn the same way: conjunctions in which every part is about one
column, and selects a range of a column with an order, or some values of another one.

A standard deviation is the root of a variance, and the two kinds of either (sample and population)
differ by a factor that the number of rows decides, so the intervals of all four miss together.
Quantiles are alike if the share of values below them could have been drawn. The median is asked for
most, and is a family of its own.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds, Likely
from sfumato.tasks.query.engines.truth import OriginalColumn
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.query.question.question import Aggregate, Question
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.stated import CalibratedIntervals
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.terms.terms import Terms

MOST_COLUMNS = 3
_RANGES = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_SETS = (exp.EQ, exp.NEQ, exp.In)
_HALF = Fraction(1, 2)
_HUNDREDTHS = tuple(Fraction(part, 100) for part in range(1, 100) if part != 50)
_QUANTILES = ("percentile_cont", "percentile_disc")
_ONE = "by one column"
_SEVERAL = "by two or three columns"
_QUANTILE = "another quantile, from 1 % to 99 %"
_MADE_OF = "selection"  # the key under which a condition remembers the selection it was made of
LEAST_ROWS = 20
LEAST_GROUPS = 2
"""With fewer rows or groups no interval is given, and none is calibrated."""
# reasons why an answer has no interval
EXACT = "the answer is exact: both bounds are it"
NOTHING = "no row is selected"
SMALL = f"fewer than {LEAST_ROWS} rows or {LEAST_GROUPS} groups are selected, or may be"
OUTSIDE = "the query is of none of the families that the publisher calibrated"
CALCULATED = "it is calculated of several columns or aggregates, of which no family is calibrated"


@dataclass(frozen=True)
class QueryShape:
    """The columns by which a query selects rows.

    Attributes:
        columns: the number of selecting columns that are not sensitive.
        sensitive: the sensitive column by whose values the query selects; None if there is none.
        not_null: the sensitive column that the query requires to have a value, without another
            condition on it; None if there is none.
    """

    columns: int
    sensitive: str | None
    not_null: str | None = None

    def selected_by(self, aggregate: Aggregate) -> str | None:
        """Return the sensitive column by which rows of an aggregate are selected, or None.

        Aggregates of a column pass over its nulls. The condition that the column has a value
        therefore selects nothing more, except where values are counted.
        """
        implied = None if aggregate.kind.counts_rows else aggregate.sensitive
        return self.sensitive or (self.not_null if self.not_null != implied else None)


def shape_of(question: Question, declared: Terms) -> QueryShape | None:
    """Return the shape of a question; None if its shape is not calibrated.

    Grouping by a column selects by it, too.
    """
    conditions = [question.condition, *(matching.condition for matching in question.matching)]
    parts = list(
        chain.from_iterable(
            conjuncts(condition) for condition in conditions if condition is not None
        )
    )
    there = {name for part in parts if (name := _sensitive_there(part, declared)) is not None}
    # `there`: sensitive columns that only have to be not null
    names = set(question.group_by)
    for part in (conjunct for conjunct in parts if _sensitive_there(conjunct, declared) is None):
        name = _column_of(part, declared)
        if name is None:
            return None
        names.add(name)
    sensitive = sorted(name for name in names if declared.columns[name].role == "sensitive")
    others = len(names) - len(sensitive)
    if len({*sensitive, *there}) > 1 or not 1 <= others <= MOST_COLUMNS:
        return None
    if sensitive:  # a row with a given value has a value
        return QueryShape(others, sensitive[0])
    return QueryShape(others, None, next(iter(there), None))


def column_there(condition: exp.Expr) -> str | None:
    """Return the column that a condition requires to be not null, without more; None otherwise."""
    test = condition.unnest()
    if not isinstance(test, exp.Not):
        return None
    inner = test.this.unnest()
    is_null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)
    return inner.this.name if is_null and isinstance(inner.this, exp.Column) else None


def _sensitive_there(part: exp.Expr, declared: Terms) -> str | None:
    """Return the sensitive column that a part requires to be not null; None otherwise."""
    name = column_there(part)
    return name if name is not None and declared.columns[name].role == "sensitive" else None


def _column_of(part: exp.Expr, declared: Terms) -> str | None:
    """Return the one column of which a part selects a range or some values; None otherwise.

    NOT is only allowed for a column without an order.
    """
    test = part.unnest() if isinstance(part, exp.Paren) else part
    denied = isinstance(test, exp.Not)
    if denied:
        test = test.this.unnest()
    names = {column.name for column in test.find_all(exp.Column)}
    if len(names) != 1 or not _compares_with_constants(test):
        return None
    name = names.pop()
    ordered = declared.columns[name].type in ORDERED
    fits = isinstance(test, _RANGES) and not denied if ordered else isinstance(test, _SETS)
    return name if fits else None


def _compares_with_constants(test: exp.Expr) -> bool:
    """Decide whether a column itself is one side of a comparison, without a calculation on it."""
    sides = [side for side in (test.this, test.args.get("expression")) if side is not None]
    return any(isinstance(side, exp.Column) for side in sides)


@dataclass(frozen=True)
class AlikeAggregates:
    """Aggregates that share a factor.

    Attributes:
        functions: the names of their functions.
        shares: for quantiles, the shares of values below them that are drawn, ascending; all shares
            from the first to the last belong to these aggregates.
    """

    functions: tuple[str, ...]
    shares: tuple[Fraction, ...] = ()

    def has(self, aggregate: Aggregate) -> bool:
        """Decide whether an aggregate is one of them."""
        if aggregate.function not in self.functions:
            return False
        if aggregate.share is None or not self.shares:
            return aggregate.share is None
        return self.shares[0] <= aggregate.share <= self.shares[-1]

    @cache  # noqa: B019 -- there are few of these, and they live as long as the process
    def choices(self, column: str | None) -> Sequence[Aggregate]:
        """Return all of these aggregates that are drawn, of a column; None if rows are counted."""
        return [
            Aggregate(function, column, function, share=share)
            for function in self.functions
            for share in self.shares or (None,)
        ]


ALIKE: Mapping[str, AlikeAggregates] = {
    "count": AlikeAggregates(("count",)),
    "sum": AlikeAggregates(("sum",)),
    "avg": AlikeAggregates(("avg",)),
    "min": AlikeAggregates(("min",)),
    "max": AlikeAggregates(("max",)),
    "spread": AlikeAggregates(("stddev", "stddev_pop", "var_samp", "var_pop")),
    "median": AlikeAggregates(_QUANTILES, (_HALF,)),
    "quantile": AlikeAggregates(_QUANTILES, _HUNDREDTHS),
}
"""Alike aggregates by their common name; an aggregate belongs to the first that contains it."""


# the common names by function; several for quantiles
_NAMES: Mapping[str, Sequence[str]] = {
    function: [name for name, alike in ALIKE.items() if function in alike.functions]
    for alike in ALIKE.values()
    for function in alike.functions
}


def name_of(aggregate: Aggregate) -> str | None:
    """Return the common name of the aggregates like this one; None if it has none."""
    return next(
        (name for name in _NAMES.get(aggregate.function, ()) if ALIKE[name].has(aggregate)), None
    )


@dataclass(frozen=True)
class Family:
    """Queries of alike aggregates and one shape.

    Attributes:
        aggregates: the common name of the aggregates.
        several: whether rows are selected by two or three columns, not by one.
        matching: whether rows are also selected by a sensitive value.
        words: the aggregates and the shape in words for pages.
    """

    aggregates: str
    several: bool
    matching: bool
    words: str


FAMILIES: Mapping[str, Family] = {
    "rows-by-one": Family("count", False, False, f"COUNT of rows, {_ONE}"),
    "rows-by-several": Family("count", True, False, f"COUNT of rows, {_SEVERAL}"),
    "count-by-one": Family("count", False, True, f"COUNT with a sensitive value, {_ONE}"),
    "count-by-several": Family("count", True, True, f"COUNT with a sensitive value, {_SEVERAL}"),
    "sum-by-one": Family("sum", False, False, f"SUM, {_ONE}"),
    "sum-by-several": Family("sum", True, False, f"SUM, {_SEVERAL}"),
    "avg-by-one": Family("avg", False, False, f"AVG, {_ONE}"),
    "avg-by-several": Family("avg", True, False, f"AVG, {_SEVERAL}"),
    "min-by-one": Family("min", False, False, f"MIN, {_ONE}"),
    "min-by-several": Family("min", True, False, f"MIN, {_SEVERAL}"),
    "max-by-one": Family("max", False, False, f"MAX, {_ONE}"),
    "max-by-several": Family("max", True, False, f"MAX, {_SEVERAL}"),
    "spread-by-one": Family("spread", False, False, f"STDDEV or VARIANCE, {_ONE}"),
    "spread-by-several": Family("spread", True, False, f"STDDEV or VARIANCE, {_SEVERAL}"),
    "median-by-one": Family("median", False, False, f"MEDIAN, {_ONE}"),
    "median-by-several": Family("median", True, False, f"MEDIAN, {_SEVERAL}"),
    "quantile-by-one": Family("quantile", False, False, f"{_QUANTILE}, {_ONE}"),
    "quantile-by-several": Family("quantile", True, False, f"{_QUANTILE}, {_SEVERAL}"),
}


_FAMILY_NAMES: Mapping[tuple[str | None, bool, bool], str] = {
    (family.aggregates, family.several, family.matching): name for name, family in FAMILIES.items()
}


def name_of_family(alike: str, *, several: bool) -> str:
    """Return the family of alike aggregates over rows selected by one column, or by several.

    Rows that are counted are also selected by a sensitive value, if `alike` is not "rows".
    """
    return _FAMILY_NAMES["count" if alike == "rows" else alike, several, alike == "count"]


def fault_of_stated(declared: Terms, stated: CalibratedIntervals | None) -> str | None:
    """Return the reason why a release cannot state these factors; None if it can."""
    families = () if stated is None else stated.families
    keys = [(family.family, family.of) for family in families]
    if keys != sorted(set(keys)):
        return "the families of intervals are not in order, or one occurs twice"
    for family in families:
        column = declared.columns.get(family.of)
        sensitive = column is not None and column.role == "sensitive"
        if family.family not in FAMILIES or sensitive == family.family.startswith("rows-"):
            return "states factors for an unknown family of intervals"
        if not sensitive and family.of:
            return "states factors of intervals for columns that are not sensitive"
    return None


def family_of(shape: QueryShape | None, aggregate: Aggregate) -> tuple[str, str] | None:
    """Return the name of the family of an aggregate in a query, and the column that it is about.

    The column is the sensitive one that is aggregated or selected by, or "" if rows are counted.
    Returns None if there is no such family.
    """
    if shape is None or aggregate.distinct:
        return None
    sensitive = shape.selected_by(aggregate)
    name = _FAMILY_NAMES.get((name_of(aggregate), shape.columns > 1, sensitive is not None))
    return None if name is None else (name, aggregate.sensitive or sensitive or "")


def families_in_words(stated: CalibratedIntervals) -> str:
    """Describe in words which families have likely intervals, and which have none.

    A family has none if too few of its queries had an answer that is not exact.
    """
    names = {family.family for family in stated.families}
    if not names:
        return (
            "not calibrated for any family: the form does not allow it, or too few answers "
            "are not exact"
        )
    missing = [name for name in FAMILIES if name not in names]
    rest = f"; too few queries for {', '.join(missing)}" if missing else ""
    return f"calibrated for {', '.join(n for n in FAMILIES if n in names)}{rest}"


@dataclass(frozen=True)
class Selection:
    """The values of a column that a part of a query selects.

    These are `values`, or all from `low` to `high`. Without values and limits they are all values,
    but not null.
    """

    name: str
    values: tuple[Any, ...] | None = None
    low: Any = None
    high: Any = None

    @property
    def condition(self) -> exp.Expr:
        """The selection as an SQL condition, which remembers the selection."""
        column = exp.column(self.name, quoted=True)
        condition: exp.Expr
        if self.selects_all:
            condition = exp.Not(this=exp.Is(this=column, expression=exp.Null()))
        elif self.values is None:
            condition = exp.Between(this=column, low=literal(self.low), high=literal(self.high))
        else:
            condition = exp.In(this=column, expressions=[literal(value) for value in self.values])
        condition.meta[_MADE_OF] = self
        return condition

    @property
    def selects_all(self) -> bool:
        """True if every value is selected."""
        return self.values is None and self.low is None and self.high is None

    def __deepcopy__(self, _: dict[int, Any]) -> "Selection":
        """Return the selection itself, since it is immutable and copied thousands of times."""
        return self

    def admits(self, values: Sequence[Any]) -> np.ndarray:
        """Return the values that are selected (bool, one per value); they ascend for a range."""
        if self.values is not None:
            selected = set(self.values)
            return np.array([value in selected for value in values], dtype=bool)
        admitted = np.zeros(len(values), dtype=bool)
        admitted[slice(*self.range_among(values))] = True
        return admitted

    def range_among(self, values: Sequence[Any]) -> tuple[int, int]:
        """Return the first position of the selected values, and the one behind the last.

        Args:
            values: all values, ascending if the selection has limits.
        """
        if self.selects_all:
            return 0, len(values)
        return bisect_left(values, self.low), bisect_right(values, self.high)

    def holds(self, column: OriginalColumn) -> np.ndarray:
        """Return the rows of the original that are selected (bool, one per row)."""
        if self.selects_all:
            return column.rows_with_value()
        if self.values is None:
            return column.rows_between(self.low, self.high)
        return column.rows_with_any(self.values)


def selections_in(condition: exp.Expr) -> list[Selection] | None:
    """Return the selections that a condition was made of; None if it was not drawn."""
    parts = [part.unnest().meta.get(_MADE_OF) for part in conjuncts(condition)]
    selections = [selection for selection in parts if isinstance(selection, Selection)]
    return selections if len(selections) == len(parts) else None


def with_reason(bounds: Bounds) -> Bounds:
    """Return the bounds with the reason why they have no interval, unless they have one."""
    if bounds.likely is not None:
        return bounds
    if bounds.lower is None or bounds.upper is None:
        reason = NOTHING
    else:
        reason = EXACT if bounds.lower == bounds.upper else CALCULATED
    return replace(bounds, likely=Likely(None, reason))
