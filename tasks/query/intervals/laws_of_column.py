"""The laws of the aggregates of one sensitive column that is shuffled beside exact rows.

SQL passes over nulls. A sum is that of numbers which are 0 where none is; a mean is the quotient of
two sums, of the numbers above some centre and of ones for each that is there. Near the quotient r
that is expected, its error is that of the sum of (number - r, 0 where none is) by how many are
there (linearization; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, 5.6).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sfumato.tasks.query.intervals.covariates import Deviations, GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.exact_rows import (
    ExactRows,
    NumbersOfRows,
    ValuesOfColumn,
    size_of,
)
from sfumato.tasks.query.intervals.quantiles import AskedPlace, QuantileSpread
from sfumato.tasks.query.intervals.ranked import (
    QuantilesOfRows,
    RankedValues,
    ValuesAmongSelected,
    ranked_values,
)
from sfumato.tasks.query.intervals.shapes import name_of
from sfumato.tasks.query.intervals.spread import (
    Z95,
    AnswerLaw,
    ExtremeSpread,
    NumberSpread,
    SelectedSize,
)
from sfumato.tasks.query.intervals.spreads_of_rows import SpreadsOfRows, spreads_of_rows
from sfumato.tasks.query.intervals.sums import LEAN, LEAN_OF_SHARES, LikelySum, SquaresSpread
from sfumato.tasks.query.question.question import Aggregate

Known = Callable[[np.ndarray, float], NumbersOfRows]
"""Finds out what is known of numbers (float64, one per value of the groups) that lean so much."""


@dataclass(frozen=True, eq=False)
class NumbersWhereKnown:
    """Numbers of rows of which some are missing.

    Attributes:
        centre: the mean of those that are there.
        above: the numbers above that, 0 where none is.
        there: 1 where a number is, else 0.
        sums: the numbers, 0 where none is.
    """

    centre: float
    above: NumbersOfRows
    there: NumbersOfRows
    sums: NumbersOfRows

    @property
    def deviations(self) -> Deviations:
        """By how much numbers are expected to be above their groups' means, 0 where none is."""
        return self.above.deviations

    def spread_over(
        self, selected: SelectedOfGroups, _: np.ndarray | None = None, *, per_row: bool
    ) -> NumberSpread | None:
        """The law of the sum over selected rows, or of the mean; None where likely none is there.

        The size of what is selected is that of the numbers which are surely enough there.
        """
        there = self.there.sum_over(selected)
        size = SelectedSize(there.middle - Z95 * there.deviation, len(selected.group))
        if not per_row:
            likely, per, middle = self.sums.sum_over(selected), 1.0, 0.0
        elif there.middle <= 0:
            return None
        else:
            apart = self.above.sum_over(selected).middle / there.middle
            likely, per, middle = self._beyond(selected, apart), there.middle, self.centre + apart
        width = Z95 * likely.deviation / per
        estimate = middle if per_row else likely.middle
        return NumberSpread(size, estimate, width, width)

    def _beyond(self, selected: SelectedOfGroups, apart: float) -> LikelySum:
        """The sum of what numbers are above `apart`, 0 where none is: it is expected to be 0."""
        above, share = self.above.grouped, self.there.grouped.mean
        together = above.mean * (1 - share)
        variance = above.variance - 2 * apart * together + apart**2 * share * (1 - share)
        numbers = GroupedNumbers(
            above.size, above.mean - apart * share, np.maximum(variance, 0.0), above.inner
        )
        moved, error = self.above.deviations.sum_over(selected)
        moved_there, error_there = self.there.deviations.sum_over(selected)
        error = float(np.hypot(error, apart * error_there))
        return LikelySum(numbers, selected, moved - apart * moved_there, error, self.above.lean)


def numbers_where_known(
    numbers: np.ndarray, there: np.ndarray, weights: np.ndarray, known: Known
) -> NumbersWhereKnown:
    """What is known of numbers of which some are missing.

    Args:
        numbers: of each value of the groups (float64), anything where none is.
        there: whether it is a number (bool).
        weights: how often it stands there (float64).
        known: finds it out.
    """
    number = float((weights * there).sum())
    sums = np.where(there, numbers, 0.0)
    centre = float((weights * sums).sum()) / number if number else 0.0
    return NumbersWhereKnown(
        centre,
        known(np.where(there, numbers - centre, 0.0), LEAN),
        known(there.astype(np.float64), LEAN_OF_SHARES),
        known(sums, LEAN),
    )


