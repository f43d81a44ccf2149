"""The tests that decide claims.

What is drawn anew with each seed is one observation: the levels of one seed share their data and
their groups, and are summed up in one number before anything is tested. A test gives two p-values,
one for the claim and one against it; which of them is small decides, if one is.
"""

from dataclasses import dataclass, field
from math import log

import numpy as np

from sfumato.tasks.experiments.protocol.claims import Weight
from sfumato.tasks.experiments.protocol.points import Results
from sfumato.tasks.experiments.protocol.statistics import (
    ends_in_words,
    evidence_within,
    mean_of_levels,
    rank_correlation,
    ratio_in_words,
    relative_difference,
    signed_ranks,
    values_of_pair,
)

_RARE = 0.95  # what never happens in n cases may happen in one of twenty with probability .95^n


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
        """By the signed ranks of the seeds' mean differences, relative to sizes."""
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
        """By the signed ranks of the seeds' relative differences at each level."""
        low, high = values_of_pair(results, data, self.measure, self.lower, self.upper, ())
        each = [signed_ranks(margin) for margin in relative_difference(low, high).T]
        agree = max((one[0] for one in each), default=1.0)
        disagree = min(1.0, len(each) * min((one[1] for one in each), default=1.0))
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
        """By the signed ranks of the seeds' relative differences between the levels."""
        found = results.matrix(data, self.measure, self.series)
        low, high = (found.at((level,)).values for level in (self.lower, self.upper))
        margin = mean_of_levels(relative_difference(low, high))
        told = ratio_in_words(low, high, f"at {self.upper:g}", f"at {self.lower:g}")
        return Weight(*signed_ranks(margin), told)


@dataclass(frozen=True)
class Trend:
    """A series rises with the level, or falls."""

    measure: str
    series: str
    rises: bool
    levels: tuple[float, ...] = ()
    words: str = field(default="signed ranks of Kendall's tau with the level", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """By the signed ranks of the seeds' rank correlations with the level."""
        found = results.matrix(data, self.measure, self.series).at(self.levels)
        taus = np.array([rank_correlation(row) for row in found.values])
        agree, disagree = signed_ranks(taus if self.rises else -taus)
        return Weight(agree, disagree, ends_in_words(found))


@dataclass(frozen=True)
class Alike:
    """Two series, or a series at its first and its last level, differ by less than a factor."""

    measure: str
    one: str
    other: str
    within: float
    levels: tuple[float, ...] = ()

    @property
    def words(self) -> str:
        """The test in words."""
        return f"two one-sided signed-rank tests of ln(b/a) within ±ln {self.within:g}"

    def weigh(self, results: Results, data: str) -> Weight:
        """By whether the mean logarithm of the ratio is surely small, or surely large."""
        if self.one == self.other:
            found = results.matrix(data, self.measure, self.one)
            one, other = found.values[:, :1], found.values[:, -1:]
        else:
            one, other = values_of_pair(
                results, data, self.measure, self.one, self.other, self.levels
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = mean_of_levels(np.log(other / one))
        words = ("the last level", "the first") if self.one == self.other else ("", "")
        told = ratio_in_words(one, other, words[0] or self.other, words[1] or self.one)
        return evidence_within(ratio, -log(self.within), log(self.within), told)


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
        """By the slopes of the seeds' logarithms."""
        found = results.matrix(data, self.measure, self.series)
        at = np.log(np.array(found.levels))
        slopes = np.array([np.polyfit(at, np.log(row), 1)[0] for row in found.values])
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
        """By counting."""
        cases = int(np.nansum(results.matrix(data, self.cases, self.series).values))
        found = int(np.nansum(results.matrix(data, self.happened, self.series).values))
        told = f"{found:,} of {cases:,} cases"
        return Weight(1.0, 0.0, told) if found else Weight(_RARE**cases, 1.0, told)


@dataclass(frozen=True)
class Mostly:
    """A measure that is 0 or 1 is 1 in most seeds."""

    measure: str
    series: str
    words: str = field(default="sign test over seeds", init=False)

    def weigh(self, results: Results, data: str) -> Weight:
        """By the sign test."""
        found = results.matrix(data, self.measure, self.series).values[:, 0]
        signs = np.where(found > 0, 1.0, -1.0)
        from scipy.stats import binomtest

        yes, n = int((signs > 0).sum()), len(signs)
        agree, disagree = (
            float(binomtest(yes, n, alternative=side).pvalue) for side in ("greater", "less")
        )
        return Weight(agree, disagree, f"in {yes} of {n} seeds")
