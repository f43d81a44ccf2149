"""What is likely of quantiles over exact rows beside shuffled values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.tasks.query.intervals.beside_rows.exact_rows import NumbersOfRows
from sfumato.tasks.query.intervals.beside_rows.ranked import ValuesAmongSelected
from sfumato.tasks.query.intervals.laws.covariates import SelectedOfGroups
from sfumato.tasks.query.intervals.laws.grouped import LEAN_OF_SHARES, LikelySum
from sfumato.tasks.query.intervals.laws.normal import Z95
from sfumato.tasks.query.intervals.laws.quantiles import (
    AskedPlace,
    ExpectedPlaces,
    QuantileSpread,
)
from sfumato.tasks.query.intervals.laws.spread import SelectedSize

_THRESHOLDS = 16
"""At so many values, about as many rows between them, it is fitted who has no more than that."""

_HALF = 0.5  # places, which values themselves are wide


@dataclass(frozen=True, eq=False)
class QuantilesOfRows:
    """The quantiles of a column.

    Attributes:
        numbers: its values by code, ascending (float64).
        times: how often each occurs (int64).
        known: finds out what is known of numbers of these codes (float64, by code).
        there: what is known of its being no null; None where it never is.
    """

    numbers: np.ndarray
    times: np.ndarray
    known: Callable[[np.ndarray], NumbersOfRows]
    there: NumbersOfRows | None

    def spread_over(
        self,
        values: ValuesAmongSelected,
        selected: SelectedOfGroups,
        size: SelectedSize,
        asked: AskedPlace,
        unlike: np.ndarray | None = None,
    ) -> QuantileSpread:
        """The law of a quantile of selected rows; `unlike` as in `Deviations.sum_over`."""
        places = values.places
        code = int(places.codes[places.first(asked.among(places.rows))])
        if values.is_known(asked, code):
            place, width = asked.among(places.rows), 0.0
        else:
            place = self._place(places, selected, asked)
            code = int(places.codes[places.first(place)])
            likely = self._upto(values, selected, code, float(asked.share), unlike)
            width = _HALF + Z95 * likely.deviation
        return QuantileSpread(size, places, place, width, self.numbers, values.ranked.shown)

    def _place(
        self, places: ExpectedPlaces, selected: SelectedOfGroups, asked: AskedPlace
    ) -> float:
        """The place by groups alone of the value that has a place by all that is known.

        Between thresholds as many rows are taken to be moved as between their neighbours.
        """
        there = 0.0 if self.there is None else self.there.deviations.moved_over(selected)
        wanted = asked.among(places.rows + there)
        low, high = (0.0, 0.0), (places.rows, places.rows + there)
        first, last = 0, len(self._thresholds)
        while first < last:
            middle = (first + last) // 2
            by_groups = places.of(int(self._thresholds[middle]))
            moved = by_groups + self._fitted(middle).deviations.moved_over(selected)
            if moved < wanted:
                low, first = (by_groups, moved), middle + 1
            else:
                high, last = (by_groups, moved), middle
        apart = high[1] - low[1]
        part = min(max((wanted - low[1]) / apart, 0.0), 1.0) if apart > 0 else _HALF
        return low[0] + part * (high[0] - low[0])

    def _upto(
        self,
        values: ValuesAmongSelected,
        selected: SelectedOfGroups,
        code: int,
        share: float,
        unlike: np.ndarray | None,
    ) -> LikelySum:
        """By how much more rows than a share may have no more than a value."""
        moved, error = self._fitted(self._nearest(code)).deviations.sum_over(selected, unlike)
        if self.there is not None:
            of_there, error_there = self.there.deviations.sum_over(selected, unlike)
            moved, error = moved - share * of_there, float(np.hypot(error, share * error_there))
        here = SelectedOfGroups(np.arange(len(selected.group)), selected.hits, selected.rows)
        numbers = values.above_share(code, share)
        return LikelySum(numbers, here, moved, error, LEAN_OF_SHARES)

    def _nearest(self, code: int) -> int:
        """The threshold that is nearest to a value, by the rows between them."""
        return int(np.abs(self._below[self._thresholds] - self._below[code]).argmin())

    def _fitted(self, threshold: int) -> NumbersOfRows:
        """Who has no more than a threshold."""
        if threshold not in self._known:
            codes = np.arange(len(self.numbers))
            self._known[threshold] = self.known(codes <= self._thresholds[threshold])
        return self._known[threshold]

    @cached_property
    def _known(self) -> dict[int, NumbersOfRows]:
        return {}

    @cached_property
    def _below(self) -> np.ndarray:
        return np.cumsum(self.times)

    @cached_property
    def _thresholds(self) -> np.ndarray:
        parts = self._below[-1] * (np.arange(_THRESHOLDS) + _HALF) / _THRESHOLDS
        return np.unique(np.searchsorted(self._below, parts))
