"""Kinds of aggregates: their syntax, the types they take, and their bounds.

One module here describes one aggregate, and `registry` names them all. Queries, rewritings, views
and workloads use an aggregate's kind and know no aggregate by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sqlglot
from sqlglot import exp

from sfumato.expectations.shared.exact import INT64_MAX, Exact
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate, value_of
from sfumato.tasks.query.bounds.extremes import CountedValues
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.bounds.subdomains import Cells
from sfumato.tasks.schema.columns import ColumnType

ANY_TYPE: frozenset[ColumnType] = frozenset(
    {"integer", "decimal", "float", "date", "timestamp", "string", "boolean"}
)
NUMBERS: frozenset[ColumnType] = frozenset({"integer", "decimal", "float"})

_LONG = Context(prec=60)  # enough digits to add decimals of 38 digits exactly
Ends = Sequence[exp.Expr]
"""The lower and the upper bound in SQL."""


def _add(first: Any, second: Any) -> Any:
    return _LONG.add(first, second) if isinstance(first, Decimal) else first + second


_JOINED: Mapping[type[exp.AggFunc], Callable[[Any, Any], Any]] = {
    exp.Sum: _add,
    exp.Min: min,
    exp.Max: max,
}
"""Functions that join a bound of two parts, by the SQL function that does so over groups."""


@dataclass(frozen=True)
class HelpColumn:
    """A column of the help table with a bound, and the function that combines it over groups."""

    name: str
    function: type[exp.AggFunc]
    combine: Callable[[np.ndarray], Any]

    def join(self, first: Any, second: Any) -> Any:
        """Return the bound over two parts of the groups, from those over each part.

        >>> HelpColumn("low", exp.Sum, np.sum).join(Decimal("0.5"), Decimal(10) ** 30)
        Decimal('1000000000000000000000000000000.5')
        """
        return _JOINED[self.function](first, second)


@dataclass(frozen=True)
class HelpBounds:
    """The columns of the help table that bound an aggregate for each number of rows of a group.

    Attributes:
        lower: the column of the lower bound.
        upper: the column of the upper bound.
        per_row: whether both are divided by the number of rows.
        expected: whether the expected sum gives the aggregate's estimate.
    """

    lower: HelpColumn
    upper: HelpColumn
    per_row: bool = False
    expected: bool = False

    def bounds(
        self, lower: Any, upper: Any, rows: int, total: Fraction | None, whole: bool
    ) -> Bounds:
        """Return the bounds over `rows` rows with an expected sum of `total` (None if unknown)."""
        if not rows:
            return Bounds(None, None, None)
        expected_total = total if self.expected else None
        if self.per_row:
            low, high = Fraction(lower) / rows, Fraction(upper) / rows
            return Bounds(
                low,
                high,
                clamp_estimate(
                    None if expected_total is None else expected_total / rows, low, high
                ),
            )
        estimate = (
            None
            if expected_total is None
            else clamp_estimate(expected_total, Fraction(lower), Fraction(upper))
        )
        return Bounds(value_of(lower, whole), value_of(upper, whole), estimate)


@dataclass(frozen=True, eq=False)
class AggregateKind:
    """An aggregate function.

    Attributes:
        name: in answers, specs and registries.
        parsed: the classes of its calls in a parsed query.
        takes: the types of columns that it accepts.
        returns: a function from the column's type to the answer's type.
        of_cells: bounds it in every cell of a release that shows subdomains; None if it cannot be
            asked there.
        of_values: bounds it over values whose copies count one by one; None if it depends on which
            values of a group count together.
        of_choices: bounds it over such choices of values.
        of_squares: estimates it from the expected sum of squared deviations and the expected number
            of values; None for other aggregates.
        squares: the inverse of `of_squares`: the sum of squared deviations from an answer and the
            number of values.
        of_share: bounds a quantile, given the share of values below it; None for other aggregates.
        between: whether it is a quantile that may lie between two values.
        truth: its exact answer over values, by their codes; None if workloads cannot ask it.
        help: the columns of the help table with its bounds; None if there are none.
        over_counts: its bounds in SQL, over the values of a cell and the copies that count.
        runs: whether `over_counts` also needs running totals.
        over_ranges: its bounds in SQL, over the subdomains of a cell.
        counts_rows: whether it is the number of rows, whatever their values.
        fewest: the smallest number of values that it needs; it is null over fewer.
        adds: whether it adds values up.
        known_width: the width of its bounds if only the number of rows and the range of their
            values are known.
        written: its spelling in queries, if that is not its name.
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
    def is_measurable(self) -> bool:
        """True if workloads can ask it, because its exact answer can be computed."""
        return self.truth is not None

    @property
    def sql_name(self) -> str:
        """The aggregate's name in SQL and in messages."""
        return self.written or self.name.upper()


class _ParsedEnds(Sequence[exp.Expr]):
    """Expressions that are parsed when the first of them is used: few questions are rewritten."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: Any) -> Any:
        return self._trees[place]

    @cached_property
    def _trees(self) -> tuple[exp.Expr, ...]:
        return tuple(sqlglot.parse_one(text, read="duckdb") for text in self._texts)


def sql_ends(lower: str, upper: str) -> Ends:
    """Return two expressions of DuckDB's SQL, which are parsed when they are first used."""
    return _ParsedEnds(lower, upper)


def own_type(type_: ColumnType) -> ColumnType:
    """Return the type of an answer that is one of the column's values."""
    return type_


def whole_sum(units: np.ndarray) -> int:
    """Return the sum of integers (int64 or object), computed in int64 if it cannot overflow."""
    if units.dtype == np.int64:
        largest = max(-int(units.min(initial=0)), int(units.max(initial=0)))
        if largest * len(units) <= INT64_MAX:
            return int(units.sum())
    return int(units.astype(object).sum())
