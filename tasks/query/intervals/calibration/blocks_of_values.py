"""Numbers of values up to a value in each group, and the scores of extremes that follow.

Of a group with n values, a of which are at least as good as some value, h are selected. With chance
C(n - a, h) / C(n, h) none of the selected ones is that good. Groups are shuffled independently.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sfumato.expectations.shared.sorting import stable_order, starts
from sfumato.tasks.query.intervals.exact_rows import ValuesOfColumn
from sfumato.tasks.query.intervals.quantiles import SAME, QuantilePlace
from sfumato.tasks.query.intervals.spread import Z95, deviations_of
from sfumato.tasks.query.question.question import Aggregate

_TABLE = 1 << 24  # counts of a table of codes x groups, at most


class CountedGroups:
    """The values of a column by group, nulls among them; counts are float64."""

    def __init__(self, values: ValuesOfColumn, sizes: np.ndarray) -> None:
        """Sort the values that are not null by their codes.

        Args:
            values: the values.
            sizes: the number of values of each group, nulls included (int64).
        """
        self.sizes, self.codes = sizes.astype(np.float64), len(values.distinct)
        there = np.flatnonzero(values.there)
        order = there[stable_order(values.column.codes[there].astype(np.int64))]
        self._group = values.table.group[order]
        self._code = values.column.codes[order].astype(np.int64)
        self._times = None if values.times is None else values.times[order].astype(np.float64)
        self.non_null = self._count(slice(None))

    def upto(self, codes: np.ndarray) -> np.ndarray:
        """Return how many values of each group are not above each code (queries x groups).

        A code of -1 is below all values.
        """
        if self._table is not None:
            return np.asarray(self._table[codes + 1])
        ends = np.searchsorted(self._code, codes, side="right")
        return np.stack([self._count(slice(int(end))) for end in ends])

    def expected_times(self, share: np.ndarray) -> np.ndarray:
        """Return how often each value is expected (float64, queries x codes).

        Args:
            share: the share of each group's rows that each query selects (queries x groups).
        """
        expected = share[:, self._group]
        if self._times is not None:
            expected *= self._times
        by_code = np.zeros((len(share), self.codes))
        first = starts(self._code)
        by_code[:, self._code[first]] = np.add.reduceat(expected, first, axis=1)
        return by_code

    @cached_property
    def least(self) -> np.ndarray:
        """The least code of each group (int64); the number of codes for a group without values."""
        least = np.full(len(self.sizes), self.codes)
        np.minimum.at(least, self._group, self._code)
        return least

    @cached_property
    def greatest(self) -> np.ndarray:
        """The greatest code of each group (int64); -1 for a group without values."""
        greatest = np.full(len(self.sizes), -1)
        np.maximum.at(greatest, self._group, self._code)
        return greatest

    @cached_property
    def logs(self) -> np.ndarray:
        """The logarithm of each factorial up to the largest group (float64)."""
        most = int(self.sizes.max(initial=1))
        return np.append(0.0, np.cumsum(np.log(np.arange(1, most + 1))))

    @cached_property
    def _table(self) -> np.ndarray | None:
        """Numbers of values not above each code, for each group; None if too large.

        Float64, (codes + 1) x groups; the first row is of the code -1.
        """
        groups = len(self.sizes)
        if (self.codes + 1) * groups > _TABLE:
            return None
        key = (self._code + 1) * groups + self._group
        counted = np.bincount(key, self._times, (self.codes + 1) * groups).astype(np.float64)
        table: np.ndarray = np.cumsum(counted.reshape(self.codes + 1, groups), axis=0)
        return table

    def _count(self, part: slice) -> np.ndarray:
        times = None if self._times is None else self._times[part]
        return np.bincount(self._group[part], times, len(self.sizes)).astype(np.float64)


def extreme_scores(
    groups: CountedGroups, hits: np.ndarray, codes: np.ndarray, *, greatest: bool
) -> np.ndarray:
    """Return the least factors whose intervals contain extremes, see `ExtremeLaw.least_factor`.

    Args:
        groups: the values of groups.
        hits: the number of selected rows of each group (float64, queries x groups).
        codes: the true extreme of each query (int64); -1 if no group has that value.
        greatest: whether it is the greatest value, not the least.

    Returns:
        Float64, one per query; NaN if only one value can be the extreme, infinite if the true one
        is no value of the groups.
    """
    selected = hits > 0
    if greatest:
        best = np.where(selected, groups.greatest, -1).max(axis=1)
        worst = np.where(selected, groups.least, groups.codes).min(axis=1)
    else:
        best = np.where(selected, groups.least, groups.codes).min(axis=1)
        worst = np.where(selected, groups.greatest, -1).max(axis=1)
    open_ = np.flatnonzero((best != worst) & (codes >= 0))
    selected_hits, codes_of_open = hits[open_], codes[open_]

    def log_missed(place: np.ndarray, *, better: bool) -> np.ndarray:
        """Return the logarithm of the chance that no value as good, or better, is selected."""
        if greatest:
            as_good = groups.non_null - groups.upto(place if better else place - 1)
        else:
            as_good = groups.upto(place - 1 if better else place)
        return _log_missed(groups, selected_hits, as_good)

    is_only = np.isneginf(log_missed(best[open_], better=False))
    as_good, better = (
        log_missed(codes_of_open, better=False),
        log_missed(codes_of_open, better=True),
    )
    with np.errstate(divide="ignore"):
        reached = np.log(-np.expm1(np.where(codes_of_open == worst[open_], -np.inf, as_good)))
    scores = np.where(codes < 0, np.inf, np.nan)
    scores[open_] = _factors(np.minimum(reached, better))
    scores[open_[is_only]] = np.nan
    return np.where(best == worst, np.nan, scores)


def factors_of_extremes(
    missed: np.ndarray,
    is_possible: np.ndarray,
    numbers: np.ndarray,
    truths: np.ndarray,
    *,
    greatest: bool,
) -> np.ndarray:
    """Return the same where values are selected independently; see `extreme_scores`.

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

    def of_quantiles(
        self, quantile_places: Sequence[QuantilePlace], rows: np.ndarray
    ) -> np.ndarray:
        """Return the places of quantiles among numbers of values (float64, one per query)."""
        return np.array(
            [p.place_among(n) for p, n in zip(quantile_places, rows.tolist(), strict=True)]
        )

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


def _log_missed(groups: CountedGroups, hits: np.ndarray, as_good: np.ndarray) -> np.ndarray:
    """Return the logarithm of the chance that no good value is selected (float64, per query).

    Args:
        groups: the values of groups.
        hits: the number of selected rows of each group (float64, queries x groups).
        as_good: the number of good values of each group (float64, queries x groups).
    """
    query, group = np.nonzero((as_good > 0) & (hits > 0))  # any other group misses them for sure
    size = groups.sizes[group].astype(np.int64)
    others = size - hits[query, group].astype(np.int64)
    worse = size - as_good[query, group].astype(np.int64)
    remaining, logs = others + worse - size, groups.logs
    with np.errstate(invalid="ignore"):
        log = logs[others] + logs[worse] - logs[np.maximum(remaining, 0)] - logs[size]
    log[remaining < 0] = -np.inf
    return np.bincount(query, log, len(hits))
