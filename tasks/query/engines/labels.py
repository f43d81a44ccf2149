"""Bounds on releases with recoded quasi-identifiers.

Sensitive and insensitive values are published unchanged beside their row's labels. A condition
surely holds on a row if it holds for all values behind the row's labels, and possibly if it holds
for some. The bounds come from the best and the worst choice among the possible rows. An aggregated
value behind a label lies between the least and the greatest value that satisfy the condition.

The uniform estimator counts each row with its chance, see
`tasks.query.engines.rows_with_labels`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import Exact, exact
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.forms.labels import Between, ListedValues
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import read_labels
from sfumato.tasks.microdata.table import Column, key
from sfumato.tasks.query.behind_labels.decide import ThreeValued, columns_of, decides_labels_once
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate
from sfumato.tasks.query.bounds.extremes import estimate_of
from sfumato.tasks.query.engines.attendance import (
    Attendance,
    FullAttendance,
    PossibleRows,
    attendance_in,
)
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.query.engines.group_keys import GroupKey, group_keys
from sfumato.tasks.query.engines.hidden_values import HiddenValues, known_values
from sfumato.tasks.query.engines.rows_with_labels import Rows
from sfumato.tasks.query.question.calculations import expressions_of, put_calculated
from sfumato.tasks.query.question.conditions import all_of
from sfumato.tasks.query.question.question import TABLE, Aggregate, Key, Question
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared

_KEPT = 2  # merged rows are kept up to so many times the published rows
# a value by type of a column whose labels state none; 0 for other types
_ANY: Mapping[str, Any] = {"date": date(1970, 1, 1), "string": "", "boolean": False}


class RowsByColumns:
    """Published rows; for each question, equal rows are merged."""

    def __init__(self, rows: Rows, attendance: Attendance) -> None:
        """Take the rows; none are merged yet."""
        self._rows, self._everyone = rows, isinstance(attendance, FullAttendance)
        self._known: dict[frozenset[str], Rows] = {}

    def distinct_rows(self, names: frozenset[str]) -> Rows:
        """Return the rows merged by some columns, which are all that a question uses.

        Returns all rows unmerged if some belong to people who left, since which ones do depends on
        the group.
        """
        if not self._everyone:
            return self._rows
        if names in self._known:
            return self._known[names]
        rows = self._known[names] = self._nearest(names).merge(names)
        self._forget()
        return rows

    def _nearest(self, names: frozenset[str]) -> Rows:
        """Return the smallest set of merged rows that still separates these columns."""
        finer = [rows for columns, rows in self._known.items() if names <= columns]
        return min([self._rows, *finer], key=lambda rows: rows.number)

    def _forget(self) -> None:
        """Keep as many merged rows as there is room for, the latest ones first."""
        room = _KEPT * self._rows.number
        for names, rows in reversed(list(self._known.items())):
            room -= 0 if rows is self._rows else rows.number
            if room < 0:
                del self._known[names]


@contextmanager
def open_labels(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["LabelsEngine"]:
    """Open an engine that answers questions on a table of labels, and on calculations on labels."""
    microdata = read_table(tables[TABLE])
    expressions = expressions_of(declared.columns)
    published = {n: column for n, column in declared.columns.items() if n not in expressions}
    labels = read_labels(microdata, published, reader_for(form_of(declared)))
    plain = microdata.select([n for n in published if n not in labels])
    with session({}) as connection:
        rows = Rows(connection, declared.columns, labels, plain)
        attendance = attendance_in(tables, microdata, declared)
        alike = RowsByColumns(rows, attendance)
        yield LabelsEngine(rows, attendance, alike, {}, expressions)


@dataclass(frozen=True, eq=False)
class LabelsEngine:
    """Published rows that answer questions; equal rows are decided once.

    `numbers` caches the values of columns as exact numbers; `expressions` are the columns that are
    calculated from labels, which have no values of their own.
    """

    rows: Rows
    attendance: Attendance
    alike: RowsByColumns
    numbers: dict[str, Exact]
    expressions: Mapping[str, exp.Expr]

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the rows of an answer by the values of its group columns.

        Raises:
            QueryError: if the condition cannot be evaluated, there are too many cells, or rows that
                may count hide an aggregated value without limits.
        """
        rows = self._rows_of(question)
        keys = group_keys(rows, question.group_by, self.expressions)
        recoded = [group_key.name for group_key in keys]
        plain = [name for name in question.group_by if name not in recoded]
        answer: dict[Key, dict[Aggregate, Bounds]] = {}
        for values in product(*(group_key.values for group_key in keys)):
            condition = self._cell(question, keys, values)
            outcomes = rows.outcomes(condition)
            must = outcomes.must
            exact = condition is None or decides_labels_once(condition, rows.labels)
            cell_rows = _ConditionAggregates(self, rows, condition, {}, exact)
            for others, chosen in _split(rows, plain, outcomes):
                if question.group_by and not len(chosen):
                    continue
                values_by_name = dict(zip([*recoded, *plain], [*values, *others], strict=True))
                chance = outcomes.chance[chosen] if estimates else np.full(len(chosen), np.nan)
                times = None if rows.times is None else rows.times[chosen]
                possible = PossibleRows(chosen, must[chosen], chance, times)
                place = tuple(values_by_name[name] for name in question.group_by)
                answer[place] = {a: cell_rows.bounds(a, possible) for a in question.aggregates}
        return answer

    def _rows_of(self, question: Question) -> Rows:
        """Return the rows merged by the columns of a question."""
        names = {a.sensitive for a in question.aggregates if a.sensitive is not None}
        nodes = [self.node(name) for name in (*question.group_by, *names)]
        nodes += [] if question.condition is None else [self._put(question.condition)]
        return self.alike.distinct_rows(
            frozenset(name for node in nodes for name in columns_of(node))
        )

    def _cell(
        self, question: Question, keys: Sequence[GroupKey], values: Sequence[Any]
    ) -> exp.Expr | None:
        """Return the condition of the question, together with the values of a cell."""
        of_values = [key.condition(value) for key, value in zip(keys, values, strict=True)]
        conditions = [] if question.condition is None else [self._put(question.condition)]
        return all_of([*conditions, *of_values])

    def node(self, name: str) -> exp.Expr:
        """Return a column's node, or the expression that it is calculated by."""
        return self.expressions.get(name, exp.column(name, quoted=True))

    def _put(self, condition: exp.Expr) -> exp.Expr:
        return put_calculated(condition, self.expressions)

    def starts(self, name: str) -> list[Any]:
        """Return the least values of an ordered column's labels, ascending.

        Returns an arbitrary value if no label states one.
        """
        labels, _ = self.rows.labels[name]
        values = [v for label in labels if isinstance(label, ListedValues) for v in label.values]
        values += [label.low for label in labels if isinstance(label, Between)]
        lowest = sorted({value for value in values if value is not None})
        return lowest or [_ANY.get(self.rows.schema[name].type, 0)]

    def exact(self, column: Column) -> Exact:
        """Return the values of a column that is published unchanged, as exact numbers."""
        if column.name not in self.numbers:
            self.numbers[column.name] = exact(column.values, column.name)
        return self.numbers[column.name]

    def is_hidden(self, name: str) -> bool:
        """Decide whether a column has labels, or is calculated from columns with labels."""
        return name in self.rows.labels or name in self.expressions


