"""The laws of many counts over rows whose values are shuffled within groups, and their scores.

The laws are those of `RowsIntervals`, their 95 % ranges those of `counts.ShuffledGroups`. Groups of
the same numbers are transformed once for all queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sfumato.tasks.query.intervals.calibration.block import Scores, counted_scores
from sfumato.tasks.query.intervals.calibration.blocks_of_groups import BlockOfRows, quadratic
from sfumato.tasks.query.intervals.calibration.blocks_of_rows import RowsBlocks
from sfumato.tasks.query.intervals.calibration.profiles import (
    Incidence,
    ValuesByGroup,
    selected_codes,
)
from sfumato.tasks.query.intervals.calibration.settled import SelectedProfiles, Settled
from sfumato.tasks.query.intervals.counts import (
    REACH,
    WIDE,
    hypergeometric,
)
from sfumato.tasks.query.intervals.covariates import Slopes
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, Selection
from sfumato.tasks.query.intervals.spread import Z95
from sfumato.tasks.query.intervals.sums import LEAN_OF_SHARES

_ENDS = (0.025, 0.975)
_CODES = 2_000  # of a column whose products of two codes are added up
_WAVES = 1 << 13  # transforms of groups that are remembered
_NOTHING = 1e-300  # stands for 0, which has no logarithm


class MatchingCounts:
    """Counts of selected rows that also match a selection of a sensitive column."""

    def __init__(self, rows: RowsBlocks, name: str) -> None:
        """Take the values of the column by group.

        Args:
            rows: the rows beside which the values are published.
            name: the column.
        """
        self._rows, self._name = rows, name
        self.values = rows.values(name)
        self._domain = rows.likely.domain(name)
        self._expected = rows.expected_times(name)

    def scores(
        self, selected: SelectedProfiles, matching: Sequence[Selection], truths: np.ndarray
    ) -> Scores:
        """Return the scores of counts.

        Args:
            selected: the selected rows.
            matching: the selection of each query.
            truths: the true counts (float64, one per query).
        """
        matches = selected_codes(matching, self._domain)
        middle = np.einsum("qc,qc->q", selected.sums_of(self._expected), matches)
        excess = selected.sums(self._rows.whole_excess)
        slopes = self._slopes(matches)

        def evaluate(block: BlockOfRows) -> Settled:
            queries = block.queries
            law = self._law(
                block,
                matches[queries],
                middle[queries],
                excess[queries],
                slopes.of_numbers(queries),
            )
            scores = counted_scores(
                block.is_large, truths[queries], law.middle, law.below, law.above
            )
            return scores[None], law.is_settled

        matter = _MatchingGroups(self.values, selected, matches)
        return np.asarray(selected.settle(evaluate, matter)[0])

    def _law(
        self,
        block: BlockOfRows,
        matches: np.ndarray,
        middle: np.ndarray,
        excess: np.ndarray,
        slopes: Slopes,
    ) -> "CountsOfBlock":
        """Return the laws of the counts of a block.

        Args:
            block: the selected rows of some groups.
            matches: whether each query selects each value (bool, queries x codes).
            middle: the expected counts, by groups only (float64, one per query).
            excess: the excess of selected rows in the bins of covariates (float64, queries x bins).
            slopes: the slopes of matching on these bins, for each query.
        """
        rows, covariates = block.rows, self._rows.likely.rows.covariates
        number = rows.values(self.values).matching(matches)
        sizes = np.maximum(rows.sizes, 1)
        share = number / sizes
        variance = share * (1 - share)
        part = slopes.part_of(variance * (sizes / np.maximum(sizes - 1, 1)))
        # of a sample only differences from the usual part are estimated
        usual = np.zeros(len(part))
        if not rows.is_complete:
            pairs = block.mixed_pairs
            usual = np.einsum("qg,qg->q", pairs, part) / np.maximum(pairs.sum(axis=1), 1)
        unlike = block.excess(part, usual) + usual[:, None] * excess
        moved = (slopes.slopes * unlike).sum(axis=1)
        noise = np.where(
            slopes.of_values,
            quadratic(unlike, covariates.shape_of_noise(of_values=True)),
            quadratic(unlike, covariates.shape_of_noise(of_values=False)),
        )
        error = np.sqrt(np.maximum(noise * slopes.variance, 0.0))
        law = block.sums(middle + moved, variance, LEAN_OF_SHARES, moved, error)
        reach = count_reach(sizes, number, block.hits, rows.scale)
        below, above = (np.hypot(end, Z95 * law.unknown) for end in (reach.below, reach.above))
        cut = np.count_nonzero((block.mixed_pairs > 0) & (variance > 0), axis=1)
        settled = block.enough(cut) & (rows.is_complete | ~reach.is_narrow)
        return CountsOfBlock(law.middle, below, above, settled)

    def _slopes(self, matches: np.ndarray) -> Slopes:
        """Return the slopes of matching on the bins of covariates, for each query.

        The number of a group is the share of its values that match.

        Args:
            matches: whether each query selects each value (bool, queries x codes).
        """
        covariates, chosen = self._rows.likely.rows.covariates, matches.astype(np.float64)
        number = max(len(self._rows.group), 1)
        mean = chosen @ self._rows_by_code / number
        between = np.maximum(self._squares(chosen) - number * mean**2, 0.0)
        joint = chosen @ self._joint[:-1] - mean[:, None] * self._joint[-1]
        return covariates.slopes_from(between, number * mean * (1 - mean), joint)

    def _squares(self, chosen: np.ndarray) -> np.ndarray:
        """Return the sums of groups' squared shares, times their rows (float64, per query)."""
        if self._products is not None:
            return quadratic(chosen, self._products)
        whole = self._rows.all_groups
        share = whole.values(self.values).matching(chosen > 0) / np.maximum(whole.sizes, 1)
        squares: np.ndarray = share**2 @ whole.lengths
        return squares

    @cached_property
    def _shares(self) -> Incidence:
        """The share of its group that each value has."""
        return self._rows.shares(self._name)

    @cached_property
    def _rows_by_code(self) -> np.ndarray:
        """The number of rows that are expected to have each value (float64, by code)."""
        rows_of_groups = self._rows.lengths[:, None].astype(np.float64)
        return self._shares.over_kinds(rows_of_groups)[:, 0]

    @cached_property
    def _joint(self) -> np.ndarray:
        """See `Covariates.joint_by_kind`: the products of bins and shares of values."""
        values, covariates = self.values, self._rows.likely.rows.covariates
        return covariates.joint_by_kind(
            values.code, values.group, self._shares.weight, values.codes
        )

    @cached_property
    def _products(self) -> np.ndarray | None:
        """The sums of products of groups' shares of two values, times their rows.

        Float64, codes x codes; None for too many codes.
        """
        values, codes = self.values, self.values.codes
        if codes > _CODES:
            return None
        by_rows = Incidence(
            values.code,
            values.first,
            codes,
            self._shares.weight * self._rows.lengths[values.group],
        )
        code, other, sums = by_rows.pairs_with(self._shares)
        products = np.zeros((codes, codes))
        products[code, other] = sums
        return products


