"""What is likely of sums and means over values of which some are missing.

SQL passes over nulls. A sum is that of numbers which are 0 where none is; a mean is the quotient of
two sums, of the numbers above some centre and of ones for each that is there. Near the quotient r
that is expected, its error is that of the sum of (number - r, 0 where none is) by how many are
there (linearization; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, 5.6).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.query.intervals.beside_rows.exact_rows import NumbersOfRows
from sfumato.tasks.query.intervals.laws.covariates import (
    Deviations,
    GroupedNumbers,
    SelectedOfGroups,
)
from sfumato.tasks.query.intervals.laws.grouped import LEAN, LEAN_OF_SHARES, LikelySum
from sfumato.tasks.query.intervals.laws.normal import Z95
from sfumato.tasks.query.intervals.laws.spread import NumberSpread, SelectedSize

Known = Callable[[np.ndarray, float], NumbersOfRows]
"""Finds out what is known of numbers (float64, one per value of the groups) that lean so much."""


@dataclass(frozen=True, eq=False)
class NumbersWhereKnown:
    """Numbers of rows of which some are missing.

    Attributes:
        centre: the mean of those that are there.
        above: the numbers above that, 0 where none is.
        there: 1 where a number is, else 0.
        sums: the numbers, 0 where none is.
    """

    centre: float
    above: NumbersOfRows
    there: NumbersOfRows
    sums: NumbersOfRows

    @property
    def deviations(self) -> Deviations:
        """By how much numbers are expected to be above their groups' means, 0 where none is."""
        return self.above.deviations

    def spread_over(
        self, selected: SelectedOfGroups, _: np.ndarray | None = None, *, per_row: bool
    ) -> NumberSpread | None:
        """The law of the sum over selected rows, or of the mean; None where likely none is there.

        The size of what is selected is that of the numbers which are surely enough there.
        """
        there = self.there.sum_over(selected)
        size = SelectedSize(there.middle - Z95 * there.deviation, len(selected.group))
        if not per_row:
            likely, per, middle = self.sums.sum_over(selected), 1.0, 0.0
        elif there.middle <= 0:
            return None
        else:
            apart = self.above.sum_over(selected).middle / there.middle
            likely, per, middle = self._beyond(selected, apart), there.middle, self.centre + apart
        width = Z95 * likely.deviation / per
        estimate = middle if per_row else likely.middle
        return NumberSpread(size, estimate, width, width)

    def _beyond(self, selected: SelectedOfGroups, apart: float) -> LikelySum:
        """The sum of what numbers are above `apart`, 0 where none is: it is expected to be 0."""
        above, share = self.above.grouped, self.there.grouped.mean
        together = above.mean * (1 - share)
        variance = above.variance - 2 * apart * together + apart**2 * share * (1 - share)
        numbers = GroupedNumbers(
            above.size, above.mean - apart * share, np.maximum(variance, 0.0), above.inner
        )
        moved, error = self.above.deviations.sum_over(selected)
        moved_there, error_there = self.there.deviations.sum_over(selected)
        error = float(np.hypot(error, apart * error_there))
        return LikelySum(numbers, selected, moved - apart * moved_there, error, self.above.lean)


def numbers_where_known(
    numbers: np.ndarray, there: np.ndarray, weights: np.ndarray, known: Known
) -> NumbersWhereKnown:
    """What is known of numbers of which some are missing.

    Args:
        numbers: of each value of the groups (float64), anything where none is.
        there: whether it is a number (bool).
        weights: how often it stands there (float64).
        known: finds it out.
    """
    number = float((weights * there).sum())
    sums = np.where(there, numbers, 0.0)
    centre = float((weights * sums).sum()) / number if number else 0.0
    return NumbersWhereKnown(
        centre,
        known(np.where(there, numbers - centre, 0.0), LEAN),
        known(there.astype(np.float64), LEAN_OF_SHARES),
        known(sums, LEAN),
    )
