"""Tests that decide claims.

What is drawn anew with each seed is one observation: the levels of one seed share their data and
their groups, and are summed up in one number before anything is tested. A test states the least
effect that counts before anything is measured, and gives a p-value for the claim, one for its
contrary, and one for an effect that is smaller than the least on both sides.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log

import numpy as np

from sfumato.tasks.experiments.shared.experiment import Effect, Matrix, Results, Weight
from sfumato.tasks.experiments.shared.statistics import (
    LEAST_RATIO,
    LEAST_TAU,
    equivalence,
    has_interval,
    location,
    log_ratios,
    mean_of_levels,
    rank_correlation,
    share_interval,
    signed_ranks,
)

_RARE = 0.95  # what never happens in n cases may happen in one of twenty with probability .95^n
_AVERAGED = f"ratio of {LEAST_RATIO:g} or more: signed ranks of ln(b/a), averaged over levels"


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


def _effect(
    quantity: str, values: np.ndarray, scale: Callable[[float], float] = lambda x: x
) -> Effect:
    """Return the effect of values of seeds, each end brought back to the scale of the reader."""
    middle, low, high = (scale(end) for end in location(values))
    return Effect(quantity, middle, low, high, "95 %" if has_interval(values) else "extremes")


def _ratio(quantity: str, logarithms: np.ndarray) -> Effect:
    return _effect(quantity, logarithms, lambda end: float(np.exp(end)))


def _weigh_ratio(logarithms: np.ndarray, quantity: str, factor: float) -> Weight:
    """Weigh the evidence that ratios are as large as claimed.

    A claim without a factor needs the least ratio, its contrary the inverse of it. A claim with a
    factor needs just that factor, and its contrary is that the ratio is smaller.
    """
    effect = _ratio(quantity, logarithms)
    if factor != 1:
        return Weight(*signed_ranks(logarithms - log(factor)), effect)
    least = log(LEAST_RATIO)
    agree, _ = signed_ranks(logarithms - least)
    _, disagree = signed_ranks(logarithms + least)
    return Weight(agree, disagree, effect, equivalence(logarithms, -least, least)[0])


def ends_in_words(matrix: Matrix) -> str:
    """Return the medians of a series at its first and last level, in words."""
    if not matrix.values.size:
        return ""
    ends = [(float(np.nanmedian(matrix.values[:, n])), matrix.levels[n]) for n in (0, -1)]
    return ", ".join(f"{middle:.3g} at {level:g}" for middle, level in ends)


@dataclass(frozen=True)
class Below:
    """One series is below another, times a factor, on the average of the levels."""

    measure: str
    lower: str
    upper: str
    factor: float = 1.0
    levels: tuple[float, ...] = ()

    @property
    def words(self) -> str:
        """The test in words."""
        return _AVERAGED if self.factor == 1 else _AVERAGED.replace("1.05", f"{self.factor:.3g}", 1)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' mean logarithms of ratios."""
        low, high = values_of_pair(results, data, self.measure, self.lower, self.upper, self.levels)
        ratios = mean_of_levels(log_ratios(low, high))
        return _weigh_ratio(ratios, f"{self.upper} / {self.lower}", self.factor)


@dataclass(frozen=True)
class EverywhereBelow:
    """One series is below another at every level.

    Agrees if each level does; disagrees as soon as the contrary holds at one level, by Bonferroni's
    correction.
    """

    measure: str
    lower: str
    upper: str
    words: str = field(
        default=f"ratio of {LEAST_RATIO:g} or more: signed ranks of ln(b/a) at each level, "
        "all of them for, one against",
        init=False,
    )

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' logarithms at each level."""
        low, high = values_of_pair(results, data, self.measure, self.lower, self.upper, ())
        quantity = f"{self.upper} / {self.lower} where it is least"
        each = [_weigh_ratio(column, quantity, 1.0) for column in log_ratios(low, high).T]
        if not each:
            return Weight(1.0, 1.0, _ratio(quantity, np.empty(0)))
        agree = max(weight.agree for weight in each)
        disagree = min(1.0, len(each) * min(weight.disagree for weight in each))
        return Weight(agree, disagree, min((w.effect for w in each), key=lambda e: e.middle))


