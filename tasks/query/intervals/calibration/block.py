"""Blocks of random queries: which rows they select, and what is true of these on the original.

A block is a number of queries that are asked together. Its arrays have one row for each query.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.tasks.query.intervals.calibration.original import OriginalRows
from sfumato.tasks.query.intervals.shapes import Selection
from sfumato.tasks.query.intervals.spread import ROUNDING
from sfumato.tasks.query.question.question import Aggregate

_CELLS = 1 << 19  # queries x rows that are counted together
_DRAWN = 1 << 22  # queries x profiles of rows that are drawn together
_FEWEST_QUERIES, _MOST_QUERIES = 8, 512
Target = tuple[str, str]
"""Alike aggregates that are asked (see `shapes.ALIKE`), and the sensitive column of these.

For counts it is the sensitive column by which rows are selected.
"""
Scores = np.ndarray
"""The score of each query (float64); NaN where the query counts for no factor."""


@dataclass(frozen=True, eq=False)
class DrawnQueries:
    """The random queries of a block.

    Attributes:
        selections: what each query selects by quasi-identifiers.
        matching: for each sensitive column what each query also selects if it counts rows; nothing
            for the name "", if rows are counted without such a selection.
        aggregates: the aggregate that each query asks for, by target.
    """

    selections: Sequence[Sequence[Selection]]
    matching: Mapping[str, Sequence[Selection]]
    aggregates: Mapping[Target, Sequence[Aggregate]]

    def take(self, queries: np.ndarray) -> "DrawnQueries":
        """Return some of the queries (positions)."""
        places = queries.tolist()
        return DrawnQueries(
            [self.selections[place] for place in places],
            {
                name: [matching[place] for place in places] if name else ()
                for name, matching in self.matching.items()
            },
            {
                target: [aggregates[place] for place in places]
                for target, aggregates in self.aggregates.items()
            },
        )


class Blocks(Protocol):
    """Scores of random queries, block by block."""

    @property
    def queries(self) -> int:
        """The most queries that are asked together."""
        ...

    def scores(
        self, queries: DrawnQueries, original: OriginalRows
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of all queries, target by target."""
        ...


class ScoredLaws(ABC):
    """The laws of the aggregates of a column over the rows of a block, and their scores.

    Each method takes the aggregate that each query asks for, and the true answers (float64; NaN for
    null), and returns the scores.
    """

    def scores(self, alike: str, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of alike aggregates, by their common name (see `shapes.ALIKE`)."""
        score: Callable[[Sequence[Aggregate], np.ndarray], Scores] = getattr(self, _METHODS[alike])
        return score(aggregates, truths)

    @abstractmethod
    def sums(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of sums."""

    @abstractmethod
    def means(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of means."""

    @abstractmethod
    def spreads(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of variances and standard deviations."""

    @abstractmethod
    def extremes(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of least or greatest values."""

    @abstractmethod
    def quantiles(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of quantiles."""


_METHODS: Mapping[str, str] = {
    "sum": "sums",
    "avg": "means",
    "min": "extremes",
    "max": "extremes",
    "spread": "spreads",
    "median": "quantiles",
    "quantile": "quantiles",
}
"""The methods of `ScoredLaws` by the common name of alike aggregates."""


def block_size(rows: int) -> int:
    """Return how many queries of so many rows are counted fastest together."""
    return max(min(_CELLS // max(rows, 1), _MOST_QUERIES), _FEWEST_QUERIES)


def queries_together(profiles: int) -> int:
    """Return how many queries are drawn together at most, by so many profiles of rows."""
    return max(min(_DRAWN // max(profiles, 1), _MOST_QUERIES), _FEWEST_QUERIES)


def counted_scores(
    counts: np.ndarray, truths: np.ndarray, middle: np.ndarray, below: np.ndarray, above: np.ndarray
) -> Scores:
    """Return the distance of each truth from the middle, divided by the width on its side.

    Args:
        counts: whether each query counts for a factor, if its answer is not exact (bool).
        truths: the true answers; NaN for null.
        middle: the middles of the laws.
        below: the distances down to the ends of the 95 % ranges.
        above: the distances up to these ends.
    """
    missed = truths - middle
    width = np.where(missed > 0, above, below)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(missed == 0, 0.0, np.abs(missed) / np.maximum(width, 0.0))
    is_open = np.maximum(below, above) > ROUNDING * np.abs(middle)
    return np.where(counts & is_open & np.isfinite(truths), scores, np.nan)