@dataclass(frozen=True, eq=False)
class _ConditionAggregates:
    """Aggregates over the rows on which a condition may hold.

    `hidden` caches the values behind labels that satisfy the condition. `decided_exactly` says
    whether all outcomes that the decision leaves possible on a row really are.
    """

    engine: LabelsEngine
    rows: Rows
    condition: exp.Expr | None
    hidden: dict[str, HiddenValues]
    decided_exactly: bool

    def bounds(self, aggregate: Aggregate, rows: PossibleRows) -> Bounds:
        """Return the bounds of an aggregate over rows on which the condition may hold.

        Raises:
            QueryError: if a row that may count hides a value without limits.
        """
        bounds = self._bounds(aggregate, rows)
        return bounds if self.decided_exactly else replace(bounds, attained=False)

    def _bounds(self, aggregate: Aggregate, rows: PossibleRows) -> Bounds:
        """Return the bounds, as if the parts of the condition were independent.

        Raises:
            QueryError: if a row that may count hides a value without limits.
        """
        name, attendance = aggregate.sensitive, self.engine.attendance
        if name is None:
            least, most = attendance.counts(rows)
            expected = estimate_of(attendance.chances(rows).sum())
            return Bounds(least, most, clamp_estimate(expected, Fraction(least), Fraction(most)))
        if not self.engine.is_hidden(name):
            values = known_values(self.rows.column(name), self.engine.exact)
            return values.bounds(aggregate, rows, attendance)
        if name not in self.hidden:
            node = self.engine.node(name)
            self.hidden[name] = HiddenValues(self.rows, name, node, self.condition)
        values = self.hidden[name].values(rows, attendance, aggregate.kind.sql_name)
        return values.bounds(aggregate, rows, attendance)


def _split(
    published: Rows, plain: Sequence[str], outcomes: ThreeValued
) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
    """Yield the rows on which the condition may hold, by their values in the `plain` columns.

    Yields pairs of these values and the positions of the rows (int64, ascending).
    """
    rows = np.flatnonzero(outcomes.may)
    if not plain:
        yield (), rows
        return
    columns = [published.column(name) for name in plain]
    keys, _ = key([column.take(rows) for column in columns], len(rows))
    order = stable_order(keys)
    for of_cell in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(of_cell):
            first = rows[of_cell[0]]
            values = tuple(_value(column, int(column.codes[first])) for column in columns)
            yield values, rows[np.sort(of_cell)]


def _value(column: Column, code: int) -> Any:
    return None if code < 0 else column.values[code].as_py()