class _MatchingGroups:
    """The groups that a query cuts, or those with matching values, if these are fewer."""

    def __init__(
        self,
        values: ValuesByGroup,
        selected: SelectedProfiles,
        matches: np.ndarray,
    ) -> None:
        """Count the matching values (`matches`: bool, queries x codes)."""
        self._values, self._selected, self._matches = values, selected, matches
        self._number = matches @ np.bincount(values.code, minlength=values.codes)
        # a query must be known to select rows of enough groups, if only some are looked at
        is_known = selected.least_groups >= LEAST_GROUPS
        self._by_values = is_known & (self._number < selected.number)

    def may_be_few(self, rows: int) -> np.ndarray:
        """Decide for which queries the groups may have no more than some rows (bool)."""
        return np.where(self._by_values, self._number <= rows, self._selected.may_be_few(rows))

    def groups(self, query: int) -> np.ndarray:
        """Return the groups (integers)."""
        if not self._by_values[query]:
            return self._selected.groups(query)
        return self._values.groups_with(np.flatnonzero(self._matches[query]))


@dataclass(frozen=True, eq=False)
class CountsOfBlock:
    """The laws of counts; one per query.

    Attributes:
        middle: the expected counts (float64).
        below: the distances down to the ends of the 95 % ranges (float64).
        above: the distances up to these ends (float64).
        is_settled: whether they come from enough groups (bool).
    """

    middle: np.ndarray
    below: np.ndarray
    above: np.ndarray
    is_settled: np.ndarray


@dataclass(frozen=True, eq=False)
class CountReach:
    """The 95 % ranges of counts of shuffled values; one per query.

    Attributes:
        below: the distance from the mean down to the end of the range (float64).
        above: the distance up to its other end (float64).
        is_narrow: whether the range comes from the exact distribution (bool).
    """

    below: np.ndarray
    above: np.ndarray
    is_narrow: np.ndarray


