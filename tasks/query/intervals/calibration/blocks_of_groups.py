"""Rows of some groups, and how many of them each query of a block selects.

The groups are all that matter, or a sample of these: then sums over them, divided by their share,
stand for sums over all.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.shared.sorting import stable_order, starts
from sfumato.tasks.query.intervals.calibration.profiles import Incidence, Profiles, ValuesByGroup
from sfumato.tasks.query.intervals.rows import RowsIntervals
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS
from sfumato.tasks.query.intervals.sums import DOUBT

CUT = 64
"""The number of drawn groups, some but not all of whose rows a query must select."""
_SMALL = 64  # items; larger groups are counted in another way
_CELLS = 1 << 22  # kinds of items x groups, of a matrix of their numbers


@dataclass(frozen=True, eq=False)
class SumsOfBlock:
    """The laws of one sum for each query of a block; all float64, one per query.

    Attributes:
        middle: the expected sum.
        moved: the part of it that comes from covariates.
        unknown: the standard deviation due to effects that no covariate shows.
        deviation: the standard deviation by all effects.
    """

    middle: np.ndarray
    moved: np.ndarray
    unknown: np.ndarray
    deviation: np.ndarray


class CountedItems:
    """Items of groups, such as rows with profiles or values with codes, to be counted."""

    def __init__(self, item: np.ndarray, lengths: np.ndarray) -> None:
        """Order the items of small groups by their place in the group; count kinds of large ones.

        Args:
            item: the kind of each item (int64), group by group.
            lengths: the number of items of each group (int64).
        """
        self._item, self._lengths, most = item, lengths, int(lengths.max(initial=0))
        self._by_place: list[np.ndarray] | None = None
        self._back: np.ndarray | None = None
        self._matrix: np.ndarray | None = None
        kinds = int(item.max(initial=-1)) + 1
        if most > _SMALL and kinds * len(lengths) <= _CELLS:
            key = item * len(lengths) + np.repeat(np.arange(len(lengths)), lengths)
            counted = np.bincount(key, minlength=kinds * len(lengths))
            self._matrix = counted.reshape(kinds, len(lengths)).astype(np.float64)
        if most <= _SMALL:
            longest_first = stable_order(-lengths)
            first = (np.cumsum(lengths) - lengths)[longest_first]
            ends = np.searchsorted(-lengths[longest_first], -np.arange(most)).tolist()
            self._by_place = [item[first[:end] + place] for place, end in enumerate(ends)]
            self._back = np.empty_like(longest_first)
            self._back[longest_first] = np.arange(len(lengths))

    def count(self, is_chosen: np.ndarray) -> np.ndarray:
        """Return the number of chosen items of each group (float64, queries x groups).

        Args:
            is_chosen: 1 for each chosen kind of item, else 0 (uint8, kinds x queries).
        """
        if self._matrix is not None:
            chosen = is_chosen[: len(self._matrix)].T.astype(np.float64)
            return np.asarray(chosen @ self._matrix)
        if self._by_place is None or self._back is None:
            return self._count_runs(is_chosen)
        counts = np.zeros((len(self._lengths), is_chosen.shape[1]), dtype=np.uint8)
        for items in self._by_place:
            counts[: len(items)] += is_chosen.take(items, axis=0)
        return counts.take(self._back, axis=0).T.astype(np.float64, order="C")

    def _count_runs(self, is_chosen: np.ndarray) -> np.ndarray:
        counts = np.zeros((is_chosen.shape[1], len(self._lengths)))
        some = np.flatnonzero(self._lengths)
        first = (np.cumsum(self._lengths) - self._lengths)[some]
        chosen = is_chosen.take(self._item, axis=0)
        counts[:, some] = np.add.reduceat(chosen, first, axis=0, dtype=np.int32).T
        return counts


class RowsOfGroups:
    """The rows of some groups.

    Attributes:
        groups: the groups (int64, ascending).
        sizes: the number of values of each (float64).
        lengths: the number of rows of each (int64).
        profiles: the profiles of the rows (int64, ascending).
        profile: the position of each row's profile among these (int64), group by group.
        group: the position of each row's group among the groups (int64).
        scale: the number of groups in question for each of these groups.
    """

    def __init__(
        self,
        likely: RowsIntervals,
        profiles: Profiles,
        groups: np.ndarray,
        rows: np.ndarray,
        share: float,
    ) -> None:
        """Take the rows.

        Args:
            likely: the laws of one query at a time.
            profiles: the profiles of all rows.
            groups: the groups (int64, ascending); each has rows.
            rows: the positions of their rows (int64), group by group.
            share: the share of these groups of all groups in question.
        """
        self._likely, self._rows = likely, rows
        self.groups, self.scale = groups, 1 / share
        self.sizes = likely.sizes[groups].astype(np.float64)
        self.profiles, self.profile = profiles.profiles_of(rows)
        first = starts(likely.rows.table.group[rows])
        self.lengths = np.diff(np.append(first, len(rows)))
        self.group = np.repeat(np.arange(len(groups)), self.lengths)
        self._items = CountedItems(self.profile, self.lengths)
        self._values: dict[ValuesByGroup, ValuesOfGroups] = {}

    @property
    def is_complete(self) -> bool:
        """True if these are all groups in question."""
        return self.scale == 1

    def hits(self, by_profile: np.ndarray) -> np.ndarray:
        """Return how many rows of each group queries select (float64, queries x groups).

        Args:
            by_profile: 1 for each selected one of the profiles, else 0 (uint8, profiles x queries).
        """
        return self._items.count(by_profile)

    def values(self, values: ValuesByGroup) -> "ValuesOfGroups":
        """Return the values of these groups."""
        if values not in self._values:
            places = values.of_groups(self.groups)
            times = values.times[places].astype(np.int64)
            before = np.append(0, np.cumsum(times))
            ends = np.cumsum(values.first[self.groups + 1] - values.first[self.groups])
            number = np.diff(before[ends], prepend=0)
            items = CountedItems(np.repeat(values.code[places], times), number)
            self._values[values] = ValuesOfGroups(items, values.codes, number.astype(np.float64))
        return self._values[values]

    @cached_property
    def bins(self) -> Incidence:
        """The bins of covariates that each row is in."""
        columns, rows = self._likely.rows.covariates.columns, self._rows
        before = np.cumsum([0, *(column.number for column in columns)])
        bins = [first + column.of_row[rows] for first, column in zip(before, columns, strict=False)]
        first = len(columns) * np.arange(len(rows) + 1)
        return Incidence(np.stack(bins, axis=1).ravel(), first, int(before[-1]))

    @cached_property
    def expected_bins(self) -> np.ndarray:
        """The share of each group's rows in each bin (float64, groups x bins)."""
        return self._likely.rows.covariates.expected_bins(self.groups)


