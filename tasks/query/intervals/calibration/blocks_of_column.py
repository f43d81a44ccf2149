"""The scores of aggregates of one sensitive column over the rows of a block of queries.

The laws are those of `laws_of_column` and `ranked`, for many queries at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from sfumato.tasks.query.intervals.calibration.block import (
    DrawnQueries,
    OriginalRows,
    ScoredLaws,
    Scores,
    Target,
    block_size,
    counted_scores,
    true_answers,
)
from sfumato.tasks.query.intervals.calibration.blocks_of_rows import (
    BlockOfRows,
    RowsBlocks,
    SumsOfBlock,
)
from sfumato.tasks.query.intervals.calibration.blocks_of_values import (
    CountedGroups,
    PlacesOfBlock,
    codes_of,
    extreme_scores,
    true_squares,
)
from sfumato.tasks.query.intervals.covariates import Deviations
from sfumato.tasks.query.intervals.laws_of_column import LawsOfColumn, NumbersWithMissing
from sfumato.tasks.query.intervals.quantiles import QuantilePlace
from sfumato.tasks.query.intervals.ranked import QuantilesOfRows
from sfumato.tasks.query.intervals.rows import RowsIntervals
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS
from sfumato.tasks.query.intervals.spread import Z95
from sfumato.tasks.query.intervals.sums import LEAN_OF_SHARES
from sfumato.tasks.query.question.question import Aggregate

_HALF = 0.5  # places; a value itself takes one place


class ShuffledBlocks:
    """Scores of random queries over exact rows beside shuffled values."""

    def __init__(self, likely: RowsIntervals, columns: Sequence[str], _: Sequence[str]) -> None:
        """Take the laws of one query at a time, and the quasi-identifiers of queries."""
        self._likely, self._rows = likely, RowsBlocks(likely, columns)
        self._columns: dict[str, ColumnOfBlocks] = {}

    @property
    def queries(self) -> int:
        """The number of queries of a block that is computed fastest."""
        return block_size(len(self._rows.order))

    def scores(
        self, queries: DrawnQueries, original: OriginalRows
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of all queries, target by target."""
        block = self._rows.block(queries.selections)
        true_rows = original.select(queries.selections)
        for name, matching in queries.matching.items():
            truths = original.counts(true_rows, matching)
            yield ("count", name), self._rows.count_scores(block, matching, truths)
        names = dict.fromkeys(name for _, name in queries.aggregates)
        numbers = {name: original.numbers(name, true_rows) for name in names}
        laws = {name: LawsOfBlock(block, self._column(name)) for name in names}
        for (alike, name), aggregates in queries.aggregates.items():
            truths = true_answers(aggregates, numbers[name])
            yield (alike, name), laws[name].scores(alike, aggregates, truths)

    def _column(self, name: str) -> "ColumnOfBlocks":
        if name not in self._columns:
            self._columns[name] = ColumnOfBlocks(self._likely.laws_of(name), self._likely.sizes)
        return self._columns[name]


class ColumnOfBlocks:
    """A column, prepared for the scores of any selected rows."""

    def __init__(self, laws: LawsOfColumn, sizes: np.ndarray) -> None:
        """Take the laws of the column, and the number of values of each group (int64)."""
        self.laws = laws
        self._sizes = sizes
        self._moved_rows: np.ndarray | None = None

    @cached_property
    def groups(self) -> CountedGroups:
        """The values by group."""
        return CountedGroups(self.laws.values, self._sizes)

    @cached_property
    def deviations(self) -> Mapping[str, Sequence[Deviations]]:
        """The deviations of the numbers of rows whose sums the laws need, by what they are for."""
        totals, there, quantiles = self.laws.totals, self.laws.there, self.laws.quantiles
        return {
            "totals": [totals.deviations],
            "sums": [totals.sums.deviations] if isinstance(totals, NumbersWithMissing) else [],
            "there": [] if there is None else [there.deviations],
            "spreads": self.laws.spreads.numbers.deviations,
            "thresholds": [
                quantiles.numbers_upto(place).deviations
                for place in range(len(quantiles.thresholds))
            ],
        }

    def moved_rows(self, order: np.ndarray) -> np.ndarray:
        """Return the deviations of rows, in an order (float64, rows x numbers)."""
        if self._moved_rows is None:
            every = [d.moved[order] for part in self.deviations.values() for d in part]
            self._moved_rows = np.stack(every, axis=1)
        return self._moved_rows


