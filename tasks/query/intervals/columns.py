"""What is likely of counts where every quasi-identifier stands by itself: worlds are sampled.

A world is consistent with the release: in every group each admitted value occurs at least once, the
other rows have values as often as the help table expects them, and nothing tells which values go
together. The worlds are drawn by a fixed seed, so that whoever asks gets the same interval; nothing
that is published depends on it.
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

_WORLDS = (8, 40)
_ROWS = 2_000_000  # of all worlds together
_MOST_KEYS = 500
_LEAN = 0.2  # by which the odds of a row to be meant may be off, for all rows alike


class ColumnsIntervals:
    """The laws of counts of an engine that sees each quasi-identifier by itself."""

    laws = frozenset({"rows", "count"})
    laws_over_nulls = frozenset({"count"})

    def __init__(self, engine: CountsEngine, conditions: ValueConditions | None = None) -> None:
        """Sample nothing yet.

        Raises:
            NotDirectError: where versions are composed, and not all rows are people's.
        """
        if engine.declared.composed:
            raise NotDirectError
        self._connection, self._declared = engine.connection, engine.declared
        self._conditions = conditions or ValueConditions(engine.connection)
        self._tables = tables_of_counts(engine.declared)
        self._published: dict[str, PublishedColumns] = {}
        self._sampled: dict[str, np.ndarray] = {}

    def domain(self, name: str) -> Sequence[Any]:
        """The published values of a column, ascending, without null."""
        return list(self._table(name).coded(name).values.drop_null().to_pylist())

    def times_of(self, name: str) -> np.ndarray:
        """How often each value of a sensitive column occurs (int64), without null."""
        table = self._table(name)
        coded = table.coded(name)
        times = np.bincount(coded.codes, table.numbers("count"), len(coded.values))
        return times[: len(coded.values) - coded.values.null_count].astype(np.int64)

    def spreads(self, question: Question) -> Spreads:
        """The law of the count by the values of the group columns.

        Raises:
            NotDirectError: where a condition cannot be evaluated on values.
        """
        keys = [self.domain(name) for name in question.group_by]
        if prod(len(values) for values in keys) > _MOST_KEYS:
            return {}
        whole = self._selected(question)
        if whole is None:
            return {}
        found = {}
        for key in product(*keys):
            selected, meant = whole
            for name, value in zip(question.group_by, key, strict=True):
                selected = selected & self._where(name, value)
            found[key] = dict.fromkeys(question.aggregates, self._spread(selected, meant))
        return found

    def _selected(self, question: Question) -> tuple[np.ndarray, np.ndarray | None] | None:
        """The rows that are selected in each world, and those that a sensitive value means."""
        if question.condition is not None:
            return None
        selected, meant = np.ones((self._worlds, self._number), dtype=bool), None
        for matching in question.matching:
            if matching.columns not in self._tables:
                (name,) = matching.columns
                selected &= self._holding(name, matching.condition)
            elif meant is None:
                meant = self._meant(self._tables[matching.columns], matching.condition)
            else:
                return None
        return selected, meant

    def _holding(self, name: str, condition: exp.Expr) -> np.ndarray:
        """The rows with a value on which a condition holds (bool, worlds x rows)."""
        values = self._table(name).coded(name).values
        alone = PublishedColumns(pa.table({name: values, GROUP_ID: np.arange(len(values))}))
        found: np.ndarray = self._conditions.rows(alone, condition)[self._codes(name)]
        return found

    def _where(self, name: str, value: Any) -> np.ndarray:
        """The rows with a value (bool, worlds x rows)."""
        wanted = [of == value for of in self._table(name).coded(name).values.to_pylist()]
        found: np.ndarray = np.array(wanted, dtype=bool)[self._codes(name)]
        return found

    def _meant(self, table: str, condition: exp.Expr) -> np.ndarray:
        """The rows with a sensitive value on which a condition holds (bool, one per row).

        It does not matter which rows of a group they are: in worlds these are in random order.
        """
        counts = self._read(table)
        order = np.argsort(counts.group, kind="stable")
        holds = self._conditions.rows(counts, condition)
        return np.repeat(holds[order], counts.numbers("count")[order])

    def _spread(self, selected: np.ndarray, meant: np.ndarray | None) -> NumberSpread:
        size = self._law(selected, SelectedSize(0, 0))
        groups = np.unique(self._group[selected.any(axis=0)])
        known = SelectedSize(size.estimate - size.below, len(groups))
        return self._law(selected if meant is None else selected & meant, known)

    def _law(self, counted: np.ndarray, size: SelectedSize) -> NumberSpread:
        """The law of how many rows count (bool, worlds x rows)."""
        of_worlds = counted.sum(axis=1)
        of_groups = np.bincount(self._group, counted.mean(axis=0), len(self._sizes))
        lean = _LEAN * float((of_groups * (1 - of_groups / self._sizes)).sum())
        width = Z95 * float(np.hypot(of_worlds.std(ddof=1), lean))
        return NumberSpread(size, float(of_worlds.mean()), width, width)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """How many rows each group has (int64)."""
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
        """The code of each row's value in each world (integers, worlds x rows)."""
        if name not in self._sampled:
            table = self._table(name)
            seed = self._declared.named("quasi-identifier").index(name)
            expected = np.asarray(table.read(expected_name(name)).to_numpy(), dtype=np.float64)
            admitted = _AdmittedValues(table.group, table.coded(name).codes, expected)
            self._sampled[name] = _sample(admitted, self._sizes, self._worlds, seed)
        return self._sampled[name]

    def _table(self, name: str) -> PublishedColumns:
        if self._declared.columns[name].role != "sensitive":
            return self._read(help_name(name))
        return self._read(next(table for of, table in self._tables.items() if name in of))

    def _read(self, table: str) -> PublishedColumns:
        if table not in self._published:
            query = exp.select("*").from_(exp.table_(table, quoted=True))
            self._published[table] = PublishedColumns(fetch_table(self._connection, query))
        return self._published[table]


@dataclass(frozen=True, eq=False)
class _AdmittedValues:
    """The values that groups admit: group and code of each, and how often it is expected there."""

    group: np.ndarray
    code: np.ndarray
    expected: np.ndarray


def _sample(admitted: _AdmittedValues, sizes: np.ndarray, worlds: int, seed: int) -> np.ndarray:
    """The code of each row's value in each world (int32, worlds x rows), rows by their group."""
    generator = np.random.default_rng(seed)
    order = np.argsort(admitted.group, kind="stable")
    group, code = admitted.group[order], admitted.code[order].astype(np.int32)
    weight = np.cumsum(np.maximum(admitted.expected[order] - 1.0, 1e-9))
    number = np.bincount(group, minlength=len(sizes))
    first, start = np.cumsum(number) - number, np.cumsum(sizes) - sizes
    before = np.append(0.0, weight)
    low, high = before[first], before[first + number]
    places = start[group] + np.arange(len(group)) - first[group]
    spare = np.ones(int(sizes.sum()), dtype=bool)
    spare[places] = False
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    of_spare = of_row[spare]
    found = np.empty((worlds, len(of_row)), dtype=np.int32)
    for world in found:
        at = low[of_spare] + generator.random(len(of_spare)) * (high - low)[of_spare]
        drawn = np.searchsorted(weight, at, side="right")
        world[places] = code
        world[spare] = code[np.clip(drawn, first[of_spare], (first + number - 1)[of_spare])]
        world[:] = world[np.argsort(of_row + generator.random(len(of_row)))]
    return found