@dataclass(frozen=True, eq=False)
class ValuesOfGroups:
    """The values of a column in some groups.

    Attributes:
        items: the values that are not null.
        codes: the number of codes of values.
        non_null: the number of values of each group that are not null (float64).
    """

    items: CountedItems
    codes: int
    non_null: np.ndarray

    def matching(self, matches: np.ndarray) -> np.ndarray:
        """Return how many values of each group match (float64, queries x groups).

        Args:
            matches: whether each value matches each query (bool, queries x codes).
        """
        return self.items.count(np.ascontiguousarray(matches.T).view(np.uint8))

    def upto(self, codes: np.ndarray) -> np.ndarray:
        """Return how many values of each group are not above a code (float64, queries x groups).

        A code of -1 is below all values.
        """
        return self.matching(np.arange(self.codes) <= codes[:, None])


class BlockOfRows:
    """The rows that each query of a block selects of some groups.

    Attributes:
        rows: the rows of the groups.
        queries: the positions of the queries among those that were drawn together (int64).
        number: the number of rows that each query selects of all groups (float64).
        hits: how many rows of each of the groups each query selects (float64, queries x groups).
    """

    def __init__(
        self,
        rows: RowsOfGroups,
        is_chosen: np.ndarray,
        queries: np.ndarray,
        number: np.ndarray,
        least_groups: np.ndarray,
    ) -> None:
        """Count the selected rows of each group.

        Args:
            rows: the rows of the groups.
            is_chosen: 1 for each selected profile of these rows, else 0 (uint8, profiles x
                queries).
            queries: the positions of the queries (int64).
            number: the number of rows that each query selects of all groups (float64).
            least_groups: the least number of groups of which each query selects rows, as far as
                known (int64).
        """
        self.rows, self.queries, self.number = rows, queries, number
        self._is_chosen, self._least_groups = is_chosen, least_groups
        self.hits = rows.hits(is_chosen)

    @cached_property
    def is_large(self) -> np.ndarray:
        """True for queries that select enough rows and groups (bool)."""
        large: np.ndarray = (self.number >= LEAST_ROWS) & (self.groups >= LEAST_GROUPS)
        return large

    @cached_property
    def groups(self) -> np.ndarray:
        """The least number of groups of which each query selects rows (int64)."""
        return np.asarray(np.maximum(np.count_nonzero(self.hits, axis=1), self._least_groups))

    @cached_property
    def mixed_pairs(self) -> np.ndarray:
        """The selected rows of each group times its other rows (float64, queries x groups)."""
        mixed = self.rows.sizes - self.hits
        mixed *= self.hits
        return np.asarray(mixed)

    @cached_property
    def is_settled(self) -> np.ndarray:
        """True for queries that cut enough groups, or for which all were counted (bool)."""
        return self.enough(np.count_nonzero(self.mixed_pairs, axis=1))

    def enough(self, groups: np.ndarray) -> np.ndarray:
        """Decide whether some numbers of groups (int64, one per query) are enough (bool)."""
        return np.asarray((groups >= CUT) | self.rows.is_complete)

    def excess(self, part: np.ndarray, usual: np.ndarray) -> np.ndarray:
        """Return the excess of selected rows in the bins of covariates over their groups.

        Args:
            part: the weight of each group's rows (float64, queries x groups).
            usual: a number that is subtracted from all weights of a query (float64).

        Returns:
            Float64, queries x bins.
        """
        rows, beyond = self.rows, part - usual[:, None]
        weights = beyond.T.take(rows.group, axis=0)
        weights *= self._is_chosen.take(rows.profile, axis=0)
        excess = rows.bins.over_kinds(weights).T - (beyond * self.hits) @ rows.expected_bins
        return np.asarray(rows.scale * excess)

    def sums(
        self,
        middle: np.ndarray,
        variance: np.ndarray,
        lean: float,
        moved: np.ndarray,
        error: np.ndarray,
    ) -> SumsOfBlock:
        """Return the laws of sums of numbers of which only the group is known.

        Args:
            middle: the expected sums (float64, one per query).
            variance: the variance of the numbers within groups (float64, groups, or queries x
                groups).
            lean: see `LikelySum`.
            moved: the part of the middles that comes from covariates (float64, one per query).
            error: the standard errors of that part (float64, one per query).
        """
        variance = np.maximum(variance, 0.0)
        by_chance = self._over_pairs(variance / np.maximum(self.rows.sizes - 1, 1))
        leaning = lean * self._over_pairs(np.sqrt(variance) / np.maximum(self.rows.sizes, 1))
        unknown = np.sqrt(leaning**2 + error**2 + (DOUBT * moved) ** 2)
        return SumsOfBlock(middle, moved, unknown, np.hypot(np.sqrt(by_chance), unknown))

    def _over_pairs(self, numbers: np.ndarray) -> np.ndarray:
        """Return sums over all groups of `mixed_pairs` times numbers (float64, one per query)."""
        if numbers.ndim == 1:
            sums: np.ndarray = self.mixed_pairs @ numbers
        else:
            sums = np.einsum("qg,qg->q", self.mixed_pairs, numbers)
        return self.rows.scale * sums


def quadratic(vectors: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return v M v of each vector v (float64, one per vector)."""
    results: np.ndarray = ((vectors @ matrix) * vectors).sum(axis=1)
    return results
