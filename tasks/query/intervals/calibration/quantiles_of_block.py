"""The quantiles that the queries of a block ask for; see `intervals.quantiles.QuantilePlace`."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.tasks.query.intervals.quantiles import SAME
from sfumato.tasks.query.question.question import Aggregate

_HALF = Fraction(1, 2)  # the share of a median, and of nothing else that has none


@dataclass(frozen=True, eq=False)
class QuantilesOfBlock:
    """One quantile for each query.

    Attributes:
        part: the numerator of the share of values that are below it (int64).
        whole: the denominator of that share (int64).
        between: whether it may lie between two values (bool).
    """

    part: np.ndarray
    whole: np.ndarray
    between: np.ndarray

    @property
    def share(self) -> np.ndarray:
        """The share of the values that are below each (float64)."""
        return np.asarray(self.part / self.whole)

    def places_among(self, rows: np.ndarray) -> np.ndarray:
        """Return the places among numbers of values (both float64, one per query)."""
        value = np.maximum(np.ceil(self.share * rows - SAME), 1) - 0.5
        between = self.share * np.maximum(rows - 1, 0) + 0.5
        return np.asarray(np.where(self.between, between, value))

    def ranks(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ranks, from 0, of the two values that each quantile is or lies between.

        Args:
            rows: the number of values of each query (int64).

        Returns:
            Both ranks (int64), and how far from the first to the second it lies (float64).
        """
        rank = np.maximum(-(-self.part * rows // self.whole), 1) - 1
        low, rest = np.divmod(self.part * np.maximum(rows - 1, 0), self.whole)
        first = np.where(self.between, low, rank)
        second = np.where(self.between, low + (rest > 0), rank)
        return first, second, np.where(self.between, rest / self.whole, 0.0)

    def are_known(
        self, below: np.ndarray, below_of: np.ndarray, above: np.ndarray, above_of: np.ndarray
    ) -> np.ndarray:
        """Decide which quantiles surely are a given value (bool); see `QuantilePlace.is_known`.

        Args:
            below: the most values that may be below that value (int64, one per query).
            below_of: the number of all values then (int64).
            above: the most values that may be above it (int64).
            above_of: the number of all values then (int64).
        """
        first, last = self.ranks(below_of)[0], self.ranks(above_of)[1]
        return np.asarray((first >= below) & (last < above_of - above))


def quantiles_of(aggregates: Sequence[Aggregate]) -> QuantilesOfBlock:
    """Return the quantiles that aggregates are."""
    shares = [aggregate.share or _HALF for aggregate in aggregates]
    return QuantilesOfBlock(
        np.array([share.numerator for share in shares], dtype=np.int64),
        np.array([share.denominator for share in shares], dtype=np.int64),
        np.array([aggregate.kind.between for aggregate in aggregates], dtype=bool),
    )
