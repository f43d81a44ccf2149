"""The laws of the aggregates of one sensitive column that is shuffled beside exact rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sfumato.tasks.query.intervals.beside_rows.exact_rows import ExactRows, NumbersOfRows, size_of
from sfumato.tasks.query.intervals.beside_rows.missing import NumbersWhereKnown, numbers_where_known
from sfumato.tasks.query.intervals.beside_rows.quantiles_of_rows import QuantilesOfRows
from sfumato.tasks.query.intervals.beside_rows.ranked import (
    RankedValues,
    ValuesAmongSelected,
    ranked_values,
)
from sfumato.tasks.query.intervals.beside_rows.spreads_of_rows import SpreadsOfRows, spreads_of_rows
from sfumato.tasks.query.intervals.beside_rows.values_of_groups import ValuesOfColumn
from sfumato.tasks.query.intervals.laws.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.laws.grouped import LEAN, LEAN_OF_SHARES
from sfumato.tasks.query.intervals.laws.normal import Z95
from sfumato.tasks.query.intervals.laws.quantiles import AskedPlace, QuantileSpread
from sfumato.tasks.query.intervals.laws.spread import (
    AnswerLaw,
    ExtremeSpread,
    NumberSpread,
    SelectedSize,
)
from sfumato.tasks.query.intervals.laws.squares import SquaresSpread
from sfumato.tasks.query.intervals.shapes.alike import name_of
from sfumato.tasks.query.question.aggregate import Aggregate


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
