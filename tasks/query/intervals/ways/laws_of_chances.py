"""The laws of the aggregates of a sensitive column whose rows are meant with a chance each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import exact
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.bounds.values import value_of
from sfumato.tasks.query.intervals.laws.chances import (
    likely_size,
    mean_of_chances,
    sum_of_chances,
)
from sfumato.tasks.query.intervals.laws.extremes import extreme_law
from sfumato.tasks.query.intervals.laws.quantiles import (
    AskedPlace,
    QuantileSpread,
    expected_places,
)
from sfumato.tasks.query.intervals.laws.spread import (
    AnswerLaw,
    ExtremeSpread,
    NumberSpread,
    SelectedSize,
)
from sfumato.tasks.query.intervals.laws.squares import SquaresSpread, squares_spread
from sfumato.tasks.query.intervals.shapes.alike import name_of
from sfumato.tasks.query.question.aggregate import Aggregate

_FEWEST = 2.0  # rows, of which there is a variance
_HALF = 0.5  # places, which values themselves are wide


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
