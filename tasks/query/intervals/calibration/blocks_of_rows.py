"""The scores of many random queries at once, over exact rows beside shuffled values.

The laws are those of `intervals.rows`, which answers one query at a time; tests hold both to the
same scores. What adds up over rows, such as an expected sum, is computed by profiles of rows. The
widths also need how many rows a query selects of each group. These are counted in all groups of
small tables, and in some groups of large ones, drawn at random: sums over them, divided by their
share of all groups, stand for sums over all (the estimator of Horvitz and Thompson). True answers
come from all rows. So do expected ones, except a part of the covariates' moves of counts.

A sampled width is without bias, and its error does not depend on the error of the answer. Errors
that differ between queries spread their scores, so that factors rise a little. The error that all
queries share may lower a factor: `ROWS` rows of groups of five leave a width about 2 % (standard
deviation), and factors are rounded up by 0 to 10 %.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.query.intervals.calibration.blocks_of_groups import RowsOfGroups
from sfumato.tasks.query.intervals.calibration.profiles import (
    CodesOfProfiles,
    Incidence,
    Profiles,
    ValuesByGroup,
    selectable,
    spans,
)
from sfumato.tasks.query.intervals.covariates import Deviations
from sfumato.tasks.query.intervals.rows import RowsIntervals

ROWS = 1 << 12
"""The number of rows in the groups that are drawn first."""
_STEP = 8  # times as many groups are drawn if a query cuts too few
_TOGETHER = 8  # numbers whose deviations are added up together


class RowsBlocks:
    """The rows of a release, prepared for random queries."""

    def __init__(
        self, likely: RowsIntervals, columns: Sequence[str], randomness: Randomness
    ) -> None:
        """Find the profiles of rows, and draw the groups that are counted first.

        Args:
            likely: the laws of one query at a time.
            columns: the quasi-identifiers by which queries may select.
            randomness: the source of random numbers.
        """
        self.likely = likely
        table = likely.rows.table
        # a column of one value and nulls is none of them, but is among covariates
        others = set(likely.rows.declared.names_with_roles("quasi-identifier")) - set(columns)
        self.profiles = Profiles(
            {
                name: selectable(table.coded_column(name).codes, likely.domain(name))
                for name in [*columns, *sorted(others)]
            }
        )
        self.group = table.group
        self.order = stable_order(self.group)
        self.lengths = np.bincount(self.group, minlength=len(likely.sizes))
        self.first = np.append(0, np.cumsum(self.lengths))
        groups = np.flatnonzero(self.lengths)
        number = -(-ROWS * len(groups) // max(len(self.group), 1))
        if number * 2 < len(groups):
            groups = groups[np.argsort(randomness(len(groups)), kind="stable")]
        else:
            number = len(groups)
        self._drawn, self._first_number = groups, number
        self._samples: dict[int, RowsOfGroups] = {}
        self._values: dict[str, ValuesByGroup] = {}
        self._expected: dict[str, CodesOfProfiles] = {}

    def values(self, name: str) -> ValuesByGroup:
        """Return the values of a sensitive column by group."""
        if name not in self._values:
            values = self.likely.values_of(name)
            there = np.flatnonzero(values.there)
            order = there[stable_order(values.table.group[there])]
            group = values.table.group[order]
            first = np.append(0, np.cumsum(np.bincount(group, minlength=len(self.lengths))))
            self._values[name] = ValuesByGroup(
                group,
                values.column.codes[order].astype(np.int64),
                values.weights[order],
                first,
                len(values.distinct),
            )
        return self._values[name]

    def expected_times(self, name: str) -> CodesOfProfiles:
        """Return how often each value of a column is expected in the rows of each profile.

        Each row is expected to have the values of its group, each as often as it occurs there,
        divided by the number of the group's values.
        """
        if name not in self._expected:
            shape = (self.profiles.number, self.values(name).codes)
            pairs = self.incidence.pairs_with(self.shares(name))
            self._expected[name] = CodesOfProfiles(*pairs, shape)
        return self._expected[name]

    def shares(self, name: str) -> Incidence:
        """Return the share of each group's values that each value of a column has."""
        values = self.values(name)
        share = values.times / np.maximum(self.likely.sizes[values.group], 1)
        return Incidence(values.code, values.first, values.codes, share)

    @cached_property
    def whole_excess(self) -> np.ndarray:
        """The `excess` of each profile's rows, where each group has the weight 1."""
        return self.excess(None)

    @cached_property
    def by_profile(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows by profile, and where those of each begin, and end behind the last one."""
        counts = self.profiles.rows.astype(np.int64)
        return stable_order(self.profiles.of_row), np.append(0, np.cumsum(counts))

    @cached_property
    def all_groups(self) -> RowsOfGroups:
        """The rows of all groups."""
        return self.sample(self.number_of_samples - 1)

    def excess(self, part: np.ndarray | None) -> np.ndarray:
        """Return the excess of each profile's rows in the bins of covariates over their groups.

        See `Covariates.unlike`.

        Args:
            part: the weight of each group's rows (float64, one per group); None for 1.

        Returns:
            Float64, profiles x bins.
        """
        covariates, groups = self.likely.rows.covariates, np.flatnonzero(self.lengths)
        shares = np.zeros((len(self.lengths), covariates.bins))
        shares[groups] = covariates.expected_bins(groups)
        number = self.profiles.rows
        if part is not None:
            shares *= part[:, None]
            number = self.incidence.over_kinds(part[:, None])[:, 0]
        return np.asarray(number[:, None] * self.bins - self.incidence.over_kinds(shares))

    def moves(self, numbers: Sequence[Deviations]) -> np.ndarray:
        """Return the sums of deviations of rows over each profile (float64, profiles x numbers).

        Args:
            numbers: the deviations; at least one.
        """
        parts = [
            self._moves(numbers[first : first + _TOGETHER])
            for first in range(0, len(numbers), _TOGETHER)
        ]
        return np.concatenate(parts, axis=1)

    def _moves(self, numbers: Sequence[Deviations]) -> np.ndarray:
        """Return what `moves` does; see `Covariates.row_deviations` for the deviation of a row."""
        moves = self.bins @ np.stack([some.slopes for some in numbers], axis=1)
        middle = self.incidence.over_sets(moves)
        middle /= np.maximum(self.lengths, 1)[:, None]
        part = np.stack([some.part for some in numbers], axis=1)
        middle *= part
        return np.asarray(
            moves * self.incidence.over_kinds(part) - self.incidence.over_kinds(middle)
        )

    @cached_property
    def bins(self) -> np.ndarray:
        """1 for each bin of covariates that a profile is in, else 0 (float64, profiles x bins)."""
        columns, some_row = self.likely.rows.covariates.columns, self.profiles.some_row
        return np.concatenate(
            [np.eye(column.number)[column.of_row[some_row]] for column in columns], axis=1
        )

    @cached_property
    def incidence(self) -> Incidence:
        """The numbers of rows of each group that have each profile."""
        return Incidence(self.profiles.of_row[self.order], self.first, self.profiles.number)

    def best_of_profiles(self, of_groups: np.ndarray) -> np.ndarray:
        """Return the greatest number of the groups of each profile's rows (int64)."""
        best = np.full(self.profiles.number, np.iinfo(np.int64).min)
        np.maximum.at(best, self.profiles.of_row, of_groups[self.group])
        return best

    @property
    def group_at(self) -> np.ndarray:
        """The groups that have rows, in the order in which they are drawn (int64)."""
        return self._drawn

    @cached_property
    def place_of_groups(self) -> np.ndarray:
        """The place of each group in `group_at` (int64); 0 for groups without rows."""
        place = np.zeros(len(self.lengths), dtype=np.int64)
        place[self._drawn] = np.arange(len(self._drawn))
        return place

    def hits(self, groups: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return how many rows of some groups queries select (int64, queries x groups).

        Args:
            groups: the groups (int64); each has rows.
            chosen: 1 for each selected profile, else 0 (float64, queries x profiles).
        """
        rows = self.order[spans(self.first[groups], self.first[groups + 1])]
        first = np.cumsum(self.lengths[groups]) - self.lengths[groups]
        of_rows = chosen.take(self.profiles.of_row[rows], axis=1)
        return np.add.reduceat(of_rows, first, axis=1).astype(np.int64)

    @property
    def number_of_samples(self) -> int:
        """The number of samples of groups, each larger than the one before; the last is all."""
        steps = np.log(len(self._drawn) / self._first_number) / np.log(_STEP)
        return 1 + int(np.ceil(steps - 1e-9))

    def sample(self, place: int) -> RowsOfGroups:
        """Return the sample of groups at a place, from 0."""
        if place not in self._samples:
            number = min(self._first_number * _STEP**place, len(self._drawn))
            share = number / max(len(self._drawn), 1)
            self._samples[place] = self.rows_of(np.sort(self._drawn[:number]), share)
        return self._samples[place]

    def rows_of(self, groups: np.ndarray, share: float) -> RowsOfGroups:
        """Return the rows of some groups (int64), which are a share of the groups in question."""
        rows = self.order[spans(self.first[groups], self.first[groups + 1])]
        return RowsOfGroups(self.likely, self.profiles, groups, rows, share)
