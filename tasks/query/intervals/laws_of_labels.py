"""The laws of aggregates over rows meant with chances, and how often values occur behind labels.

Where labels overlap, as boxes do, they tell how frequent the values are that they have in common:
expectation and maximisation, in few rounds so that what is found stays smooth.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import exact
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues, admits
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.bounds.bounds import value_of
from sfumato.tasks.query.intervals.quantiles import AskedPlace, QuantileSpread, expected_places
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

_FEWEST = 2.0  # rows, of which there is a variance
_HALF = 0.5  # places, which values themselves are wide
_MOST_VALUES = 5_000  # behind all labels of a column
_MOST_CELLS = 5_000_000  # labels times values
_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class ValuesWithChances:
    """The values of rows that are meant with a chance each; there is one.

    Attributes:
        name: of their column.
        values: of the column, ascending.
        codes: the value of each row (int64).
        chance: of each row (float64).
        size: how many rows and groups are selected.
    """

    name: str
    values: pa.Array
    codes: np.ndarray
    chance: np.ndarray
    size: SelectedSize

    def law(self, aggregate: Aggregate) -> AnswerLaw | None:
        """The law of an aggregate; None of one that has none."""
        making = _LAWS.get(name_of(aggregate) or "")
        return None if making is None else making(self, aggregate)

    def total(self, _: Aggregate) -> NumberSpread:
        """The law of the sum."""
        return sum_of_chances(self.size, self.chance, self._numbers)

    def mean(self, _: Aggregate) -> NumberSpread:
        """The law of the mean."""
        return mean_of_chances(self.size, self.chance, self._numbers)

    def spread(self, aggregate: Aggregate) -> SquaresSpread | None:
        """The law of a variance or a standard deviation."""
        making, rows = squares_spread(aggregate.kind), float(self.chance.sum())
        if making is None or rows < _FEWEST:
            return None
        squares = (self._numbers - np.average(self._numbers, weights=self.chance)) ** 2
        likely = mean_of_chances(self.size, self.chance, squares)
        return making(self.size, rows, likely.estimate, likely.above)

    def quantile(self, aggregate: Aggregate) -> QuantileSpread | None:
        """The law of a quantile."""
        if aggregate.share is None:
            return None
        asked = AskedPlace(aggregate.share, aggregate.kind.between)
        places = expected_places(np.bincount(self.codes, self.chance))
        place = asked.among(places.rows)
        code = int(places.codes[places.first(place)])
        upto = (self.codes <= code).astype(np.float64)
        share = mean_of_chances(self.size, self.chance, upto)
        width = 0.0 if self._is_known(asked, code) else _HALF + share.above * places.rows
        return QuantileSpread(self.size, places, place, width, self._by_code, self._shown)

    def extreme(self, _: Aggregate, *, greatest: bool) -> ExtremeSpread:
        """The law of the least or the greatest value."""
        order = stable_order(-self.codes if greatest else self.codes)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(self.chance[order], 1.0))
        return ExtremeSpread(self.size, extreme_law(self.codes[order], missed), self._shown)

    def _is_known(self, asked: AskedPlace, code: int) -> bool:
        """Decide whether a quantile surely is the value of a code."""
        sure = self.chance >= 1
        below, above = self.codes < code, self.codes > code
        sides = ((int(side.sum()), int((side | sure).sum())) for side in (below, above))
        return asked.is_known(*sides)

    @cached_property
    def _by_code(self) -> np.ndarray:
        known = exact(self.values, self.name)
        by_code: np.ndarray = known.units.astype(np.float64) / 10**known.digits
        return by_code

    @property
    def _numbers(self) -> np.ndarray:
        numbers: np.ndarray = self._by_code[self.codes]
        return numbers

    def _shown(self, code: int) -> object:
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
"""By what alike aggregates are called."""


def values_with_chances(
    name: str, column: Column, rows: np.ndarray, chance: np.ndarray, groups: int
) -> ValuesWithChances | None:
    """The values of rows that have one; None where none has.

    Args:
        name: of the column.
        column: the values, -1 for a null.
        rows: that may be selected (integers).
        chance: of each of them (float64).
        groups: how many groups they are of.
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
        values: behind its labels, ascending where they have an order.
        share: of each label the share of each value (float64, labels x values).
        codes: the label of each row (integers).
    """

    values: Sequence[Any]
    share: np.ndarray
    codes: np.ndarray


def values_behind(labels: Sequence[Admitted], type_: str) -> list[Any] | None:
    """The values that labels admit, ascending; None where there are too many, or no end."""
    found: set[Any] = set()
    for label in labels:
        if isinstance(label, ListedValues):
            found.update(value for value in label.values if value is not None)
        elif isinstance(label, Between) and type_ in ("integer", "date"):
            between = _between(label.low, label.high)
            if between is None:
                return None
            found.update(between)
        if len(found) > _MOST_VALUES:
            return None
    return sorted(found) if len(labels) * len(found) <= _MOST_CELLS else None


def _between(low: Any, high: Any) -> list[Any] | None:
    """All integers or days from one to another; None where they are too many."""
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
    """The share of each value behind each label, under one distribution for all labels."""
    inside = np.array([[admits(label, value) for value in values] for label in labels], float)
    times = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    weight = np.ones(len(values))
    for _ in range(_ROUNDS):
        whole = np.maximum(inside @ weight, 1e-300)
        weight = weight * (inside.T @ (times / whole))
    share = inside * weight
    found = share.sum(axis=1, keepdims=True)
    share = np.where(found > 0, share / np.where(found > 0, found, 1), 0.0)
    return ColumnOfLabels(values, share, codes)
