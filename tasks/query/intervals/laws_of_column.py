"""The laws of the aggregates of one sensitive column that is shuffled beside exact rows.

The release shows which values a group has, but not which row has which. A row's number is known
only by its group (`NumbersOfRows`), and the laws are those of sums of such numbers.

SQL passes over nulls. A sum is the sum of numbers that are 0 for null. A mean is the quotient of
two sums: of the numbers above some centre (0 for null), and of ones for values that are not null.
Near the expected quotient r the error of the quotient is the error of the sum of (number - r, or 0
for null) divided by the number of values that are not null (linearization; Särndal, Swensson,
Wretman, Model Assisted Survey Sampling, 1992, 5.6).
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
from sfumato.tasks.query.intervals.quantiles import QuantilePlace, QuantileSpread
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

Fit = Callable[[np.ndarray, float], NumbersOfRows]
"""Returns the numbers of rows, given those of the groups' values (float64) and their lean."""


@dataclass(frozen=True, eq=False)
class NumbersWithMissing:
    """Numbers of rows of which some are missing.

    Attributes:
        centre: the mean of the numbers that are there.
        above: the numbers less the centre, and 0 for missing ones.
        there: 1 for a number, and 0 for a missing one.
        sums: the numbers, and 0 for missing ones.
    """

    centre: float
    above: NumbersOfRows
    there: NumbersOfRows
    sums: NumbersOfRows

    @property
    def deviations(self) -> Deviations:
        """The expected deviations from groups' means of the numbers `above`."""
        return self.above.deviations

    def spread_over(
        self, selected: SelectedOfGroups, _: np.ndarray | None = None, *, per_row: bool
    ) -> NumberSpread | None:
        """Return the law of the sum of numbers over selected rows, or of their mean if `per_row`.

        Returns None for a mean if no number is expected. The size of the law is the lower end of
        the range of how many numbers are there.
        """
        there = self.there.sum_over(selected)
        size = SelectedSize(there.middle - Z95 * there.deviation, len(selected.group))
        if not per_row:
            likely, per, middle = self.sums.sum_over(selected), 1.0, 0.0
        elif there.middle <= 0:
            return None
        else:
            apart = self.above.sum_over(selected).middle / there.middle
            likely, per, middle = (
                self._sum_beyond(selected, apart),
                there.middle,
                self.centre + apart,
            )
        width = Z95 * likely.deviation / per
        estimate = middle if per_row else likely.middle
        return NumberSpread(size, estimate, width, width)

    def _sum_beyond(self, selected: SelectedOfGroups, apart: float) -> LikelySum:
        """Return the law of the sum of (`above` - `apart`), or 0 for missing numbers.

        `apart` is the expected mean of `above`, so the sum is expected to be 0.
        """
        above, share = self.above.grouped, self.there.grouped.mean
        together = above.mean * (1 - share)
        # of above - apart * there; `together` is the covariance of both within groups
        variance = above.variance - 2 * apart * together + apart**2 * share * (1 - share)
        numbers = GroupedNumbers(
            above.size, above.mean - apart * share, np.maximum(variance, 0.0), above.inner
        )
        moved, error = self.above.deviations.sum_over(selected)
        moved_there, error_there = self.there.deviations.sum_over(selected)
        error = float(np.hypot(error, apart * error_there))
        return LikelySum(numbers, selected, moved - apart * moved_there, error, self.above.lean)


def numbers_with_missing(
    numbers: np.ndarray, there: np.ndarray, weights: np.ndarray, fit: Fit
) -> NumbersWithMissing:
    """Return the numbers of rows of which some are missing.

    Args:
        numbers: the number of each value of the groups (float64); anything for a missing one.
        there: whether each value is a number (bool).
        weights: how often each value occurs (float64).
        fit: returns the numbers of rows.
    """
    number = float((weights * there).sum())
    sums = np.where(there, numbers, 0.0)
    centre = float((weights * sums).sum()) / number if number else 0.0
    return NumbersWithMissing(
        centre,
        fit(np.where(there, numbers - centre, 0.0), LEAN),
        fit(there.astype(np.float64), LEAN_OF_SHARES),
        fit(sums, LEAN),
    )


