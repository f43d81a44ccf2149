"""Blocks of random queries: which rows they select, and what is true of these on the original.

A block is a number of queries that are asked together. Its arrays have one row for each query.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.expectations.shared.exact import exact
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.query.intervals.shapes import Selection
from sfumato.tasks.query.intervals.spread import ROUNDING
from sfumato.tasks.query.question.question import Aggregate

_CELLS = 1 << 19  # queries x rows of a block
_FEWEST_QUERIES, _MOST_QUERIES = 8, 256  # of a block
Target = tuple[str, str]
"""Alike aggregates that are asked (see `shapes.ALIKE`), and the sensitive column of these.

For counts it is the sensitive column by which rows are selected.
"""
Scores = np.ndarray
"""The score of each query (float64); NaN where the query counts for no factor."""


@dataclass(frozen=True, eq=False)
class DrawnQueries:
    """The random queries of a block.

    Attributes:
        selections: what each query selects by quasi-identifiers.
        matching: for each sensitive column what each query also selects if it counts rows; nothing
            for the name "", if rows are counted without such a selection.
        aggregates: the aggregate that each query asks for, by target.
    """

    selections: Sequence[Sequence[Selection]]
    matching: Mapping[str, Sequence[Selection]]
    aggregates: Mapping[Target, Sequence[Aggregate]]


class Blocks(Protocol):
    """Scores of random queries, block by block."""

    @property
    def queries(self) -> int:
        """The number of queries of a block that is computed fastest."""
        ...

    def scores(
        self, queries: DrawnQueries, original: "OriginalRows"
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of all queries, target by target."""
        ...


