"""The laws of sums over rows that match with chances, or whose numbers are shuffled in groups.

A law is the distribution of an answer: its middle, and the width of its 95 % range.

If a query selects h of a group's n rows, the sum of their h numbers has a known mean and variance
(sampling without replacement). A query that selects rows by a column related to the numbers misses
by more. Therefore `LikelySum` moves the middle by what covariates predict (`intervals.covariates`),
and widens the range for effects that covariates do not show. This project found the constants for
that on public tables; the calibrated factor corrects where they are too small.

Several numbers of a row are shuffled together. So a weighted sum of them is again one number of
each row, and has the law of such a number: `NumbersTogether`.

Let m be the expected mean and v the expected mean of the squared deviations from it. To first
order, the mean squared deviation of the selected rows misses v by the mean of (number - m)² - v
(linearization; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, 5.5 and 5.9).
Both kinds of variance and both of standard deviation rise with it, so one law serves all four:
`SquaresSpread`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.intervals.covariates import Deviations, GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.spread import ROUNDING, Z95, NumberSpread, SelectedSize

LEAN = 0.05
"""The number of standard deviations by which selected rows may differ from others of the group."""
LEAN_OF_SHARES = 0.1
"""`LEAN` for numbers that are 1 for some values and 0 for the others."""
DOUBT = 0.25
"""The error of the covariates' move, as a share of the move."""
_FILL = 0.3  # standard deviations by which values may differ from their subdomain's target
LEAN_OF_CHANCES = 0.75
"""The error of the log odds that a row matches, the same for all rows."""
_Rule = Callable[[float, float], float]  # see `answer` and `squares` of `SquaresSpread`


@dataclass(frozen=True, eq=False)
class LikelySum:
    """The law of the sum of numbers over selected rows.

    Attributes:
        numbers: the numbers of each group.
        selected: the selected rows of each group.
        moved: the amount that covariates add to the expected sum.
        error: the standard error of that amount.
        lean: the number of standard deviations by which selected rows may differ from others of
            their group.
    """

    numbers: GroupedNumbers
    selected: SelectedOfGroups
    moved: float
    error: float = 0.0
    lean: float = LEAN

    @cached_property
    def middle(self) -> float:
        """The expected sum."""
        return float((self._hits * self.numbers.mean[self.selected.group]).sum() + self.moved)

    @cached_property
    def variance(self) -> float:
        """The variance of the sum if the rows of each group were selected at random."""
        n, group = self._sizes, self.selected.group
        # of h numbers out of n: h (n - h) / (n - 1) variances; and h variances inside subdomains
        part = self._hits * (n - self._hits) / np.maximum(n - 1, 1)
        inner = self._hits * self.numbers.inner[group]
        return float((part * self.numbers.variance[group] + inner).sum())

    @cached_property
    def unknown(self) -> float:
        """The standard deviation of the sum due to effects that no covariate shows."""
        n, group = self._sizes, self.selected.group
        part = self._hits * (n - self._hits) / n
        inner = self.numbers.inner[group]
        lean = self.lean * (part * np.sqrt(self.numbers.variance[group] + inner)).sum()
        fill = _FILL * (self._hits * np.sqrt(inner)).sum()
        return float(np.sqrt(lean**2 + fill**2 + self.error**2 + (DOUBT * self.moved) ** 2))

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum by all effects."""
        return float(np.hypot(np.sqrt(self.variance), self.unknown))

    @property
    def _hits(self) -> np.ndarray:
        return self.selected.hits.astype(np.float64)

    @property
    def _sizes(self) -> np.ndarray:
        sizes: np.ndarray = self.numbers.size[self.selected.group]
        return sizes


@dataclass(frozen=True, eq=False)
class NumbersTogether:
    """Several numbers of each row, of which only the group is known; arrays are float64.

    Attributes:
        size: how many rows have numbers (one per group).
        mean: the means of the numbers in each group (numbers x groups).
        covariance: the covariance of the numbers within each group (numbers x numbers x groups).
        inner: the covariance of numbers that are known only by their subdomain (numbers x numbers x
            groups); None for other numbers.
        deviations: for each number, how far rows are expected to be above their group's mean.
        lean: see `LikelySum`.
    """

    size: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    inner: np.ndarray | None
    deviations: Sequence[Deviations]
    lean: float

    def sums_over(
        self, selected: SelectedOfGroups, unlike: np.ndarray | None = None
    ) -> "SumsTogether":
        """Return the sums of the numbers over selected rows; see `Deviations.sum_over`."""
        return SumsTogether(self, selected, unlike)


@dataclass(frozen=True, eq=False)
class SumsTogether:
    """The sums of several numbers over selected rows.

    Attributes:
        numbers: the numbers of each group.
        selected: the selected rows of each group.
        unlike: the argument of `Deviations.sum_over`; None if it is to be computed.
    """

    numbers: NumbersTogether
    selected: SelectedOfGroups
    unlike: np.ndarray | None

    @cached_property
    def middles(self) -> np.ndarray:
        """The expected sums (float64, one per number)."""
        of_groups = self.numbers.mean[:, self.selected.group] @ self.selected.hits
        middles: np.ndarray = of_groups + [moved for moved, _ in self._moves]
        return middles

    def weighted_sum(self, weights: Sequence[float]) -> LikelySum:
        """Return the law of the weighted sum of the numbers; there is one weight per number."""
        vector, group = np.array(weights), self.selected.group
        covariance, inner = self.numbers.covariance, self.numbers.inner
        grouped = GroupedNumbers(
            self.numbers.size[group],
            vector @ self.numbers.mean[:, group],
            _quadratic(vector, covariance[:, :, group]),
            np.zeros(len(group)) if inner is None else _quadratic(vector, inner[:, :, group]),
        )
        moved, errors = (vector * part for part in np.array(self._moves).T)
        # `grouped` only has the selected groups, numbered anew
        here = replace(self.selected, group=np.arange(len(group)))
        error = float(np.sqrt((errors**2).sum()))
        return LikelySum(grouped, here, float(moved.sum()), error, self.numbers.lean)

    @cached_property
    def _moves(self) -> list[tuple[float, float]]:
        """The amount that covariates add to each sum, and its standard error."""
        return [
            deviations.sum_over(self.selected, self.unlike)
            for deviations in self.numbers.deviations
        ]


def _quadratic(weights: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the variance of weighted numbers (float64, one per group)."""
    variance: np.ndarray = np.maximum(np.einsum("i,j,ijg->g", weights, weights, covariance), 0.0)
    return variance


