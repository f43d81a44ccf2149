"""The scores of many random queries at once, over labels that rows match with chances.

The laws are those of `intervals.labels` and `laws_of_labels`, which answer one query at a time;
tests hold both to the same scores. A matrix of queries x kinds of rows has the chance that a row
matches. Laws of a sensitive column only need sums of these over the rows with each value.
"""

from collections.abc import Callable, Iterator, Sequence
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
from sfumato.tasks.query.intervals.calibration.profiles import selected_codes
from sfumato.tasks.query.intervals.labels import LabelsIntervals
from sfumato.tasks.query.intervals.quantiles import QuantilePlace
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
    return LabelsBlocks(likely, columns, sensitive) if likely.is_plain(sensitive) else None


class LabelsBlocks:
    """Scores of random queries by the laws of labels."""

    def __init__(
        self, likely: LabelsIntervals, columns: Sequence[str], sensitive: Sequence[str]
    ) -> None:
        """Find the kinds of rows: those with the same labels and the same values; see above."""
        self.likely = likely
        codes = {name: likely.codes_of(name) for name in dict.fromkeys((*columns, *sensitive))}
        keys = [np.asarray(column, dtype=np.int64) for column in (*codes.values(), likely.classes)]
        kind, number = dense(pack(keys, [int(key.max(initial=0)) + 1 for key in keys])[0])
        first = np.empty(number, dtype=np.int64)
        first[kind[::-1]] = np.arange(len(kind))[::-1]
        self.weights = np.bincount(kind).astype(np.float64)
        classes = likely.classes[first]
        self._by_class = np.argsort(classes, kind="stable")
        self._class_starts = starts(classes[self._by_class])
        self._codes = {name: column[first] for name, column in codes.items()}
        self._columns: dict[str, ValuesOfKinds] = {}

    @property
    def queries(self) -> int:
        """The most queries that are asked together."""
        return queries_together(len(self.weights))

    def scores(
        self, queries: DrawnQueries, original: OriginalRows
    ) -> Iterator[tuple[Target, Scores]]:
        """Yield the scores of all queries, target by target."""
        chance = np.ones((len(queries.selections), len(self.weights)))
        for of_query, parts in zip(chance, queries.selections, strict=True):
            for part in parts:
                of_query *= self.likely.chance_of(part)[self._codes[part.name]]
        answers = original.select(queries.selections)
        groups = self._count_groups(chance)
        is_large = are_large(chance * (1 - chance) @ self.weights, chance @ self.weights, groups)
        for name, matching in queries.matching.items():
            matches = chance if not name else chance * self._matching(matching)
            truths = answers.counts(matching if name else ())
            yield (
                ("count" if name else "rows", name),
                _count_scores(
                    is_large, matches * (1 - matches) @ self.weights, matches @ self.weights, truths
                ),
            )
        names = dict.fromkeys(name for _, name in queries.aggregates)
        laws = {name: self._laws_of(name, chance, groups) for name in names}
        for (alike, name), aggregates in queries.aggregates.items():
            truths = answers.answers(name, aggregates)
            yield (alike, name), laws[name].scores(alike, aggregates, truths)

    def _matching(self, matching: Sequence[Selection]) -> np.ndarray:
        """Return whether the sensitive value of each kind matches (bool, queries x kinds)."""
        name = matching[0].name
        matches = selected_codes(matching, self.likely.domain(name))
        return np.pad(matches, [(0, 0), (0, 1)])[:, self._codes[name]]

    def _count_groups(self, chance: np.ndarray) -> np.ndarray:
        """Return the number of classes of labels with a row that may match (int64, per query)."""
        possible = np.logical_or.reduceat(chance[:, self._by_class] > 0, self._class_starts, axis=1)
        return np.asarray(possible.sum(axis=1))

    def _laws_of(self, name: str, chance: np.ndarray, groups: np.ndarray) -> "LawsOfChances":
        if name not in self._columns:
            numbers = self.likely.numbers_of(name)
            self._columns[name] = ValuesOfKinds(self._codes[name], numbers, self.weights)
        return LawsOfChances(self._columns[name], chance, groups)


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


