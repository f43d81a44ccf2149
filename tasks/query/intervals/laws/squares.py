"""The law of a variance or a standard deviation, by the mean of squared deviations.

Near the mean m and the mean square v that are expected, a mean square misses by the mean of
(number - m)² - v: what else it misses by is of second order (linearization; Särndal, Swensson,
Wretman, Model Assisted Survey Sampling, 1992, 5.5 and 5.9). Both kinds of variance and both of
standard deviation rise with the mean square, so that one law is that of all four.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sfumato.tasks.query.intervals.laws.spread import SelectedSize
from sfumato.tasks.query.question.aggregates.kind import AggregateKind

_Rule = Callable[[float, float], float]


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
