"""Bounds on releases with recoded quasi-identifiers: rows are meant surely, maybe or not.

Sensitive and insensitive values stand beside their row's labels as they are. So a query surely
means the rows on which its condition holds for all values behind their labels, and may mean those
on which it holds for some: the bounds come from the best and the worst choice among these. What is
aggregated of a label is between the least and the greatest value that the condition leaves of it.

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

from sfumato.expectations.exact import Exact, exact
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.forms.labels import Between, ListedValues
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import read_labels
from sfumato.tasks.microdata.table import Column, key
from sfumato.tasks.query.behind_labels.decide import ThreeValued, columns_of, decides_labels_once
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.extremes import estimate_of
from sfumato.tasks.query.engines.attendance import Attendance, EveryoneIsHere, Meant, attendance_in
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

_KEPT = 2  # as many rows as are published
_ANY: Mapping[str, Any] = {"date": date(1970, 1, 1), "string": "", "boolean": False}


class RowsByColumns:
    """Published rows, those that are alike taken together for each question."""

    def __init__(self, rows: Rows, attendance: Attendance) -> None:
        """Take none together yet."""
        self._rows, self._everyone = rows, isinstance(attendance, EveryoneIsHere)
        self._known: dict[frozenset[str], Rows] = {}

    def of(self, names: frozenset[str]) -> Rows:
        """The rows that some columns tell apart, which are all that a question is about.

        All rows, where some are those of people who left: of whom depends on the group.
        """
        if not self._everyone:
            return self._rows
        if names in self._known:
            return self._known[names]
        found = self._known[names] = self._nearest(names).alike(names)
        self._forget()
        return found

    def _nearest(self, names: frozenset[str]) -> Rows:
        """The fewest rows that tell at least these columns apart."""
        known = [rows for of, rows in self._known.items() if names <= of]
        return min([self._rows, *known], key=lambda rows: rows.number)

    def _forget(self) -> None:
        """Keep no more than there is room for, those that were taken together last."""
        room = _KEPT * self._rows.number
        for names, rows in reversed(list(self._known.items())):
            room -= 0 if rows is self._rows else rows.number
            if room < 0:
                del self._known[names]


@contextmanager
def open_labels(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["LabelsEngine"]:
    """An engine that answers questions on a table of labels, and on what is calculated of them."""
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
    """Published rows to be asked; those that are alike are decided once.

    `numbers` keeps the values of columns as exact numbers; `expressions` are the columns that are
    calculated of labels, which have no values of their own.
    """

    rows: Rows
    attendance: Attendance
    alike: RowsByColumns
    numbers: dict[str, Exact]
    expressions: Mapping[str, exp.Expr]

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """The rows of an answer by the values of its group columns.

        Raises:
            QueryError: where the condition cannot be evaluated, there are too many cells, or rows
                that are meant hide a value without limits that is asked for.
        """
        rows = self._rows_of(question)
        keys = group_keys(rows, question.group_by, self.expressions)
        recoded = [of.name for of in keys]
        plain = [name for name in question.group_by if name not in recoded]
        answer: dict[Key, dict[Aggregate, Bounds]] = {}
        for values in product(*(of.values for of in keys)):
            condition = self._cell(question, keys, values)
            outcomes = rows.outcomes(condition)
            must = outcomes.must
            exact = condition is None or decides_labels_once(condition, rows.labels)
            asked = _AskedRows(self, rows, condition, {}, exact)
            for others, chosen in _split(rows, plain, outcomes):
                if question.group_by and not len(chosen):
                    continue
                at = dict(zip([*recoded, *plain], [*values, *others], strict=True))
                chance = outcomes.chance[chosen] if estimates else np.full(len(chosen), np.nan)
                times = None if rows.times is None else rows.times[chosen]
                meant = Meant(chosen, must[chosen], chance, times)
                place = tuple(at[name] for name in question.group_by)
                answer[place] = {a: asked.bounds(a, meant) for a in question.aggregates}
        return answer

    def _rows_of(self, question: Question) -> Rows:
        """The rows that a question tells apart."""
        names = {a.sensitive for a in question.aggregates if a.sensitive is not None}
        nodes = [self.node(name) for name in (*question.group_by, *names)]
        nodes += [] if question.condition is None else [self._put(question.condition)]
        return self.alike.of(frozenset(name for node in nodes for name in columns_of(node)))

    def _cell(
        self, question: Question, keys: Sequence[GroupKey], values: Sequence[Any]
    ) -> exp.Expr | None:
        """The condition that rows are meant, and have some values."""
        of_values = [of.condition(value) for of, value in zip(keys, values, strict=True)]
        asked = [] if question.condition is None else [self._put(question.condition)]
        return all_of([*asked, *of_values])

    def node(self, name: str) -> exp.Expr:
        """A column, or what it is calculated by."""
        return self.expressions.get(name, exp.column(name, quoted=True))

    def _put(self, condition: exp.Expr) -> exp.Expr:
        return put_calculated(condition, self.expressions)

    def starts(self, name: str) -> list[Any]:
        """The least values of the labels of an ordered column, ascending; any where none tells."""
        labels, _ = self.rows.labels[name]
        values = [v for label in labels if isinstance(label, ListedValues) for v in label.values]
        values += [label.low for label in labels if isinstance(label, Between)]
        known = sorted({value for value in values if value is not None})
        return known or [_ANY.get(self.rows.schema[name].type, 0)]

    def exact(self, column: Column) -> Exact:
        """The values of a column that is published as it is, as exact numbers."""
        if column.name not in self.numbers:
            self.numbers[column.name] = exact(column.values, column.name)
        return self.numbers[column.name]

    def is_hidden(self, name: str) -> bool:
        """Decide whether a column has labels, or is calculated of such."""
        return name in self.rows.labels or name in self.expressions


@dataclass(frozen=True, eq=False)
class _AskedRows:
    """Aggregates over rows that a condition means.

    `hidden` keeps what the condition leaves of labels; `decided_exactly` says whether all that it
    leaves possible on a row is.
    """

    engine: LabelsEngine
    rows: Rows
    condition: exp.Expr | None
    hidden: dict[str, HiddenValues]
    decided_exactly: bool

    def bounds(self, aggregate: Aggregate, meant: Meant) -> Bounds:
        """Return the bounds of an aggregate.

        Raises:
            QueryError: where a row that is meant hides any number.
        """
        found = self._bounds(aggregate, meant)
        return found if self.decided_exactly else replace(found, attained=False)

    def _bounds(self, aggregate: Aggregate, meant: Meant) -> Bounds:
        """Return the bounds, as if the parts of the condition did not depend on each other.

        Raises:
            QueryError: where a row that is meant hides any number.
        """
        name, attendance = aggregate.sensitive, self.engine.attendance
        if name is None:
            least, most = attendance.counts(meant)
            expected = estimate_of(attendance.chances(meant).sum())
            return Bounds(least, most, within(expected, Fraction(least), Fraction(most)))
        if not self.engine.is_hidden(name):
            values = known_values(self.rows.column(name), self.engine.exact)
            return values.bounds(aggregate, meant, attendance)
        if name not in self.hidden:
            node = self.engine.node(name)
            self.hidden[name] = HiddenValues(self.rows, name, node, self.condition)
        values = self.hidden[name].values(meant, attendance, aggregate.kind.called)
        return values.bounds(aggregate, meant, attendance)


def _split(
    among: Rows, plain: Sequence[str], outcomes: ThreeValued
) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
    """The rows that may be meant, by their values in some columns published as they are."""
    rows = np.flatnonzero(outcomes.may)
    if not plain:
        yield (), rows
        return
    columns = [among.column(name) for name in plain]
    keys, _ = key([column.take(rows) for column in columns], len(rows))
    order = stable_order(keys)
    for of_cell in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(of_cell):
            first = rows[of_cell[0]]
            values = tuple(_value(column, int(column.codes[first])) for column in columns)
            yield values, rows[np.sort(of_cell)]


def _value(column: Column, code: int) -> Any:
    return None if code < 0 else column.values[code].as_py()