@dataclass(frozen=True)
class BelowAtLevel:
    """A series is lower at one level than at another."""

    measure: str
    series: str
    lower: float
    upper: float
    words: str = field(
        default=f"ratio of {LEAST_RATIO:g} or more: signed ranks of ln(b/a) of two levels",
        init=False,
    )

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' logarithms of the ratio of the levels."""
        matrix = results.matrix(data, self.measure, self.series)
        low, high = (matrix.select((level,)).values for level in (self.lower, self.upper))
        ratios = mean_of_levels(log_ratios(low, high))
        return _weigh_ratio(ratios, f"at {self.upper:g} / at {self.lower:g}", 1.0)


@dataclass(frozen=True)
class Trend:
    """A series rises with the level, or falls."""

    measure: str
    series: str
    rises: bool
    levels: tuple[float, ...] = ()
    words: str = field(
        default=f"Kendall's τ over all levels of {LEAST_TAU:g} or more in size: its signed ranks",
        init=False,
    )

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the signed ranks of the seeds' rank correlations with the level."""
        matrix = results.matrix(data, self.measure, self.series).select(self.levels)
        taus = np.array([rank_correlation(row) for row in matrix.values])
        claimed = taus if self.rises else -taus
        agree, _ = signed_ranks(claimed - LEAST_TAU)
        disagree, _ = signed_ranks(-claimed - LEAST_TAU)
        neither, _ = equivalence(taus, -LEAST_TAU, LEAST_TAU)
        return Weight(agree, disagree, _effect("τ", taus), neither, ends_in_words(matrix))


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
        return f"ratio within {self.within:g} either way: two signed-rank tests of ln(b/a)"

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh the evidence that the mean logarithm of the ratio is small, or large."""
        if self.series == self.other:
            matrix = results.matrix(data, self.measure, self.series)
            first, second = matrix.values[:, :1], matrix.values[:, -1:]
            quantity = "last level / first level"
        else:
            first, second = values_of_pair(
                results, data, self.measure, self.series, self.other, self.levels
            )
            quantity = f"{self.other} / {self.series}"
        ratios = mean_of_levels(log_ratios(first, second))
        evidence = equivalence(ratios, -log(self.within), log(self.within))
        return Weight(*evidence, _ratio(quantity, ratios))


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
        return f"log-log slope from {self.least:g} to {self.most:g}: two signed-rank tests"

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the slopes of the seeds' logarithms."""
        matrix = results.matrix(data, self.measure, self.series)
        logarithms = np.log(np.array(matrix.levels))
        slopes = np.array([np.polyfit(logarithms, np.log(row), 1)[0] for row in matrix.values])
        return Weight(*equivalence(slopes, self.least, self.most), _effect("slope", slopes))


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
        effect = _share_of_cases("share of cases", cases, happened)
        evidence = (1.0, 0.0) if happened else (_RARE**cases, 1.0)
        return Weight(*evidence, effect, remark=f"{happened:,} of {cases:,} cases")


def _share_of_cases(quantity: str, cases: int, happened: int) -> Effect:
    if not cases:
        return Effect(quantity, float("nan"), float("nan"), float("nan"))
    return Effect(quantity, happened / cases, *share_interval(cases, happened))


@dataclass(frozen=True)
class Mostly:
    """A measure that is 0 or 1 is 1 in most seeds."""

    measure: str
    series: str
    words: str = field(default="sign test over seeds", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """Weigh by the sign test."""
        from scipy.stats import binomtest

        values = results.matrix(data, self.measure, self.series).values[:, 0]
        yes, seeds = int((values > 0).sum()), len(values)
        agree, disagree = (
            float(binomtest(yes, seeds, alternative=side).pvalue) for side in ("greater", "less")
        )
        effect = _share_of_cases("share of seeds", seeds, yes)
        return Weight(agree, disagree, effect, remark=f"in {yes} of {seeds} seeds")