def count_reach(
    size: np.ndarray, matching: np.ndarray, selected: np.ndarray, scale: float = 1.0
) -> CountReach:
    """Return the 95 % range of each query's count.

    Args:
        size: the number of values of each group (float64, one per group).
        matching: the number of them that match each query (float64, queries x groups).
        selected: the number of its rows that each query selects (float64, queries x groups).
        scale: the number of groups for each of these; their distributions are exact if it is 1.
    """
    mean, variance, third = (scale * moment for moment in _moments(size, matching, selected))
    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = deviation * (third / (variance * deviation) * (Z95**2 - 1) / 6)
    below, above = Z95 * deviation - lean, Z95 * deviation + lean
    is_narrow = deviation < WIDE
    if scale == 1 and is_narrow.any():
        narrow = np.flatnonzero(is_narrow)
        low, high = _exact_ranges(size, matching[narrow], selected[narrow])
        below[narrow], above[narrow] = mean[narrow] - low, high - mean[narrow]
    return CountReach(below, above, is_narrow)


def _moments(
    n: np.ndarray, m: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of each count, its variance, and its third central moment."""
    share, lean = m / n, n - 2 * h
    mean = np.einsum("qg,qg->q", h, share)
    variance = n - h
    variance *= h
    variance *= share
    variance *= 1 - share
    variance /= np.maximum(n - 1, 1)
    lean *= 1 - 2 * share
    third = np.einsum("qg,qg,g->q", variance, lean, 1 / np.maximum(n - 2, 1))
    return mean, variance.sum(axis=1), third


def _exact_ranges(
    size: np.ndarray, matching: np.ndarray, selected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the ranges from the exact distributions, see `count_ranges`."""
    least = np.maximum(selected + matching - size, 0).sum(axis=1).astype(np.int64)
    most = np.minimum(selected, matching).sum(axis=1).astype(np.int64)
    mean, variance, _ = _moments(size, matching, selected)
    number = most - least + 1
    length = np.minimum(number, (REACH * np.sqrt(variance)).astype(np.int64) + REACH)
    # the ring has all counts, or those around the mean; `first` is the first one, from `least`
    ring = np.left_shift(1, np.frexp(np.maximum(length - 1, 1))[1])
    first = np.where(number <= ring, 0, np.maximum(mean.astype(np.int64) - least - ring // 2, 0))
    ends = np.empty((2, len(least)))
    for size_of_ring in np.unique(ring).tolist():
        queries = np.flatnonzero(ring == size_of_ring)
        waves = _waves(size, matching[queries], selected[queries], size_of_ring)
        chances = np.maximum(np.fft.irfft(waves, size_of_ring, axis=1), 0.0)
        places = (np.arange(size_of_ring) + first[queries, None]) % size_of_ring
        below = np.cumsum(np.take_along_axis(chances, places, axis=1), axis=1)
        for end, level in zip(ends, _ENDS, strict=True):
            reached = (below < level * below[:, -1:]).sum(axis=1)
            end[queries] = (least + first)[queries] + reached
    return ends[0], ends[1]


def _waves(size: np.ndarray, matching: np.ndarray, selected: np.ndarray, length: int) -> np.ndarray:
    """Return the Fourier transform of each count's distribution around a ring of some length.

    The transform of a sum is the product of those of its groups, so their logarithms add up.

    Returns:
        One row for each query (complex128, queries x (length // 2 + 1)).
    """
    is_open = np.minimum(selected, matching) > np.maximum(selected + matching - size, 0)
    query, group = np.nonzero(is_open)
    numbers = [size[group], matching[query, group], selected[query, group]]
    most = int(size.max(initial=0)) + 1
    n, m, h = (counts.astype(np.int64) for counts in numbers)
    kinds, kind = np.unique((n * most + m) * most + h, return_inverse=True)
    if not len(kinds):
        return np.ones((len(matching), length // 2 + 1), dtype=np.complex128)
    key = query * len(kinds) + kind
    times = np.bincount(key, minlength=len(matching) * len(kinds)).astype(np.float64)
    logs = np.stack(
        [
            _log_wave(packed // most // most, packed // most % most, packed % most, length)
            for packed in kinds.tolist()
        ]
    )
    waves: np.ndarray = np.exp(times.reshape(len(matching), len(kinds)) @ logs)
    return waves


@lru_cache(maxsize=_WAVES)
def _log_wave(size: int, matching: int, selected: int, length: int) -> np.ndarray:
    """Return the logarithm of the transform of a group's count (complex128, length // 2 + 1)."""
    chances = hypergeometric(size, matching, selected)
    wave = np.fft.rfft(np.bincount(np.arange(len(chances)) % length, chances, length))
    return np.asarray(np.log(np.where(wave == 0, _NOTHING, wave)))
