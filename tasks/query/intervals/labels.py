"""The laws of answers on labels, for releases that show all other values as they are.

A row matches with the share of its label's values that a condition selects, fitted from all labels.
The columns behind labels are assumed to be independent; the calibrated factor corrects for cases
where they are not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.query.engines.attendance import FullAttendance
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.labels import LabelsEngine
from sfumato.tasks.query.intervals.laws_of_labels import (
    ColumnOfLabels,
    ValuesWithChances,
    fitted_shares,
    values_behind,
    values_with_chances,
)
from sfumato.tasks.query.intervals.shapes import ALIKE, Selection, selections_in
from sfumato.tasks.query.intervals.spread import AnswerLaw, NumberSpread
from sfumato.tasks.query.intervals.sums import count_of_chances, likely_size
from sfumato.tasks.query.intervals.way import Spreads
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.query.question.question import Aggregate, Question

_MOST_KEYS = 2_000  # combinations of values of group columns, for which laws are computed


class LabelsIntervals:
    """The laws of answers of an engine that reads labels."""

    laws = frozenset({"rows", *ALIKE})
    laws_over_nulls = laws

    def __init__(self, engine: LabelsEngine, _conditions: ValueConditions | None = None) -> None:
        """Find the rows that have the same labels."""
        self._rows, self._everyone = engine.rows, isinstance(engine.attendance, FullAttendance)
        self._behind: dict[str, ColumnOfLabels | None] = {}
        codes = [codes.astype(np.int64) for _, codes in engine.rows.labels.values()]
        sizes = [max(len(labels), 1) for labels, _ in engine.rows.labels.values()]
        self.classes, _ = dense(pack(codes, sizes)[0])

    def domain(self, name: str) -> Sequence[Any]:
        """Return the values of a column that labels may hide; none if they are too many."""
        if name not in self._rows.labels:
            return list(self._rows.column(name).values.to_pylist())
        column = self._column(name)
        return [] if column is None else column.values

    def times_of(self, name: str) -> np.ndarray:
        """Return how often each value of a sensitive column occurs (int64)."""
        column = self._rows.column(name)
        return np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))

    def is_plain(self, names: Sequence[str]) -> bool:
        """Decide whether everyone is still there, and no label hides values of some columns."""
        return self._everyone and not any(name in self._rows.labels for name in names)

    def codes_of(self, name: str) -> np.ndarray:
        """Return the code of each row's label or value (integers); that of null follows values."""
        if name in self._rows.labels:
            return self._rows.labels[name][1]
        column = self._rows.column(name)
        return np.where(column.codes < 0, len(column.values), column.codes).astype(np.uint32)

    def chance_of(self, selection: Selection) -> np.ndarray:
        """Return the chance of being selected behind each code of a column (float64)."""
        holds = selection.admits(self.domain(selection.name))
        column = self._column(selection.name) if selection.name in self._rows.labels else None
        if column is None:
            return np.append(holds, False).astype(float)
        return np.asarray(np.minimum(column.share @ holds, 1.0))

    def numbers_of(self, name: str) -> np.ndarray:
        """Return the values of a sensitive column as numbers, ascending (float64)."""
        numbers = exact(self._rows.column(name).values, name)
        by_code: np.ndarray = numbers.units.astype(np.float64) / 10**numbers.digits
        return by_code

    def spreads(self, question: Question) -> Spreads:
        """Return the law of each aggregate by the values of the group columns.

        There are no laws if some rows belong to people who left, for too many cells, or if a part
        of the condition is not about one column whose values are known.
        """
        whole = self._selected_rows(question.condition) if self._everyone else None
        if whole is None:
            return {}
        columns = [self._distinct(name) for name in question.group_by]
        if prod(len(values) for values in columns) > _MOST_KEYS:
            return {}
        laws = {}
        for key in product(*columns):
            cell = whole
            for name, value in zip(question.group_by, key, strict=True):
                cell = cell.narrow(*self._chance_of_value(name, value))
            if cell.chance.any():
                laws[key] = dict(self._of_cell(question, cell))
        return laws

    def _of_cell(
        self, question: Question, selected: "_SelectedLabels"
    ) -> Iterator[tuple[Aggregate, AnswerLaw]]:
        rows = np.flatnonzero(selected.chance)
        chance, groups = selected.chance[rows], len(np.unique(self.classes[rows]))
        own = cache(lambda name: self._values_of(name, rows, chance, groups))
        for aggregate in question.aggregates:
            law: AnswerLaw | None = None
            if aggregate.sensitive is None:
                law = self._count(rows, chance, groups, selected.matching)
            elif aggregate.sensitive in self._rows.labels:
                continue  # numbers behind labels have no calibrated law
            elif selected.matching is None and (values := own(aggregate.sensitive)) is not None:
                law = values.law(aggregate)
            if law is not None:
                yield aggregate, law

    def _values_of(
        self, name: str, rows: np.ndarray, chance: np.ndarray, groups: int
    ) -> ValuesWithChances | None:
        return values_with_chances(name, self._rows.column(name), rows, chance, groups)

    def _count(
        self, rows: np.ndarray, chance: np.ndarray, groups: int, matching: np.ndarray | None
    ) -> NumberSpread:
        """Return the law of the number of selected rows, or of those of them that match."""
        size = likely_size(chance, groups)
        return count_of_chances(size, chance if matching is None else chance[matching[rows]])

    def _selected_rows(self, condition: exp.Expr | None) -> "_SelectedLabels | None":
        """Return each row's chance to satisfy a condition; None if it is unknown.

        It is known if each part of the conjunction is about one column whose values are known.
        """
        selected = _SelectedLabels(np.ones(self._rows.number), None)
        for part in () if condition is None else conjuncts(condition):
            names = {column.name for column in part.find_all(exp.Column)}
            if len(names) != 1 or not self._knows(name := names.pop()):
                return None
            selected = selected.narrow(*self._chance_of_part(name, part))
        return selected

    def _knows(self, name: str) -> bool:
        """Decide whether a column is exact, or has labels with few enough values."""
        return name not in self._rows.labels or self._column(name) is not None

    def _chance_of_part(self, name: str, part: exp.Expr) -> tuple[np.ndarray, bool]:
        """Return the chance that a part holds on each row, and whether its column is sensitive."""
        selections = selections_in(part)
        values = self._values(name)
        if selections:
            holds = selections[0].admits(values.to_pylist())
        else:
            holds = self._rows.decide(pa.table({name: values}), part) == 1
        return self._chance_where(name, holds)

    def _chance_of_value(self, name: str, value: Any) -> tuple[np.ndarray, bool]:
        """Return the chance that each row has a value, and whether the column is sensitive."""
        values = self._values(name).to_pylist()
        return self._chance_where(name, np.array([other == value for other in values], dtype=bool))

    def _chance_where(self, name: str, holds: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the chance that each row has a value on which a condition holds (see `holds`).

        `holds` has one bool per value. The second result is whether the column is sensitive.
        """
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


@dataclass(frozen=True, eq=False)
class _SelectedLabels:
    """Rows that are selected by labels with chances.

    Attributes:
        chance: the chance that each row is selected (float64).
        matching: the rows whose sensitive values match (bool, one per row); None if no condition is
            on sensitive values.
    """

    chance: np.ndarray
    matching: np.ndarray | None

    def narrow(self, chance: np.ndarray, sensitive: bool) -> "_SelectedLabels":
        """Return the rows on which one more part also holds."""
        if not sensitive:
            return _SelectedLabels(self.chance * chance, self.matching)
        holds = chance > 0
        return _SelectedLabels(
            self.chance, holds if self.matching is None else self.matching & holds
        )
