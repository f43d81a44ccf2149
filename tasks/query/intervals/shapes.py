"""The shapes of queries, and the families whose intervals are calibrated.

Intervals are calibrated on random queries of simple shapes, and hold for queries that could have
been drawn like them: conjunctions, of which every part is about one column alone, and selects a
range of values that have an order, or some of others.

A standard deviation is the root of a variance, and either kind is the other one times what the
number of rows tells: their intervals miss together. Quantiles are alike where the share of values
below them could have been drawn; half of the values is what is asked most, and stands by itself.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.accuracy.truth import OriginalColumn
from sfumato.tasks.query.bounds.bounds import Bounds, Likely
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
_MADE_OF = "selection"
LEAST_ROWS = 20
LEAST_GROUPS = 2
"""Of fewer rows or groups no interval is given, nor is any calibrated on them."""
EXACT = "the answer is exact: both bounds are it"
NOTHING = "no row is selected"
SMALL = f"fewer than {LEAST_ROWS} rows or {LEAST_GROUPS} groups are selected, or may be"
OUTSIDE = "the query is of none of the families that the publisher calibrated"
CALCULATED = "it is calculated of several columns or aggregates, of which no family is calibrated"


@dataclass(frozen=True)
class QueryShape:
    """How a query selects.

    Attributes:
        columns: by how many columns that are not sensitive.
        of: the sensitive column whose values it selects by, None for none.
        there: the sensitive column that it says to have a value, and says no more of; None for
            none.
    """

    columns: int
    of: str | None
    there: str | None = None

    def selected_by(self, aggregate: Aggregate) -> str | None:
        """The sensitive column by which rows of an aggregate are selected, None for none.

        Aggregates of a column pass over its nulls: that it has a value selects nothing more, but
        where values are counted.
        """
        implied = None if aggregate.kind.counts_rows else aggregate.sensitive
        return self.of or (self.there if self.there != implied else None)


def shape_of(question: Question, declared: Terms) -> QueryShape | None:
    """The shape of a question, None where it has none of those that are calibrated."""
    conditions = [question.condition, *(matching.condition for matching in question.matching)]
    parts = list(chain.from_iterable(conjuncts(one) for one in conditions if one is not None))
    there = {name for part in parts if (name := _sensitive_there(part, declared)) is not None}
    names = set(question.group_by)
    for part in (one for one in parts if _sensitive_there(one, declared) is None):
        name = _column_of(part, declared)
        if name is None:
            return None
        names.add(name)
    sensitive = sorted(name for name in names if declared.columns[name].role == "sensitive")
    others = len(names) - len(sensitive)
    if len({*sensitive, *there}) > 1 or not 1 <= others <= MOST_COLUMNS:
        return None
    if sensitive:  # who has some value has one
        return QueryShape(others, sensitive[0])
    return QueryShape(others, None, next(iter(there), None))


def column_there(condition: exp.Expr) -> str | None:
    """The column of which a condition says that it is not null, and nothing more; else None."""
    test = condition.unnest()
    if not isinstance(test, exp.Not):
        return None
    inner = test.this.unnest()
    is_null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)
    return inner.this.name if is_null and isinstance(inner.this, exp.Column) else None


def _sensitive_there(part: exp.Expr, declared: Terms) -> str | None:
    """The sensitive column of which a part says no more than that it is not null."""
    name = column_there(part)
    return name if name is not None and declared.columns[name].role == "sensitive" else None


def _column_of(part: exp.Expr, declared: Terms) -> str | None:
    """The one column of which a part selects a range, or some values; None of others."""
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
    """True where the column itself stands on one side, and nothing is computed of it."""
    sides = [side for side in (test.this, test.args.get("expression")) if side is not None]
    return any(isinstance(side, exp.Column) for side in sides)


Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class AlikeAggregates:
    """Aggregates with a factor in common.

    Attributes:
        functions: their names.
        shares: of quantiles those that are drawn, ascending; whatever lies between the first and
            the last one is alike.
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

    def draw(self, of: str | None, below: Callable[[int], int]) -> Aggregate:
        """Any of them, of a column.

        Args:
            of: the column; None where rows are counted.
            below: draws a number below another one, from 0 on.
        """
        function = _any(self.functions, below)
        return Aggregate(function, of, function, share=_any(self.shares or (None,), below))


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
"""By the name that they have in common; an aggregate is of the first that has it."""


_NAMES: Mapping[str, Sequence[str]] = {
    function: [name for name, alike in ALIKE.items() if function in alike.functions]
    for alike in ALIKE.values()
    for function in alike.functions
}


def name_of(aggregate: Aggregate) -> str | None:
    """What aggregates like this one are called; None of others."""
    return next(
        (name for name in _NAMES.get(aggregate.function, ()) if ALIKE[name].has(aggregate)), None
    )


