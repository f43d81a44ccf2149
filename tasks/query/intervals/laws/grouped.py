"""What is likely of sums over rows of groups whose numbers are shuffled.

The mean and the variance of h of a group's n numbers are known exactly (sampling without
replacement). Queries that choose rows by what goes with the numbers miss more: the middle is moved
by what covariates tell, and two parts of the scale allow for what they do not. These are constants
of this project, found on public tables; the calibrated factor makes good for where they fall short.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.tasks.query.intervals.laws.covariates import GroupedNumbers, SelectedOfGroups

LEAN = 0.05
"""Standard deviations by which selected rows of a group differ from its others."""
LEAN_OF_SHARES = 0.1
"""The same where numbers are 1 for some values and 0 for the others."""

_DOUBT = 0.25  # of what covariates moved
_FILL = 0.3  # standard deviations by which values are not as a subdomain's target says


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
