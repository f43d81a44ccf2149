"""The laws of sums over rows that are meant with chances, or whose numbers are shuffled in groups.

The mean and the variance of h of a group's n numbers are known exactly (sampling without
replacement). Queries that choose rows by what goes with the numbers miss more: the middle is moved
by what covariates tell, and two parts of the scale allow for what they do not. These are constants
of this project, found on public tables; the calibrated factor makes good for where they fall short.

Whose values go together is known, and whose rows they are is not: sums of weighted numbers have the
law of one number.

Near the mean m and the mean square v that are expected, a mean square misses by the mean of
(number - m)² - v: what else it misses by is of second order (linearization; Särndal, Swensson,
Wretman, Model Assisted Survey Sampling, 1992, 5.5 and 5.9). Both kinds of variance and both of
standard deviation rise with the mean square, so that one law is that of all four.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.intervals.covariates import Deviations, GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.spread import Z95, NumberSpread, SelectedSize

LEAN = 0.05
"""Standard deviations by which selected rows of a group differ from its others."""
LEAN_OF_SHARES = 0.1
"""The same where numbers are 1 for some values and 0 for the others."""
_DOUBT = 0.25  # of what covariates moved
_FILL = 0.3  # standard deviations by which values are not as a subdomain's target says
_LEAN = 0.75  # by which the odds of a row to be meant may be off, for all rows alike
_Rule = Callable[[float, float], float]


@dataclass(frozen=True, eq=False)
class LikelySum:
    """The sum of numbers over selected rows.

    Attributes:
        numbers: of all groups.
        selected: the rows.
        moved: by what covariates move the sum.
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
        """The sum that is expected."""
        return float((self._hits * self.numbers.mean[self.selected.group]).sum() + self.moved)

    @cached_property
    def variance(self) -> float:
        """Of the sum over so many of each group's numbers."""
        n, group = self._sizes, self.selected.group
        part = self._hits * (n - self._hits) / np.maximum(n - 1, 1)
        inner = self._hits * self.numbers.inner[group]
        return float((part * self.numbers.variance[group] + inner).sum())

    @cached_property
    def unknown(self) -> float:
        """How far, in sums, what no covariate tells may carry it: as a standard deviation."""
        n, group = self._sizes, self.selected.group
        part = self._hits * (n - self._hits) / n
        inner = self.numbers.inner[group]
        lean = self.lean * (part * np.sqrt(self.numbers.variance[group] + inner)).sum()
        fill = _FILL * (self._hits * np.sqrt(inner)).sum()
        return float(np.sqrt(lean**2 + fill**2 + self.error**2 + (_DOUBT * self.moved) ** 2))

    @property
    def deviation(self) -> float:
        """The standard deviation, all together."""
        return float(np.hypot(np.sqrt(self.variance), self.unknown))

    @property
    def _hits(self) -> np.ndarray:
        return self.selected.hits.astype(np.float64)

    @property
    def _sizes(self) -> np.ndarray:
        found: np.ndarray = self.numbers.size[self.selected.group]
        return found


@dataclass(frozen=True, eq=False)
class NumbersTogether:
    """Several numbers of each row that are known of its group alone; all float64.

    Attributes:
        size: how many of each there are (one per group).
        mean: of these (numbers x groups).
        covariance: of these within groups (numbers x numbers x groups).
        inner: that of numbers which are known by their subdomain alone (the same); None of others.
        deviations: by how much each number of rows is expected to be above its groups' means.
        lean: see `LikelySum`.
    """

    size: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    inner: np.ndarray | None
    deviations: Sequence[Deviations]
    lean: float

    def over(self, selected: SelectedOfGroups, unlike: np.ndarray | None = None) -> "SumsTogether":
        """What is likely of their sums over selected rows; `unlike` as in `Deviations.sum_over`."""
        return SumsTogether(self, selected, unlike)