class ScoredLaws(ABC):
    """The laws of the aggregates of a column over the rows of a block, and their scores.

    Each method takes the aggregate that each query asks for, and the true answers (float64; NaN for
    null), and returns the scores.
    """

    def scores(self, alike: str, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of alike aggregates, by their common name (see `shapes.ALIKE`)."""
        score: Callable[[Sequence[Aggregate], np.ndarray], Scores] = getattr(self, _METHODS[alike])
        return score(aggregates, truths)

    @abstractmethod
    def sums(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of sums."""

    @abstractmethod
    def means(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of means."""

    @abstractmethod
    def spreads(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of variances and standard deviations."""

    @abstractmethod
    def extremes(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of least or greatest values."""

    @abstractmethod
    def quantiles(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of quantiles."""


_METHODS: Mapping[str, str] = {
    "sum": "sums",
    "avg": "means",
    "min": "extremes",
    "max": "extremes",
    "spread": "spreads",
    "median": "quantiles",
    "quantile": "quantiles",
}
"""The methods of `ScoredLaws` by the common name of alike aggregates."""


@dataclass(frozen=True, eq=False)
class SelectableColumn:
    """A column by which queries select rows.

    Attributes:
        codes: the code of each row (unsigned); that of null follows those of values.
        values: the values by code, ascending if they have an order.
    """

    codes: np.ndarray
    values: Sequence[Any]

    def rows_in(self, selection: Selection) -> np.ndarray:
        """Return the rows whose value is selected (bool, one per row)."""
        codes = self.codes
        if selection.values is not None:
            admitted = np.zeros(len(self.values) + 1, dtype=bool)
            admitted[[self._codes[value] for value in selection.values if value in self._codes]] = (
                True
            )
            return np.asarray(admitted[codes])
        first, end = selection.range_among(self.values)
        narrow = codes.dtype.type
        within: np.ndarray = (codes - narrow(first)) < narrow(end - first)  # wraps below
        return within

    @cached_property
    def _codes(self) -> Mapping[Any, int]:
        return {value: code for code, value in enumerate(self.values)}


def select_rows(
    selections: Sequence[Sequence[Selection]], columns: Mapping[str, SelectableColumn], rows: int
) -> np.ndarray:
    """Return the rows that each query selects (bool, queries x rows)."""
    chosen = np.ones((len(selections), rows), dtype=bool)
    for of_query, parts in zip(chosen, selections, strict=True):
        for part in parts:
            of_query &= columns[part.name].rows_in(part)
    return chosen


class OriginalRows:
    """The original, on which queries have their true answers."""

    def __init__(self, original: Microdata, names: Sequence[str], numeric: Sequence[str]) -> None:
        """Sort the rows by the first numeric column.

        Args:
            original: the rows of the release before anonymization.
            names: the columns by which queries may select.
            numeric: the columns that may be aggregated.
        """
        order = np.arange(original.rows)
        if numeric:
            order = stable_order(original[numeric[0]].codes.astype(np.int64))
        self._rows = original.rows
        self._columns = {name: _selectable(original[name], order) for name in names}
        self._numbers = {name: _SortedNumbers(original[name], order) for name in numeric}

    def select(self, selections: Sequence[Sequence[Selection]]) -> np.ndarray:
        """Return the rows that each query selects (bool, queries x rows)."""
        return select_rows(selections, self._columns, self._rows)

    def counts(self, chosen: np.ndarray, matching: Sequence[Selection]) -> np.ndarray:
        """Return how many of the chosen rows also match a selection (float64, one per query).

        Args:
            chosen: the rows that each query selects (bool, queries x rows).
            matching: the selection of each query; none if all chosen rows are counted.
        """
        if not matching:
            return np.asarray(chosen.sum(axis=1), dtype=np.float64)
        counts = [
            np.count_nonzero(rows & self._columns[selection.name].rows_in(selection))
            for rows, selection in zip(chosen, matching, strict=True)
        ]
        return np.array(counts, dtype=np.float64)

    def numbers(self, name: str, chosen: np.ndarray) -> list[np.ndarray]:
        """Return the numbers of a column in the chosen rows, ascending (float64, per query)."""
        return self._numbers[name].of_rows(chosen)


def _selectable(column: Column, order: np.ndarray) -> SelectableColumn:
    """Return a column of the original, with its rows in an order."""
    values = column.values.to_pylist()
    codes = np.where(column.codes < 0, len(values), column.codes)[order]
    return SelectableColumn(codes.astype(np.min_scalar_type(len(values))), values)


class _SortedNumbers:
    """A numeric column of the original in the order of its values, without nulls."""

    def __init__(self, column: Column, rows: np.ndarray) -> None:
        """Sort the rows that have a value.

        Args:
            column: the column.
            rows: the order of the rows that are chosen from (integers).
        """
        codes = column.codes[rows].astype(np.int64)
        nulls = np.count_nonzero(codes < 0)
        order = stable_order(codes)[nulls:]
        units = exact(column.values, column.name)
        by_code = units.units.astype(np.float64) / 10**units.digits
        self._numbers = by_code[codes[order]]
        self._order = slice(nulls, None) if (np.diff(order) == 1).all() else order

    def of_rows(self, chosen: np.ndarray) -> list[np.ndarray]:
        """Return the numbers in rows that are chosen (bool, queries x rows)."""
        return [self._numbers[rows[self._order]] for rows in chosen]


def block_size(rows: int) -> int:
    """Return how many queries of so many rows are computed fastest together."""
    return max(min(_CELLS // max(rows, 1), _MOST_QUERIES), _FEWEST_QUERIES)


def true_answers(aggregates: Sequence[Aggregate], numbers: Sequence[np.ndarray]) -> np.ndarray:
    """Return each aggregate over its ascending numbers (float64); NaN if it is null over them."""
    return np.array(list(map(true_answer, aggregates, numbers)))


def true_answer(aggregate: Aggregate, numbers: np.ndarray) -> float:
    """Return an aggregate over ascending numbers (float64); NaN if it is null over them."""
    kind = aggregate.kind
    if len(numbers) < max(kind.fewest, 1):
        return math.nan
    if kind.of_squares is not None:
        return kind.of_squares(float(((numbers - numbers.mean()) ** 2).sum()), len(numbers))
    if aggregate.share is not None:
        return _quantile(numbers, aggregate.share, between=kind.between)
    return float(_TRUTHS[aggregate.function](numbers))


def _quantile(numbers: np.ndarray, share: Fraction, *, between: bool) -> float:
    """Return the quantile of ascending numbers, one of them or also between two of them."""
    if not between:
        return float(numbers[max(math.ceil(share * len(numbers)), 1) - 1])
    place = share * (len(numbers) - 1)
    below, above = numbers[math.floor(place)], numbers[math.ceil(place)]
    return float(below + (above - below) * float(place - math.floor(place)))


_TRUTHS: Mapping[str, Callable[[np.ndarray], Any]] = {
    "sum": np.sum,
    "avg": np.mean,
    "min": lambda numbers: numbers[0],
    "max": lambda numbers: numbers[-1],
}


def counted_scores(
    counts: np.ndarray, truths: np.ndarray, middle: np.ndarray, below: np.ndarray, above: np.ndarray
) -> Scores:
    """Return the distance of each truth from the middle, divided by the width on its side.

    Args:
        counts: whether each query counts for a factor, if its answer is not exact (bool).
        truths: the true answers; NaN for null.
        middle: the middles of the laws.
        below: the distances down to the ends of the 95 % ranges.
        above: the distances up to these ends.
    """
    missed = truths - middle
    width = np.where(missed > 0, above, below)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(missed == 0, 0.0, np.abs(missed) / np.maximum(width, 0.0))
    is_open = np.maximum(below, above) > ROUNDING * np.abs(middle)
    return np.where(counts & is_open & np.isfinite(truths), scores, np.nan)