def count_of_chances(size: SelectedSize, chance: np.ndarray) -> NumberSpread:
    """Return the law of the number of matching rows, each with its own chance.

    Args:
        size: the size that the law gets.
        chance: the chance that each row matches (float64).
    """
    # if the log odds of all rows are off by some number, the sum is off by as many variances
    variance = float((chance * (1 - chance)).sum())
    width = Z95 * float(np.hypot(np.sqrt(variance), LEAN_OF_CHANCES * variance))
    return NumberSpread(size, float(chance.sum()), width, width)


def likely_size(chance: np.ndarray, groups: int) -> SelectedSize:
    """Return the lower end of the 95 % range of the number of matching rows, with their groups.

    Args:
        chance: the chance that each row matches (float64).
        groups: the number of groups of these rows.
    """
    law = count_of_chances(SelectedSize(0, 0), chance)
    return SelectedSize(law.estimate - law.below, groups)


def sum_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """Return the law of the sum of rows' numbers; each row matches with its own chance.

    Args:
        size: the size that the law gets.
        chance: the chance that each row matches (float64).
        numbers: the number of each row (float64).
    """
    apart = chance * (1 - chance)
    lean = LEAN_OF_CHANCES * abs(float((apart * numbers).sum()))
    width = Z95 * float(np.hypot(np.sqrt((apart * numbers**2).sum()), lean))
    return NumberSpread(size, float((chance * numbers).sum()), width, width)


def mean_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """Return the law of the mean of rows' numbers, with arguments as for `sum_of_chances`.

    Some chance must be above 0.
    """
    rows = float(chance.sum())
    middle = float((chance * numbers).sum()) / rows
    apart, beside = chance * (1 - chance), np.abs(numbers - middle)
    lean = LEAN_OF_CHANCES * float((apart * beside).sum())  # as if all errors moved the mean up
    width = Z95 * float(np.hypot(np.sqrt((apart * beside**2).sum()), lean)) / rows
    return NumberSpread(size, middle, width, width)


@dataclass(frozen=True)
class SquaresSpread:
    """The law of an aggregate that rises with the mean squared deviation, such as a variance.

    Attributes:
        size: the rows and groups that the query selects.
        rows: the expected number of aggregated numbers.
        mean_square: the middle of the mean squared deviation's law.
        width: the distance from the middle to both ends of its 95 % range.
        answer: a function that returns the aggregate, given the sum of squared deviations and how
            many numbers there are.
        squares: the inverse of `answer`: it returns the sum of squared deviations, given the
            aggregate and how many numbers there are.
    """

    size: SelectedSize
    rows: float
    mean_square: float
    width: float
    answer: _Rule
    squares: _Rule

    @property
    def estimate(self) -> float:
        """The aggregate at the middle."""
        return self._answer(self.mean_square)

    @property
    def is_exact(self) -> bool:
        """True if the aggregate is known exactly."""
        return self.width <= ROUNDING * self.mean_square

    def interval(self, factor: float) -> tuple[float, float]:
        """Return the aggregates at the ends of the 95 % range, made `factor` times as wide."""
        reach = factor * self.width
        return self._answer(self.mean_square - reach), self._answer(self.mean_square + reach)

    def score(self, truth: float) -> float:
        """Return the distance of the true aggregate from the middle, divided by the width.

        Both are compared as mean squared deviations.
        """
        missed = abs(self.squares(truth, self.rows) / self.rows - self.mean_square)
        if self.width > 0:
            return missed / self.width
        return float("inf") if missed else 0.0

    def _answer(self, mean_square: float) -> float:
        return self.answer(max(mean_square, 0.0) * self.rows, self.rows)


def squares_spread(kind: AggregateKind) -> Callable[..., SquaresSpread] | None:
    """Return a function that makes the law of an aggregate; None if the aggregate has no such law.

    The function takes the first four attributes of `SquaresSpread`: `size`, `rows`, `mean_square`
    and `width`.
    """
    if kind.of_squares is None or kind.squares is None:
        return None
    return partial(SquaresSpread, answer=kind.of_squares, squares=kind.squares)
