"""The values of groups in their order, and the laws of extremes, places and quantiles.

The place of a value among others is the number of values before it, with fractions where numbers of
values are only expected. A code is the rank of a value among the distinct values of a column.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.query.bounds.bounds import value_of
from sfumato.tasks.query.intervals.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.exact_rows import NumbersOfRows, ValuesOfColumn
from sfumato.tasks.query.intervals.quantiles import (
    ExpectedPlaces,
    QuantilePlace,
    QuantileSpread,
    expected_places,
)
from sfumato.tasks.query.intervals.spread import (
    Z95,
    ExtremeLaw,
    SelectedSize,
    extreme_law,
    missed_of_groups,
)
from sfumato.tasks.query.intervals.sums import LEAN_OF_SHARES, LikelySum

_THRESHOLDS = 16
"""The number of thresholds: values, about equally many rows apart, each with its covariates' fit.

For each, covariates predict which rows have values that are not above it.
"""
_HALF = 0.5  # places; a value itself takes one place


@dataclass(frozen=True, eq=False)
class RankedValues:
    """The values of groups, the greatest first, without nulls; all int64.

    Attributes:
        group: the group of each value.
        code: the code of each value.
        rank: the rank of each value in its group; the greatest one has 0.
        sizes: the number of values of each group, nulls included.
        non_null: the number of values of each group that are not null.
        show: returns a value by its code, as answers show it.
    """

    group: np.ndarray
    code: np.ndarray
    rank: np.ndarray
    sizes: np.ndarray
    non_null: np.ndarray
    show: Callable[[int], Any]

    def among_selected(self, selected: SelectedOfGroups) -> "ValuesAmongSelected":
        """Return the values that selected rows may have."""
        hits = np.zeros(len(self.sizes), dtype=np.int64)
        hits[selected.group] = selected.hits
        return ValuesAmongSelected(self, selected.group, hits)


@dataclass(frozen=True, eq=False)
class ValuesAmongSelected:
    """The values of groups of which rows are selected.

    Attributes:
        ranked: the values of all groups.
        groups: the groups of which rows are selected (integers, ascending).
        hits: the number of selected rows of each group (int64, one for each of all groups).
    """

    ranked: RankedValues
    groups: np.ndarray
    hits: np.ndarray

    def extreme(self, *, greatest: bool) -> ExtremeLaw:
        """Return the law of the greatest of the selected rows' values, or of the least."""
        group, code, rank = self._group, self._code, self.ranked.rank[self._positions]
        if not greatest:
            group, code = group[::-1], code[::-1]
            rank = self.ranked.non_null[group] - 1 - rank[::-1]
        missed = missed_of_groups(self.ranked.sizes[group], rank, self.hits[group])
        return extreme_law(code, missed)

    @cached_property
    def places(self) -> ExpectedPlaces:
        """The places of the values, as expected from groups only; there is at least one value."""
        share = self.hits / np.maximum(self.ranked.sizes, 1)
        return expected_places(np.bincount(self._code, share[self._group]))

    def upto(self, code: int) -> np.ndarray:
        """Return how many values of each of `groups` are not above that of a code (int64)."""
        counted = np.bincount(self._group[self._code <= code], minlength=len(self.hits))
        upto: np.ndarray = counted[self.groups]
        return upto

    def is_known(self, quantile: QuantilePlace, code: int) -> bool:
        """Decide whether a quantile surely is the value of a code."""
        hits, non_null = self.hits[self.groups], self.ranked.non_null[self.groups]
        there = hits - (
            self.ranked.sizes[self.groups] - non_null
        )  # least number of selected non-null values of each group
        # the most selected values below and above the code's value
        below = np.minimum(self.upto(code - 1), hits)
        above = np.minimum(non_null - self.upto(code), hits)
        in_all = (int(np.maximum(part, there).sum()) for part in (below, above))
        ends = zip((int(below.sum()), int(above.sum())), in_all, strict=True)
        return quantile.is_known(*ends)

    def above_share(self, code: int, share: float) -> GroupedNumbers:
        """Return numbers of values: 1 - share if not above that of a code, -share if above it.

        The number of a null is 0. Only numbers of `groups` are returned.
        """
        sizes = self.ranked.sizes[self.groups].astype(np.float64)
        there = self.ranked.non_null[self.groups] / sizes
        upto = self.upto(code) / sizes
        mean = upto - share * there
        square = upto * (1 - 2 * share) + share**2 * there
        return GroupedNumbers(sizes, mean, np.maximum(square - mean**2, 0.0), np.zeros(len(sizes)))

    @cached_property
    def _positions(self) -> np.ndarray:
        return np.flatnonzero(self.hits[self.ranked.group])

    @cached_property
    def _group(self) -> np.ndarray:
        group: np.ndarray = self.ranked.group[self._positions]
        return group

    @cached_property
    def _code(self) -> np.ndarray:
        code: np.ndarray = self.ranked.code[self._positions]
        return code