class ValuesOfKinds:
    """A sensitive column of kinds of rows; sums by value are over the kinds with that value."""

    def __init__(self, codes: np.ndarray, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Sort the kinds that have a value by it.

        Args:
            codes: the code of each kind's value (integers); others than those of values are null.
            numbers: the values by code, ascending (float64).
            weights: how many rows each kind has (float64).
        """
        order = np.argsort(codes, kind="stable")
        self._order = order[: int(np.searchsorted(codes[order], len(numbers)))]
        ordered = codes[self._order].astype(np.int64)
        self._first, self._weights = starts(ordered), weights[self._order]
        self._present, self.numbers = ordered[self._first], numbers

    def by_value(
        self, of_kinds: Callable[[np.ndarray], np.ndarray], chance: np.ndarray
    ) -> np.ndarray:
        """Return sums over rows, by value (float64, queries x codes).

        Args:
            of_kinds: returns the summed number of each row, given its chance to match.
            chance: the chances of all kinds (float64, queries x kinds).
        """
        sums = np.zeros((len(chance), len(self.numbers)))
        if len(self._first):
            summed = of_kinds(chance[:, self._order]) * self._weights
            sums[:, self._present] = np.add.reduceat(summed, self._first, axis=1)
        return sums


class LawsOfChances(ScoredLaws):
    """The laws of the aggregates of a column over rows that match with chances."""

    def __init__(self, values: ValuesOfKinds, chance: np.ndarray, groups: np.ndarray) -> None:
        """Compute nothing yet.

        Args:
            values: the column.
            chance: the chance that a row of each kind matches (float64, queries x kinds).
            groups: the number of groups of rows that may match (int64, one per query).
        """
        self._values, self._chance, self._groups = values, chance, groups
        self._numbers = values.numbers

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
        with np.errstate(divide="ignore"):
            missed = self._values.by_value(
                lambda chance: np.log1p(-np.minimum(chance, 1.0)), self._chance
            )
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
        quantile_places = [
            QuantilePlace(a.share, a.kind.between) for a in aggregates if a.share is not None
        ]
        places = PlacesOfBlock(self._expectation)
        place = places.of_quantiles(quantile_places, places.rows)
        code = places.first(place)
        upto = np.arange(len(self._numbers)) <= code[:, None]
        _, width = self._mean_of(upto.astype(np.float64))
        missed = places.distances(self._numbers, truths, place)
        scores = missed / (_HALF + width * places.rows)
        are_known = self._are_known(quantile_places, code)
        return np.where(self._is_large & ~are_known & np.isfinite(truths), scores, np.nan)

    def _are_known(self, quantile_places: Sequence[QuantilePlace], code: np.ndarray) -> np.ndarray:
        """Decide which quantiles surely are the value of a code (bool, one per query)."""
        sure = self._values.by_value(lambda chance: chance >= 1, self._chance)
        codes, possible = np.arange(len(self._numbers)), self._possible
        ends = []
        for side in (codes < code[:, None], codes > code[:, None]):
            on_side = (possible * side).sum(axis=1)
            ends += [on_side, on_side + (sure * ~side).sum(axis=1)]
        counts = [end.astype(int).tolist() for end in ends]
        return np.array(
            [
                place.is_known((below, below_of), (above, above_of))
                for place, below, below_of, above, above_of in zip(
                    quantile_places, *counts, strict=True
                )
            ]
        )

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
        return self._values.by_value(lambda chance: chance, self._chance)

    @cached_property
    def _apart(self) -> np.ndarray:
        """The variance of how many matching rows have each value (float64, queries x codes)."""
        return self._values.by_value(lambda chance: chance * (1 - chance), self._chance)

    @cached_property
    def _possible(self) -> np.ndarray:
        """The number of rows with each value that may match (float64, queries x codes)."""
        return self._values.by_value(lambda chance: chance > 0, self._chance)

    @cached_property
    def _rows(self) -> np.ndarray:
        """The expected number of matching rows with a value, 1 for none (float64, per query)."""
        rows = self._expectation.sum(axis=1)
        return np.where(rows > 0, rows, 1.0)

    @cached_property
    def _is_large(self) -> np.ndarray:
        """True for queries that likely match enough rows with a value, and groups (bool)."""
        return are_large(self._apart.sum(axis=1), self._expectation.sum(axis=1), self._groups)
