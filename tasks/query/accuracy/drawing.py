"""Random queries whose conditions use published values of columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import add_counts
from sfumato.tasks.microdata.table import Column, Randomness
from sfumato.tasks.query.accuracy.parameters import CountsWorkload, RangeWorkload
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.truth import OriginalColumn
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.terms.terms import Declared


def column_named(name: str) -> exp.Column:
    """Return the node of a column in a condition."""
    return exp.column(name, quoted=True)


def end_of_window(low: Any, span: int) -> Any:
    """Return the other end of a window that begins at a number or a date.

    The span of dates is in days.
    """
    if isinstance(low, date):
        return low + min(timedelta(days=span), type(low).max - low)
    return low + span


def window_condition(name: str, low: Any, high: Any) -> exp.Expr:
    """Return the condition that a column's value lies in a window, including both ends."""
    return exp.Between(this=column_named(name), low=literal(low), high=literal(high))


def value_condition(name: str, value: Any) -> exp.Expr:
    """Return the condition that a column has a value; None stands for a missing value."""
    if value is None:
        return exp.Is(this=column_named(name), expression=exp.Null())
    return exp.EQ(this=column_named(name), expression=literal(value))


def draw_share(
    values: Sequence[Any], share: float, randomness: Randomness, *, ordered: bool
) -> list[Any]:
    """Draw a share of a column's values, at least one; neighbours if the column has an order.

    Args:
        values: ascending.
        share: of the values, from 0 to 1.
        randomness: the source of random numbers.
        ordered: whether to draw neighbours.
    """
    number = max(1, min(len(values), ceil(share * len(values))))
    if ordered:
        first = int(randomness(1)[0] % np.uint64(len(values) - number + 1))
        return list(values[first : first + number])
    return [values[place] for place in np.argsort(randomness(len(values)), kind="stable")[:number]]


def values_condition(name: str, values: Sequence[Any], *, ordered: bool) -> exp.Expr:
    """Return the condition that a column has one of some values.

    If the column is `ordered`, the values are neighbours.
    """
    if ordered:
        return window_condition(name, values[0], values[-1])
    return exp.In(this=column_named(name), expressions=[literal(value) for value in values])


@dataclass(frozen=True)
class InWindow:
    """Test whether a column's value lies in a window, including both ends."""

    name: str
    low: Any
    high: Any

    @property
    def condition(self) -> exp.Expr:
        """The test in SQL."""
        return window_condition(self.name, self.low, self.high)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """Return the original rows that pass the test (bool)."""
        return column.rows_between(self.low, self.high)


@dataclass(frozen=True)
class OneOf:
    """Test whether a column has one of some values."""

    name: str
    values: tuple[Any, ...]

    @property
    def condition(self) -> exp.Expr:
        """The test in SQL."""
        return values_condition(self.name, self.values, ordered=False)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """Return the original rows that pass the test (bool)."""
        return column.rows_with_any(self.values)


@dataclass(frozen=True)
class Exactly:
    """Test whether a column has a certain value; None stands for a missing value."""

    name: str
    value: Any

    @property
    def condition(self) -> exp.Expr:
        """The test in SQL."""
        return value_condition(self.name, self.value)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """Return the original rows that pass the test (bool)."""
        return (
            ~column.rows_with_value() if self.value is None else column.rows_with_any([self.value])
        )


@dataclass(frozen=True)
class DrawnQuery:
    """A query on the rows that pass all tests."""

    tests: tuple[InWindow | OneOf | Exactly, ...]

    @property
    def where(self) -> exp.Expr:
        """The query's condition in SQL."""
        return exp.and_(*(test.condition for test in self.tests))

    def rows(self, columns: Mapping[str, OriginalColumn]) -> np.ndarray:
        """Return the original rows that the query selects (bool)."""
        rows: np.ndarray = np.logical_and.reduce(
            [test.rows(columns[test.name]) for test in self.tests]
        )
        return rows


@dataclass(frozen=True, eq=False)
class FrequentValues:
    """Values of a column, ascending, with the number of rows that have them.

    The missing value comes first.

    Attributes:
        name: of the column.
        values: None for a missing value, then the values that occur.
        ends: the number of rows that have this value or an earlier one (int64, one per value).
    """

    name: str
    values: Sequence[Any]
    ends: np.ndarray

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.ends[-1])

    def draw(self, randomness: Randomness) -> Any:
        """Draw the value of a random row."""
        row = int(randomness(1)[0] % np.uint64(self.rows))
        return self.values[int(np.searchsorted(self.ends, row, side="right"))]


def frequent_values(name: str, parts: Iterable[Column]) -> FrequentValues:
    """Count the rows of each value of a column in all parts of a table."""
    missing, values = 0, pa.array([], pa.null())
    counts = np.zeros(0, dtype=np.int64)
    for column in parts:
        number = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
        missing += int(number[0])
        values, counts = add_counts([(values, counts), (column.values, number[1:])])
    return FrequentValues(name, [None, *values.to_pylist()], np.cumsum([missing, *counts]))


class Drawing(Protocol):
    """A source of random queries for a workload."""

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """Draw the next query; return None if nothing can be asked."""
        ...


class RangeDrawing:
    """Windows [x, x + span] of a quasi-identifier, with x drawn from its published values."""

    def __init__(self, workload: RangeWorkload, asking: Engine) -> None:
        """Read the published values of the quasi-identifier."""
        self._over = workload.over
        self._starts = asking.starts(workload.over)

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """Draw the next window; return None if the column has no values."""
        if not self._starts:
            return None
        low = self._starts[int(randomness(1)[0]) % len(self._starts)]
        return DrawnQuery((InWindow(self._over, low, end_of_window(low, level)),))


class CountsDrawing:
    """Ranges of random quasi-identifiers together with the sensitive value of a random row."""

    def __init__(
        self, workload: CountsWorkload, asking: Engine, declared: Declared, values: FrequentValues
    ) -> None:
        """Read the published values of each quasi-identifier."""
        starts = {
            name: asking.starts(name) for name in declared.names_with_roles("quasi-identifier")
        }
        self._starts = {
            name: column_starts for name, column_starts in starts.items() if column_starts
        }
        self._names = list(self._starts)
        self._attributes = min(workload.attributes, len(self._names))
        self._ordered = {name: declared.columns[name].type in ORDERED for name in self._names}
        self._values = values

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that queries may have conditions on."""
        return (*self._names, self._values.name)

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """Draw the next query; return None if the release contains no rows."""
        if not self._values.rows:
            return None
        value = Exactly(self._values.name, self._values.draw(randomness))
        share = (level / 100) ** (1 / max(self._attributes, 1))
        order = np.argsort(randomness(len(self._names)), kind="stable")[: self._attributes]
        ranges = (self._draw_range(self._names[place], share, randomness) for place in order)
        return DrawnQuery((value, *ranges))

    def _draw_range(self, name: str, share: float, randomness: Randomness) -> InWindow | OneOf:
        """Draw a share of a column's values, which are neighbours if the column has an order."""
        ordered = self._ordered[name]
        values = draw_share(self._starts[name], share, randomness, ordered=ordered)
        return InWindow(name, values[0], values[-1]) if ordered else OneOf(name, tuple(values))
