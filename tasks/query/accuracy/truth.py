"""Exact answers: aggregates of the original's values, and their bounds from a help table."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import InputError
from sfumato.expectations.exact import Exact, exact
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.question.aggregate import Function

_INT64 = 2**63 - 1
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 -- published timestamps have no time zone


@dataclass(frozen=True, eq=False)
class Truth:
    """A sensitive column of the original, to be aggregated over some of its rows."""

    numbers: Exact | None
    codes: np.ndarray

    def answer(self, function: Function, chosen: np.ndarray) -> Fraction | None:
        """The aggregate over the rows of a mask; None where none is chosen."""
        codes = self.codes[chosen]
        if function == "count" or self.numbers is None:
            return Fraction(len(codes))
        if not len(codes):
            return None
        if function in ("min", "max"):  # codes are ranks
            extreme = codes.min() if function == "min" else codes.max()
            return self.numbers.fraction(self.numbers.units[extreme])
        total = self.numbers.fraction(_total(self.numbers.units, codes))
        return total / len(codes) if function == "avg" else total


@dataclass(frozen=True, eq=False)
class Helped:
    """One aggregate's bounds in a help table, which holds groups 0, 1, … with hits 1, 2, …."""

    function: Function
    lower: Exact | None
    upper: Exact | None
    start: np.ndarray

    def bounds(self, hits: np.ndarray) -> tuple[Fraction | None, Fraction | None]:
        """The bounds where so many rows of each group are selected."""
        count = int(hits.sum())
        if self.lower is None or self.upper is None:
            return Fraction(count), Fraction(count)
        if not count:
            return None, None
        touched = np.flatnonzero(hits)
        rows = self.start[touched] + hits[touched] - 1
        return self._combined(self.lower, rows, count), self._combined(self.upper, rows, count)

    def _combined(self, side: Exact, rows: np.ndarray, count: int) -> Fraction:
        if self.function == "min":
            return side.fraction(side.units[rows].min())
        if self.function == "max":
            return side.fraction(side.units[rows].max())
        total = side.fraction(_total(side.units, rows))
        return total / count if self.function == "avg" else total


def truth_of(column: Column, function: Function) -> Truth:
    """The original's column, with its values as exact numbers where the aggregate needs them.

    Raises:
        InputError: where a value is missing, or the values are no numbers, dates or timestamps.
    """
    if column.has_null:
        raise InputError(f"column {column.name!r}: a sensitive value is missing")
    numbers = None if function == "count" else exact(column.values, column.name)
    return Truth(numbers, column.codes)


def helped(table: pa.Table, function: Function) -> Helped:
    """The columns of a help table that hold an aggregate's bounds."""
    group = table["group_id"].to_numpy()
    start = np.flatnonzero(np.diff(group, prepend=-1))
    if function == "count":
        return Helped(function, None, None, start)
    name = "sum" if function == "avg" else function
    low, high = (
        exact(table[f"{side}_{name}"].combine_chunks(), f"{side}_{name}") for side in ("l", "u")
    )
    return Helped(function, low, high, start)


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


def _total(units: np.ndarray, positions: np.ndarray) -> int:
    """The sum of the units at some positions, in int64 where it cannot overflow."""
    chosen = units[positions]
    if chosen.dtype == np.int64:
        largest = max(-int(chosen.min(initial=0)), int(chosen.max(initial=0)))
        if largest * len(chosen) <= _INT64:
            return int(chosen.sum())
    return int(chosen.astype(object).sum())
