"""What is likely of several sums over the same rows of groups whose numbers are shuffled together.

Whose values go together is known, and whose rows they are is not: sums of weighted numbers have the
law of one number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.tasks.query.intervals.laws.covariates import (
    Deviations,
    GroupedNumbers,
    SelectedOfGroups,
)
from sfumato.tasks.query.intervals.laws.grouped import LikelySum


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
