"""Bounds on releases whose quasi-identifiers are recoded: each row is meant surely, maybe, or not.

Sensitive and insensitive values stand beside their row's labels as they are. So a query surely
means the rows on which its condition holds for all values behind their labels, and may mean those
on which it holds for some: the bounds come from the best and the worst choice among these.

The uniform estimator counts each row with its chance, see
`tasks.query.engines.labels.rows_with_labels`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.expectations.exact import Exact, exact
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded.labels import Between, ListedValues
from sfumato.tasks.forms.recoded.recoded import read_labels
from sfumato.tasks.microdata.table import Column, key
from sfumato.tasks.query.behind_labels.three_valued import ThreeValued
from sfumato.tasks.query.behind_labels.values_behind_labels import is_listed, values_of_label
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.counted_values import ArrowValues, CountedValues, estimate_of
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.query.engines.labels.attendance import Attendance, Meant, attendance_in
from sfumato.tasks.query.engines.labels.rows_by_columns import RowsByColumns
from sfumato.tasks.query.engines.labels.rows_with_labels import Rows
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.question import TABLE, Key, Question
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator
from sfumato.tasks.sql.parse import literal, quote_name
from sfumato.tasks.sql.session import session

_ANY: Mapping[str, Any] = {"date": date(1970, 1, 1), "string": "", "boolean": False}
_CELLS = 2_000  # of a GROUP BY over recoded columns


@contextmanager
def open_labels(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["LabelsEngine"]:
    """An engine that answers questions on a table of labels."""
    microdata = read_table(tables[TABLE])
    labels = read_labels(microdata, declared.columns, reader_for(form_of(declared)))
    plain = microdata.select([n for n in declared.columns if n not in labels])
    with session({}) as connection:
        rows = Rows(connection, declared.columns, labels, plain)
        attendance = attendance_in(tables, microdata, declared)
        yield LabelsEngine(rows, attendance, RowsByColumns(rows, attendance), {})


@dataclass(frozen=True, eq=False)
class LabelsEngine:
    """Published rows to be asked; those that are alike are decided once.

    `numbers` keeps the values of columns as exact numbers.
    """

    rows: Rows
    attendance: Attendance
    alike: RowsByColumns
    numbers: dict[str, Exact]

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """The rows of an answer by the values of its group columns.

        Raises:
            QueryError: where the condition cannot be evaluated, or there are too many cells.
        """
        rows = self.alike.of(question)
        recoded = [name for name in question.group_by if name in rows.labels]
        plain = [name for name in question.group_by if name not in rows.labels]
        columns = {
            name: _Aggregated(rows.column(name), self.attendance, self._exact)
            for name in {a.sensitive for a in question.aggregates if a.sensitive is not None}
        }
        answer: dict[Key, dict[Aggregate, Bounds]] = {}
        for values in self._cells(recoded):
            condition = _and_equal(question.condition, dict(zip(recoded, values, strict=True)))
            outcomes = rows.outcomes(condition)
            must = outcomes.must
            for others, chosen in _split(rows, plain, outcomes):
                if question.group_by and not len(chosen):
                    continue
                at = dict(zip([*recoded, *plain], [*values, *others], strict=True))
                chance = outcomes.chance[chosen] if estimates else np.full(len(chosen), np.nan)
                times = None if rows.times is None else rows.times[chosen]
                meant = Meant(chosen, must[chosen], chance, times)
                cell = tuple(at[name] for name in question.group_by)
                answer[cell] = {a: self._bounds(a, columns, meant) for a in question.aggregates}
        return answer

    def starts(self, name: str) -> list[Any]:
        """The least values of the labels of an ordered column, ascending; any where none tells."""
        labels, _ = self.rows.labels[name]
        values = [v for label in labels if isinstance(label, ListedValues) for v in label.values]
        values += [label.low for label in labels if isinstance(label, Between)]
        known = sorted({value for value in values if value is not None})
        return known or [_ANY.get(self.rows.schema[name].type, 0)]

    def _cells(self, recoded: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """All vectors of values that the labels of some columns admit."""
        values = [self._listed(name) for name in recoded]
        if np.prod([float(len(one)) for one in values]) > _CELLS:
            raise QueryError(f"GROUP BY of recoded columns has more than {_CELLS:,} cells")
        return product(*values)

    def _listed(self, name: str) -> list[Any]:
        labels, _ = self.rows.labels[name]
        column = self.rows.schema[name]
        if not all(is_listed(label, column) for label in labels):
            raise QueryError(
                f"GROUP BY cannot use {quote_name(name)}: its labels stand for any number of values"
            )
        values = (value for label in labels for value in values_of_label(label, column))
        return list(dict.fromkeys(values))

    def _exact(self, column: Column) -> Exact:
        if column.name not in self.numbers:
            self.numbers[column.name] = exact(column.values, column.name)
        return self.numbers[column.name]

    def _bounds(
        self, aggregate: Aggregate, columns: Mapping[str, "_Aggregated"], meant: Meant
    ) -> Bounds:
        if aggregate.sensitive is not None:
            return columns[aggregate.sensitive].bounds(aggregate, meant)
        least, most = self.attendance.counts(meant)
        expected = estimate_of(self.attendance.chances(meant).sum())
        return Bounds(least, most, within(expected, Fraction(least), Fraction(most)))


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


def _and_equal(condition: exp.Expr | None, values: Mapping[str, Any]) -> exp.Expr | None:
    for name, value in values.items():
        column = exp.column(name, quoted=True)
        is_null = exp.Is(this=column, expression=exp.Null())
        equal = is_null if value is None else exp.EQ(this=column, expression=literal(value))
        condition = equal if condition is None else exp.and_(condition, equal, copy=False)
    return condition


class _Aggregated:
    """A column whose values are known row by row, to be aggregated over rows that may be meant."""

    def __init__(
        self, column: Column, attendance: Attendance, exact_of: Callable[[Column], Exact]
    ) -> None:
        self.column = column
        self._attendance = attendance
        self._exact = partial(exact_of, column)

    def bounds(self, aggregate: Aggregate, meant: Meant) -> Bounds:
        """The aggregate of this column over rows: all that must count, and any of the others."""
        kind, codes = aggregate.kind, self.column.codes[meant.rows]
        known = codes >= 0
        codes, meant = codes[known], meant.where(known)
        least, most = self._attendance.counts(meant)
        if most < kind.fewest:
            return Bounds(None, None, None)
        if kind.of_choices is not None:
            units = self._exact().units[codes]
            choices = self._attendance.choices(meant, units, self._exact().digits)
            return self._with_expected(kind, kind.of_choices(choices), codes, meant)
        counted = self._counted(codes, meant)
        return replace(aggregate.bounds_over(counted), may_be_empty=least < kind.fewest)

    def _with_expected(
        self, kind: AggregateKind, bounds: Bounds, codes: np.ndarray, meant: Meant
    ) -> Bounds:
        """Bounds with what is expected of how far values are from their mean."""
        counted = self._counted(codes, meant)
        squares = counted.expected_squares
        if kind.of_squares is None or squares is None:
            return bounds
        if not isinstance(bounds.lower, Fraction) or not isinstance(bounds.upper, Fraction):
            return bounds
        expected = estimate_of(kind.of_squares(squares, float(counted.expected_rows)))
        return replace(bounds, estimate=within(expected, bounds.lower, bounds.upper))

    def _counted(self, codes: np.ndarray, meant: Meant) -> CountedValues:
        size, chance = len(self.column.values), self._attendance.chances(meant)
        low, high = self._attendance.countings(meant, codes, size)
        return CountedValues(
            values=ArrowValues(self.column.values),
            exact=self._exact,
            low=low,
            high=high,
            whole=bool(pa.types.is_integer(self.column.values.type)),
            expected=np.bincount(codes, chance, size),
            expected_rows=chance.sum(),
        )
