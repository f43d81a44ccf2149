"""The values of groups in their order: the laws of extremes, places and quantiles."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.bounds import value_of
from sfumato.tasks.query.intervals.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.exact_rows import NumbersOfRows, ValuesOfColumn
from sfumato.tasks.query.intervals.quantiles import (
    AskedPlace,
    ExpectedPlaces,
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
"""At so many values, about as many rows between them, it is fitted who has no more than that."""
_HALF = 0.5  # places, which values themselves are wide


@dataclass(frozen=True, eq=False)
class RankedValues:
    """The values of groups, the greatest first, nulls left out; all int64.

    Attributes:
        group: of each value.
        code: of each value.
        rank: of each value in its group, the greatest one's being 0.
        sizes: how many values each group has, nulls among them.
        known: how many of them are no nulls.
        shown: what shows a value by its code.
    """

    group: np.ndarray
    code: np.ndarray
    rank: np.ndarray
    sizes: np.ndarray
    known: np.ndarray
    shown: Callable[[int], Any]

    def among(self, selected: SelectedOfGroups) -> "ValuesAmongSelected":
        """Those that may be selected rows'."""
        hits = np.zeros(len(self.sizes), dtype=np.int64)
        hits[selected.group] = selected.hits
        return ValuesAmongSelected(self, selected.group, hits)


@dataclass(frozen=True, eq=False)
class ValuesAmongSelected:
    """The values of groups of which rows are selected.

    Attributes:
        ranked: the values of all groups.
        groups: those of which rows are selected (integers, ascending).
        hits: how many rows of each group of all are (int64).
    """

    ranked: RankedValues
    groups: np.ndarray
    hits: np.ndarray

    def extreme(self, *, greatest: bool) -> ExtremeLaw:
        """The law of the greatest of the selected rows' values, or of the least."""
        group, code, rank = self._group, self._code, self.ranked.rank[self._kept]
        if not greatest:
            group, code = group[::-1], code[::-1]
            rank = self.ranked.known[group] - 1 - rank[::-1]
        missed = missed_of_groups(self.ranked.sizes[group], rank, self.hits[group])
        return extreme_law(code, missed)

    @cached_property
    def places(self) -> ExpectedPlaces:
        """The places of the values, as far as groups alone tell; there is a value."""
        share = self.hits / np.maximum(self.ranked.sizes, 1)
        return expected_places(np.bincount(self._code, share[self._group]))

    def upto(self, code: int) -> np.ndarray:
        """How many values of each of these groups are not above one (int64)."""
        counted = np.bincount(self._group[self._code <= code], minlength=len(self.hits))
        upto: np.ndarray = counted[self.groups]
        return upto

    def is_known(self, asked: AskedPlace, code: int) -> bool:
        """Decide whether a quantile surely is the value that a code is of."""
        hits, known = self.hits[self.groups], self.ranked.known[self.groups]
        there = hits - (self.ranked.sizes[self.groups] - known)  # at least, of each group
        below = np.minimum(self.upto(code - 1), hits)
        above = np.minimum(known - self.upto(code), hits)
        in_all = (int(np.maximum(part, there).sum()) for part in (below, above))
        ends = zip((int(below.sum()), int(above.sum())), in_all, strict=True)
        return asked.is_known(*ends)

    def above_share(self, code: int, share: float) -> GroupedNumbers:
        """Of each value that is there how far 1, or 0 for one above a code, is from a share.

        A null counts 0. The numbers are those of `groups` alone.
        """
        sizes = self.ranked.sizes[self.groups].astype(np.float64)
        there = self.ranked.known[self.groups] / sizes
        upto = self.upto(code) / sizes
        mean = upto - share * there
        square = upto * (1 - 2 * share) + share**2 * there
        return GroupedNumbers(sizes, mean, np.maximum(square - mean**2, 0.0), np.zeros(len(sizes)))

    @cached_property
    def _kept(self) -> np.ndarray:
        return np.flatnonzero(self.hits[self.ranked.group])

    @cached_property
    def _group(self) -> np.ndarray:
        group: np.ndarray = self.ranked.group[self._kept]
        return group

    @cached_property
    def _code(self) -> np.ndarray:
        code: np.ndarray = self.ranked.code[self._kept]
        return code


def ranked_values(values: ValuesOfColumn, sizes: np.ndarray, *, whole: bool) -> RankedValues:
    """The values of a column in their order.

    Args:
        values: of groups.
        sizes: how many rows each group has (int64).
        whole: whether the values are integers.
    """
    there = values.there
    group, code = values.table.group[there], values.column.codes[there].astype(np.int64)
    if values.times is not None:
        times = values.times[there]
        group, code = np.repeat(group, times), np.repeat(code, times)
    order = stable_order(code)[::-1]
    group, code = group[order], code[order]
    known = np.bincount(group, minlength=len(sizes))
    by_group = stable_order(group)
    before = np.append(0, np.cumsum(known))
    rank = np.empty(len(group), dtype=np.int64)
    rank[by_group] = np.arange(len(group)) - before[group[by_group]]
    shown = values.column.values
    return RankedValues(
        group, code, rank, sizes, known, lambda code: value_of(shown[code].as_py(), whole)
    )


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
