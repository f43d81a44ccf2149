"""The scores of aggregates of one sensitive column over the rows of a block of queries.

The laws are those of `laws_of_column` and `ranked`, for many queries at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.query.intervals.calibration.block import (
    DrawnQueries,
    ScoredLaws,
    Scores,
    Target,
    counted_scores,
    queries_together,
)
from sfumato.tasks.query.intervals.calibration.blocks_of_counts import MatchingCounts
from sfumato.tasks.query.intervals.calibration.blocks_of_groups import (
    BlockOfRows,
    SumsOfBlock,
    quadratic,
)
from sfumato.tasks.query.intervals.calibration.blocks_of_rows import RowsBlocks
from sfumato.tasks.query.intervals.calibration.blocks_of_values import (
    ExtremesOfGroups,
    PlacesOfBlock,
    codes_of,
    true_squares,
)
from sfumato.tasks.query.intervals.calibration.original import OriginalRows
from sfumato.tasks.query.intervals.calibration.profiles import ValuesByGroup
from sfumato.tasks.query.intervals.calibration.quantiles_of_block import (
    QuantilesOfBlock,
    quantiles_of,
)
from sfumato.tasks.query.intervals.calibration.settled import SelectedProfiles, Settled
from sfumato.tasks.query.intervals.covariates import Deviations
from sfumato.tasks.query.intervals.exact_rows import NumbersOfRows
from sfumato.tasks.query.intervals.laws_of_column import LawsOfColumn, NumbersWithMissing
from sfumato.tasks.query.intervals.ranked import QuantilesOfRows
from sfumato.tasks.query.intervals.rows import RowsIntervals
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS
from sfumato.tasks.query.intervals.spread import Z95
from sfumato.tasks.query.intervals.sums import LEAN_OF_SHARES
from sfumato.tasks.query.question.question import Aggregate

EXTREMES = ("min", "max")
_HALF = 0.5  # places; a value itself takes one place


class ShuffledBlocks:
    """Scores of random queries over exact rows beside shuffled values."""

    def __init__(
        self,
        likely: RowsIntervals,
        columns: Sequence[str],
        _: Sequence[str],
        randomness: Randomness,
    ) -> None:
        """Take the laws of one query at a time, and the quasi-identifiers of queries."""
        self._likely, self._rows = likely, RowsBlocks(likely, columns, randomness)
        self._columns: dict[str, ColumnOfBlocks] = {}
        self._counts: dict[str, MatchingCounts] = {}

    @property
    def queries(self) -> int:
        """The most queries that are asked together."""
        return queries_together(self._rows.profiles.number)

    def scores(
        self, queries: DrawnQueries, original: OriginalRows
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of all queries, target by target."""
        selected, truths = (
            SelectedProfiles(self._rows, queries.selections),
            original.select(queries.selections),
        )
        for name, matching in queries.matching.items():
            counts = self._counts.get(name) or MatchingCounts(self._rows, name)
            self._counts[name] = counts
            yield ("count", name), counts.scores(selected, matching, truths.counts(matching))
        answers = {
            (alike, name): truths.answers(name, aggregates)
            for (alike, name), aggregates in queries.aggregates.items()
        }
        if answers:
            scores = self._settle(selected, queries, answers)
            yield from zip(answers, scores, strict=True)

    def _settle(
        self,
        selected: SelectedProfiles,
        queries: DrawnQueries,
        answers: Mapping[Target, np.ndarray],
    ) -> np.ndarray:
        """Return the scores of the aggregates of columns (float64, targets x queries)."""
        names = dict.fromkeys(name for _, name in answers)
        sums = {name: self._column(name).sums_over(selected) for name in names}
        for alike, name in (target for target in answers if target[0] in EXTREMES):
            scores = self._column(name).extreme_scores(selected, alike, answers[alike, name])
            sums[name].extremes[alike] = scores

        def evaluate(block: BlockOfRows) -> Settled:
            of_block = block.queries
            laws = {
                name: LawsOfBlock(block, self._column(name), sums[name].of_queries(of_block))
                for name in names
            }
            scores = [
                laws[name].scores(
                    alike,
                    [queries.aggregates[alike, name][query] for query in of_block.tolist()],
                    answers[alike, name][of_block],
                )
                for alike, name in answers
            ]
            return np.stack(scores), block.is_settled

        return selected.settle(evaluate)

    def _column(self, name: str) -> "ColumnOfBlocks":
        if name not in self._columns:
            self._columns[name] = ColumnOfBlocks(name, self._likely.laws_of(name), self._rows)
        return self._columns[name]


