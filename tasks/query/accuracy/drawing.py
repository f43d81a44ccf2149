"""Queries with conditions on columns, drawn among the published values of these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.tasks.microdata.table import Column, Randomness
from sfumato.tasks.query.accuracy.parameters import CountsWorkload, RangeWorkload
from sfumato.tasks.query.accuracy.truth import OriginalColumn
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.terms.terms import Declared


def column_named(name: str) -> exp.Column:
    """A column in a condition."""
    return exp.column(name, quoted=True)


def end_of_window(low: Any, span: int) -> Any:
    """The other end of a window that begins at a number or a date; of dates in days."""
    if isinstance(low, date):
        return low + min(timedelta(days=span), type(low).max - low)
    return low + span


def between(name: str, low: Any, high: Any) -> exp.Expr:
    """The rows whose value is in a window, both ends among it."""
    return exp.Between(this=column_named(name), low=literal(low), high=literal(high))


def equals(name: str, value: Any) -> exp.Expr:
    """The rows that have a value, or none where it is None."""
    if value is None:
        return exp.Is(this=column_named(name), expression=exp.Null())
    return exp.EQ(this=column_named(name), expression=literal(value))


def draw_share(
    values: Sequence[Any], share: float, randomness: Randomness, *, ordered: bool
) -> list[Any]:
    """A share of a column's values, at least one: neighbours where they have an order.

    Args:
        values: ascending.
        share: of them, from 0 to 1.
        randomness: what is drawn from.
        ordered: whether neighbours are alike.
    """
    number = max(1, min(len(values), ceil(share * len(values))))
    if ordered:
        first = int(randomness(1)[0] % np.uint64(len(values) - number + 1))
        return list(values[first : first + number])
    return [values[at] for at in np.argsort(randomness(len(values)), kind="stable")[:number]]


def among(name: str, values: Sequence[Any], *, ordered: bool) -> exp.Expr:
    """The rows that have one of some values; neighbours, where they have an order."""
    if ordered:
        return between(name, values[0], values[-1])
    return exp.In(this=column_named(name), expressions=[literal(value) for value in values])


@dataclass(frozen=True)
class InWindow:
    """The value of a column lies between two others, or is one of them."""

    name: str
    low: Any
    high: Any

    @property
    def condition(self) -> exp.Expr:
        """The same in SQL."""
        return between(self.name, self.low, self.high)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """The rows of which it is so (bool)."""
        return column.between(self.low, self.high)


@dataclass(frozen=True)
class OneOf:
    """The value of a column is one of some."""

    name: str
    values: tuple[Any, ...]

    @property
    def condition(self) -> exp.Expr:
        """The same in SQL."""
        return among(self.name, self.values, ordered=False)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """The rows of which it is so (bool)."""
        return column.among(self.values)


@dataclass(frozen=True)
class Exactly:
    """The value of a column is a certain one; None where it is missing."""

    name: str
    value: Any

    @property
    def condition(self) -> exp.Expr:
        """The same in SQL."""
        return equals(self.name, self.value)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """The rows of which it is so (bool)."""
        return ~column.there() if self.value is None else column.among([self.value])


@dataclass(frozen=True)
class DrawnQuery:
    """A query of the rows of which all tests hold."""

    tests: tuple[InWindow | OneOf | Exactly, ...]

    @property
    def where(self) -> exp.Expr:
        """Its condition in SQL."""
        return exp.and_(*(test.condition for test in self.tests))

    def rows(self, columns: Mapping[str, OriginalColumn]) -> np.ndarray:
        """The rows of the original that it selects (bool)."""
        found: np.ndarray = np.logical_and.reduce(
            [test.rows(columns[test.name]) for test in self.tests]
        )
        return found


@dataclass(frozen=True, eq=False)
class FrequentValues:
    """Values of a column, ascending, and the rows that have them, those without one first.

    Attributes:
        name: of the column.
        values: None for none, and then those that occur.
        ends: how many rows have one of these values up to each (int64, one per value).
    """

    name: str
    values: Sequence[Any]
    ends: np.ndarray

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.ends[-1])

    def draw(self, randomness: Randomness) -> Any:
        """The value of a random row."""
        row = int(randomness(1)[0] % np.uint64(self.rows))
        return self.values[int(np.searchsorted(self.ends, row, side="right"))]


def frequent_values(name: str, parts: Iterable[Column]) -> FrequentValues:
    """How often each value of a column occurs in all parts of a table."""
    missing, known = 0, pa.array([], pa.null())
    counts = np.zeros(0, dtype=np.int64)
    for column in parts:
        number = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
        missing += int(number[0])
        known, counts = _joined(known, counts, column.values, number[1:])
    return FrequentValues(name, [None, *known.to_pylist()], np.cumsum([missing, *counts]))


def _joined(
    known: pa.Array, counts: np.ndarray, more: pa.Array, numbers: np.ndarray
) -> tuple[pa.Array, np.ndarray]:
    """Values that ascend, each once, and how often they occur in both (int64)."""
    known = known.cast(more.type)
    every = pc.unique(pa.concat_arrays([known, more]))
    every = every.take(pc.sort_indices(every))
    summed = np.zeros(len(every), dtype=np.int64)
    for values, of in ((known, counts), (more, numbers)):
        np.add.at(summed, pc.index_in(values, value_set=every).to_numpy(), of)
    return every, summed


class Drawing(Protocol):
    """Draws queries of a workload."""

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """The next query; None where there is nothing to be asked."""
        ...


class RangeDrawing:
    """Windows [x, x + span] of a quasi-identifier, x drawn among what is published of it."""

    def __init__(self, workload: RangeWorkload, asking: Engine) -> None:
        """Find what is published of the quasi-identifier."""
        self._over = workload.over
        self._starts = asking.starts(workload.over)

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """The next window; None where the column has no values."""
        if not self._starts:
            return None
        low = self._starts[int(randomness(1)[0]) % len(self._starts)]
        return DrawnQuery((InWindow(self._over, low, end_of_window(low, level)),))


class CountsDrawing:
    """Ranges of random quasi-identifiers, and the sensitive value of a random row."""

    def __init__(
        self, workload: CountsWorkload, asking: Engine, declared: Declared, values: FrequentValues
    ) -> None:
        """Find what is published of each quasi-identifier."""
        starts = {name: asking.starts(name) for name in declared.named("quasi-identifier")}
        self._starts = {name: found for name, found in starts.items() if found}
        self._names = list(self._starts)
        self._attributes = min(workload.attributes, len(self._names))
        self._ordered = {name: declared.columns[name].type in ORDERED for name in self._names}
        self._values = values

    @property
    def names(self) -> tuple[str, ...]:
        """The columns on which there may be conditions."""
        return (*self._names, self._values.name)

    def draw(self, level: int, randomness: Randomness) -> DrawnQuery | None:
        """The next query; None where nothing is represented."""
        if not self._values.rows:
            return None
        value = Exactly(self._values.name, self._values.draw(randomness))
        share = (level / 100) ** (1 / max(self._attributes, 1))
        order = np.argsort(randomness(len(self._names)), kind="stable")[: self._attributes]
        ranges = (self._share_of(self._names[at], share, randomness) for at in order)
        return DrawnQuery((value, *ranges))

    def _share_of(self, name: str, share: float, randomness: Randomness) -> InWindow | OneOf:
        """A share of a column's values, neighbours where they have an order."""
        ordered = self._ordered[name]
        drawn = draw_share(self._starts[name], share, randomness, ordered=ordered)
        return InWindow(name, drawn[0], drawn[-1]) if ordered else OneOf(name, tuple(drawn))
