"""What is likely of answers on exact rows beside shuffled values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.values import value_of
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.engine import DirectEngine
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.intervals.laws.counts import ShuffledGroups
from sfumato.tasks.query.intervals.laws.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.laws.extremes import extreme_law, missed_of_groups
from sfumato.tasks.query.intervals.laws.grouped import LEAN, LEAN_OF_SHARES
from sfumato.tasks.query.intervals.laws.normal import Z95
from sfumato.tasks.query.intervals.laws.spread import AnswerLaw, ExtremeSpread, NumberSpread
from sfumato.tasks.query.intervals.shapes.shape import column_there
from sfumato.tasks.query.intervals.ways.exact_rows import (
    ExactRows,
    NumbersOfRows,
    condition_on_one,
    size_of,
)
from sfumato.tasks.query.intervals.ways.missing import NumbersWhereKnown, numbers_where_known
from sfumato.tasks.query.intervals.ways.values_of_groups import RankedValues, ValuesOfColumn
from sfumato.tasks.query.intervals.ways.way import Spreads
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question


class RowsIntervals:
    """The laws of answers of an engine that reads exact rows."""

    laws = frozenset({"count", "sum", "avg", "min", "max"})
    laws_over_nulls = frozenset({"count", "sum", "avg"})

    def __init__(self, engine: DirectEngine, conditions: ValueConditions | None = None) -> None:
        """Read nothing yet."""
        self._tables, self._declared = engine.tables, engine.declared
        groups = len(engine.tables.sizes)
        judged = conditions or engine.conditions
        self._rows = ExactRows(engine.tables.rows, judged, engine.declared, groups)
        self._numbers: dict[str, NumbersOfRows] = {}
        self._where_known: dict[str, NumbersWhereKnown] = {}
        self._there: dict[str, _Meant] = {}
        self._items: dict[str, RankedValues] = {}

    def domain(self, name: str) -> Sequence[Any]:
        """The published values of a column, ascending, without null."""
        if self._declared.columns[name].role != "sensitive":
            return self._rows.domain(name)
        return list(self._values(name).known.to_pylist())

    def times_of(self, name: str) -> np.ndarray:
        """How often each value of a sensitive column occurs (int64), without null."""
        values = self._values(name)
        times = np.bincount(values.column.codes, values.weights, len(values.column.values))
        return times[: len(values.known)].astype(np.int64)

    def spreads(self, question: Question) -> Spreads:
        """The law of each aggregate by the values of the group columns.

        Raises:
            NotDirectError: where a condition cannot be evaluated on values.
        """
        meant = self._meant(question)
        if question.matching and meant is None:
            return {}
        return {
            key: dict(self._of_cell(question, selected, meant))
            for key, selected in self._rows.cells(question)
        }

    def _of_cell(
        self, question: Question, selected: SelectedOfGroups, meant: "_Meant | None"
    ) -> Iterator[tuple[Aggregate, AnswerLaw]]:
        if not selected.number:
            return
        for aggregate in question.aggregates:
            name, kind = str(aggregate.sensitive), aggregate.kind.name
            if meant is not None:
                law = self._of_meant(aggregate, selected, meant)
                if law is not None:
                    yield aggregate, law
            elif kind in ("min", "max"):
                yield aggregate, self._extreme(name, selected, greatest=kind == "max")
            elif kind in ("sum", "avg"):
                per_row = kind == "avg"
                yield aggregate, self._numbers_of(name).spread_over(selected, per_row=per_row)

    def _of_meant(
        self, aggregate: Aggregate, selected: SelectedOfGroups, meant: "_Meant"
    ) -> NumberSpread | None:
        """The law of a count, or of an aggregate of the column of which is said that it is there.

        None of another one, and where likely nothing is there.
        """
        if aggregate.kind.counts_rows:
            return None if aggregate.distinct else self._count(selected, meant)
        name, kind = aggregate.sensitive, aggregate.kind.name
        if name is None or name != meant.there or kind not in ("sum", "avg"):
            return None
        return self._known_of(name).spread_over(selected, per_row=kind == "avg")

    def _meant(self, question: Question) -> "_Meant | None":
        """Which values a condition on sensitive columns that go together means."""
        found = condition_on_one(question)
        if found is None:
            return None
        bundle, condition = found
        there = column_there(condition)
        if there is None:
            return self._meant_by(bundle, self._rows.conditions.rows(self._of(bundle), condition))
        if there not in self._there:
            self._there[there] = self._meant_by(bundle, self._values(there).there, there)
        return self._there[there]

    def _of(self, bundle: tuple[str, ...]) -> PublishedColumns:
        return self._tables.values(bundle)

    def _meant_by(
        self, bundle: tuple[str, ...], holds: np.ndarray, there: str | None = None
    ) -> "_Meant":
        """Those values on which a condition holds (bool)."""
        table, times = self._of(bundle), self._tables.times(bundle)
        sizes = self._tables.sizes
        weights = holds if times is None else holds * times
        number = np.bincount(table.group, weights, len(sizes)).astype(np.int64)
        share = number / np.maximum(sizes, 1)
        of_groups = GroupedNumbers(
            sizes.astype(np.float64), share, share * (1 - share), np.zeros(len(sizes))
        )
        deviations = self._rows.covariates.fit(of_groups)
        return _Meant(number, NumbersOfRows(of_groups, deviations, LEAN_OF_SHARES), there)

    def _count(self, selected: SelectedOfGroups, meant: "_Meant") -> NumberSpread:
        sizes = self._tables.sizes[selected.group]
        groups = ShuffledGroups(sizes, meant.number[selected.group], selected.hits)
        likely = meant.numbers.sum_over(selected)
        shuffled, unknown = likely.middle - likely.moved, Z95 * likely.unknown
        below, above = (float(np.hypot(end - shuffled, unknown)) for end in groups.quantiles())
        return NumberSpread(size_of(selected), likely.middle, below, above)

    def _extreme(self, name: str, selected: SelectedOfGroups, *, greatest: bool) -> ExtremeSpread:
        values, items, sizes = self._values(name).column.values, self._items_of(name), self._sizes
        hits = np.zeros(len(sizes), dtype=np.int64)
        hits[selected.group] = selected.hits
        of_group = hits[items.group]
        kept = np.flatnonzero(of_group)
        size, rank = sizes[items.group[kept]], items.rank[kept]
        if not greatest:
            kept, size, rank = kept[::-1], size[::-1], (size - 1 - rank)[::-1]
        law = extreme_law(items.code[kept], missed_of_groups(size, rank, of_group[kept]))
        whole = self._tables.is_whole(name)
        return ExtremeSpread(
            size_of(selected), law, lambda code: value_of(values[code].as_py(), whole)
        )

    @property
    def _sizes(self) -> np.ndarray:
        return self._tables.sizes

    def _values(self, name: str) -> ValuesOfColumn:
        bundle = self._tables.bundle(name)
        table, times = self._tables.values(bundle), self._tables.times(bundle)
        return ValuesOfColumn(table, table.coded(name), times)

    def _numbers_of(self, name: str) -> NumbersOfRows:
        if name not in self._numbers:
            values = self._values(name)
            self._numbers[name] = self._grouped(values, values.numbers(name), LEAN)
        return self._numbers[name]

    def _known_of(self, name: str) -> NumbersWhereKnown:
        """The same of a column of which some values are missing."""
        if name not in self._where_known:
            values = self._values(name)
            self._where_known[name] = numbers_where_known(
                values.numbers(name), values.there, values.weights, partial(self._grouped, values)
            )
        return self._where_known[name]

    def _grouped(self, values: ValuesOfColumn, numbers: np.ndarray, lean: float) -> NumbersOfRows:
        """What groups tell of numbers of their values (float64)."""
        sizes = self._sizes.astype(np.float64)
        group, per = values.table.group, np.maximum(sizes, 1)
        mean = np.bincount(group, numbers * values.weights, len(sizes)) / per
        apart = (numbers - mean[group]) ** 2
        variance = np.bincount(group, apart * values.weights, len(sizes)) / per
        of_groups = GroupedNumbers(sizes, mean, variance, np.zeros(len(sizes)))
        return NumbersOfRows(of_groups, self._rows.covariates.fit(of_groups), lean)

    def _items_of(self, name: str) -> RankedValues:
        """The values of all groups, the greatest first."""
        if name not in self._items:
            values = self._values(name)
            group, code = values.table.group, values.column.codes.astype(np.int64)
            if values.times is not None:
                group, code = np.repeat(group, values.times), np.repeat(code, values.times)
            order = stable_order(code)[::-1]
            group, code = group[order], code[order]
            by_group = stable_order(group)
            before = np.append(0, np.cumsum(np.bincount(group, minlength=len(self._sizes))))
            rank = np.empty(len(group), dtype=np.int64)
            rank[by_group] = np.arange(len(group)) - before[group[by_group]]
            self._items[name] = RankedValues(group, code, rank)
        return self._items[name]


@dataclass(frozen=True, eq=False)
class _Meant:
    """How many values of each group a condition means (int64); 1 for each of them, else 0.

    `there` is the column whose values are all meant, and nothing but its nulls is not.
    """

    number: np.ndarray
    numbers: NumbersOfRows
    there: str | None = None
