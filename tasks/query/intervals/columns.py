"""The laws of counts from sampled worlds, for releases that show each quasi-identifier separately.

A world is a table consistent with the release. In every group each admitted value occurs at least
once, the other rows have values as often as the help table expects them, and values of different
columns are independent. The worlds are drawn by a fixed seed, so that everyone gets the same
interval; nothing that is published depends on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.query.engines.columns import CountsEngine
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.query.help_tables.rows import expected_name, help_name
from sfumato.tasks.query.intervals.spread import Z95, NumberSpread, SelectedSize
from sfumato.tasks.query.intervals.way import Spreads
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import GROUP_ID, tables_of_counts
from sfumato.tasks.sql.session import fetch_table

_WORLDS = (8, 40)  # the least and the greatest number of worlds
_ROWS = 2_000_000  # of all worlds together
_MOST_KEYS = 500  # combinations of values of group columns, for which laws are computed
_LEAN = 0.2  # error of the log odds that a row counts, the same for all rows


class ColumnsIntervals:
    """The laws of counts of an engine that sees each quasi-identifier separately."""

    laws = frozenset({"rows", "count"})
    laws_over_nulls = frozenset({"count"})

    def __init__(self, engine: CountsEngine, conditions: ValueConditions | None = None) -> None:
        """Sample nothing yet.

        Raises:
            NotDirectError: if versions are composed, since then some rows belong to no person.
        """
        if engine.declared.is_composed:
            raise NotDirectError
        self._connection, self._declared = engine.connection, engine.declared
        self._conditions = conditions or ValueConditions(engine.connection)
        self._tables = tables_of_counts(engine.declared)
        self._published: dict[str, PublishedColumns] = {}
        self._sampled: dict[str, np.ndarray] = {}

    def domain(self, name: str) -> Sequence[Any]:
        """Return the published values of a column, ascending, without null."""
        return list(self._table(name).coded_column(name).values.drop_null().to_pylist())

    def times_of(self, name: str) -> np.ndarray:
        """Return how often each value of a sensitive column occurs (int64), without null."""
        table = self._table(name)
        coded = table.coded_column(name)
        times = np.bincount(coded.codes, table.numbers("count"), len(coded.values))
        return times[: len(coded.values) - coded.values.null_count].astype(np.int64)

    def spreads(self, question: Question) -> Spreads:
        """Return the law of the count by the values of the group columns.

        There are no laws for too many cells, or for conditions other than those on one column each,
        of which at most one is on sensitive values.

        Raises:
            NotDirectError: if a condition cannot be evaluated on values.
        """
        keys = [self.domain(name) for name in question.group_by]
        if prod(len(values) for values in keys) > _MOST_KEYS:
            return {}
        whole = self._selected_rows(question)
        if whole is None:
            return {}
        laws = {}
        for key in product(*keys):
            selected, matches = whole
            for name, value in zip(question.group_by, key, strict=True):
                selected = selected & self._rows_with(name, value)
            laws[key] = dict.fromkeys(question.aggregates, self._spread(selected, matches))
        return laws

    def _selected_rows(self, question: Question) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Return the selected rows of each world, and the rows that match a sensitive condition.

        Returns:
            The rows (bool, worlds x rows), and the matching rows (bool, one per row; None without
            a sensitive condition). None if there is no law.
        """
        if question.condition is not None:
            return None
        selected, matches = np.ones((self._worlds, self._number), dtype=bool), None
        for matching in question.matching:
            if matching.columns not in self._tables:
                (name,) = matching.columns
                selected &= self._rows_holding(name, matching.condition)
            elif matches is None:
                matches = self._matching_rows(self._tables[matching.columns], matching.condition)
            else:
                return None
        return selected, matches

    def _rows_holding(self, name: str, condition: exp.Expr) -> np.ndarray:
        """Return the rows whose value meets a condition (bool, worlds x rows)."""
        values = self._table(name).coded_column(name).values
        distinct = PublishedColumns(pa.table({name: values, GROUP_ID: np.arange(len(values))}))
        rows: np.ndarray = self._conditions.rows(distinct, condition)[self._codes(name)]
        return rows

    def _rows_with(self, name: str, value: Any) -> np.ndarray:
        """Return the rows with a value (bool, worlds x rows)."""
        is_value = [
            other == value for other in self._table(name).coded_column(name).values.to_pylist()
        ]
        rows: np.ndarray = np.array(is_value, dtype=bool)[self._codes(name)]
        return rows

    def _matching_rows(self, table: str, condition: exp.Expr) -> np.ndarray:
        """Return the rows whose sensitive value meets a condition (bool, one per row).

        It does not matter which rows of a group they are: in worlds the rows of a group are in
        random order.
        """
        counts = self._read(table)
        order = np.argsort(counts.group, kind="stable")
        holds = self._conditions.rows(counts, condition)
        return np.repeat(holds[order], counts.numbers("count")[order])

    def _spread(self, selected: np.ndarray, matches: np.ndarray | None) -> NumberSpread:
        """Return the law of the number of selected rows, or of those of them that match."""
        size = self._law(selected, SelectedSize(0, 0))
        groups = np.unique(self._group[selected.any(axis=0)])
        least_size = SelectedSize(size.estimate - size.below, len(groups))
        return self._law(selected if matches is None else selected & matches, least_size)

    def _law(self, counted: np.ndarray, size: SelectedSize) -> NumberSpread:
        """Return the law of the number of counted rows, which are given as bool (worlds x rows)."""
        # if the log odds of all rows are off by `_LEAN`, the count is off by `_LEAN` variances
        of_worlds = counted.sum(axis=1)
        of_groups = np.bincount(self._group, counted.mean(axis=0), len(self._sizes))
        lean = _LEAN * float((of_groups * (1 - of_groups / self._sizes)).sum())
        width = Z95 * float(np.hypot(of_worlds.std(ddof=1), lean))
        return NumberSpread(size, float(of_worlds.mean()), width, width)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """The number of rows of each group (int64)."""
        counts = self._read(next(iter(self._tables.values())))
        return np.bincount(counts.group, counts.numbers("count")).astype(np.int64)

    @cached_property
    def _group(self) -> np.ndarray:
        """The group of each row (int64)."""
        return np.repeat(np.arange(len(self._sizes)), self._sizes)

    @property
    def _number(self) -> int:
        return len(self._group)

    @property
    def _worlds(self) -> int:
        least, most = _WORLDS
        return min(max(_ROWS // max(self._number, 1), least), most)

    def _codes(self, name: str) -> np.ndarray:
        """Return the code of each row's value in each world (integers, worlds x rows)."""
        if name not in self._sampled:
            table = self._table(name)
            seed = self._declared.names_with_roles("quasi-identifier").index(name)
            expected = np.asarray(table.read(expected_name(name)).to_numpy(), dtype=np.float64)
            admitted = _AdmittedValues(table.group, table.coded_column(name).codes, expected)
            self._sampled[name] = _sample(admitted, self._sizes, self._worlds, seed)
        return self._sampled[name]

    def _table(self, name: str) -> PublishedColumns:
        if self._declared.columns[name].role != "sensitive":
            return self._read(help_name(name))
        return self._read(next(table for columns, table in self._tables.items() if name in columns))

    def _read(self, table: str) -> PublishedColumns:
        if table not in self._published:
            query = exp.select("*").from_(exp.table_(table, quoted=True))
            self._published[table] = PublishedColumns(fetch_table(self._connection, query))
        return self._published[table]


@dataclass(frozen=True, eq=False)
class _AdmittedValues:
    """The values that groups admit: group, code, and how often each is expected there."""

    group: np.ndarray
    code: np.ndarray
    expected: np.ndarray


def _sample(admitted: _AdmittedValues, sizes: np.ndarray, worlds: int, seed: int) -> np.ndarray:
    """Return the code of each row's value in each world (int32, worlds x rows), rows by group.

    Each admitted value takes one row of its group. The spare rows draw from the group's other
    expected values, and then the rows of each group are put into random order.
    """
    generator = np.random.default_rng(seed)
    order = np.argsort(admitted.group, kind="stable")
    group, code = admitted.group[order], admitted.code[order].astype(np.int32)
    # the values of a group follow each other; their weights are added up to draw by a random point
    weight = np.cumsum(np.maximum(admitted.expected[order] - 1.0, 1e-9))
    number = np.bincount(group, minlength=len(sizes))
    first, start = np.cumsum(number) - number, np.cumsum(sizes) - sizes
    before = np.append(0.0, weight)
    low, high = before[first], before[first + number]
    # the first rows of each group have its admitted values; the others are spare
    places = start[group] + np.arange(len(group)) - first[group]
    spare = np.ones(int(sizes.sum()), dtype=bool)
    spare[places] = False
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    of_spare = of_row[spare]
    codes = np.empty((worlds, len(of_row)), dtype=np.int32)
    for world in codes:
        points = low[of_spare] + generator.random(len(of_spare)) * (high - low)[of_spare]
        indexes = np.searchsorted(weight, points, side="right")
        world[places] = code
        world[spare] = code[np.clip(indexes, first[of_spare], (first + number - 1)[of_spare])]
        world[:] = world[np.argsort(of_row + generator.random(len(of_row)))]
    return codes
