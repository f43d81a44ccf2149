"""The laws of answers on exact rows beside shuffled values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.direct import DirectEngine
from sfumato.tasks.query.engines.published_columns import PublishedColumns
from sfumato.tasks.query.intervals.counts import ShuffledGroups
from sfumato.tasks.query.intervals.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.exact_rows import (
    ExactRows,
    NumbersOfRows,
    ValuesOfColumn,
    condition_on_one,
    size_of,
)
from sfumato.tasks.query.intervals.laws_of_column import LawsOfColumn, LawsOverRows
from sfumato.tasks.query.intervals.shapes import ALIKE, column_there
from sfumato.tasks.query.intervals.spread import Z95, AnswerLaw, NumberSpread
from sfumato.tasks.query.intervals.sums import LEAN_OF_SHARES
from sfumato.tasks.query.intervals.way import Spreads
from sfumato.tasks.query.question.question import Aggregate, Question


class RowsIntervals:
    """The laws of answers of an engine that reads exact rows."""

    laws = frozenset(ALIKE)
    laws_over_nulls = laws

    def __init__(self, engine: DirectEngine, conditions: ValueConditions | None = None) -> None:
        """Read nothing yet."""
        self._tables, self.declared = engine.tables, engine.declared
        groups = len(engine.tables.sizes)
        judged = conditions or engine.conditions
        self.rows = ExactRows(engine.tables.rows, judged, engine.declared, groups)
        self._columns: dict[str, LawsOfColumn] = {}
        self._there: dict[str, _MatchingValues] = {}

    @property
    def sizes(self) -> np.ndarray:
        """The number of values of each group (int64)."""
        return self._tables.sizes

    def domain(self, name: str) -> Sequence[Any]:
        """Return the published values of a column, ascending, without null."""
        if self.declared.columns[name].role != "sensitive":
            return self.rows.domain(name)
        return list(self.values_of(name).distinct.to_pylist())

    def times_of(self, name: str) -> np.ndarray:
        """Return how often each value of a sensitive column occurs (int64), without null."""
        values = self.values_of(name)
        times = np.bincount(values.column.codes, values.weights, len(values.column.values))
        return times[: len(values.distinct)].astype(np.int64)

    def spreads(self, question: Question) -> Spreads:
        """Return the law of each aggregate by the values of the group columns.

        There are no laws if several conditions are on sensitive values.

        Raises:
            NotDirectError: if a condition cannot be evaluated on values.
        """
        matching = self._matching_values(question)
        if question.matching and matching is None:
            return {}
        return {
            key: dict(self._of_cell(question, selected, matching))
            for key, selected in self.rows.cells(question)
        }

    def _of_cell(
        self, question: Question, selected: SelectedOfGroups, matching: "_MatchingValues | None"
    ) -> Iterator[tuple[Aggregate, AnswerLaw]]:
        if not selected.number:
            return
        laws_over = cache(lambda name: self.laws_of(name).over_rows(selected))
        for aggregate in question.aggregates:
            if aggregate.kind.counts_rows:
                law = self._of_count(aggregate, selected, matching)
            else:
                law = self._of_column(aggregate, laws_over, matching)
            if law is not None:
                yield aggregate, law

    def _of_count(
        self, aggregate: Aggregate, selected: SelectedOfGroups, matching: "_MatchingValues | None"
    ) -> AnswerLaw | None:
        """Return the law of a count; None without a sensitive condition, since it is exact then."""
        return None if matching is None or aggregate.distinct else self._count(selected, matching)

    def _of_column(
        self,
        aggregate: Aggregate,
        laws_over: Callable[[str], LawsOverRows],
        matching: "_MatchingValues | None",
    ) -> AnswerLaw | None:
        """Return the law of an aggregate of a column; None if it has none.

        It has none if the sensitive condition excludes more than the nulls of the same column.
        """
        name = aggregate.sensitive
        if name is None or (matching is not None and matching.there != name):
            return None
        return laws_over(name).law(aggregate)

    def _matching_values(self, question: Question) -> "_MatchingValues | None":
        """Return the values that match the only sensitive condition; None unless there is one."""
        single = condition_on_one(question)
        if single is None:
            return None
        bundle, condition = single
        there = column_there(condition)
        if there is None:
            return self._matching_where(
                bundle, self.rows.conditions.rows(self._table(bundle), condition)
            )
        if there not in self._there:
            self._there[there] = self._matching_where(bundle, self.values_of(there).there, there)
        return self._there[there]

    def _table(self, bundle: tuple[str, ...]) -> PublishedColumns:
        return self._tables.values(bundle)

    def _matching_where(
        self, bundle: tuple[str, ...], holds: np.ndarray, there: str | None = None
    ) -> "_MatchingValues":
        """Return the values on which a condition holds (`holds`, bool, one per value).

        `there` is their column if the condition only excludes its nulls.
        """
        table, times = self._table(bundle), self._tables.times(bundle)
        sizes = self._tables.sizes
        weights = holds if times is None else holds * times
        number = np.bincount(table.group, weights, len(sizes)).astype(np.int64)
        share = number / np.maximum(sizes, 1)
        of_groups = GroupedNumbers(
            sizes.astype(np.float64), share, share * (1 - share), np.zeros(len(sizes))
        )
        deviations = self.rows.covariates.fit(of_groups)
        return _MatchingValues(number, NumbersOfRows(of_groups, deviations, LEAN_OF_SHARES), there)

    def _count(self, selected: SelectedOfGroups, matching: "_MatchingValues") -> NumberSpread:
        """Return the law of the number of selected rows that match.

        The range joins that of shuffling, computed exactly, with that of unknown effects.
        """
        sizes = self._tables.sizes[selected.group]
        groups = ShuffledGroups(sizes, matching.number[selected.group], selected.hits)
        likely = matching.numbers.sum_over(selected)
        shuffled, unknown = likely.middle - likely.moved, Z95 * likely.unknown
        below, above = (float(np.hypot(end - shuffled, unknown)) for end in groups.quantiles())
        return NumberSpread(size_of(selected), likely.middle, below, above)

    def values_of(self, name: str) -> ValuesOfColumn:
        """Return the values of a sensitive column in the groups."""
        bundle = self._tables.bundle(name)
        table, times = self._tables.values(bundle), self._tables.times(bundle)
        return ValuesOfColumn(table, table.coded_column(name), times)

    def laws_of(self, name: str) -> LawsOfColumn:
        """Return the laws of the aggregates of a sensitive column."""
        if name not in self._columns:
            whole = self._tables.is_whole(name)
            self._columns[name] = LawsOfColumn(
                name, self.values_of(name), self._tables.sizes, self.rows, whole=whole
            )
        return self._columns[name]


@dataclass(frozen=True, eq=False)
class _MatchingValues:
    """The values that match a condition.

    Attributes:
        number: the number of matching values of each group (int64).
        numbers: the numbers of rows that are 1 for a row that matches, and 0 for another one.
        there: the column whose values all match, if the condition excludes only its nulls.
    """

    number: np.ndarray
    numbers: NumbersOfRows
    there: str | None = None
