"""Bounds on releases that show exact rows beside grouped values, computed by SQL.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import exact_numbers
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import CountedValues, Counting
from sfumato.tasks.query.bounds.spread import NO_CHOICES, Choices, choices_of
from sfumato.tasks.query.engines.group_bounds import (
    CountedRows,
    bounds_from_help,
    bounds_from_values,
    expected_sums,
)
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import Relations, relations
from sfumato.tasks.query.sql.sensitive_conditions import SensitiveConditions
from sfumato.tasks.sql.session import fetch
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb

# a value, its copies that surely and that possibly count for lower bounds, the same two numbers for
# upper bounds, and the expected number of copies
_Rows = list[tuple[Any, ...]]
_Answers = dict[Key, dict[Aggregate, Bounds]]


@dataclass(frozen=True)
class RowsEngine:
    """A session that sees the published tables."""

    connection: "duckdb.DuckDBPyConnection"
    declared: Declared

    def ask(self, question: Question, estimates: bool = True) -> _Answers:
        """Return the bounds of each aggregate by the values of the group columns.

        Raises:
            QueryError: if the query cannot be evaluated.
        """
        chosen = [a for a in question.aggregates if a.kind.of_choices is not None]
        others = [a for a in question.aggregates if a not in chosen]
        if question.matching:
            answers = self._bounds_by_values(question.with_aggregates(others), estimates)
        else:
            answers = self._helped_and_counted(question, others, estimates)
        for aggregate in chosen:
            choices = self._choices(question, str(aggregate.sensitive))
            for key, bounds in answers.items():
                bounds[aggregate] = aggregate.bounds_of(choices.get(key, NO_CHOICES))
        return answers

    def _helped_and_counted(
        self, question: Question, aggregates: Sequence[Aggregate], estimates: bool
    ) -> _Answers:
        """Return the bounds from help tables, or from values if these lack them."""
        helped = [a for a in aggregates if a.kind.counts_rows or a.kind.help is not None]
        answers = self._bounds_by_help(question.with_aggregates(helped), estimates)
        rest = [a for a in aggregates if a not in helped]
        if rest:
            counted = self._bounds_by_values(question.with_aggregates(rest), estimates)
            for key, bounds in answers.items():
                bounds.update(counted[key])
        return answers

    def _bounds_by_help(self, question: Question, estimates: bool) -> _Answers:
        """Return the bounds from help tables; no condition is on sensitive values."""
        tables = self._relations
        expected = expected_sums(self.connection, question, tables) if estimates else {}
        return bounds_from_help(self.connection, self.declared, question, expected, tables.rows)

    @property
    def _relations(self) -> Relations:
        return relations(self.declared)

    def _bounds_by_values(self, question: Question, estimates: bool) -> _Answers:
        """Return the bounds from the values that may count."""
        conditions = SensitiveConditions(question, self._relations)
        width = len(question.group_by)
        rows: dict[Key, CountedRows] = {}
        for row in fetch(self.connection, conditions.counts()):
            low, high, expected = row[width:]
            if int(high) or not width:
                estimate = Fraction(float(expected)) if estimates else None
                rows[row[:width]] = CountedRows(int(low), int(high), estimate)
        values = {
            name: self._values(conditions, name, estimates)
            for name in conditions.aggregated_columns
        }
        return {
            key: {a: self._bound(a, values, key, counted) for a in question.aggregates}
            for key, counted in rows.items()
        }

    def _values(
        self, conditions: SensitiveConditions, name: str, estimates: bool
    ) -> dict[Key, _Rows]:
        """Return the values of a column that may count, ascending, by the values of group columns.

        With estimates, values that are only expected to count are returned as well.
        """
        width = len(conditions.question.group_by)
        rows_by_key = defaultdict(list)
        for row in fetch(self.connection, conditions.of_values(name)):
            if any(row[width + 1 : None if estimates else -1]):
                rows_by_key[row[:width]].append(row[width:])
        return {
            key: sorted(rows, key=lambda row: row[0])
            for key, rows in rows_by_key.items()
            if any(any(row[1:-1]) for row in rows)
        }

    def _bound(
        self,
        aggregate: Aggregate,
        values: Mapping[str, Mapping[Key, _Rows]],
        key: Key,
        counted: CountedRows,
    ) -> Bounds:
        rows = values.get(str(aggregate.sensitive), {}).get(key, [])
        if not rows:
            return bounds_from_values(aggregate, counted, None)
        whole = self.declared.columns[str(aggregate.sensitive)].type == "integer"
        estimates = counted.expected is not None
        return bounds_from_values(aggregate, counted, _counted_values(rows, whole, estimates))

    def _choices(self, question: Question, name: str) -> dict[Key, Choices]:
        """Return the choices of each cell's rows among the values of a column in each group."""
        width = len(question.group_by)
        query = SensitiveConditions(question, self._relations).choices(name)
        rows = fetch(self.connection, query)
        numbers = exact_numbers([row[width + 1] for row in rows], name)
        cells = defaultdict(list)
        for place, row in enumerate(rows):
            cells[row[:width]].append(place)
        groups = [row[width] for row in rows]
        counts = np.array([row[width + 2 :] for row in rows], np.int64).reshape(-1, 3)
        return {
            key: choices_of(
                np.array([groups[place] for place in places]),
                numbers.units[places],
                counts[places],
                numbers.digits,
            )
            for key, places in cells.items()
        }

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        query = exp.select(column).distinct().from_(self._relations.rows).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]


def _counted_values(rows: _Rows, whole: bool, estimates: bool) -> CountedValues:
    """Return values and the copies of them that count; `whole` is true for integers."""
    values, *counts, expected = zip(*rows, strict=True)
    low_sure, low_maybe, high_sure, high_maybe = (np.array(numbers, np.int64) for numbers in counts)
    chances = np.array(expected, np.float64)
    return CountedValues(
        values,
        partial(exact_numbers, values, "aggregated"),
        Counting(low_sure, low_maybe),
        Counting(high_sure, high_maybe),
        whole,
        chances if estimates else None,
        float(chances.sum()),
    )
