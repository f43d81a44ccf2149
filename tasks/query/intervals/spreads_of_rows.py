"""What is likely of variances and standard deviations over numbers of rows that groups tell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.intervals.covariates import Covariates, GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.spread import Z95, SelectedSize
from sfumato.tasks.query.intervals.sums import LEAN, NumbersTogether, SquaresSpread, squares_spread

_FEWEST = 2.0  # rows, of which there is a variance


@dataclass(frozen=True, eq=False)
class SpreadsOfRows:
    """Numbers of rows above their mean, their squares, and ones: 0 where none is.

    `numbers` are these three.
    """

    numbers: NumbersTogether

    def spread_over(
        self,
        kind: AggregateKind,
        selected: SelectedOfGroups,
        size: SelectedSize,
        unlike: np.ndarray | None = None,
    ) -> SquaresSpread | None:
        """The law of a variance or a standard deviation; None where likely nobody has a number.

        `unlike` as in `Deviations.sum_over`.
        """
        sums, making = self.numbers.over(selected, unlike), squares_spread(kind)
        total, squares, rows = (float(middle) for middle in sums.middles)
        if making is None or rows < _FEWEST:
            return None
        mean = total / rows
        square = max(squares / rows - mean**2, 0.0)
        likely = sums.weighted((-2 * mean, 1.0, mean**2 - square))
        return making(size, rows, square, Z95 * likely.deviation / rows)


def spreads_of_rows(
    group: np.ndarray, numbers: Sequence[np.ndarray], weights: np.ndarray, covariates: Covariates
) -> SpreadsOfRows:
    """What groups tell of numbers of their values.

    Args:
        group: of each value (integers).
        numbers: above their mean, their squares, and ones (float64, one per value each).
        weights: how often each stands there (float64).
        covariates: of the rows.
    """
    size = np.bincount(group, weights, covariates.groups)
    per = np.maximum(size, 1)
    mean = np.array([np.bincount(group, of * weights, len(size)) for of in numbers]) / per
    apart = [of - own[group] for of, own in zip(numbers, mean, strict=True)]
    covariance = np.array(
        [[np.bincount(group, one * other * weights, len(size)) for other in apart] for one in apart]
    )
    return spreads_together(size, mean, covariance / per, None, covariates)


def spreads_together(
    size: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    inner: np.ndarray | None,
    covariates: Covariates,
) -> SpreadsOfRows:
    """The same by what is known of groups, see `NumbersTogether`."""
    nothing = np.zeros(len(size))
    deviations = [
        covariates.fit(
            GroupedNumbers(
                size, mean[at], covariance[at, at], nothing if inner is None else inner[at, at]
            )
        )
        for at in range(len(mean))
    ]
    return SpreadsOfRows(NumbersTogether(size, mean, covariance, inner, deviations, LEAN))