class LawsOfBlock(ScoredLaws):
    """The laws of the aggregates of a column over the rows of a block."""

    def __init__(self, block: BlockOfRows, column: ColumnOfBlocks) -> None:
        """Compute nothing yet."""
        self._block, self._column, self._laws = block, column, column.laws

    def sums(self, _: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of sums."""
        totals, law = self._laws.totals, self._total
        if isinstance(totals, NumbersWithMissing):
            law = self._block.sums(totals.sums, self._shifts["sums"][:, 0])
        width = Z95 * law.deviation
        return counted_scores(self._is_large, truths, law.middle, width, width)

    def means(self, _: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of means."""
        totals, law, number, centre = self._laws.totals, self._total, self._number, 0.0
        some = np.where(number > 0, number, 1.0)
        apart = law.middle / some
        if isinstance(totals, NumbersWithMissing):
            law, centre = self._sum_beyond(totals, apart), totals.centre
        width = Z95 * law.deviation / some
        large = self._is_large & (number > 0)
        return counted_scores(large, truths, centre + apart, width, width)

    def _sum_beyond(self, totals: NumbersWithMissing, apart: np.ndarray) -> SumsOfBlock:
        """Return the laws of sums of (`above` - `apart`), see `NumbersWithMissing`."""
        block, above, share = self._block, totals.above.grouped, totals.there.grouped.mean
        together = above.mean * (1 - share)
        parts = np.stack([above.variance, together, share * (1 - share)])
        weights = np.stack([np.ones_like(apart), -2 * apart, apart**2], axis=1)
        moved = self._shifts["totals"][:, 0] - apart * self._shifts["there"][:, 0]
        errors = [block.error(part.deviations) for part in (totals.above, totals.there)]
        return block.sums_of_variances(
            np.maximum(weights @ parts, 0.0),
            totals.above.lean,
            moved,
            np.hypot(errors[0], apart * errors[1]),
        )

    def spreads(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of variances and standard deviations, see `SquaresSpread`."""
        numbers, block, moves = self._laws.spreads.numbers, self._block, self._shifts["spreads"]
        total, squares, rows = (block.hits @ numbers.mean.T + moves).T
        enough = rows >= 2
        number = np.where(enough, rows, 1.0)
        mean = total / number
        square = np.maximum(squares / number - mean**2, 0.0)
        weights = np.stack([-2 * mean, np.ones_like(mean), mean**2 - square], axis=1)
        pairs = list(combinations_with_replacement(range(3), 2))
        products = [weights[:, i] * weights[:, j] * (1 + (i != j)) for i, j in pairs]
        covariances = np.stack([numbers.covariance[pair] for pair in pairs])
        errors = np.stack([block.error(d, self._unlike) for d in numbers.deviations], axis=1)
        law = block.sums_of_variances(
            np.maximum(np.stack(products, axis=1) @ covariances, 0.0),
            numbers.lean,
            (weights * moves).sum(axis=1),
            np.sqrt(((weights * errors) ** 2).sum(axis=1)),
        )
        width = Z95 * law.deviation / number
        large = self._is_large & enough
        return counted_scores(large, true_squares(aggregates, truths, number), square, width, width)

    def extremes(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of least or greatest values."""
        codes = codes_of(truths, self._laws.quantiles.numbers)
        greatest = aggregates[0].function == "max"
        scores = extreme_scores(self._column.groups, self._block.hits, codes, greatest=greatest)
        return np.where(self._is_large & np.isfinite(truths), scores, np.nan)

    def quantiles(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of quantiles, see `QuantilesOfRows`."""
        quantile_places = [
            QuantilePlace(a.share, a.kind.between) for a in aggregates if a.share is not None
        ]
        places, queries = self._places, np.arange(len(quantile_places))
        groups, quantiles = self._column.groups, self._laws.quantiles
        are_known = self._are_known(
            quantile_places, places.first(places.of_quantiles(quantile_places, places.rows))
        )
        place = self._moved_places(quantile_places, quantiles)
        code = places.first(place)
        # the law of the rows not above the value, in excess of a share of all rows
        counts, thresholds = quantiles.counts_upto, quantiles.thresholds
        nearest = np.abs(counts[thresholds] - counts[code][:, None]).argmin(axis=1)
        moved, errors = self._shifts["thresholds"][queries, nearest], self._errors[queries, nearest]
        share = np.array([float(quantile.share) for quantile in quantile_places])
        if self._shifts["there"].shape[1]:
            moved = moved - share * self._shifts["there"][:, 0]
            there = self._block.error(self._column.deviations["there"][0], self._unlike)
            errors = np.hypot(errors, share * there)
        sizes = np.maximum(groups.sizes, 1)
        counted, there_share = groups.upto(code) / sizes, groups.non_null / sizes
        mean = counted - share[:, None] * there_share
        square = counted * (1 - 2 * share[:, None]) + share[:, None] ** 2 * there_share
        variance = np.maximum(square - mean**2, 0.0)
        law = self._block.sums_of_variances(variance, LEAN_OF_SHARES, moved, errors)
        missed = places.distances(quantiles.numbers, truths, place)
        scores = missed / (_HALF + Z95 * law.deviation)
        return np.where(self._is_large & ~are_known & np.isfinite(truths), scores, np.nan)

    def _are_known(self, places: Sequence[QuantilePlace], code: np.ndarray) -> np.ndarray:
        """Decide which quantiles surely are the value of a code, see `ValuesAmongSelected`."""
        groups, hits = self._column.groups, self._block.hits
        least = hits - (groups.sizes - groups.non_null)
        below = np.minimum(groups.upto(code - 1), hits)
        above = np.minimum(groups.non_null - groups.upto(code), hits)
        ends = [
            side.sum(axis=1).astype(int).tolist()
            for side in (below, np.maximum(below, least), above, np.maximum(above, least))
        ]
        return np.array(
            [
                place.is_known((below, below_of), (above, above_of))
                for place, below, below_of, above, above_of in zip(places, *ends, strict=True)
            ]
        )

    def _moved_places(
        self, quantile_places: Sequence[QuantilePlace], quantiles: QuantilesOfRows
    ) -> np.ndarray:
        """Return the places of quantiles, corrected by covariates; see `QuantilesOfRows`."""
        there = self._shifts["there"][:, 0] if self._shifts["there"].shape[1] else 0.0
        rows = self._places.rows
        target = self._places.of_quantiles(quantile_places, rows + there)
        by_groups = self._places.upto[:, quantiles.thresholds]
        moved = by_groups + self._shifts["thresholds"]
        low, high = np.zeros((2, len(rows))), np.stack([rows, rows + there])
        first = np.zeros(len(rows), dtype=np.int64)
        last = np.full(len(rows), by_groups.shape[1])
        queries = np.arange(len(rows))
        while (searched := first < last).any():
            middle = np.minimum((first + last) // 2, by_groups.shape[1] - 1)
            ends = np.stack([by_groups[queries, middle], moved[queries, middle]])
            up, down = searched & (ends[1] < target), searched & (ends[1] >= target)
            low, first = np.where(up, ends, low), np.where(up, middle + 1, first)
            high, last = np.where(down, ends, high), np.where(down, middle, last)
        apart = high[1] - low[1]
        part = np.clip((target - low[1]) / np.where(apart > 0, apart, 1.0), 0.0, 1.0)
        return np.asarray(low[0] + np.where(apart > 0, part, _HALF) * (high[0] - low[0]))

    @cached_property
    def _total(self) -> SumsOfBlock:
        """The laws of sums of the column's numbers, above their centre if some are missing."""
        totals, block = self._laws.totals, self._block
        moved = self._shifts["totals"][:, 0]
        if isinstance(totals, NumbersWithMissing):
            return block.sums(totals.above, moved)
        return block.sums(totals, moved, self._unlike)

    @cached_property
    def _there(self) -> SumsOfBlock | None:
        """The laws of how many selected values are not null; None if the column has no nulls."""
        there = self._laws.there
        return None if there is None else self._block.sums(there, self._shifts["there"][:, 0])

    @property
    def _number(self) -> np.ndarray:
        """The expected number of selected values that are not null (float64)."""
        return self._block.number if self._there is None else self._there.middle

    @cached_property
    def _is_large(self) -> np.ndarray:
        """True for queries that select enough values and groups (bool)."""
        if self._there is None:
            return self._block.is_large
        least = self._there.middle - Z95 * self._there.deviation
        large: np.ndarray = (least >= LEAST_ROWS) & (self._block.groups >= LEAST_GROUPS)
        return large

    @cached_property
    def _places(self) -> PlacesOfBlock:
        """The places of values, as expected from groups only."""
        groups = self._column.groups
        return PlacesOfBlock(groups.expected_times(self._block.hits / np.maximum(groups.sizes, 1)))

    @cached_property
    def _errors(self) -> np.ndarray:
        """The standard errors of moves up to thresholds (float64, queries x thresholds)."""
        thresholds = self._column.deviations["thresholds"]
        return np.stack([self._block.error(d, self._unlike) for d in thresholds], axis=1)

    @cached_property
    def _unlike(self) -> np.ndarray:
        """See `LawsOverRows`: the excess of selected rows in the bins of covariates."""
        return self._block.unlike(self._laws.totals.deviations.part)

    @cached_property
    def _shifts(self) -> Mapping[str, np.ndarray]:
        """The amounts by which covariates move sums (float64, queries x sums), see `deviations`."""
        deviations = self._column.deviations
        whole = self._block.totals(self._column.moved_rows(self._block.rows.order))
        ends = np.cumsum([len(part) for part in deviations.values()])[:-1]
        return dict(zip(deviations, np.split(whole, ends, axis=1), strict=True))
