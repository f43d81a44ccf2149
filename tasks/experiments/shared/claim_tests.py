"""Tests that decide claims, and the statistics that they use.

What is drawn anew with each seed is one observation: the levels of one seed share their data and
their groups, and are summed up in one number before anything is tested. A test gives two p-values,
one for the claim and one against it; the smaller one decides if it is significant.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log

import numpy as np

from sfumato.tasks.experiments.shared.experiment import Matrix, Results, Weight

_RARE = 0.95  # what never happens in n cases may happen in one of twenty with probability .95^n


def values_of_pair(
    results: Results,
    data: str,
    measure: str,
    series: str,
    other_series: str,
    levels: tuple[float, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of two series at the levels that both have (float64, seeds x levels)."""
    first, second = (results.matrix(data, measure, name) for name in (series, other_series))
    shared = [
        level
        for level in first.levels
        if level in second.levels and (not levels or level in levels)
    ]
    columns = [[matrix.levels.index(level) for level in shared] for matrix in (first, second)]
    return first.values[:, columns[0]], second.values[:, columns[1]]


def relative_difference(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return high minus low relative to the sum of both sizes; 0 where both are 0."""
    both = np.abs(high) + np.abs(low)
    difference: np.ndarray = np.divide(high - low, both, out=np.zeros_like(both), where=both != 0)
    return difference


def mean_of_levels(values: np.ndarray) -> np.ndarray:
    """Return the mean of the levels that could be measured (float64, one per seed that has any)."""
    measured = np.where(np.isfinite(values), values, np.nan)
    rows = measured[~np.isnan(measured).all(axis=1)] if measured.size else measured.reshape(0, 0)
    return np.nanmean(rows, axis=1) if len(rows) else np.empty(0)


def signed_ranks(margins: np.ndarray) -> tuple[float, float]:
    """Return Wilcoxon's exact p-values, that margins are above 0 and that they are below.

    Equal sizes share their ranks; zeros have ranks and no side (Pratt).
    """
    finite = margins[np.isfinite(margins)]
    size = np.sort(np.abs(finite))
    first, last = (np.searchsorted(size, np.abs(finite), side) for side in ("left", "right"))
    ranks = (first + last + 1)[finite != 0]  # twice the rank: a whole number also where shared
    sums = np.ones(1)
    for rank in ranks.tolist():
        sums = np.append(sums, np.zeros(rank)) + np.append(np.zeros(rank), sums)
    reached = int(ranks[finite[finite != 0] > 0].sum())
    ways = sums.sum()
    return float(sums[reached:].sum() / ways), float(sums[: reached + 1].sum() / ways)


def evidence_within(values: np.ndarray, least: float, most: float, numbers: str) -> Weight:
    """Return the evidence that values lie within limits, and that they lie beyond one of them."""
    above, under = signed_ranks(values - least), signed_ranks(most - values)
    return Weight(max(above[0], under[0]), min(1.0, 2 * min(above[1], under[1])), numbers)


def rank_correlation(values: np.ndarray) -> float:
    """Kendall's tau of values in the order of their levels, without those that are NaN."""
    from scipy.stats import kendalltau

    is_finite = np.isfinite(values)
    if is_finite.sum() < 2:
        return 0.0
    tau = float(kendalltau(np.flatnonzero(is_finite), values[is_finite]).statistic)
    return 0.0 if np.isnan(tau) else tau


def ratio_in_words(low: np.ndarray, high: np.ndarray, over: str, under: str) -> str:
    """Return the ratio of two series, the median of the seeds and the extremes, in words."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.exp(mean_of_levels(np.log(high / low)))
    if not len(ratios):
        return "no ratio: nothing above 0 was measured"
    least, middle, most = np.quantile(ratios, (0, 0.5, 1))
    return f"{over} / {under}: {middle:.3g} ({least:.3g} to {most:.3g})"


def ends_in_words(matrix: Matrix) -> str:
    """Return a series at its first and last level, in words."""
    middle: Callable[[int], float] = lambda n: float(np.nanmedian(matrix.values[:, n]))  # noqa: E731
    return f"{middle(0):.3g} at {matrix.levels[0]:g}, {middle(-1):.3g} at {matrix.levels[-1]:g}"


@dataclass(frozen=True)
class Below:
    """One series is below another, times a factor, on the average of the levels."""

    measure: str
    lower: str
    upper: str
    factor: float = 1.0
    levels: tuple[float, ...] = ()
    words: str = field(default="signed ranks of (b - a)/(b + a), averaged over levels", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' mean differences, relative to sizes."""
        low, high = values_of_pair(results, data, self.measure, self.lower, self.upper, self.levels)
        margin = mean_of_levels(relative_difference(self.factor * low, high))
        return Weight(*signed_ranks(margin), ratio_in_words(low, high, self.upper, self.lower))


@dataclass(frozen=True)
class EverywhereBelow:
    """One series is below another at every level.

    Agrees if each level does; disagrees as soon as one level does, by Bonferroni's correction.
    """

    measure: str
    lower: str
    upper: str
    words: str = field(
        default="signed ranks at each level: all of them for, one against", init=False
    )

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' relative differences at each level."""
        low, high = values_of_pair(results, data, self.measure, self.lower, self.upper, ())
        each = [signed_ranks(margin) for margin in relative_difference(low, high).T]
        agree = max((pair[0] for pair in each), default=1.0)
        disagree = min(1.0, len(each) * min((pair[1] for pair in each), default=1.0))
        return Weight(agree, disagree, ratio_in_words(low, high, self.upper, self.lower))


@dataclass(frozen=True)
class BelowAtLevel:
    """A series is lower at one level than at another."""

    measure: str
    series: str
    lower: float
    upper: float
    words: str = field(default="signed ranks of (b - a)/(b + a) of two levels", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' relative differences between the levels."""
        matrix = results.matrix(data, self.measure, self.series)
        low, high = (matrix.select((level,)).values for level in (self.lower, self.upper))
        margin = mean_of_levels(relative_difference(low, high))
        numbers = ratio_in_words(low, high, f"at {self.upper:g}", f"at {self.lower:g}")
        return Weight(*signed_ranks(margin), numbers)


@dataclass(frozen=True)
class Trend:
    """A series rises with the level, or falls."""

    measure: str
    series: str
    rises: bool
    levels: tuple[float, ...] = ()
    words: str = field(default="signed ranks of Kendall's tau with the level", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' rank correlations with the level."""
        matrix = results.matrix(data, self.measure, self.series).select(self.levels)
        taus = np.array([rank_correlation(row) for row in matrix.values])
        agree, disagree = signed_ranks(taus if self.rises else -taus)
        return Weight(agree, disagree, ends_in_words(matrix))


@dataclass(frozen=True)
class Alike:
    """Two series, or a series at its first and its last level, differ by less than a factor."""

    measure: str
    series: str
    other: str
    within: float
    levels: tuple[float, ...] = ()

    @property
    def words(self) -> str:
        """The test in words."""
        return f"two one-sided signed-rank tests of ln(b/a) within ±ln {self.within:g}"

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh the evidence that the mean logarithm of the ratio is small, or large."""
        if self.series == self.other:
            matrix = results.matrix(data, self.measure, self.series)
            first, second = matrix.values[:, :1], matrix.values[:, -1:]
        else:
            first, second = values_of_pair(
                results, data, self.measure, self.series, self.other, self.levels
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = mean_of_levels(np.log(second / first))
        words = ("the last level", "the first") if self.series == self.other else ("", "")
        numbers = ratio_in_words(first, second, words[0] or self.other, words[1] or self.series)
        return evidence_within(ratio, -log(self.within), log(self.within), numbers)


@dataclass(frozen=True)
class Slope:
    """A series grows as a power of the level, with an exponent between two limits."""

    measure: str
    series: str
    least: float
    most: float

    @property
    def words(self) -> str:
        """The test in words."""
        return (
            "two one-sided signed-rank tests of the log-log slope in "
            f"[{self.least:g}, {self.most:g}]"
        )

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the slopes of the seeds' logarithms."""
        matrix = results.matrix(data, self.measure, self.series)
        logarithms = np.log(np.array(matrix.levels))
        slopes = np.array([np.polyfit(logarithms, np.log(row), 1)[0] for row in matrix.values])
        low, middle, high = np.quantile(slopes, (0, 0.5, 1))
        return evidence_within(
            slopes, self.least, self.most, f"slope {middle:.2f} ({low:.2f} to {high:.2f})"
        )


@dataclass(frozen=True)
class Never:
    """Something never happens: of so many cases, so many had it."""

    cases: str
    happened: str
    series: str
    words: str = field(default="one case refutes; none of n speaks for it by .95^n", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by counting cases."""
        cases = int(np.nansum(results.matrix(data, self.cases, self.series).values))
        happened = int(np.nansum(results.matrix(data, self.happened, self.series).values))
        numbers = f"{happened:,} of {cases:,} cases"
        return Weight(1.0, 0.0, numbers) if happened else Weight(_RARE**cases, 1.0, numbers)


@dataclass(frozen=True)
class Mostly:
    """A measure that is 0 or 1 is 1 in most seeds."""

    measure: str
    series: str
    words: str = field(default="sign test over seeds", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the sign test."""
        values = results.matrix(data, self.measure, self.series).values[:, 0]
        signs = np.where(values > 0, 1.0, -1.0)
        from scipy.stats import binomtest

        yes, n = int((signs > 0).sum()), len(signs)
        agree, disagree = (
            float(binomtest(yes, n, alternative=side).pvalue) for side in ("greater", "less")
        )
        return Weight(agree, disagree, f"in {yes} of {n} seeds")
