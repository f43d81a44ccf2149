"""What is likely of answers on labels, beside which all other values stand as they are.

A row is meant with the share of its label's values that a condition selects, as it is fitted from
the labels. Columns are taken to be independent behind labels; the calibrated factor makes good for
where they are not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.exact import exact
from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.values import value_of
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.labels.attendance import EveryoneIsHere
from sfumato.tasks.query.engines.labels.labels import LabelsEngine
from sfumato.tasks.query.intervals.laws.chances import (
    count_of_chances,
    mean_of_chances,
    sum_of_chances,
)
from sfumato.tasks.query.intervals.laws.extremes import extreme_law
from sfumato.tasks.query.intervals.laws.spread import (
    AnswerLaw,
    ExtremeSpread,
    SelectedSize,
)
from sfumato.tasks.query.intervals.shapes.selection import selections_in
from sfumato.tasks.query.intervals.ways.behind_labels import (
    ColumnOfLabels,
    fitted_shares,
    values_behind,
)
from sfumato.tasks.query.intervals.ways.way import Spreads
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.query.question.question import Question

_MOST_KEYS = 2_000


class LabelsIntervals:
    """The laws of answers of an engine that reads labels."""

    laws = frozenset({"rows", "count", "sum", "avg", "min", "max"})
    laws_over_nulls = frozenset[str]()

    def __init__(self, engine: LabelsEngine, _conditions: ValueConditions | None = None) -> None:
        """Know which rows have the same labels."""
        self._rows, self._everyone = engine.rows, isinstance(engine.attendance, EveryoneIsHere)
        self._behind: dict[str, ColumnOfLabels | None] = {}
        self._numbers: dict[str, np.ndarray] = {}
        codes = [codes.astype(np.int64) for _, codes in engine.rows.labels.values()]
        sizes = [max(len(labels), 1) for labels, _ in engine.rows.labels.values()]
        self._class, _ = dense(pack(codes, sizes)[0])

    def domain(self, name: str) -> Sequence[Any]:
        """The values of a column that may be behind its labels; none where they are too many."""
        if name not in self._rows.labels:
            return list(self._rows.column(name).values.to_pylist())
        found = self._column(name)
        return [] if found is None else found.values

    def times_of(self, name: str) -> np.ndarray:
        """How often each value of a sensitive column occurs (int64)."""
        column = self._rows.column(name)
        return np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))

    def spreads(self, question: Question) -> Spreads:
        """The law of each aggregate by the values of the group columns."""
        whole = self._selected(question.condition) if self._everyone else None
        if whole is None:
            return {}
        columns = [self._distinct(name) for name in question.group_by]
        if prod(len(values) for values in columns) > _MOST_KEYS:
            return {}
        found = {}
        for key in product(*columns):
            cell = whole
            for name, value in zip(question.group_by, key, strict=True):
                cell = cell.narrowed(*self._where(name, value))
            if cell.chance.any():
                found[key] = dict(self._of_cell(question, cell))
        return found

    def _of_cell(
        self, question: Question, selected: "_SelectedLabels"
    ) -> Iterator[tuple[Aggregate, AnswerLaw]]:
        rows = np.flatnonzero(selected.chance)
        size, chance = self._size(rows, selected.chance[rows]), selected.chance[rows]
        if selected.meant is not None:
            kept = selected.meant[rows]
            rows, chance = rows[kept], chance[kept]
        for aggregate in question.aggregates:
            name, kind = aggregate.sensitive, aggregate.kind.name
            if name is None:
                yield aggregate, count_of_chances(size, chance)
            elif selected.meant is None and not self._rows.column(name).has_null:
                if kind in ("min", "max"):
                    yield aggregate, self._extreme(name, rows, chance, size, kind == "max")
                elif kind in ("sum", "avg"):
                    of = sum_of_chances if kind == "sum" else mean_of_chances
                    yield aggregate, of(size, chance, self._numbers_of(name)[rows])

    def _size(self, rows: np.ndarray, chance: np.ndarray) -> SelectedSize:
        """How many rows are likely to be selected at least, and of how many classes."""
        law = count_of_chances(SelectedSize(0, 0), chance)
        return SelectedSize(law.estimate - law.below, len(np.unique(self._class[rows])))

    def _selected(self, condition: exp.Expr | None) -> "_SelectedLabels | None":
        """The chance of each row that a conjunction means it; None of other conditions."""
        found = _SelectedLabels(np.ones(self._rows.number), None)
        for part in () if condition is None else conjuncts(condition):
            names = {column.name for column in part.find_all(exp.Column)}
            if len(names) != 1 or not self._knows(name := names.pop()):
                return None
            found = found.narrowed(*self._part(name, part))
        return found

    def _knows(self, name: str) -> bool:
        return name not in self._rows.labels or self._column(name) is not None

    def _part(self, name: str, part: exp.Expr) -> tuple[np.ndarray, bool]:
        """The chance that a part holds on each row, and whether it is on a sensitive column."""
        drawn = selections_in(part)
        values = self._values(name)
        if drawn:
            holds = drawn[0].admits(values.to_pylist())
        else:
            holds = self._rows.decide(pa.table({name: values}), part) == 1
        return self._holding(name, holds)

    def _where(self, name: str, value: Any) -> tuple[np.ndarray, bool]:
        """The chance that each row has a value, and whether the column is sensitive."""
        values = self._values(name).to_pylist()
        return self._holding(name, np.array([of == value for of in values], dtype=bool))

    def _holding(self, name: str, holds: np.ndarray) -> tuple[np.ndarray, bool]:
        column = self._column(name) if name in self._rows.labels else None
        if column is not None:
            return np.minimum(column.share @ holds, 1.0)[column.codes], False
        sensitive = self._rows.schema[name].role == "sensitive"
        return np.append(holds, False)[self._rows.column(name).codes].astype(float), sensitive

    def _values(self, name: str) -> pa.Array:
        if name not in self._rows.labels:
            return self._rows.column(name).values
        return pa.array(self.domain(name), self._rows.schema[name].arrow_type)

    def _distinct(self, name: str) -> Sequence[Any]:
        return list(self._values(name).to_pylist())

    def _column(self, name: str) -> "ColumnOfLabels | None":
        if name not in self._behind:
            labels, codes = self._rows.labels[name]
            values = values_behind(labels, self._rows.schema[name].type)
            self._behind[name] = fitted_shares(labels, codes, values) if values else None
        return self._behind[name]

    def _numbers_of(self, name: str) -> np.ndarray:
        if name not in self._numbers:
            column = self._rows.column(name)
            known = exact(column.values, name)
            of_value = known.units.astype(np.float64) / 10**known.digits
            self._numbers[name] = of_value[column.codes]
        return self._numbers[name]

    def _extreme(
        self, name: str, rows: np.ndarray, chance: np.ndarray, size: SelectedSize, greatest: bool
    ) -> ExtremeSpread:
        column = self._rows.column(name)
        codes = column.codes[rows].astype(np.int64)
        order = stable_order(-codes if greatest else codes)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(chance[order], 1.0))
        values, whole = column.values, bool(pa.types.is_integer(column.values.type))
        return ExtremeSpread(
            size,
            extreme_law(codes[order], missed),
            lambda code: value_of(values[code].as_py(), whole),
        )


@dataclass(frozen=True, eq=False)
class _SelectedLabels:
    """Rows by the chance that they are selected (float64), and meant by a sensitive value (bool).

    `meant` is None where no condition is on sensitive values.
    """

    chance: np.ndarray
    meant: np.ndarray | None

    def narrowed(self, chance: np.ndarray, sensitive: bool) -> "_SelectedLabels":
        """Those of them on which one more part holds."""
        if not sensitive:
            return _SelectedLabels(self.chance * chance, self.meant)
        holds = chance > 0
        return _SelectedLabels(self.chance, holds if self.meant is None else self.meant & holds)
