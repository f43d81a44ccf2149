"""The values of groups one by one in their order: the laws of extremes and of their places."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.values import value_of
from sfumato.tasks.query.intervals.beside_rows.values_of_groups import ValuesOfColumn
from sfumato.tasks.query.intervals.laws.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.laws.extremes import (
    ExtremeLaw,
    extreme_law,
    missed_of_groups,
)
from sfumato.tasks.query.intervals.laws.quantiles import (
    AskedPlace,
    ExpectedPlaces,
    expected_places,
)


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
