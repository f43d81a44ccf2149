"""The scores of extremes, and the places of values among those of selected rows.

Of a group with n values, a of which are at least as good as some value, h are selected. With chance
C(n - a, h) / C(n, h) none of the selected ones is that good. Groups are shuffled independently.
"""

import math
from collections.abc import Sequence

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.sorting import distinct, stable_order
from sfumato.tasks.query.intervals.calibration.blocks_of_rows import RowsBlocks
from sfumato.tasks.query.intervals.calibration.profiles import ValuesByGroup
from sfumato.tasks.query.intervals.calibration.settled import SelectedProfiles
from sfumato.tasks.query.intervals.quantiles import SAME
from sfumato.tasks.query.intervals.shapes import LEAST_ROWS
from sfumato.tasks.query.intervals.spread import Z95, deviations_of
from sfumato.tasks.query.question.question import Aggregate

_MOST = 1 << 11  # groups with a value as good as the truth; of more, some are drawn
_SURE = -50.0  # the logarithm of a chance that is none if it is estimated


class ExtremesOfGroups:
    """The least or greatest values of selected rows.

    Values are ranked by how good they are, from 0 to the best one.
    """

    def __init__(self, rows: RowsBlocks, values: ValuesByGroup, *, greatest: bool) -> None:
        """Sort the values, the best ones first.

        Args:
            rows: the rows beside which values are shuffled.
            values: their values by group.
            greatest: whether the greatest value is the best one, not the least.
        """
        self._rows, self._greatest, self._values = rows, greatest, values
        rank = self._ranks(values.code)
        order = stable_order(-rank)
        self._rank, ranks = rank[order], np.bincount(rank, minlength=values.codes)
        self._end = np.cumsum(ranks[::-1])[::-1]  # values at least as good as each rank
        self._times, self._place = values.times[order], rows.place_of_groups[values.group[order]]
        groups = len(rows.lengths)
        best, worst = np.full(groups, -1), np.full(groups, values.codes)
        np.maximum.at(best, values.group, rank)
        np.minimum.at(worst, values.group, rank)
        self._best, self._worst = rows.best_of_profiles(best), -rows.best_of_profiles(-worst)
        sizes = rows.likely.sizes
        self._logs = np.append(0.0, np.cumsum(np.log(np.arange(1, int(sizes.max(initial=1)) + 1))))

    def _ranks(self, codes: np.ndarray) -> np.ndarray:
        return codes if self._greatest else self._values.codes - 1 - codes

    def scores(self, selected: SelectedProfiles, codes: np.ndarray) -> np.ndarray:
        """Return the least factors whose intervals contain extremes.

        See `ExtremeLaw.least_factor`.

        Args:
            selected: the selected rows.
            codes: the true extreme of each query (int64); -1 if no group has that value.

        Returns:
            Float64, one per query; NaN if only one value can be the extreme or few rows are
            selected, infinite if the true one is no value of the groups.
        """
        best = selected.best(self._best)
        worst = -selected.best(-self._worst)
        ranks = np.where(codes < 0, -1, self._ranks(codes))
        scores = np.where((codes < 0) & (best != worst), np.inf, np.nan)
        counts = (codes >= 0) & (best != worst) & (selected.number >= LEAST_ROWS)
        for rank in distinct(ranks[counts]).tolist():
            queries = np.flatnonzero(counts & (ranks == rank))
            as_good, better = self._log_misses(selected, rank, queries)
            surely = np.isneginf(as_good) & (best[queries] == rank)
            as_good[worst[queries] == rank] = -np.inf
            with np.errstate(divide="ignore"):
                reached = np.log(-np.expm1(np.minimum(as_good, 0.0)))
            scores[queries] = np.where(surely, np.nan, _factors(np.minimum(reached, better)))
        return scores

    def _log_misses(
        self, selected: SelectedProfiles, rank: int, queries: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of the chances that no value is as good as a rank, or better.

        If many groups have such a value, the sums over some, drawn at random, stand for all.
        """
        number, groups = int(self._end[rank]), len(self._rows.group_at)
        sampled = min(groups, -(-_MOST * groups // min(groups, number)))
        place, times, is_better = self._as_good(rank, sampled)
        member, some = dense(place)
        places = np.empty(some, dtype=np.int64)
        places[member] = place
        of_places = self._rows.group_at[places]
        hits = self._rows.hits(of_places, selected.chosen[queries])
        sizes = self._rows.likely.sizes[of_places]
        as_good, better = (
            groups / sampled * _log_missed(self._logs, sizes, hits, np.bincount(member, weight))
            for weight in (times, times * is_better)
        )
        if sampled < groups:  # some group that was not drawn may have it for sure
            as_good[as_good < _SURE] = -np.inf
        return as_good, better

    def _as_good(self, rank: int, sampled: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values of drawn groups that are at least as good as a rank.

        Args:
            rank: the rank.
            sampled: the number of groups that are drawn.

        Returns:
            The place of each value's group among drawn ones (int64), how often the value occurs
            (float64), and whether it is better than the rank (bool).
        """
        groups, end = self._rows.group_at[:sampled], int(self._end[rank])
        if self._values.number_in(groups) < end:
            positions = self._values.of_groups(groups)
            of_values = self._ranks(self._values.code[positions])
            positions, of_values = positions[of_values >= rank], of_values[of_values >= rank]
            place = self._rows.place_of_groups[self._values.group[positions]]
            return place, self._values.times[positions], of_values > rank
        place = self._place[:end]
        best = np.flatnonzero(place < sampled) if sampled < len(self._rows.group_at) else slice(end)
        return place[best], self._times[:end][best], self._rank[:end][best] > rank


def factors_of_extremes(
    missed: np.ndarray,
    is_possible: np.ndarray,
    numbers: np.ndarray,
    truths: np.ndarray,
    *,
    greatest: bool,
) -> np.ndarray:
    """Return the factors of extremes where values are selected independently.

    See `ExtremesOfGroups.scores`.

    Args:
        missed: the logarithm of the chance that no row with a value is selected (float64, queries x
            codes).
        is_possible: whether a value may be selected (bool, queries x codes).
        numbers: the values by code, ascending (float64).
        truths: the true extremes; NaN for null.
        greatest: whether they are the greatest values, not the least.
    """
    codes, last = codes_of(truths, numbers), len(numbers) - 1
    if greatest:  # the best value is the first one
        missed, is_possible = missed[:, ::-1], is_possible[:, ::-1]
        codes = np.where(codes < 0, -1, last - codes)
    queries, code = np.arange(len(truths)), np.maximum(codes, 0)
    best, worst = is_possible.argmax(axis=1), last - is_possible[:, ::-1].argmax(axis=1)
    none = np.cumsum(missed, axis=1)
    none = np.where(np.isnan(none), -np.inf, none)
    as_good = np.where(code == worst, -np.inf, none[queries, code])
    better = np.where(code > 0, none[queries, code - 1], 0.0)
    with np.errstate(divide="ignore"):
        scores = _factors(np.minimum(np.log(-np.expm1(as_good)), better))
    scores = np.where((codes < 0) | ~is_possible[queries, code], np.inf, scores)
    is_only = (best == worst) | np.isneginf(none[queries, best])
    return np.where(is_only, np.nan, scores)


def codes_of(truths: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the codes of numbers among ascending ones (int64); -1 for others."""
    codes = np.clip(np.searchsorted(numbers, truths), 0, max(len(numbers) - 1, 0))
    return np.where(numbers[codes] == truths, codes, -1)


def _factors(logs: np.ndarray) -> np.ndarray:
    """Return the factors of tails, given by the logarithms of their probabilities (float64)."""
    return np.array([deviations_of(log) for log in logs.tolist()]) / Z95


def true_squares(
    aggregates: Sequence[Aggregate], truths: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return the mean squared deviations of true variances and standard deviations (float64).

    Args:
        aggregates: the aggregate of each query.
        truths: their true answers; NaN for null.
        rows: the expected number of values of each query (float64).
    """
    return np.array(
        [
            math.nan if aggregate.kind.squares is None else aggregate.kind.squares(truth, n) / n
            for aggregate, truth, n in zip(aggregates, truths.tolist(), rows.tolist(), strict=True)
        ]
    )


class PlacesOfBlock:
    """The expected places of values among those of selected rows; see `ExpectedPlaces`.

    Attributes:
        upto: the expected number of values not above each (float64, queries x codes).
        rows: the expected number of all values (float64, one per query).
    """

    def __init__(self, expected: np.ndarray) -> None:
        """Take how often each value is expected (float64, queries x codes)."""
        self._is_expected = expected > 0
        self.upto = np.cumsum(expected, axis=1)
        self.rows = self.upto[:, -1]
        self._last = expected.shape[1] - 1 - self._is_expected[:, ::-1].argmax(axis=1)

    def first(self, place: np.ndarray) -> np.ndarray:
        """Return the code of the first value with each place, or of the last one (int64)."""
        codes = (self.upto < (place - SAME)[:, None]).sum(axis=1)
        return np.asarray(np.minimum(codes, self._last))

    def distances(self, numbers: np.ndarray, truths: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return how far true quantiles are from places, see `QuantileSpread.score` (float64).

        Args:
            numbers: the values by code, ascending (float64).
            truths: the true quantiles; NaN for null.
            place: the place of each query's quantile (float64).
        """
        upto, queries = self.upto, np.arange(len(truths))
        # the last expected value that is not above the truth
        below = self._is_expected & (numbers <= truths[:, None])
        last = np.where(below, np.arange(len(numbers)), -1).max(axis=1)
        code = np.maximum(last, 0)
        end = upto[queries, code]
        before = np.where(code > 0, upto[queries, code - 1], 0.0)
        is_value = numbers[code] == truths
        missed = np.where(
            is_value, np.maximum(np.maximum(before - place, place - end), 0.0), np.abs(place - end)
        )
        return np.where((last < 0) | (~is_value & (last >= self._last)), np.inf, missed)


def _log_missed(
    logs: np.ndarray, sizes: np.ndarray, hits: np.ndarray, as_good: np.ndarray
) -> np.ndarray:
    """Return the logarithm of the chance that no good value is selected (float64, per query).

    Args:
        logs: the logarithm of each factorial (float64).
        sizes: the number of values of each group (int64).
        hits: the number of selected rows of each group (int64, queries x groups).
        as_good: the number of good values of each group (float64).
    """
    size = sizes
    if not as_good.all():
        some = np.flatnonzero(as_good)
        size, hits, as_good = sizes[some], hits[:, some], as_good[some]
    worse = size - as_good.astype(np.int64)
    remaining = worse - hits
    missed = logs[size - hits] + (logs[worse] - logs[size]) - logs[np.maximum(remaining, 0)]
    missed[remaining < 0] = -np.inf
    missed[hits == 0] = 0.0
    return np.asarray(missed.sum(axis=1))
