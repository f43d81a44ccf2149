"""Exact answers on the original rows, beside the bounds of random queries."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.exact import Exact, exact
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.query.aggregates.kind import AggregateKind, HelpBounds
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.question import Aggregate

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 -- published timestamps have no time zone


@dataclass(frozen=True, eq=False)
class Truth:
    """A sensitive column of the original, to be aggregated over some of its rows.

    Attributes:
        numbers: the distinct values as exact numbers; None if only rows are counted.
        codes: the value of each row (integers), -1 if it is missing.
        every_row: whether rows without a value count, as for COUNT(*).
    """

    numbers: Exact | None
    codes: np.ndarray
    every_row: bool

    def answer(self, kind: AggregateKind, chosen: np.ndarray) -> Fraction | None:
        """Return the aggregate over the `chosen` rows (bool, or row numbers); None over no rows."""
        if self.numbers is None or kind.truth is None:
            return Fraction(self.count(chosen))
        return kind.truth(self.numbers, self._counted_codes(chosen))

    def count(self, chosen: np.ndarray) -> int:
        """Return the number of `chosen` rows that the aggregate is over."""
        if self.every_row or not self._has_null:
            return int(np.count_nonzero(chosen)) if chosen.dtype == bool else len(chosen)
        return len(self._counted_codes(chosen))

    @cached_property
    def _has_null(self) -> bool:
        return bool((self.codes < 0).any())

    def _counted_codes(self, chosen: np.ndarray) -> np.ndarray:
        codes: np.ndarray = self.codes[chosen]
        return codes if self.every_row else codes[codes >= 0]


@dataclass(frozen=True, eq=False)
class HelpedBounds:
    """The bounds of one aggregate in a help table, which has groups 0, 1, … with hits 1, 2, ….

    Attributes:
        help: the columns of the bounds; None if rows are counted, as `lower` and `upper` are.
        lower: the lower bounds, one per row of the help table.
        upper: the upper bounds, in the same way.
        start: the position of each group's first row (int64).
    """

    help: HelpBounds | None
    lower: Exact | None
    upper: Exact | None
    start: np.ndarray

    def bounds(self, hits: np.ndarray) -> tuple[Fraction | None, Fraction | None]:
        """Return the bounds if a query selects `hits` rows of each group (int64, one per group)."""
        count = int(hits.sum())
        if self.lower is None or self.upper is None or self.help is None:
            return Fraction(count), Fraction(count)
        if not count:
            return None, None
        touched = np.flatnonzero(hits)
        rows, divisor = self.start[touched] + hits[touched] - 1, count if self.help.per_row else 1
        low = self.lower.fraction(self.help.lower.combine(self.lower.units[rows]))
        high = self.upper.fraction(self.help.upper.combine(self.upper.units[rows]))
        return low / divisor, high / divisor


def truth_of(column: Column, aggregate: Aggregate) -> Truth:
    """Return a column of the original, with exact numbers if the aggregate needs them.

    Raises:
        InputError: if it does, and the values have no order.
    """
    numbers = None if aggregate.kind.counts_rows else exact(column.values, column.name)
    return Truth(numbers, column.codes, aggregate.sensitive is None)


def read_help(table: pa.Table, kind: AggregateKind) -> HelpedBounds:
    """Read the columns of a help table that contain an aggregate's bounds."""
    group = table["group_id"].to_numpy()
    start = np.flatnonzero(np.diff(group, prepend=-1))
    if kind.help is None:
        return HelpedBounds(None, None, None, start)
    names = kind.help.lower.name, kind.help.upper.name
    low, high = (exact(table[name].combine_chunks(), name) for name in names)
    return HelpedBounds(kind.help, low, high, start)


def as_fraction(value: object) -> Fraction | None:
    """Return a bound as a number: dates count days, timestamps count seconds, both since 1970.

    Returns None for null.

    Raises:
        TypeError: if the bound is a text or a float.
    """
    if value is None or isinstance(value, Fraction):
        return value
    if isinstance(value, datetime):
        since = value - _EPOCH
        return Fraction((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds, 10**6)
    if isinstance(value, date):
        return Fraction((value - _EPOCH.date()).days)
    if isinstance(value, int | Decimal):
        return Fraction(value)
    raise TypeError(type(value).__name__)


class OriginalPart(Protocol):
    """Rows of a table or of a part of one, read when they are needed."""

    def read(self, names: Sequence[str]) -> Microdata:
        """Read some columns of the rows that are in the release."""
        ...


@dataclass(frozen=True, eq=False)
class PartInMemory:
    """A whole table in memory, as the only part of itself."""

    rows: Microdata

    def read(self, names: Sequence[str]) -> Microdata:
        """Return some columns of the rows."""
        return self.rows.keep(self.rows[name] for name in names)


@dataclass(frozen=True)
class OriginalInParts:
    """All parts of a table, in the order of the release's parts; a whole table is one part."""

    parts: Sequence[OriginalPart]

    def each(self, names: Sequence[str]) -> Iterator[Microdata]:
        """Yield some columns of each part, one part after the other."""
        for part in self.parts:
            yield part.read(names)


Original = Microdata | OriginalInParts
"""The rows of the release, before anonymization."""


def original_in_parts(original: Original) -> OriginalInParts:
    """Return the rows as parts: a table in memory is one."""
    return (
        OriginalInParts([PartInMemory(original)]) if isinstance(original, Microdata) else original
    )


class Outcome(NamedTuple):
    """The bounds and the exact answer of a query, with its estimate.

    `may_be_empty` is true if the bounds allow the answer to be NULL.
    """

    lower: Fraction | None
    upper: Fraction | None
    truth: Fraction | None
    may_be_empty: bool = False
    estimate: Fraction | None = None


def outcome_of(bounds: Bounds, truth: Fraction | None) -> Outcome:
    """Return the outcome of a query from its answer and the truth."""
    limits = as_fraction(bounds.lower), as_fraction(bounds.upper)
    return Outcome(*limits, truth, bounds.may_be_empty, as_fraction(bounds.estimate))


class Queries(Protocol):
    """Random queries of a workload, asked of one part after the other."""

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None for a query that cannot be asked."""
        ...


class OriginalColumn:
    """A column of the original in which rows are looked up by value."""

    def __init__(self, column: Column) -> None:
        """Take the column."""
        self._values = _ordered_values(column.values)
        self._codes = column.codes

    def rows_between(self, low: Any, high: Any) -> np.ndarray:
        """Return the rows that have a value from `low` to `high` (bool, one per row)."""
        first, end = bisect_left(self._values, low), bisect_right(self._values, high)
        return (self._codes >= first) & (self._codes < end)

    def rows_with_value(self) -> np.ndarray:
        """Return the rows whose value is not missing (bool, one per row)."""
        rows: np.ndarray = self._codes >= 0
        return rows

    def rows_with_any(self, values: Sequence[Any]) -> np.ndarray:
        """Return the rows that have one of these values (bool, one per row)."""
        allowed = set(values)
        is_allowed = np.array([*(value in allowed for value in self._values), False])
        rows: np.ndarray = is_allowed[self._codes]
        return rows


def _ordered_values(values: pa.Array) -> list[Any]:
    """Return the values, ascending; positions are codes. NaN is left out: it lies in no window."""
    return [value for value in values.to_pylist() if value == value]