class LawsOfColumn:
    """The laws of the aggregates of a column; each part is computed when it is first needed."""

    def __init__(
        self, name: str, values: ValuesOfColumn, sizes: np.ndarray, rows: ExactRows, *, whole: bool
    ) -> None:
        """Compute nothing yet.

        Args:
            name: the column.
            values: its values in the groups.
            sizes: the number of rows of each group (int64).
            rows: the exact rows beside which the values are published.
            whole: whether the values are integers.
        """
        self._name, self.values, self._sizes, self._rows = name, values, sizes, rows
        self._whole, self._nulls = whole, rows.declared.columns[name].nulls

    def over_rows(self, selected: SelectedOfGroups) -> "LawsOverRows":
        """Return the laws over selected rows."""
        return LawsOverRows(self, selected)

    def numbers_of_rows(self, numbers: np.ndarray, lean: float) -> NumbersOfRows:
        """Return the numbers of rows that follow from numbers of the groups' values (float64)."""
        sizes, weights = self._sizes.astype(np.float64), self.values.weights
        group, per = self.values.table.group, np.maximum(sizes, 1)
        mean = np.bincount(group, numbers * weights, len(sizes)) / per
        apart = (numbers - mean[group]) ** 2
        variance = np.bincount(group, apart * weights, len(sizes)) / per
        of_groups = GroupedNumbers(sizes, mean, variance, np.zeros(len(sizes)))
        return NumbersOfRows(of_groups, self._rows.covariates.fit(of_groups), lean)

    @cached_property
    def totals(self) -> NumbersOfRows | NumbersWithMissing:
        """The numbers that sums and means are computed from."""
        values, numbers = self.values, self.values.numbers(self._name)
        if not self._nulls:
            return self.numbers_of_rows(numbers, LEAN)
        return numbers_with_missing(numbers, values.there, values.weights, self.numbers_of_rows)

    @cached_property
    def spreads(self) -> SpreadsOfRows:
        """The numbers that variances are computed from; 0 for nulls."""
        values = self.values
        there = values.there.astype(np.float64)
        numbers, weights = values.numbers(self._name), values.weights * there
        above = there * (numbers - (numbers * weights).sum() / max(weights.sum(), 1))
        return spreads_of_rows(
            values.table.group, (above, above**2, there), values.weights, self._rows.covariates
        )

    @cached_property
    def quantiles(self) -> QuantilesOfRows:
        """The numbers that quantiles are computed from."""
        column, values = self.values.column, len(self.values.distinct)
        times = np.bincount(column.codes, self.values.weights, len(column.values))[:values]
        return QuantilesOfRows(
            self.values.by_code(self._name), times, self._numbers_upto, self.there
        )

    @cached_property
    def ranking(self) -> RankedValues:
        """The ranked values that extremes and places of values are computed from."""
        return ranked_values(self.values, self._sizes, whole=self._whole)

    @cached_property
    def there(self) -> NumbersOfRows | None:
        """The numbers 1 for each value and 0 for a null; None if the column has no nulls."""
        if not self._nulls:
            return None
        return self.numbers_of_rows(self.values.there.astype(np.float64), LEAN_OF_SHARES)

    def _numbers_upto(self, codes: np.ndarray) -> list[NumbersOfRows]:
        """Return the numbers 1 for values not above a code, else 0, for each of some codes.

        Args:
            codes: the codes (int64, ascending).
        """
        sizes, column = self._sizes.astype(np.float64), self.values.column
        # values in ranges between codes, then those up to each code
        range_of_code = np.searchsorted(codes, np.arange(len(column.values)))
        ranges = len(codes) + 1
        key = self.values.table.group * ranges + range_of_code[column.codes]
        counts = np.bincount(key, self.values.weights, len(sizes) * ranges)
        upto = np.cumsum(counts.reshape(len(sizes), ranges).T[:-1], axis=0)
        mean = upto / np.maximum(sizes, 1)
        variance, inner = mean * (1 - mean), np.zeros(len(sizes))
        deviations = self._rows.covariates.fit_all(sizes, mean, variance)
        return [
            NumbersOfRows(
                GroupedNumbers(sizes, mean[place], variance[place], inner), of_code, LEAN_OF_SHARES
            )
            for place, of_code in enumerate(deviations)
        ]


@dataclass(frozen=True, eq=False)
class LawsOverRows:
    """The laws of a column's aggregates over selected rows."""

    column: LawsOfColumn
    selected: SelectedOfGroups

    def law(self, aggregate: Aggregate) -> AnswerLaw | None:
        """Return the law of an aggregate; None if it has none."""
        make_law = _LAWS.get(name_of(aggregate) or "")
        return None if make_law is None else make_law(self, aggregate)

    def total(self, _: Aggregate, *, per_row: bool) -> NumberSpread | None:
        """Return the law of a sum or a mean."""
        return self.column.totals.spread_over(self.selected, self._unlike, per_row=per_row)

    def extreme(self, _: Aggregate, *, greatest: bool) -> ExtremeSpread:
        """Return the law of a least or greatest value."""
        law = self._values.extreme(greatest=greatest)
        return ExtremeSpread(self._size, law, self.column.ranking.show)

    def spread(self, aggregate: Aggregate) -> SquaresSpread | None:
        """Return the law of a variance or a standard deviation."""
        of_column, kind = self.column.spreads, aggregate.kind
        return of_column.spread_over(kind, self.selected, self._size, self._unlike)

    def quantile(self, aggregate: Aggregate) -> QuantileSpread | None:
        """Return the law of a quantile."""
        if aggregate.share is None:
            return None
        quantile = QuantilePlace(aggregate.share, aggregate.kind.between)
        of_column, values = self.column.quantiles, self._values
        return of_column.spread_over(values, self.selected, self._size, quantile, self._unlike)

    @cached_property
    def _unlike(self) -> np.ndarray:
        """The excess of selected rows in the bins of covariates (see `Covariates.unlike`).

        It is computed once, with the weights of groups for sums of the column.
        """
        deviations = self.column.totals.deviations
        return deviations.covariates.unlike(self.selected, deviations.part)

    @cached_property
    def _values(self) -> ValuesAmongSelected:
        return self.column.ranking.among_selected(self.selected)

    @cached_property
    def _size(self) -> SelectedSize:
        """The lower end of the range of how many selected values are not null, and the groups."""
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
"""The laws by the common name of alike aggregates."""
