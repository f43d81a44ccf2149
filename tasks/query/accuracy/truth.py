"""Exact answers: aggregates of the original's values, and their bounds from a help table."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import Exact, exact
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.aggregates.kind import AggregateKind, HelpBounds

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
