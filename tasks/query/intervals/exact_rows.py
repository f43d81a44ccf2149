"""Exact rows in groups: the rows that cells select, and the covariates of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.exact import exact
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.query.engines.cells import SelectedRows, selected_rows
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import CodedValues, PublishedColumns
from sfumato.tasks.query.intervals.covariates import (
    Covariates,
    Deviations,
    GroupedNumbers,
    SelectedOfGroups,
    in_bins,
)
from sfumato.tasks.query.intervals.spread import Z95, NumberSpread, SelectedSize
from sfumato.tasks.query.intervals.sums import LEAN, LikelySum
from sfumato.tasks.query.question.question import Key, Question
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class ExactRows:
    """The rows of a release that shows them as they are.

    Attributes:
        table: the rows.
        conditions: evaluates conditions on published tables.
        declared: the terms of the release.
        groups: the number of groups.
    """

    table: PublishedColumns
    conditions: ValueConditions
    declared: Terms
    groups: int

    def domain(self, name: str) -> Sequence[Any]:
        """Return the published values of a column, ascending, without null."""
        return list(self.table.coded_column(name).values.drop_null().to_pylist())

    def cells(self, question: Question) -> Iterator[tuple[Key, SelectedOfGroups]]:
        """Yield the key and the selected rows of each cell.

        Raises:
            NotDirectError: if a condition cannot be evaluated on values.
        """
        chosen = None
        if question.condition is not None:
            chosen = self.conditions.rows(self.table, question.condition)
        rows = selected_rows(self.table, question.group_by, chosen)
        places = np.arange(len(self.table.group)) if chosen is None else np.flatnonzero(chosen)
        for cell, of_cell in _split(rows, places):
            counted = np.bincount(self.table.group[of_cell], minlength=self.groups)
            group = np.flatnonzero(counted)
            yield rows.keys[cell], SelectedOfGroups(group, counted[group], of_cell)

    @cached_property
    def covariates(self) -> Covariates:
        """The quasi-identifiers, in bins."""
        columns = []
        for name in self.declared.names_with_roles("quasi-identifier"):
            coded, ordered = (
                self.table.coded_column(name),
                self.declared.columns[name].type in ORDERED,
            )
            columns.append(in_bins(coded.codes, len(coded.values), ordered=ordered))
        return Covariates(self.table.group, self.groups, columns)


@dataclass(frozen=True, eq=False)
class NumbersOfRows:
    """One number of each row, known only by its group.

    Attributes:
        grouped: the numbers of each group.
        deviations: the expected deviations of rows' numbers from the means of their groups.
        lean: see `LikelySum`.
    """

    grouped: GroupedNumbers
    deviations: Deviations
    lean: float = LEAN

    def sum_over(self, selected: SelectedOfGroups, unlike: np.ndarray | None = None) -> LikelySum:
        """Return the law of the sum over selected rows; `unlike` as in `Deviations.sum_over`."""
        moved, error = self.deviations.sum_over(selected, unlike)
        return LikelySum(self.grouped, selected, moved, error, self.lean)

    def spread_over(
        self, selected: SelectedOfGroups, unlike: np.ndarray | None = None, *, per_row: bool
    ) -> NumberSpread:
        """Return the law of the sum over selected rows, or of their mean if `per_row`.

        `unlike` as in `Deviations.sum_over`.
        """
        likely, per = self.sum_over(selected, unlike), selected.number if per_row else 1
        width = Z95 * likely.deviation / per
        return NumberSpread(size_of(selected), likely.middle / per, width, width)


def size_of(selected: SelectedOfGroups) -> SelectedSize:
    """Return the number of selected rows, and of their groups."""
    return SelectedSize(selected.number, len(selected.group))


def condition_on_one(question: Question) -> tuple[tuple[str, ...], exp.Expr] | None:
    """Return the columns and the condition of a question's only sensitive condition.

    Returns None if a question has no such condition, or several.
    """
    if len(question.matching) != 1:
        return None
    (matching,) = question.matching
    return matching.columns, matching.condition


def _split(rows: SelectedRows, places: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each cell and the positions of its rows."""
    if rows.cell is None:
        yield 0, places
        return
    order = stable_order(rows.cell)
    ends = np.flatnonzero(np.diff(rows.cell[order])) + 1
    for part in np.split(order, ends):
        if len(part):
            yield int(rows.cell[part[0]]), places[part]


@dataclass(frozen=True, eq=False)
class ValuesOfColumn:
    """The values of groups in one column of a table.

    Attributes:
        table: the table, which has the group of each row.
        column: the codes of the values, one per row.
        times: the number of times that each value occurs (int64); None for once.
    """

    table: PublishedColumns
    column: CodedValues
    times: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        """The number of times that each value occurs (float64)."""
        if self.times is None:
            return np.ones(len(self.column.codes))
        return self.times.astype(np.float64)

    @property
    def distinct(self) -> pa.Array:
        """The values by code, without null, which has the last code."""
        return self.column.values.drop_null()

    @property
    def there(self) -> np.ndarray:
        """True for each value that is not null (bool)."""
        there: np.ndarray = self.column.codes < len(self.distinct)
        return there

    def by_code(self, name: str) -> np.ndarray:
        """Return the values as numbers by code (float64), without null."""
        numbers = exact(self.distinct, name)
        by_code: np.ndarray = numbers.units.astype(np.float64) / 10**numbers.digits
        return by_code

    def numbers(self, name: str) -> np.ndarray:
        """Return each value as a number (float64), 0 for null."""
        numbers: np.ndarray = np.append(self.by_code(name), 0.0)[self.column.codes]
        return numbers