class LawsOfColumn:
    """What is likely of the aggregates of a column; each part is found out when it is asked for."""

    def __init__(
        self, name: str, values: ValuesOfColumn, sizes: np.ndarray, rows: ExactRows, *, whole: bool
    ) -> None:
        """Find nothing out yet.

        Args:
            name: of the column.
            values: of the groups.
            sizes: how many rows each group has (int64).
            rows: beside which they stand.
            whole: whether the values are integers.
        """
        self._name, self._values, self._sizes, self._rows = name, values, sizes, rows
        self._whole, self._nulls = whole, rows.declared.columns[name].nulls

    def over(self, selected: SelectedOfGroups) -> "LawsOverRows":
        """The laws over selected rows."""
        return LawsOverRows(self, selected)

    def grouped(self, numbers: np.ndarray, lean: float) -> NumbersOfRows:
        """What groups tell of numbers of their values (float64)."""
        sizes, weights = self._sizes.astype(np.float64), self._values.weights
        group, per = self._values.table.group, np.maximum(sizes, 1)
        mean = np.bincount(group, numbers * weights, len(sizes)) / per
        apart = (numbers - mean[group]) ** 2
        variance = np.bincount(group, apart * weights, len(sizes)) / per
        of_groups = GroupedNumbers(sizes, mean, variance, np.zeros(len(sizes)))
        return NumbersOfRows(of_groups, self._rows.covariates.fit(of_groups), lean)

    @cached_property
    def totals(self) -> NumbersOfRows | NumbersWhereKnown:
        """What sums and means are of."""
        values, numbers = self._values, self._values.numbers(self._name)
        if not self._nulls:
            return self.grouped(numbers, LEAN)
        return numbers_where_known(numbers, values.there, values.weights, self.grouped)

    @cached_property
    def spreads(self) -> SpreadsOfRows:
        """What variances are of."""
        values = self._values
        there = values.there.astype(np.float64)
        numbers, weights = values.numbers(self._name), values.weights * there
        above = there * (numbers - (numbers * weights).sum() / max(weights.sum(), 1))
        return spreads_of_rows(
            values.table.group, (above, above**2, there), values.weights, self._rows.covariates
        )

    @cached_property
    def quantiles(self) -> QuantilesOfRows:
        """What quantiles are of."""
        column, values = self._values.column, len(self._values.known)
        times = np.bincount(column.codes, self._values.weights, len(column.values))[:values]
        return QuantilesOfRows(self._values.by_code(self._name), times, self._meant, self.there)

    @cached_property
    def ranked(self) -> RankedValues:
        """What extremes are of, and the places of values."""
        return ranked_values(self._values, self._sizes, whole=self._whole)

    @cached_property
    def there(self) -> NumbersOfRows | None:
        """1 for each value, 0 for a null; None where there is none."""
        if not self._nulls:
            return None
        return self.grouped(self._values.there.astype(np.float64), LEAN_OF_SHARES)

    def _meant(self, of_value: np.ndarray) -> NumbersOfRows:
        """What is known of numbers of values (by code), 0 for a null."""
        codes = self._values.column.codes
        return self.grouped(np.append(of_value, 0.0)[codes], LEAN_OF_SHARES)


@dataclass(frozen=True, eq=False)
class LawsOverRows:
    """The laws of a column's aggregates over selected rows."""

    column: LawsOfColumn
    selected: SelectedOfGroups

    def law(self, aggregate: Aggregate) -> AnswerLaw | None:
        """The law of an aggregate; None of one that has none."""
        making = _LAWS.get(name_of(aggregate) or "")
        return None if making is None else making(self, aggregate)

    def total(self, _: Aggregate, *, per_row: bool) -> NumberSpread | None:
        """The law of a sum or a mean."""
        return self.column.totals.spread_over(self.selected, self._unlike, per_row=per_row)

    def extreme(self, _: Aggregate, *, greatest: bool) -> ExtremeSpread:
        """The law of a least or greatest value."""
        law = self._values.extreme(greatest=greatest)
        return ExtremeSpread(self._size, law, self.column.ranked.shown)

    def spread(self, aggregate: Aggregate) -> SquaresSpread | None:
        """The law of a variance or a standard deviation."""
        of_column, kind = self.column.spreads, aggregate.kind
        return of_column.spread_over(kind, self.selected, self._size, self._unlike)

    def quantile(self, aggregate: Aggregate) -> QuantileSpread | None:
        """The law of a quantile."""
        if aggregate.share is None:
            return None
        asked = AskedPlace(aggregate.share, aggregate.kind.between)
        of_column, values = self.column.quantiles, self._values
        return of_column.spread_over(values, self.selected, self._size, asked, self._unlike)

    @cached_property
    def _unlike(self) -> np.ndarray:
        """By how much selected rows are unlike their groups, as sums of the column tell."""
        deviations = self.column.totals.deviations
        return deviations.covariates.unlike(self.selected, deviations.part)

    @cached_property
    def _values(self) -> ValuesAmongSelected:
        return self.column.ranked.among(self.selected)

    @cached_property
    def _size(self) -> SelectedSize:
        """How many values are selected, as many as surely enough are there."""
        if self.column.there is None:
            return size_of(self.selected)
        there = self.column.there.sum_over(self.selected)
        rows = there.middle - Z95 * there.deviation
        return SelectedSize(rows, len(self.selected.group))


_LAWS: Mapping[str, Callable[[LawsOverRows, Aggregate], AnswerLaw | None]] = {
    "sum": partial(LawsOverRows.total, per_row=False),
    "avg": partial(LawsOverRows.total, per_row=True),
    "min": partial(LawsOverRows.extreme, greatest=False),
    "max": partial(LawsOverRows.extreme, greatest=True),
    "spread": LawsOverRows.spread,
    "median": LawsOverRows.quantile,
    "quantile": LawsOverRows.quantile,
}
"""By what alike aggregates are called."""
