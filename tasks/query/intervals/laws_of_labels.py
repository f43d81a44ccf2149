"""The laws of aggregates over rows that match with chances, and shares of values behind labels.

The share of a value behind a label is that of the label's rows that are expected to have it. Labels
that overlap, as boxes do, show how frequent their common values are. The shares are found by
expectation and maximisation, in few rounds so that the result stays smooth.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.exact import exact
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues, admits
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.bounds.bounds import value_of
from sfumato.tasks.query.intervals.quantiles import QuantilePlace, QuantileSpread, expected_places
from sfumato.tasks.query.intervals.shapes import name_of
from sfumato.tasks.query.intervals.spread import (
    AnswerLaw,
    ExtremeSpread,
    NumberSpread,
    SelectedSize,
    extreme_law,
)
from sfumato.tasks.query.intervals.sums import (
    SquaresSpread,
    likely_size,
    mean_of_chances,
    squares_spread,
    sum_of_chances,
)
from sfumato.tasks.query.question.question import Aggregate

_FEWEST = 2.0  # rows; fewer have no variance
_HALF = 0.5  # places; a value itself takes one place
_MOST_VALUES = 5_000  # behind all labels of a column
_MOST_CELLS = 5_000_000  # labels times values
_ROUNDS = 50  # of expectation and maximisation


@dataclass(frozen=True, eq=False)
class ValuesWithChances:
    """The values of rows that match with a chance each; there is at least one.

    Attributes:
        name: the column.
        values: the values of the column, ascending.
        codes: the code of each row's value (int64).
        chance: the chance that each row matches (float64).
        size: the number of rows that match, and of their groups.
    """

    name: str
    values: pa.Array
    codes: np.ndarray
    chance: np.ndarray
    size: SelectedSize

    def law(self, aggregate: Aggregate) -> AnswerLaw | None:
        """Return the law of an aggregate; None if it has none."""
        make_law = _LAWS.get(name_of(aggregate) or "")
        return None if make_law is None else make_law(self, aggregate)

    def total(self, _: Aggregate) -> NumberSpread:
        """Return the law of the sum."""
        return sum_of_chances(self.size, self.chance, self._numbers)

    def mean(self, _: Aggregate) -> NumberSpread:
        """Return the law of the mean."""
        return mean_of_chances(self.size, self.chance, self._numbers)

    def spread(self, aggregate: Aggregate) -> SquaresSpread | None:
        """Return the law of a variance or a standard deviation."""
        make_law, rows = squares_spread(aggregate.kind), float(self.chance.sum())
        if make_law is None or rows < _FEWEST:
            return None
        squares = (self._numbers - np.average(self._numbers, weights=self.chance)) ** 2
        likely = mean_of_chances(self.size, self.chance, squares)
        return make_law(self.size, rows, likely.estimate, likely.above)

    def quantile(self, aggregate: Aggregate) -> QuantileSpread | None:
        """Return the law of a quantile."""
        if aggregate.share is None:
            return None
        quantile = QuantilePlace(aggregate.share, aggregate.kind.between)
        places = expected_places(np.bincount(self.codes, self.chance))
        place = quantile.place_among(places.rows)
        code = int(places.codes[places.first(place)])
        upto = (self.codes <= code).astype(np.float64)
        share = mean_of_chances(self.size, self.chance, upto)
        width = 0.0 if self._is_known(quantile, code) else _HALF + share.above * places.rows
        return QuantileSpread(self.size, places, place, width, self._by_code, self._show)

    def extreme(self, _: Aggregate, *, greatest: bool) -> ExtremeSpread:
        """Return the law of the least or the greatest value."""
        order = stable_order(-self.codes if greatest else self.codes)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(self.chance[order], 1.0))
        return ExtremeSpread(self.size, extreme_law(self.codes[order], missed), self._show)

    def _is_known(self, quantile: QuantilePlace, code: int) -> bool:
        """Decide whether a quantile surely is the value of a code."""
        sure = self.chance >= 1
        below, above = self.codes < code, self.codes > code
        sides = ((int(side.sum()), int((side | sure).sum())) for side in (below, above))
        return quantile.is_known(*sides)

    @cached_property
    def _by_code(self) -> np.ndarray:
        numbers = exact(self.values, self.name)
        by_code: np.ndarray = numbers.units.astype(np.float64) / 10**numbers.digits
        return by_code

    @property
    def _numbers(self) -> np.ndarray:
        numbers: np.ndarray = self._by_code[self.codes]
        return numbers

    def _show(self, code: int) -> object:
        return value_of(self.values[code].as_py(), bool(pa.types.is_integer(self.values.type)))


_LAWS: Mapping[str, Callable[[ValuesWithChances, Aggregate], AnswerLaw | None]] = {
    "sum": ValuesWithChances.total,
    "avg": ValuesWithChances.mean,
    "min": partial(ValuesWithChances.extreme, greatest=False),
    "max": partial(ValuesWithChances.extreme, greatest=True),
    "spread": ValuesWithChances.spread,
    "median": ValuesWithChances.quantile,
    "quantile": ValuesWithChances.quantile,
}
"""The laws by the common name of alike aggregates."""


def values_with_chances(
    name: str, column: Column, rows: np.ndarray, chance: np.ndarray, groups: int
) -> ValuesWithChances | None:
    """Return the values of the rows that have one; None if none has.

    Args:
        name: the column.
        column: its values; the code of a null is -1.
        rows: the positions of the rows that may match (integers).
        chance: the chance that each of them matches (float64).
        groups: the number of groups that they belong to.
    """
    codes = column.codes[rows].astype(np.int64)
    there = codes >= 0
    if not there.any():
        return None
    size = likely_size(chance[there], groups)
    return ValuesWithChances(name, column.values, codes[there], chance[there], size)


@dataclass(frozen=True, eq=False)
class ColumnOfLabels:
    """A recoded column.

    Attributes:
        values: the values behind its labels, ascending.
        share: the share of each value behind each label (float64, labels x values).
        codes: the label of each row (integers).
    """

    values: Sequence[Any]
    share: np.ndarray
    codes: np.ndarray


def values_behind(labels: Sequence[Admitted], type_: str) -> list[Any] | None:
    """Return the values that labels admit, ascending; None if they are too many or have no end."""
    values: set[Any] = set()
    for label in labels:
        if isinstance(label, ListedValues):
            values.update(value for value in label.values if value is not None)
        elif isinstance(label, Between) and type_ in ("integer", "date"):
            between = _steps_between(label.low, label.high)
            if between is None:
                return None
            values.update(between)
        if len(values) > _MOST_VALUES:
            return None
    return sorted(values) if len(labels) * len(values) <= _MOST_CELLS else None


def _steps_between(low: Any, high: Any) -> list[Any] | None:
    """Return all integers or days from one to another; None if they are too many."""
    if low is None or high is None:
        return None
    days = isinstance(low, date)
    steps = (high - low).days if days else high - low
    if steps > _MOST_VALUES:
        return None
    return [low + (timedelta(days=step) if days else step) for step in range(steps + 1)]


def fitted_shares(
    labels: Sequence[Admitted], codes: np.ndarray, values: Sequence[Any]
) -> ColumnOfLabels:
    """Return the share of each value behind each label, under one distribution for all labels.

    Args:
        labels: the labels of a column.
        codes: the label of each row (integers).
        values: the values behind the labels, ascending.

    Each round distributes the rows of every label over its values in proportion to their weights,
    and takes the sums as the new weights.
    """
    inside = np.array([[admits(label, value) for value in values] for label in labels], float)
    times = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    weight = np.ones(len(values))
    for _ in range(_ROUNDS):
        whole = np.maximum(inside @ weight, 1e-300)
        weight = weight * (inside.T @ (times / whole))
    share = inside * weight
    total = share.sum(axis=1, keepdims=True)
    share = np.where(total > 0, share / np.where(total > 0, total, 1), 0.0)
    return ColumnOfLabels(values, share, codes)
