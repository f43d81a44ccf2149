"""The kinds of aggregates: their syntax, the types they take, and their bounds.

One module here holds all that is known of one aggregate, and `registry` names them; queries,
rewritings, views and workloads ask an aggregate's kind and know no aggregate by its name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sqlglot
from sqlglot import exp

from sfumato.expectations.exact import INT64_MAX, Exact
from sfumato.tasks.query.bounds.bounds import Bounds, value_of, within
from sfumato.tasks.query.bounds.extremes import CountedValues
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.bounds.subdomains import Cells
from sfumato.tasks.schema.columns import ColumnType

ANY_TYPE: frozenset[ColumnType] = frozenset(
    {"integer", "decimal", "float", "date", "timestamp", "string", "boolean"}
)
NUMBERS: frozenset[ColumnType] = frozenset({"integer", "decimal", "float"})

Ends = tuple[exp.Expr, exp.Expr]
"""The lower and the upper bound in SQL."""


@dataclass(frozen=True)
class HelpColumn:
    """A column of the help table that holds a bound, and what combines it over groups."""

    name: str
    function: type[exp.AggFunc]
    combine: Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class HelpBounds:
    """An aggregate's bounds in the help table, which knows them for so many rows of a group.

    Attributes:
        lower: where the lower bound stands.
        upper: where the upper one does.
        per_row: whether both are divided by the number of rows.
        expected: whether a sum that is expected tells what is expected of the aggregate.
    """

    lower: HelpColumn
    upper: HelpColumn
    per_row: bool = False
    expected: bool = False

    def bounds(
        self, lower: Any, upper: Any, rows: int, total: Fraction | None, whole: bool
    ) -> Bounds:
        """The bounds over so many rows of which the sum `total` is expected, if that is known."""
        if not rows:
            return Bounds(None, None, None)
        known = total if self.expected else None
        if self.per_row:
            low, high = Fraction(lower) / rows, Fraction(upper) / rows
            return Bounds(low, high, within(None if known is None else known / rows, low, high))
        estimate = None if known is None else within(known, Fraction(lower), Fraction(upper))
        return Bounds(value_of(lower, whole), value_of(upper, whole), estimate)


@dataclass(frozen=True, eq=False)
class AggregateKind:
    """An aggregate function.

    Attributes:
        name: in answers, specs and registries.
        parsed: its calls in a query.
        takes: the types of columns that it is of.
        returns: the type of its answer, by that of its column.
        of_cells: its bounds in every cell, where subdomains stand for values; without them it
            cannot be asked there.
        of_values: its bounds over values of which copies count one by one; None where it depends
            on which values of a group count together.
        of_choices: its bounds where it does.
        of_squares: what is expected of it, by the expected sum of squared deviations and number of
            values, where it is of these.
        squares: the sum of squared deviations, by such an answer and the number of values.
        of_share: its bounds where it is a quantile, by the share of values that are below it.
        between: whether it is a quantile that may lie between two values.
        truth: its exact answer over values, by their codes, where workloads may ask it.
        help: where the help table holds its bounds, if it does.
        over_counts: its bounds in SQL, over the values of a cell and how many copies count.
        runs: whether these are over running totals, too.
        over_ranges: its bounds in SQL, over the subdomains of a cell.
        counts_rows: whether it is the number of rows, whichever values they have.
        fewest: of how many values it is, at least; it is null of fewer.
        adds: whether it adds values up.
        known_width: how wide its bounds are for who knows nothing but how many rows there are and
            how far apart their values are at most.
        written: how queries write it, where that is not its name.
    """

    name: str
    parsed: tuple[type[exp.Expr], ...]
    takes: frozenset[ColumnType]
    returns: Callable[[ColumnType], ColumnType]
    of_cells: Callable[[Cells], list[Bounds]] | None = None
    of_values: Callable[[CountedValues], Bounds] | None = None
    of_choices: Callable[[Choices], Bounds] | None = None
    of_squares: Callable[[float, float], float] | None = None
    squares: Callable[[float, float], float] | None = None
    of_share: Callable[[CountedValues, Fraction], Bounds] | None = None
    between: bool = False
    truth: Callable[[Exact, np.ndarray], Fraction | None] | None = None
    help: HelpBounds | None = None
    over_counts: Ends | None = None
    runs: bool = False
    over_ranges: Ends | None = None
    counts_rows: bool = False
    fewest: int = 1
    adds: bool = False
    known_width: Callable[[int, Fraction], Fraction] = lambda _rows, apart: apart
    written: str = ""

    @property
    def measured(self) -> bool:
        """Whether workloads may ask it: its exact answer is known."""
        return self.truth is not None

    @property
    def called(self) -> str:
        """Its name in SQL, and in messages."""
        return self.written or self.name.upper()


def sql_ends(lower: str, upper: str) -> Ends:
    """Two expressions of DuckDB's SQL as trees."""
    return sqlglot.parse_one(lower, read="duckdb"), sqlglot.parse_one(upper, read="duckdb")


def own_type(type_: ColumnType) -> ColumnType:
    """The type of an answer that is one of the column's values."""
    return type_


def whole_sum(units: np.ndarray) -> int:
    """The sum of integers (int64 or object), in int64 where it cannot overflow."""
    if units.dtype == np.int64:
        largest = max(-int(units.min(initial=0)), int(units.max(initial=0)))
        if largest * len(units) <= INT64_MAX:
            return int(units.sum())
    return int(units.astype(object).sum())