def _any(some: tuple[Drawn, ...], below: Callable[[int], int]) -> Drawn:
    """One of some; nothing is drawn where there is but one."""
    return some[below(len(some)) if len(some) > 1 else 0]


@dataclass(frozen=True)
class Family:
    """Queries of alike aggregates and one shape.

    Attributes:
        aggregates: what they are called.
        several: whether rows are selected by two or three columns, not by one.
        matching: whether they are selected by a sensitive value, too.
        words: what it asks, as pages tell it.
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
    (one.aggregates, one.several, one.matching): name for name, one in FAMILIES.items()
}


def fault_of_stated(declared: Terms, stated: CalibratedIntervals | None) -> str | None:
    """Why factors are none that a release can state, None where they are."""
    told = () if stated is None else stated.families
    keys = [(one.family, one.of) for one in told]
    if keys != sorted(set(keys)):
        return "the families of intervals are not in order, each once"
    for one in told:
        of = declared.columns.get(one.of)
        sensitive = of is not None and of.role == "sensitive"
        if one.family not in FAMILIES or sensitive == one.family.startswith("rows-"):
            return "states factors of intervals of no family"
        if not sensitive and one.of:
            return "states factors of intervals of columns that are not sensitive"
    return None


def family_of(shape: QueryShape | None, aggregate: Aggregate) -> tuple[str, str] | None:
    """The name of the family of an aggregate in a query, and the column that it is about.

    The column is the sensitive one that is aggregated or selected by; "" where rows are counted.
    None where there is no such family.
    """
    if shape is None or aggregate.distinct:
        return None
    by = shape.selected_by(aggregate)
    name = _FAMILY_NAMES.get((name_of(aggregate), shape.columns > 1, by is not None))
    return None if name is None else (name, aggregate.sensitive or by or "")


def families_in_words(stated: CalibratedIntervals) -> str:
    """Which families have likely intervals, and which have none.

    Where too few of a family's queries had an answer that is not exact, it has none.
    """
    known = {one.family for one in stated.families}
    if not known:
        return "calibrated for none: the form tells no law, or too few answers are not exact"
    missing = [name for name in FAMILIES if name not in known]
    left = f"; too few queries for {', '.join(missing)}" if missing else ""
    return f"calibrated for {', '.join(n for n in FAMILIES if n in known)}{left}"


@dataclass(frozen=True)
class Selection:
    """What a part of a query selects: some values of a column, or all from `low` to `high`.

    Without any of these it selects all values, and no null.
    """

    name: str
    values: tuple[Any, ...] | None = None
    low: Any = None
    high: Any = None

    @property
    def condition(self) -> exp.Expr:
        """As SQL, which remembers what it was made of."""
        column = exp.column(self.name, quoted=True)
        made: exp.Expr
        if self.selects_all:
            made = exp.Not(this=exp.Is(this=column, expression=exp.Null()))
        elif self.values is None:
            made = exp.Between(this=column, low=literal(self.low), high=literal(self.high))
        else:
            made = exp.In(this=column, expressions=[literal(value) for value in self.values])
        made.meta[_MADE_OF] = self
        return made

    @property
    def selects_all(self) -> bool:
        """Whether every value is selected."""
        return self.values is None and self.low is None and self.high is None

    def __deepcopy__(self, _: dict[int, Any]) -> "Selection":
        """Itself, which nothing changes: trees that remember it are copied thousands of times."""
        return self

    def admits(self, values: Sequence[Any]) -> np.ndarray:
        """Which values are selected (bool); they ascend where the column has an order."""
        if self.values is not None:
            wanted = set(self.values)
            return np.array([value in wanted for value in values], dtype=bool)
        if self.selects_all:
            return np.ones(len(values), dtype=bool)
        found = np.zeros(len(values), dtype=bool)
        found[bisect_left(values, self.low) : bisect_right(values, self.high)] = True
        return found

    def holds(self, column: OriginalColumn) -> np.ndarray:
        """The rows of the original that are selected (bool, one per row)."""
        if self.selects_all:
            return column.there()
        if self.values is None:
            return column.between(self.low, self.high)
        return column.among(self.values)


def selections_in(condition: exp.Expr) -> list[Selection] | None:
    """What a condition was made of; None of one that was not drawn."""
    found = [part.unnest().meta.get(_MADE_OF) for part in conjuncts(condition)]
    known = [selection for selection in found if isinstance(selection, Selection)]
    return known if len(known) == len(found) else None


def with_reason(bounds: Bounds) -> Bounds:
    """Bounds that have an interval, or the reason why there is none."""
    if bounds.likely is not None:
        return bounds
    if bounds.lower is None or bounds.upper is None:
        reason = NOTHING
    else:
        reason = EXACT if bounds.lower == bounds.upper else CALCULATED
    return replace(bounds, likely=Likely(None, reason))