def ranked_values(values: ValuesOfColumn, sizes: np.ndarray, *, whole: bool) -> RankedValues:
    """Rank the values of a column.

    Args:
        values: the values of groups.
        sizes: the number of rows of each group (int64).
        whole: whether the values are integers.
    """
    there = values.there
    group, code = values.table.group[there], values.column.codes[there].astype(np.int64)
    if values.times is not None:
        times = values.times[there]
        group, code = np.repeat(group, times), np.repeat(code, times)
    order = stable_order(code)[::-1]
    group, code = group[order], code[order]
    non_null = np.bincount(group, minlength=len(sizes))
    by_group = stable_order(group)
    before = np.append(0, np.cumsum(non_null))
    rank = np.empty(len(group), dtype=np.int64)
    rank[by_group] = np.arange(len(group)) - before[group[by_group]]
    distinct = values.column.values
    return RankedValues(
        group, code, rank, sizes, non_null, lambda code: value_of(distinct[code].as_py(), whole)
    )


@dataclass(frozen=True, eq=False)
class QuantilesOfRows:
    """The quantiles of a column.

    Attributes:
        numbers: the values of the column by code, ascending (float64).
        times: how often each occurs (int64).
        fit: returns the numbers 1 for rows not above each of some codes (int64, ascending), else 0.
        there: the numbers 1 for each value and 0 for a null; None if the column has no nulls.
    """

    numbers: np.ndarray
    times: np.ndarray
    fit: Callable[[np.ndarray], Sequence[NumbersOfRows]]
    there: NumbersOfRows | None

    def spread_over(
        self,
        values: ValuesAmongSelected,
        selected: SelectedOfGroups,
        size: SelectedSize,
        quantile: QuantilePlace,
        unlike: np.ndarray | None = None,
    ) -> QuantileSpread:
        """Return the law of a quantile of selected rows.

        Args:
            values: the values that selected rows may have.
            selected: the selected rows.
            size: the size that the law gets.
            quantile: the quantile.
            unlike: see `Deviations.sum_over`.
        """
        places = values.places
        code = int(places.codes[places.first(quantile.place_among(places.rows))])
        if values.is_known(quantile, code):
            place, width = quantile.place_among(places.rows), 0.0
        else:
            place = self._place(places, selected, quantile)
            code = int(places.codes[places.first(place)])
            likely = self._upto(values, selected, code, float(quantile.share), unlike)
            width = _HALF + Z95 * likely.deviation
        return QuantileSpread(size, places, place, width, self.numbers, values.ranked.show)

    def _place(
        self, places: ExpectedPlaces, selected: SelectedOfGroups, quantile: QuantilePlace
    ) -> float:
        """Return the quantile's place, corrected by covariates.

        Places are those that the groups alone make expected (`places`). The result is the place of
        the value that has the quantile's place if covariates are used, too. A binary search finds
        the thresholds on both sides of it. Between two thresholds covariates are assumed to move
        rows evenly.
        """
        there = 0.0 if self.there is None else self.there.deviations.moved_over(selected)
        target = quantile.place_among(places.rows + there)
        # each end: rows up to a threshold as expected by groups, and by groups and covariates
        low, high = (0.0, 0.0), (places.rows, places.rows + there)
        first, last = 0, len(self.thresholds)
        while first < last:
            middle = (first + last) // 2
            by_groups = places.count_upto(int(self.thresholds[middle]))
            moved = by_groups + self.numbers_upto(middle).deviations.moved_over(selected)
            if moved < target:
                low, first = (by_groups, moved), middle + 1
            else:
                high, last = (by_groups, moved), middle
        apart = high[1] - low[1]
        part = min(max((target - low[1]) / apart, 0.0), 1.0) if apart > 0 else _HALF
        return low[0] + part * (high[0] - low[0])

    def _upto(
        self,
        values: ValuesAmongSelected,
        selected: SelectedOfGroups,
        code: int,
        share: float,
        unlike: np.ndarray | None,
    ) -> LikelySum:
        """Return the law of the rows not above a value, in excess of a share of all rows."""
        moved, error = self.numbers_upto(self._nearest(code)).deviations.sum_over(selected, unlike)
        if self.there is not None:
            of_there, error_there = self.there.deviations.sum_over(selected, unlike)
            moved, error = moved - share * of_there, float(np.hypot(error, share * error_there))
        here = SelectedOfGroups(np.arange(len(selected.group)), selected.hits, selected.rows)
        numbers = values.above_share(code, share)
        return LikelySum(numbers, here, moved, error, LEAN_OF_SHARES)

    def _nearest(self, code: int) -> int:
        """Return the threshold with the fewest rows between it and a value."""
        return int(np.abs(self.counts_upto[self.thresholds] - self.counts_upto[code]).argmin())

    def numbers_upto(self, threshold: int) -> NumbersOfRows:
        """Return the numbers 1 for rows not above a threshold, else 0."""
        return self._fitted_numbers[threshold]

    @cached_property
    def _fitted_numbers(self) -> Sequence[NumbersOfRows]:
        return self.fit(self.thresholds)

    @cached_property
    def counts_upto(self) -> np.ndarray:
        """The number of values not above each (int64, by code)."""
        return np.cumsum(self.times)

    @cached_property
    def thresholds(self) -> np.ndarray:
        """The codes of the thresholds, ascending (int64)."""
        parts = self.counts_upto[-1] * (np.arange(_THRESHOLDS) + _HALF) / _THRESHOLDS
        return np.unique(np.searchsorted(self.counts_upto, parts))