@dataclass(frozen=True, eq=False)
class SumsTogether:
    """The sums of several numbers over selected rows."""

    numbers: NumbersTogether
    selected: SelectedOfGroups
    unlike: np.ndarray | None

    @cached_property
    def middles(self) -> np.ndarray:
        """The sums that are expected (float64, one per number)."""
        of_groups = self.numbers.mean[:, self.selected.group] @ self.selected.hits
        middles: np.ndarray = of_groups + [moved for moved, _ in self._moved]
        return middles

    def weighted(self, weights: Sequence[float]) -> LikelySum:
        """The sum of weighted numbers, one weight for each."""
        by, group = np.array(weights), self.selected.group
        covariance, inner = self.numbers.covariance, self.numbers.inner
        grouped = GroupedNumbers(
            self.numbers.size[group],
            by @ self.numbers.mean[:, group],
            _quadratic(by, covariance[:, :, group]),
            np.zeros(len(group)) if inner is None else _quadratic(by, inner[:, :, group]),
        )
        moved, errors = (by * part for part in np.array(self._moved).T)
        here = replace(self.selected, group=np.arange(len(group)))
        error = float(np.sqrt((errors**2).sum()))
        return LikelySum(grouped, here, float(moved.sum()), error, self.numbers.lean)

    @cached_property
    def _moved(self) -> list[tuple[float, float]]:
        return [one.sum_over(self.selected, self.unlike) for one in self.numbers.deviations]


def _quadratic(by: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The variance of weighted numbers (float64, one per group)."""
    found: np.ndarray = np.maximum(np.einsum("i,j,ijg->g", by, by, covariance), 0.0)
    return found


def count_of_chances(size: SelectedSize, chance: np.ndarray) -> NumberSpread:
    """The law of how many rows are meant, each with its own chance."""
    variance = float((chance * (1 - chance)).sum())
    width = Z95 * float(np.hypot(np.sqrt(variance), _LEAN * variance))
    return NumberSpread(size, float(chance.sum()), width, width)


def likely_size(chance: np.ndarray, groups: int) -> SelectedSize:
    """How many rows are likely to be meant at least, each with a chance, of so many groups."""
    law = count_of_chances(SelectedSize(0, 0), chance)
    return SelectedSize(law.estimate - law.below, groups)


def sum_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """The law of the sum of rows' numbers, each meant with its own chance."""
    apart = chance * (1 - chance)
    lean = _LEAN * abs(float((apart * numbers).sum()))
    width = Z95 * float(np.hypot(np.sqrt((apart * numbers**2).sum()), lean))
    return NumberSpread(size, float((chance * numbers).sum()), width, width)


def mean_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """The law of the mean of rows' numbers, each meant with its own chance."""
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
        size: what the query selects.
        rows: of how many numbers it is, about.
        mean_square: the middle.
        width: how far from it 95 % of the law end.
        answer: the aggregate, by a sum of squared deviations and the number of numbers.
        squares: the sum, by the aggregate and the number of numbers.
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
        """True where nothing is open."""
        return self.width <= 0

    def interval(self, factor: float) -> tuple[float, float]:
        """The aggregates of the ends, which are `factor` times as far from the middle."""
        reach = factor * self.width
        return self._answer(self.mean_square - reach), self._answer(self.mean_square + reach)

    def score(self, truth: float) -> float:
        """The distance of the truth from the middle by the width, both as mean squares."""
        missed = abs(self.squares(truth, self.rows) / self.rows - self.mean_square)
        if self.width > 0:
            return missed / self.width
        return float("inf") if missed else 0.0

    def _answer(self, mean_square: float) -> float:
        return self.answer(max(mean_square, 0.0) * self.rows, self.rows)


def squares_spread(kind: AggregateKind) -> Callable[..., SquaresSpread] | None:
    """Makes the law of an aggregate, by size, rows, mean square and width; None of others."""
    if kind.of_squares is None or kind.squares is None:
        return None
    return partial(SquaresSpread, answer=kind.of_squares, squares=kind.squares)
