"""The scores of many random queries at once, over exact rows beside shuffled values.

The laws are those of `intervals.rows`, which answers one query at a time; tests hold both to the
same scores. Here they are computed for a block of queries: a matrix of queries x rows says which
rows each query selects, and one of queries x groups how many of each group. Sums over selected rows
are products of these with numbers of rows or of groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.shared.sorting import starts
from sfumato.tasks.query.intervals.calibration.block import (
    Scores,
    SelectableColumn,
    counted_scores,
    select_rows,
)
from sfumato.tasks.query.intervals.calibration.blocks_of_counts import count_ranges
from sfumato.tasks.query.intervals.covariates import Deviations
from sfumato.tasks.query.intervals.exact_rows import NumbersOfRows
from sfumato.tasks.query.intervals.rows import RowsIntervals
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS, Selection
from sfumato.tasks.query.intervals.spread import Z95
from sfumato.tasks.query.intervals.sums import DOUBT, LEAN_OF_SHARES


@dataclass(frozen=True, eq=False)
class SumsOfBlock:
    """The laws of one sum for each query of a block; all float64, one per query.

    Attributes:
        middle: the expected sum.
        moved: the part of it that comes from covariates.
        unknown: the standard deviation due to effects that no covariate shows.
        deviation: the standard deviation by all effects.
    """

    middle: np.ndarray
    moved: np.ndarray
    unknown: np.ndarray
    deviation: np.ndarray


class RowsBlocks:
    """Scores of random queries by the laws of exact rows."""

    def __init__(self, likely: RowsIntervals, columns: Sequence[str]) -> None:
        """Sort the rows by group.

        Args:
            likely: the laws of one query at a time.
            columns: the quasi-identifiers by which queries may select.
        """
        self.likely = likely
        group = likely.rows.table.group
        order = np.argsort(group, kind="stable")
        self.group = group[order]
        self.first = starts(self.group)
        self.present = self.group[self.first]
        self.order = order
        self._coded: dict[str, SelectableColumn] = {}
        for name in columns:
            column = likely.rows.table.coded_column(name)
            self._coded[name] = SelectableColumn(column.codes[order], likely.domain(name))

    def in_bins(self, chosen: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return the weight of chosen rows in each bin (float64, one per bin).

        Args:
            chosen: the rows (bool, one per row).
            part: the weight of each group's rows (float64, one per group).
        """
        rows = np.flatnonzero(chosen)
        weight = part[self.group[rows]]
        counts = [
            np.bincount(of_row[rows], weight, number) for of_row, number in self._numbers_of_bins
        ]
        return np.concatenate(counts)

    @cached_property
    def _numbers_of_bins(self) -> Sequence[tuple[np.ndarray, int]]:
        """The bin of each row by each covariate, and the number of the covariate's bins."""
        columns = self.likely.rows.covariates.columns
        return [(column.of_row[self.order], column.number) for column in columns]

    def block(self, selections: Sequence[Sequence[Selection]]) -> "BlockOfRows":
        """Return the rows that queries select."""
        return BlockOfRows(self, select_rows(selections, self._coded, len(self.order)))

    def count_scores(
        self, block: "BlockOfRows", matching: Sequence[Selection], truths: np.ndarray
    ) -> Scores:
        """Return the scores of counts of rows that also match a selection of a sensitive column.

        Args:
            block: the selected rows.
            matching: the selection of each query.
            truths: the true counts (float64, one per query).
        """
        values = self.likely.values_of(matching[0].name)
        column = SelectableColumn(values.column.codes, self.likely.domain(matching[0].name))
        sizes = self.likely.sizes
        number = np.empty((len(matching), len(sizes)))
        group = values.table.group
        for of_query, selection in zip(number, matching, strict=True):
            holds = np.flatnonzero(column.rows_in(selection))
            weights = None if values.times is None else values.times[holds]
            of_query[:] = np.bincount(group[holds], weights, len(sizes))
        middle, moved, unknown = self._matching_sums(block, number)
        low, high = count_ranges(np.maximum(sizes, 1).astype(np.float64), number, block.hits)
        below, above = (np.hypot(end - (middle - moved), Z95 * unknown) for end in (low, high))
        return counted_scores(block.is_large, truths, middle, below, above)

    def _matching_sums(
        self, block: "BlockOfRows", number: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the expected counts, what of them comes from covariates, and what is unknown.

        Args:
            block: the selected rows.
            number: the number of matching values (float64, queries x groups).
        """
        sizes = self.likely.sizes
        share = number / np.maximum(sizes, 1)
        variance = share * (1 - share)
        nothing = np.zeros(len(sizes))
        covariates = self.likely.rows.covariates
        slopes = covariates.slopes_of(sizes.astype(np.float64), share, variance, nothing)
        unlike = block.unlike(slopes.part)
        moved = (slopes.slopes * unlike).sum(axis=1)
        noise = np.where(
            slopes.of_values,
            quadratic(unlike, covariates.shape_of_noise(of_values=True)),
            quadratic(unlike, covariates.shape_of_noise(of_values=False)),
        )
        error = np.sqrt(np.maximum(noise * slopes.variance, 0.0))
        lean = LEAN_OF_SHARES * (block.mixed_pairs * np.sqrt(variance)) @ (1 / np.maximum(sizes, 1))
        unknown = np.sqrt(lean**2 + error**2 + (DOUBT * moved) ** 2)
        return (block.hits * share).sum(axis=1) + moved, moved, unknown


def quadratic(vectors: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return v M v of each vector v (float64, one per vector)."""
    results: np.ndarray = ((vectors @ matrix) * vectors).sum(axis=1)
    return results


class BlockOfRows:
    """The rows that each query of a block selects."""

    def __init__(self, rows: RowsBlocks, chosen: np.ndarray) -> None:
        """Count the selected rows of each group.

        Args:
            rows: the rows.
            chosen: whether each query selects each row (bool, queries x rows), by group.
        """
        self.rows, self.chosen = rows, chosen
        self.sizes = rows.likely.sizes.astype(np.float64)
        self.hits = np.zeros((len(chosen), len(self.sizes)))
        counted = np.add.reduceat(chosen, rows.first, axis=1, dtype=np.int32)
        self.hits[:, rows.present] = counted
        self.number = self.hits.sum(axis=1)
        self.groups = np.count_nonzero(self.hits, axis=1)

    @property
    def is_large(self) -> np.ndarray:
        """True for queries that select enough rows and groups (bool)."""
        large: np.ndarray = (self.number >= LEAST_ROWS) & (self.groups >= LEAST_GROUPS)
        return large

    @cached_property
    def mixed_pairs(self) -> np.ndarray:
        """The selected rows of each group times its other rows (float64, queries x groups)."""
        mixed: np.ndarray = self.hits * (self.sizes - self.hits)
        return mixed

    def totals(self, numbers: np.ndarray) -> np.ndarray:
        """Return sums of numbers over selected rows (float64, queries x sums).

        Args:
            numbers: the numbers of rows (float64, rows x sums), rows by group.
        """
        result: np.ndarray = self.chosen.astype(np.float64) @ numbers
        return result

    def unlike(self, part: np.ndarray) -> np.ndarray:
        """Return the excess of selected rows in each bin, see `Covariates.unlike`.

        Args:
            part: the weight of each group's rows (float64, groups, or queries x groups).

        Returns:
            Float64, queries x bins.
        """
        rows, of_queries = self.rows, np.broadcast_to(part, self.hits.shape)
        in_bins = np.stack(list(map(rows.in_bins, self.chosen, of_queries)))
        return rows.likely.rows.covariates.less_expected(in_bins, self.hits * part)

    def sums(
        self, numbers: NumbersOfRows, moved: np.ndarray, unlike: np.ndarray | None = None
    ) -> SumsOfBlock:
        """Return the laws of the sums of numbers over selected rows.

        Args:
            numbers: the numbers.
            moved: the amounts by which covariates move the sums (float64, one per query).
            unlike: see `Deviations.sum_over`; None if it is to be computed.
        """
        error = self.error(numbers.deviations, unlike)
        grouped = numbers.grouped
        deviation = np.sqrt(np.maximum(grouped.variance, 0.0))
        return _with_unknown(
            self.hits @ grouped.mean + moved,
            self.mixed_pairs @ (grouped.variance / np.maximum(self.sizes - 1, 1)),
            numbers.lean * (self.mixed_pairs @ (deviation / np.maximum(self.sizes, 1))),
            moved,
            error,
        )

    def error(self, deviations: Deviations, unlike: np.ndarray | None = None) -> np.ndarray:
        """Return the standard errors of the amounts by which sums move (float64, per query)."""
        if deviations.noise is None:
            return np.zeros(len(self.chosen))
        if unlike is None:
            unlike = self.unlike(deviations.part)
        errors: np.ndarray = np.sqrt(np.maximum(quadratic(unlike, deviations.noise), 0.0))
        return errors

    def sums_of_variances(
        self, variance: np.ndarray, lean: float, moved: np.ndarray, error: np.ndarray
    ) -> SumsOfBlock:
        """Return the laws of sums of numbers that each query defines; their middles are `moved`.

        Args:
            variance: the variance of the numbers within groups (float64, queries x groups).
            lean: see `LikelySum`.
            moved: the amounts by which covariates move the sums (float64, one per query).
            error: the standard errors of these amounts (float64, one per query).
        """
        sizes = self.sizes
        by_chance = np.einsum(
            "qg,qg,g->q", self.mixed_pairs, variance, 1 / np.maximum(sizes - 1, 1)
        )
        leaning = np.einsum(
            "qg,qg,g->q", self.mixed_pairs, np.sqrt(variance), 1 / np.maximum(sizes, 1)
        )
        return _with_unknown(moved, by_chance, lean * leaning, moved, error)


def _with_unknown(
    middle: np.ndarray,
    variance: np.ndarray,
    lean: np.ndarray,
    moved: np.ndarray,
    error: np.ndarray,
) -> SumsOfBlock:
    """Return the laws of sums from their parts (all float64, one per query)."""
    unknown = np.sqrt(lean**2 + error**2 + (DOUBT * moved) ** 2)
    return SumsOfBlock(middle, moved, unknown, np.hypot(np.sqrt(variance), unknown))