class ColumnOfBlocks:
    """A column, prepared for the scores of any selected rows."""

    def __init__(self, name: str, laws: LawsOfColumn, rows: RowsBlocks) -> None:
        """Take the laws of the column, and the rows beside which it is published."""
        self._name, self.laws, self._rows = name, laws, rows
        self._extremes: dict[str, ExtremesOfGroups] = {}

    @property
    def values(self) -> ValuesByGroup:
        """The values by group."""
        return self._rows.values(self._name)

    def sums_over(self, selected: SelectedProfiles) -> "SumsOfColumn":
        """Return the sums over selected rows from which the laws are computed."""
        tables = self._tables
        return SumsOfColumn(
            selected.sums_of(self._rows.expected_times(self._name)),
            {key: selected.sums(table) for key, table in tables.means.items()},
            {key: selected.sums(table) for key, table in tables.moved.items()},
            {key: selected.sums(table) for key, table in tables.excess.items()},
            {},
        )

    def extreme_scores(self, selected: SelectedProfiles, alike: str, truths: np.ndarray) -> Scores:
        """Return the scores of least or greatest values.

        Args:
            selected: the selected rows.
            alike: "min" or "max".
            truths: the true answers (float64; NaN for null).
        """
        if alike not in self._extremes:
            self._extremes[alike] = ExtremesOfGroups(
                self._rows, self.values, greatest=alike == "max"
            )
        codes = codes_of(truths, self.laws.quantiles.numbers)
        return self._extremes[alike].scores(selected, codes)

    @cached_property
    def _tables(self) -> "SumsOfColumn":
        """The sums over each profile; see `SumsOfColumn`."""
        totals, there, spreads = self.laws.totals, self.laws.there, self.laws.spreads.numbers
        quantiles, rows = self.laws.quantiles, self._rows
        numbers = {"totals": totals.above if isinstance(totals, NumbersWithMissing) else totals}
        if isinstance(totals, NumbersWithMissing):
            numbers["sums"] = totals.sums
        if there is not None:
            numbers["there"] = there
        thresholds = range(len(quantiles.thresholds))
        deviations = {
            **{key: [some.deviations] for key, some in numbers.items()},
            "spreads": spreads.deviations,
            "thresholds": [quantiles.numbers_upto(place).deviations for place in thresholds],
        }
        means = {key: some.grouped.mean[:, None] for key, some in numbers.items()}
        means["spreads"] = spreads.mean.T
        return SumsOfColumn(
            np.empty((0, 0)),
            {key: rows.incidence.over_kinds(mean) for key, mean in means.items()},
            {key: rows.moves(some) for key, some in deviations.items()},
            {key: rows.excess(some.deviations.part) for key, some in numbers.items()},
            {},
        )


@dataclass(frozen=True, eq=False)
class SumsOfColumn:
    """Sums of a column's numbers over the rows that each query selects; all float64.

    The numbers are "totals" (from which sums and means are computed), "sums" and "there" if the
    column has nulls, the three numbers of "spreads", and those up to each of the "thresholds".

    Attributes:
        expected: how often each value is expected (queries x codes).
        means: the sums of the means of rows' groups (queries x numbers, by what they are for).
        moved: the amounts by which covariates move sums (queries x numbers).
        excess: the excess of rows in the bins of covariates, by the weights that the numbers give
            to groups (queries x bins); see `Covariates.unlike`.
        extremes: the scores of "min" and "max", as if all queries were large.
    """

    expected: np.ndarray
    means: Mapping[str, np.ndarray]
    moved: Mapping[str, np.ndarray]
    excess: Mapping[str, np.ndarray]
    extremes: dict[str, Scores]

    def of_queries(self, queries: np.ndarray) -> "SumsOfColumn":
        """Return the sums of some queries (positions)."""
        parts = (self.means, self.moved, self.excess, self.extremes)
        return SumsOfColumn(
            self.expected[queries],
            *({key: sums[queries] for key, sums in part.items()} for part in parts),
        )


