"""The laws of variances and standard deviations over numbers of rows that are known by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.intervals.covariates import Covariates, SelectedOfGroups
from sfumato.tasks.query.intervals.spread import Z95, SelectedSize
from sfumato.tasks.query.intervals.sums import LEAN, NumbersTogether, SquaresSpread, squares_spread

_FEWEST = 2.0  # rows; fewer have no variance


@dataclass(frozen=True, eq=False)
class SpreadsOfRows:
    """Three numbers of each row: its number less the mean of all, the square of that, and 1.

    All three are 0 for a row without a number. `numbers` contains these three.
    """

    numbers: NumbersTogether

    def spread_over(
        self,
        kind: AggregateKind,
        selected: SelectedOfGroups,
        size: SelectedSize,
        unlike: np.ndarray | None = None,
    ) -> SquaresSpread | None:
        """Return the law of a variance or a standard deviation.

        Args:
            kind: the aggregate.
            selected: the selected rows.
            size: the size that the law gets.
            unlike: see `Deviations.sum_over`.

        Returns:
            None for other aggregates, or if too few numbers are expected.
        """
        sums, make_law = self.numbers.sums_over(selected, unlike), squares_spread(kind)
        total, squares, rows = (float(middle) for middle in sums.middles)
        if make_law is None or rows < _FEWEST:
            return None
        mean = total / rows
        square = max(squares / rows - mean**2, 0.0)
        # the sum of (number - mean)² - square, whose mean is the error of `square` (see `sums`)
        likely = sums.weighted_sum((-2 * mean, 1.0, mean**2 - square))
        return make_law(size, rows, square, Z95 * likely.deviation / rows)


def spreads_of_rows(
    group: np.ndarray, numbers: Sequence[np.ndarray], weights: np.ndarray, covariates: Covariates
) -> SpreadsOfRows:
    """Return the three numbers of rows that follow from the values of groups.

    Args:
        group: the group of each value (integers).
        numbers: the three numbers of each value: 3 arrays (float64, one per value).
        weights: how often each value occurs (float64).
        covariates: the covariates of the rows.
    """
    size = np.bincount(group, weights, covariates.groups)
    per = np.maximum(size, 1)
    mean = np.array([np.bincount(group, values * weights, len(size)) for values in numbers]) / per
    apart = [values - own[group] for values, own in zip(numbers, mean, strict=True)]
    covariance = np.empty((len(apart), len(apart), len(size)))
    for i, j in combinations_with_replacement(range(len(apart)), 2):
        products = apart[i] * apart[j] * weights
        covariance[i, j] = covariance[j, i] = np.bincount(group, products, len(size))
    return spreads_together(size, mean, covariance / per, None, covariates)


def spreads_together(
    size: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    inner: np.ndarray | None,
    covariates: Covariates,
) -> SpreadsOfRows:
    """Return the three numbers of rows from their moments in groups, see `NumbersTogether`."""
    places = np.arange(len(mean))
    variance = covariance[places, places]
    of_subdomains = None if inner is None else inner[places, places]
    deviations = covariates.fit_all(size, mean, variance, of_subdomains)
    return SpreadsOfRows(NumbersTogether(size, mean, covariance, inner, deviations, LEAN))
