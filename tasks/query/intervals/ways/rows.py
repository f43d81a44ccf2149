"""What is likely of answers on exact rows beside shuffled values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.expectations.exact import exact
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.values import value_of
from sfumato.tasks.query.engines.direct.coded_values import CodedValues
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.engine import DirectEngine
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.intervals.laws.counts import ShuffledGroups
from sfumato.tasks.query.intervals.laws.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.laws.extremes import extreme_law, missed_of_groups
from sfumato.tasks.query.intervals.laws.grouped import LEAN_OF_SHARES
from sfumato.tasks.query.intervals.laws.normal import Z95
from sfumato.tasks.query.intervals.laws.spread import AnswerLaw, ExtremeSpread, NumberSpread
from sfumato.tasks.query.intervals.ways.exact_rows import (
    ExactRows,
    NumbersOfRows,
    condition_on_one,
    size_of,
)
from sfumato.tasks.query.intervals.ways.way import Spreads
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Question


class RowsIntervals:
    """The laws of answers of an engine that reads exact rows."""

    laws = frozenset({"count", "sum", "avg", "min", "max"})

    def __init__(self, engine: DirectEngine, conditions: ValueConditions | None = None) -> None:
        """Read nothing yet."""
        self._tables, self._declared = engine.tables, engine.declared
        groups = len(engine.tables.sizes)
        judged = conditions or engine.conditions
        self._rows = ExactRows(engine.tables.rows, judged, engine.declared, groups)
        self._numbers: dict[str, NumbersOfRows] = {}
        self._items: dict[str, _RankedValues] = {}

    def domain(self, name: str) -> Sequence[Any]:
        """The published values of a column, ascending, without null."""
        if self._declared.columns[name].role != "sensitive":
            return self._rows.domain(name)
        return list(self._values(name).column.values.drop_null().to_pylist())

    def times_of(self, name: str) -> np.ndarray:
        """How often each value of a sensitive column occurs (int64)."""
        values = self._values(name)
        return np.bincount(values.column.codes, values.weights).astype(np.int64)

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
                if aggregate.kind.counts_rows:
                    yield aggregate, self._count(selected, meant)
            elif kind in ("min", "max"):
                yield aggregate, self._extreme(name, selected, greatest=kind == "max")
            elif kind in ("sum", "avg"):
                per_row = kind == "avg"
                yield aggregate, self._numbers_of(name).spread_over(selected, per_row=per_row)

    def _meant(self, question: Question) -> "_Meant | None":
        """Which values a condition on sensitive columns that go together means."""
        found = condition_on_one(question)
        if found is None:
            return None
        bundle, condition = found
        table, times = self._tables.values(bundle), self._tables.times(bundle)
        holds = self._rows.conditions.rows(table, condition)
        sizes = self._tables.sizes
        weights = holds if times is None else holds * times
        number = np.bincount(table.group, weights, len(sizes)).astype(np.int64)
        share = number / np.maximum(sizes, 1)
        of_groups = GroupedNumbers(
            sizes.astype(np.float64), share, share * (1 - share), np.zeros(len(sizes))
        )
        deviations = self._rows.covariates.fit(of_groups)
        return _Meant(number, NumbersOfRows(of_groups, deviations, LEAN_OF_SHARES))

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

    def _values(self, name: str) -> "_ValuesOfColumn":
        bundle = self._tables.bundle(name)
        table, times = self._tables.values(bundle), self._tables.times(bundle)
        return _ValuesOfColumn(table, table.coded(name), times)

    def _numbers_of(self, name: str) -> NumbersOfRows:
        if name not in self._numbers:
            values = self._values(name)
            known = exact(values.column.values, name)
            of_value = known.units.astype(np.float64) / 10**known.digits
            of_row, sizes = of_value[values.column.codes], self._sizes.astype(np.float64)
            group, per = values.table.group, np.maximum(sizes, 1)
            mean = np.bincount(group, of_row * values.weights, len(sizes)) / per
            apart = (of_row - mean[group]) ** 2
            variance = np.bincount(group, apart * values.weights, len(sizes)) / per
            of_groups = GroupedNumbers(sizes, mean, variance, np.zeros(len(sizes)))
            deviations = self._rows.covariates.fit(of_groups)
            self._numbers[name] = NumbersOfRows(of_groups, deviations)
        return self._numbers[name]

    def _items_of(self, name: str) -> "_RankedValues":
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
            self._items[name] = _RankedValues(group, code, rank)
        return self._items[name]


@dataclass(frozen=True, eq=False)
class _ValuesOfColumn:
    """The values of groups in a table, and how often each stands there (None: once)."""

    table: PublishedColumns
    column: CodedValues
    times: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        """How often each stands there (float64)."""
        if self.times is None:
            return np.ones(len(self.column.codes))
        return self.times.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _RankedValues:
    """The values of groups one by one, the greatest first: group, code, and rank in the group."""

    group: np.ndarray
    code: np.ndarray
    rank: np.ndarray


@dataclass(frozen=True, eq=False)
class _Meant:
    """How many values of each group a condition means (int64); 1 for each of them, else 0."""

    number: np.ndarray
    numbers: NumbersOfRows