class LawsOfBlock(ScoredLaws):
    """The laws of the aggregates of a column over the rows of a block."""

    def __init__(self, block: BlockOfRows, column: ColumnOfBlocks, sums: SumsOfColumn) -> None:
        """Compute nothing yet."""
        self._block, self._laws, self._sums = block, column.laws, sums
        self._groups = block.rows.groups
        self._values = block.rows.values(column.values)

    def sums(self, _: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of sums."""
        totals, law = self._laws.totals, self._total
        if isinstance(totals, NumbersWithMissing):
            law = self._law("sums", totals.sums)
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
        above = totals.above.grouped
        share = totals.there.grouped.mean[self._groups]
        together = above.mean[self._groups] * (1 - share)
        parts = np.stack([above.variance[self._groups], together, share * (1 - share)])
        weights = np.stack([np.ones_like(apart), -2 * apart, apart**2], axis=1)
        moved = self._sums.moved["totals"][:, 0] - apart * self._sums.moved["there"][:, 0]
        errors = [
            self._error(totals.above.deviations, "totals"),
            self._error(totals.there.deviations, "there"),
        ]
        error = np.hypot(errors[0], apart * errors[1])
        return self._block.sums(moved, weights @ parts, totals.above.lean, moved, error)

    def spreads(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of variances and standard deviations, see `SquaresSpread`."""
        numbers, moves = self._laws.spreads.numbers, self._sums.moved["spreads"]
        total, squares, rows = (self._sums.means["spreads"] + moves).T
        enough = rows >= 2
        number = np.where(enough, rows, 1.0)
        mean = total / number
        square = np.maximum(squares / number - mean**2, 0.0)
        weights = np.stack([-2 * mean, np.ones_like(mean), mean**2 - square], axis=1)
        pairs = list(combinations_with_replacement(range(3), 2))
        products = [weights[:, i] * weights[:, j] * (1 + (i != j)) for i, j in pairs]
        covariances = np.stack([numbers.covariance[pair][self._groups] for pair in pairs])
        errors = np.stack([self._error(d) for d in numbers.deviations], axis=1)
        moved = (weights * moves).sum(axis=1)
        law = self._block.sums(
            moved,
            np.stack(products, axis=1) @ covariances,
            numbers.lean,
            moved,
            np.sqrt(((weights * errors) ** 2).sum(axis=1)),
        )
        width = Z95 * law.deviation / number
        large = self._is_large & enough
        return counted_scores(large, true_squares(aggregates, truths, number), square, width, width)

    def extremes(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of least or greatest values, see `ExtremesOfGroups`."""
        scores = self._sums.extremes[aggregates[0].function]
        return np.where(self._is_large & np.isfinite(truths), scores, np.nan)

    def quantiles(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of quantiles, see `QuantilesOfRows`."""
        requests = quantiles_of(aggregates)
        places, queries = self._places, np.arange(len(aggregates))
        quantiles, moves = self._laws.quantiles, self._sums.moved
        are_known = self._are_known(requests, places.first(requests.places_among(places.rows)))
        place = self._moved_places(requests, quantiles)
        code = places.first(place)
        # the law of the rows not above the value, in excess of a share of all rows
        counts, thresholds = quantiles.counts_upto, quantiles.thresholds
        nearest = np.abs(counts[thresholds] - counts[code][:, None]).argmin(axis=1)
        moved, errors = moves["thresholds"][queries, nearest], self._errors[queries, nearest]
        share = requests.share
        if self._laws.there is not None:
            moved = moved - share * moves["there"][:, 0]
            errors = np.hypot(errors, share * self._error(self._laws.there.deviations))
        sizes = np.maximum(self._block.rows.sizes, 1)
        counted, there_share = self._values.upto(code) / sizes, self._values.non_null / sizes
        mean = counted - share[:, None] * there_share
        square = counted * (1 - 2 * share[:, None]) + share[:, None] ** 2 * there_share
        law = self._block.sums(moved, square - mean**2, LEAN_OF_SHARES, moved, errors)
        missed = places.distances(quantiles.numbers, truths, place)
        scores = missed / (_HALF + Z95 * law.deviation)
        return np.where(self._is_large & ~are_known & np.isfinite(truths), scores, np.nan)

    def _are_known(self, requests: QuantilesOfBlock, code: np.ndarray) -> np.ndarray:
        """Decide which quantiles surely are the value of a code, see `ValuesAmongSelected`.

        Groups that are selected as a whole have their expected numbers of values for sure. So these
        numbers are corrected by groups that are cut, or by a sample of them.
        """
        rows, values, hits = self._block.rows, self._values, self._block.hits
        share = hits / np.maximum(rows.sizes, 1)
        least = hits - (rows.sizes - values.non_null)
        before, after = values.upto(code - 1), values.non_null - values.upto(code)
        upto = np.pad(self._places.upto, [(0, 0), (1, 0)])
        queries = np.arange(len(code))
        there = self._places.rows - rows.scale * share @ values.non_null
        ends = []
        for side, expected in (
            (before, upto[queries, code]),
            (after, self._places.rows - upto[queries, code + 1]),
        ):
            most = np.minimum(side, hits)
            certain = expected - rows.scale * np.einsum("qg,qg->q", share, side)
            ends.append(certain + rows.scale * most.sum(axis=1))
            ends.append(there + rows.scale * np.maximum(most, least).sum(axis=1))
        return requests.are_known(*(np.rint(end).astype(np.int64) for end in ends))

    def _moved_places(self, requests: QuantilesOfBlock, quantiles: QuantilesOfRows) -> np.ndarray:
        """Return the places of quantiles, corrected by covariates; see `QuantilesOfRows`."""
        there = self._sums.moved["there"][:, 0] if "there" in self._sums.moved else 0.0
        rows = self._places.rows
        target = requests.places_among(rows + there)
        by_groups = self._places.upto[:, quantiles.thresholds]
        moved = by_groups + self._sums.moved["thresholds"]
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

    def _law(self, key: str, numbers: NumbersOfRows) -> SumsOfBlock:
        """Return the laws of the sums of the numbers of a key, see `SumsOfColumn`."""
        sums = self._sums
        moved = sums.moved[key][:, 0]
        return self._block.sums(
            sums.means[key][:, 0] + moved,
            numbers.grouped.variance[self._groups],
            numbers.lean,
            moved,
            self._error(numbers.deviations, key),
        )

    def _error(self, deviations: Deviations, key: str = "totals") -> np.ndarray:
        """Return the standard errors of the amounts by which sums move (float64, per query).

        Args:
            deviations: the deviations of the summed numbers.
            key: the numbers whose weights of groups are used; those of totals will nearly do.
        """
        if deviations.noise is None:
            return np.zeros(len(self._block.queries))
        errors: np.ndarray = quadratic(self._sums.excess[key], deviations.noise)
        return np.asarray(np.sqrt(np.maximum(errors, 0.0)))

    @cached_property
    def _total(self) -> SumsOfBlock:
        """The laws of sums of the column's numbers, above their centre if some are missing."""
        totals = self._laws.totals
        return self._law(
            "totals", totals.above if isinstance(totals, NumbersWithMissing) else totals
        )

    @cached_property
    def _there(self) -> SumsOfBlock | None:
        """The laws of how many selected values are not null; None if the column has no nulls."""
        there = self._laws.there
        return None if there is None else self._law("there", there)

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
        return PlacesOfBlock(self._sums.expected)

    @cached_property
    def _errors(self) -> np.ndarray:
        """The standard errors of moves up to thresholds (float64, queries x thresholds)."""
        quantiles = self._laws.quantiles
        thresholds = range(len(quantiles.thresholds))
        return np.stack(
            [self._error(quantiles.numbers_upto(place).deviations) for place in thresholds], axis=1
        )
