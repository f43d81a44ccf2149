"""The scores of many random queries at once, over labels that rows match with chances.

The laws are those of `intervals.labels` and `laws_of_labels`, which answer one query at a time;
tests hold both to the same scores. A matrix of queries x profiles (distinct combinations of labels)
has the chance that a row matches. Laws of a sensitive column only need sums over the rows with each
value.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.shared.sorting import starts
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.query.intervals.calibration.block import (
    DrawnQueries,
    ScoredLaws,
    Scores,
    Target,
    counted_scores,
    queries_together,
)
from sfumato.tasks.query.intervals.calibration.blocks_of_values import (
    PlacesOfBlock,
    factors_of_extremes,
    true_squares,
)
from sfumato.tasks.query.intervals.calibration.original import OriginalRows
from sfumato.tasks.query.intervals.calibration.profiles import codes_of_rows, selected_codes
from sfumato.tasks.query.intervals.calibration.quantiles_of_block import (
    QuantilesOfBlock,
    quantiles_of,
)
from sfumato.tasks.query.intervals.labels import LabelsIntervals
from sfumato.tasks.query.intervals.shapes import LEAST_GROUPS, LEAST_ROWS, Selection
from sfumato.tasks.query.intervals.spread import Z95
from sfumato.tasks.query.intervals.sums import LEAN_OF_CHANCES
from sfumato.tasks.query.question.question import Aggregate

_HALF = 0.5  # places; a value itself takes one place


def blocks_of_labels(
    likely: LabelsIntervals, columns: Sequence[str], sensitive: Sequence[str], _: Randomness
) -> "LabelsBlocks | None":
    """Return what asks many queries at once; None if people left, or labels hide sensitive values.

    Args:
        likely: the laws of one query at a time.
        columns: the quasi-identifiers by which queries may select.
        sensitive: the sensitive columns by which they may select, or that they aggregate.

    No random numbers are needed.
    """
    return LabelsBlocks(likely, columns) if likely.is_plain(sensitive) else None


class LabelsBlocks:
    """Scores of random queries by the laws of labels."""

    def __init__(self, likely: LabelsIntervals, columns: Sequence[str]) -> None:
        """Find the profiles of rows; see above.

        Args:
            likely: the laws of one query at a time.
            columns: the quasi-identifiers by which queries may select.
        """
        self.likely = likely
        codes = {name: likely.codes_of(name) for name in columns}
        keys = [np.asarray(column, dtype=np.int64) for column in (*codes.values(), likely.classes)]
        self._of_row, number = dense(pack(keys, [int(k.max(initial=0)) + 1 for k in keys])[0])
        first = np.empty(number, dtype=np.int64)
        first[self._of_row] = np.arange(len(self._of_row))
        self._rows = np.bincount(self._of_row, minlength=number).astype(np.float64)
        classes = likely.classes[first]
        self._by_class = np.argsort(classes, kind="stable")
        self._class_starts = starts(classes[self._by_class])
        self._codes = {name: column[first] for name, column in codes.items()}
        self._columns: dict[str, SensitiveColumn] = {}

    @property
    def queries(self) -> int:
        """The most queries that are asked together."""
        return queries_together(len(self._rows))

    def scores(
        self, queries: DrawnQueries, original: OriginalRows
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of all queries, target by target.

        Most queries match too few rows, and only the others are computed.
        """
        chance = np.ones((len(queries.selections), len(self._rows)))
        for of_query, parts in zip(chance, queries.selections, strict=True):
            for part in parts:
                of_query *= self.likely.chance_of(part)[self._codes[part.name]]
        groups = self._count_groups(chance)
        names = {*queries.matching, *(name for _, name in queries.aggregates)} - {""}
        rows = np.stack([self._rows, *(self._column(name).rows for name in sorted(names))], axis=1)
        large = are_large(chance * (1 - chance) @ rows, chance @ rows, groups[:, None])
        some = np.flatnonzero(large.any(axis=1))
        if not len(some):
            return
        block = self._scores(queries.take(some), original, chance[some], groups[some])
        for target, scores in block:
            whole = np.full(len(chance), np.nan)
            whole[some] = scores
            yield target, whole

    def _scores(
        self, queries: DrawnQueries, original: OriginalRows, chance: np.ndarray, groups: np.ndarray
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of some queries.

        Args:
            queries: the queries.
            original: the original.
            chance: the chance that rows of each profile match (float64, queries x profiles).
            groups: the number of classes of labels that may match (int64, one per query).
        """
        answers, rows = original.select(queries.selections), self._rows
        names = {*queries.matching, *(name for _, name in queries.aggregates)} - {""}
        laws = {name: LawsOfChances(self._column(name), chance, groups) for name in names}
        expected, apart = chance @ rows, chance * (1 - chance) @ rows
        large = are_large(apart, expected, groups)
        for name, matching in queries.matching.items():
            spread, mean = laws[name].matching(matching) if name else (apart, expected)
            truths = answers.counts(matching if name else ())
            yield ("count" if name else "rows", name), _count_scores(large, spread, mean, truths)
        for (alike, name), aggregates in queries.aggregates.items():
            truths = answers.answers(name, aggregates)
            yield (alike, name), laws[name].scores(alike, aggregates, truths)

    def _count_groups(self, chance: np.ndarray) -> np.ndarray:
        """Return the number of classes of labels with a row that may match (int64, per query)."""
        if len(self._class_starts) == len(self._by_class):
            return np.asarray(np.count_nonzero(chance, axis=1))
        possible = np.logical_or.reduceat(chance[:, self._by_class] > 0, self._class_starts, axis=1)
        return np.asarray(possible.sum(axis=1))

    def _column(self, name: str) -> "SensitiveColumn":
        if name not in self._columns:
            self._columns[name] = SensitiveColumn(self.likely, name, self._of_row, len(self._rows))
        return self._columns[name]


def are_large(variance: np.ndarray, expected: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Decide which queries likely match enough rows and groups, see `sums.likely_size` (bool).

    Args:
        variance: the variance of the number of matching rows (float64, one per query).
        expected: the expected number of these (float64, one per query).
        groups: the number of their groups (integers, one per query).
    """
    least = expected - Z95 * np.hypot(np.sqrt(variance), LEAN_OF_CHANCES * variance)
    large: np.ndarray = (least >= LEAST_ROWS) & (groups >= LEAST_GROUPS)
    return large


def _count_scores(
    is_large: np.ndarray, variance: np.ndarray, expected: np.ndarray, truths: np.ndarray
) -> Scores:
    """Return the scores of counts of matching rows, see `sums.count_of_chances`."""
    width = Z95 * np.hypot(np.sqrt(variance), LEAN_OF_CHANCES * variance)
    return counted_scores(is_large, truths, expected, width, width)


class SensitiveColumn:
    """The values of a sensitive column by profile.

    Attributes:
        values: its values, ascending if they have an order.
        codes: how many rows of each profile have each value.
        rows: how many rows of each profile have a value (float64).
    """

    def __init__(
        self, likely: LabelsIntervals, name: str, profile: np.ndarray, number: int
    ) -> None:
        """Count the values.

        Args:
            likely: the laws of one query at a time.
            name: the column.
            profile: the profile of each row (int64).
            number: the number of profiles.
        """
        self._likely, self._name = likely, name
        self.values = likely.domain(name)
        codes = likely.codes_of(name).astype(np.int64)
        self.codes = codes_of_rows(profile, number, codes, len(self.values))
        there = profile[codes < len(self.values)]
        self.rows = np.bincount(there, minlength=number).astype(np.float64)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The values as numbers (float64)."""
        return self._likely.numbers_of(self._name)


class LawsOfChances(ScoredLaws):
    """The laws of the aggregates of a column over rows that match with chances."""

    def __init__(self, column: SensitiveColumn, chance: np.ndarray, groups: np.ndarray) -> None:
        """Compute nothing yet.

        Args:
            column: the column.
            chance: the chance that rows of each profile match (float64, queries x profiles).
            groups: the number of groups of rows that may match (int64, one per query).
        """
        self._column, self._chance, self._groups = column, chance, groups

    @property
    def _numbers(self) -> np.ndarray:
        return self._column.numbers

    def matching(self, matching: Sequence[Selection]) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance and the mean of how many rows match, also by their value.

        Args:
            matching: the values that each query selects.

        Returns:
            Both float64, one per query.
        """
        matches = selected_codes(matching, self._column.values)
        variance, mean = (
            np.einsum("qc,qc->q", sums, matches) for sums in (self._apart, self._expectation)
        )
        return variance, mean

    def sums(self, _: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of sums, see `sum_of_chances`."""
        apart, numbers = self._apart, self._numbers
        lean = LEAN_OF_CHANCES * np.abs(apart @ numbers)
        width = Z95 * np.hypot(np.sqrt(apart @ numbers**2), lean)
        return counted_scores(self._is_large, truths, self._expectation @ numbers, width, width)

    def means(self, _: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of means."""
        middle, width = self._mean_of(self._numbers)
        return counted_scores(self._is_large, truths, middle, width, width)

    def spreads(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of variances and standard deviations."""
        mean, _ = self._mean_of(self._numbers)
        middle, width = self._mean_of((self._numbers - mean[:, None]) ** 2)
        squares = true_squares(aggregates, truths, self._rows)
        large = self._is_large & (self._expectation.sum(axis=1) >= 2)
        return counted_scores(large, squares, middle, width, width)

    def extremes(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of least or greatest values."""
        missed = self._column.codes.sums(np.log1p(-np.where(self._chance < 1, self._chance, 0.0)))
        missed[self._sure > 0] = -np.inf
        scores = factors_of_extremes(
            missed,
            self._possible > 0,
            self._numbers,
            truths,
            greatest=aggregates[0].function == "max",
        )
        return np.where(self._is_large & np.isfinite(truths), scores, np.nan)

    def quantiles(self, aggregates: Sequence[Aggregate], truths: np.ndarray) -> Scores:
        """Return the scores of quantiles."""
        requests, places = quantiles_of(aggregates), PlacesOfBlock(self._expectation)
        place = requests.places_among(places.rows)
        code = places.first(place)
        upto = np.arange(len(self._numbers)) <= code[:, None]
        _, width = self._mean_of(upto.astype(np.float64))
        missed = places.distances(self._numbers, truths, place)
        scores = missed / (_HALF + width * places.rows)
        are_known = self._are_known(requests, code)
        return np.where(self._is_large & ~are_known & np.isfinite(truths), scores, np.nan)

    def _are_known(self, requests: QuantilesOfBlock, code: np.ndarray) -> np.ndarray:
        """Decide which quantiles surely are the value of a code (bool, one per query)."""
        sure = self._sure
        codes, possible = np.arange(len(self._numbers)), self._possible
        ends = []
        for side in (codes < code[:, None], codes > code[:, None]):
            on_side = (possible * side).sum(axis=1)
            ends += [on_side, on_side + (sure * ~side).sum(axis=1)]
        return requests.are_known(*(end.astype(np.int64) for end in ends))

    def _mean_of(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the middles and the widths of means of numbers, see `mean_of_chances`.

        Args:
            numbers: the numbers by code (float64, codes or queries x codes).
        """
        middle = (self._expectation * numbers).sum(axis=1) / self._rows
        beside = np.abs(numbers - middle[:, None])
        lean = LEAN_OF_CHANCES * (self._apart * beside).sum(axis=1)
        width = Z95 * np.hypot(np.sqrt((self._apart * beside**2).sum(axis=1)), lean) / self._rows
        return middle, width

    @cached_property
    def _expectation(self) -> np.ndarray:
        """The expected number of matching rows with each value (float64, queries x codes)."""
        return self._column.codes.sums(self._chance)

    @cached_property
    def _apart(self) -> np.ndarray:
        """The variance of how many matching rows have each value (float64, queries x codes)."""
        return self._column.codes.sums(self._chance * (1 - self._chance))

    @cached_property
    def _possible(self) -> np.ndarray:
        """The number of rows with each value that may match (float64, queries x codes)."""
        return self._column.codes.sums((self._chance > 0).astype(np.float64))

    @cached_property
    def _sure(self) -> np.ndarray:
        """The number of rows with each value that surely match (float64, queries x codes)."""
        return self._column.codes.sums((self._chance >= 1).astype(np.float64))

    @cached_property
    def _rows(self) -> np.ndarray:
        """The expected number of matching rows with a value, 1 for none (float64, per query)."""
        rows = self._expectation.sum(axis=1)
        return np.where(rows > 0, rows, 1.0)

    @cached_property
    def _is_large(self) -> np.ndarray:
        """True for queries that likely match enough rows with a value, and groups (bool)."""
        return are_large(self._apart.sum(axis=1), self._expectation.sum(axis=1), self._groups)
