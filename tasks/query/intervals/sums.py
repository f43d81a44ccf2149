"""The laws of sums over rows that match with chances, or whose numbers are shuffled in groups.

The mean and the variance of h of a group's n numbers are known exactly (sampling without
replacement). Queries that choose rows by a column related to the numbers miss by more. The middle
is therefore moved by the covariates, and two parts of the scale allow for effects that covariates
do not show. These parts are constants of this project, found on public tables; the calibrated
factor corrects where they are too small.

It is known which values of a row go together, but not which row they belong to: sums of weighted
numbers have the law of one number.

Near the expected mean m and mean square v, a mean square misses by the mean of (number - m)² - v,
and by terms of second order (linearization; Särndal, Swensson, Wretman, Model Assisted Survey
Sampling, 1992, 5.5 and 5.9). Both kinds of variance and both of standard deviation rise with the
mean square, so that one law serves all four.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.intervals.covariates import Deviations, GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.spread import Z95, NumberSpread, SelectedSize

LEAN = 0.05
"""The number of standard deviations by which selected rows of a group differ from its others."""
LEAN_OF_SHARES = 0.1
"""The same number for numbers that are 1 for some values and 0 for the others."""
_DOUBT = 0.25  # share of the covariates' move
_FILL = 0.3  # standard deviations by which values differ from a subdomain's target
_LEAN = 0.75  # possible error of the odds that a row matches, the same for all rows
_Rule = Callable[[float, float], float]


@dataclass(frozen=True, eq=False)
class LikelySum:
    """The law of the sum of numbers over selected rows.

    Attributes:
        numbers: of all groups.
        selected: the rows.
        moved: how far covariates move the sum.
        error: the standard error of that.
        lean: how far, in standard deviations, selected rows of a group differ from its others.
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
        """The variance of the sum over the selected number of each group's numbers."""
        n, group = self._sizes, self.selected.group
        part = self._hits * (n - self._hits) / np.maximum(n - 1, 1)
        inner = self._hits * self.numbers.inner[group]
        return float((part * self.numbers.variance[group] + inner).sum())

    @cached_property
    def unknown(self) -> float:
        """The standard deviation of the sum by effects that no covariate shows."""
        n, group = self._sizes, self.selected.group
        part = self._hits * (n - self._hits) / n
        inner = self.numbers.inner[group]
        lean = self.lean * (part * np.sqrt(self.numbers.variance[group] + inner)).sum()
        fill = _FILL * (self._hits * np.sqrt(inner)).sum()
        return float(np.sqrt(lean**2 + fill**2 + self.error**2 + (_DOUBT * self.moved) ** 2))

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
    """Several numbers of each row, known only by its group; all float64.

    Attributes:
        size: how many of each number there are (one per group).
        mean: of the numbers (numbers x groups).
        covariance: of the numbers within groups (numbers x numbers x groups).
        inner: the covariance of numbers that are known only by their subdomain (numbers x numbers x
            groups); None for other numbers.
        deviations: how far each number of rows is expected to be above its groups' means.
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
        """Return the laws of sums over selected rows; `unlike` as in `Deviations.sum_over`."""
        return SumsTogether(self, selected, unlike)


@dataclass(frozen=True, eq=False)
class SumsTogether:
    """The sums of several numbers over selected rows."""

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
        """Return the sum of the numbers, weighted by one weight each."""
        vector, group = np.array(weights), self.selected.group
        covariance, inner = self.numbers.covariance, self.numbers.inner
        grouped = GroupedNumbers(
            self.numbers.size[group],
            vector @ self.numbers.mean[:, group],
            _quadratic(vector, covariance[:, :, group]),
            np.zeros(len(group)) if inner is None else _quadratic(vector, inner[:, :, group]),
        )
        moved, errors = (vector * part for part in np.array(self._moves).T)
        here = replace(self.selected, group=np.arange(len(group)))
        error = float(np.sqrt((errors**2).sum()))
        return LikelySum(grouped, here, float(moved.sum()), error, self.numbers.lean)

    @cached_property
    def _moves(self) -> list[tuple[float, float]]:
        return [
            deviations.sum_over(self.selected, self.unlike)
            for deviations in self.numbers.deviations
        ]


def _quadratic(weights: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the variance of weighted numbers (float64, one per group)."""
    variance: np.ndarray = np.maximum(np.einsum("i,j,ijg->g", weights, weights, covariance), 0.0)
    return variance


def count_of_chances(size: SelectedSize, chance: np.ndarray) -> NumberSpread:
    """Return the law of the number of matching rows, each with its own chance."""
    variance = float((chance * (1 - chance)).sum())
    width = Z95 * float(np.hypot(np.sqrt(variance), _LEAN * variance))
    return NumberSpread(size, float(chance.sum()), width, width)


def likely_size(chance: np.ndarray, groups: int) -> SelectedSize:
    """Return the least likely number of matching rows, each with a chance, and their groups."""
    law = count_of_chances(SelectedSize(0, 0), chance)
    return SelectedSize(law.estimate - law.below, groups)


def sum_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """Return the law of the sum of rows' numbers; each row matches with its own chance."""
    apart = chance * (1 - chance)
    lean = _LEAN * abs(float((apart * numbers).sum()))
    width = Z95 * float(np.hypot(np.sqrt((apart * numbers**2).sum()), lean))
    return NumberSpread(size, float((chance * numbers).sum()), width, width)


def mean_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """Return the law of the mean of rows' numbers; each row matches with its own chance."""
    rows = float(chance.sum())
    middle = float((chance * numbers).sum()) / rows
    apart, beside = chance * (1 - chance), np.abs(numbers - middle)
    lean = _LEAN * float((apart * beside).sum())
    width = Z95 * float(np.hypot(np.sqrt((apart * beside**2).sum()), lean)) / rows
    return NumberSpread(size, middle, width, width)


@dataclass(frozen=True)
class SquaresSpread:
    """The law of an aggregate that rises with the mean of squared deviations.

    Attributes:
        size: the rows and groups that the query selects.
        rows: the likely number of aggregated numbers.
        mean_square: the middle.
        width: how far from it 95 % of the law end.
        answer: returns the aggregate for a sum of squared deviations and the number of numbers.
        squares: returns the sum for an aggregate and the number of numbers.
    """

    size: SelectedSize
    rows: float
    mean_square: float
    width: float
    answer: _Rule
    squares: _Rule

    @property
    def estimate(self) -> float:
        """The aggregate of the middle."""
        return self._answer(self.mean_square)

    @property
    def is_exact(self) -> bool:
        """True if the aggregate is known exactly."""
        return self.width <= 0

    def interval(self, factor: float) -> tuple[float, float]:
        """Return the aggregates of the ends, which are `factor` times as far from the middle."""
        reach = factor * self.width
        return self._answer(self.mean_square - reach), self._answer(self.mean_square + reach)

    def score(self, truth: float) -> float:
        """Return the distance of the truth from the middle by the width, both as mean squares."""
        missed = abs(self.squares(truth, self.rows) / self.rows - self.mean_square)
        if self.width > 0:
            return missed / self.width
        return float("inf") if missed else 0.0

    def _answer(self, mean_square: float) -> float:
        return self.answer(max(mean_square, 0.0) * self.rows, self.rows)


def squares_spread(kind: AggregateKind) -> Callable[..., SquaresSpread] | None:
    """Return a function that makes the law of an aggregate; None if the aggregate has no such law.

    The function takes the size, the number of rows, the mean square and the width.
    """
    if kind.of_squares is None or kind.squares is None:
        return None
    return partial(SquaresSpread, answer=kind.of_squares, squares=kind.squares)
