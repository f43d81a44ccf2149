"""Exact answers on the rows that a release represents, beside the bounds of random queries."""

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

from sfumato.expectations.exact import Exact, exact
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.query.aggregates.kind import AggregateKind, HelpBounds
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.question import Aggregate

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 -- published timestamps have no time zone


@dataclass(frozen=True, eq=False)
class Truth:
    """A sensitive column of the original, to be aggregated over some of its rows.

    Missing values are passed over, but where every row counts.
    """

    numbers: Exact | None
    codes: np.ndarray
    every_row: bool

    def answer(self, kind: AggregateKind, chosen: np.ndarray) -> Fraction | None:
        """The aggregate over the `chosen` rows (bool, or their numbers); None where none is."""
        if self.numbers is None or kind.truth is None:
            return Fraction(self.counted(chosen))
        return kind.truth(self.numbers, self._known(chosen))

    def counted(self, chosen: np.ndarray) -> int:
        """How many of the `chosen` rows it is over."""
        if self.every_row or not self._has_null:
            return int(np.count_nonzero(chosen)) if chosen.dtype == bool else len(chosen)
        return len(self._known(chosen))

    @cached_property
    def _has_null(self) -> bool:
        return bool((self.codes < 0).any())

    def _known(self, chosen: np.ndarray) -> np.ndarray:
        codes: np.ndarray = self.codes[chosen]
        return codes if self.every_row else codes[codes >= 0]


@dataclass(frozen=True, eq=False)
class HelpedBounds:
    """One aggregate's bounds in a help table, which holds groups 0, 1, … with hits 1, 2, …."""

    help: HelpBounds | None
    lower: Exact | None
    upper: Exact | None
    start: np.ndarray

    def bounds(self, hits: np.ndarray) -> tuple[Fraction | None, Fraction | None]:
        """The bounds where `hits` rows of each group are selected (int64, one per group)."""
        count = int(hits.sum())
        if self.lower is None or self.upper is None or self.help is None:
            return Fraction(count), Fraction(count)
        if not count:
            return None, None
        touched = np.flatnonzero(hits)
        rows, by = self.start[touched] + hits[touched] - 1, count if self.help.per_row else 1
        low = self.lower.fraction(self.help.lower.combine(self.lower.units[rows]))
        high = self.upper.fraction(self.help.upper.combine(self.upper.units[rows]))
        return low / by, high / by


def truth_of(column: Column, aggregate: Aggregate) -> Truth:
    """The original's column, with its values as exact numbers where the aggregate needs them.

    Raises:
        InputError: where the values are no numbers, dates or timestamps.
    """
    numbers = None if aggregate.kind.counts_rows else exact(column.values, column.name)
    return Truth(numbers, column.codes, aggregate.sensitive is None)


def read_help(table: pa.Table, kind: AggregateKind) -> HelpedBounds:
    """The columns of a help table that hold an aggregate's bounds."""
    group = table["group_id"].to_numpy()
    start = np.flatnonzero(np.diff(group, prepend=-1))
    if kind.help is None:
        return HelpedBounds(None, None, None, start)
    names = kind.help.lower.name, kind.help.upper.name
    low, high = (exact(table[name].combine_chunks(), name) for name in names)
    return HelpedBounds(kind.help, low, high, start)


def as_fraction(value: object) -> Fraction | None:
    """A bound as a number: dates count days, timestamps count seconds, both since 1970."""
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
    """Rows of a part of a table, which are read when they are needed."""

    def read(self, names: Sequence[str]) -> Microdata:
        """Some columns of the represented rows."""
        ...


@dataclass(frozen=True)
class OriginalInParts:
    """All parts of a table, in the order of the release's."""

    parts: Sequence[OriginalPart]

    def each(self, names: Sequence[str]) -> Iterator[Microdata]:
        """Some columns of each part, one after the other."""
        for part in self.parts:
            yield part.read(names)


Original = Microdata | OriginalInParts
"""The represented rows before anonymization."""


class Outcome(NamedTuple):
    """Bounds, the truth, whether the bounds allow for there being none, and an estimate."""

    lower: Fraction | None
    upper: Fraction | None
    truth: Fraction | None
    may_be_empty: bool = False
    estimate: Fraction | None = None


def outcome_of(bounds: Bounds, truth: Fraction | None) -> Outcome:
    """The outcome of a query, by an answer and the truth."""
    limits = as_fraction(bounds.lower), as_fraction(bounds.upper)
    return Outcome(*limits, truth, bounds.may_be_empty, as_fraction(bounds.estimate))


class Queries(Protocol):
    """Random queries of a workload."""

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """Lower bound, upper bound and truth of one more query; None where nothing can be asked."""
        ...


class OriginalColumn:
    """A column of the original, whose values are looked up."""

    def __init__(self, column: Column) -> None:
        self._values = _ordered(column.values)
        self._codes = column.codes

    def between(self, low: Any, high: Any) -> np.ndarray:
        """The rows that have a value from low to high (bool, one per row)."""
        first, end = bisect_left(self._values, low), bisect_right(self._values, high)
        return (self._codes >= first) & (self._codes < end)

    def there(self) -> np.ndarray:
        """The rows that have a value (bool, one per row)."""
        found: np.ndarray = self._codes >= 0
        return found

    def among(self, values: Sequence[Any]) -> np.ndarray:
        """The rows that have one of these values (bool, one per row)."""
        wanted = set(values)
        known = np.array([*(value in wanted for value in self._values), False])
        found: np.ndarray = known[self._codes]
        return found


def _ordered(values: pa.Array) -> list[Any]:
    """Ascending values without NaN, which is in no window; their positions are their codes."""
    return [value for value in values.to_pylist() if value == value]
