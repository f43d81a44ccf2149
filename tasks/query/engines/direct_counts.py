"""Counts on releases that show each quasi-identifier by itself, computed from codes and group ids.

SQL answers the questions that raise `NotDirectError` here: with several group columns, and those
that codes and group ids cannot answer.

Source: see `tasks.query.sql.marginal_counts`, whose bounds and estimates these are.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.tasks.forms.counts_table import marginal_table
from sfumato.tasks.forms.lineage import LINEAGE, ROWS, VACANT_ROWS
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.columns import CountsEngine
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.query.help_tables.rows import expected_name, help_name
from sfumato.tasks.query.question.question import Aggregate, Key, Matching, Question
from sfumato.tasks.query.question.ways import tables_of_counts
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.terms import Declared


@contextmanager
def open_direct_counts(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator["DirectCountsEngine"]:
    """Open an engine that answers questions on the published tables and help tables."""
    with session(tables) as connection:
        conditions = ValueConditions(connection)
        yield DirectCountsEngine(
            connection, declared, estimator, tables=tables, conditions=conditions
        )


class AdmittedValues:
    """The values that groups admit of a quasi-identifier, from its help table."""

    def __init__(self, table: PublishedColumns, name: str) -> None:
        """Take the table; columns are read when they are needed."""
        self.table, self._name = table, name

    @cached_property
    def occurrences(self) -> np.ndarray:
        """The expected number of rows of its group with the value (float64, one per row)."""
        numbers: np.ndarray = self.table.read(expected_name(self._name)).to_numpy()
        return numbers

    @cached_property
    def number(self) -> np.ndarray:
        """The number of values that each group admits (int64, one per group)."""
        return np.bincount(self.table.group)


class PublishedCounts:
    """The sensitive values of groups, each with the number of rows that have it."""

    def __init__(self, table: PublishedColumns) -> None:
        """Take the table; columns are read when they are needed."""
        self.table = table

    @cached_property
    def times(self) -> np.ndarray:
        """The number of rows of its group that have the value (integers, one per row)."""
        return self.table.numbers("count")


@dataclass(frozen=True, eq=False)
class CellGroups:
    """Groups in cells; each entry is a group that may have rows in a cell.

    Attributes:
        group: the group of each entry (int64).
        cell: the cell of each entry (integers); None if there is one cell.
        keys: the values of the group column, by cell.
    """

    group: np.ndarray
    cell: np.ndarray | None
    keys: Sequence[Key]

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sum of numbers, one per entry, by cell (float64; exact below 2**53)."""
        if self.cell is None:
            return np.array([numbers.sum(dtype=np.float64)])
        return np.bincount(self.cell, numbers, minlength=len(self.keys))

    def where(self, chosen: np.ndarray) -> "CellGroups":
        """Return the chosen entries (bool), with the same cells."""
        cell = None if self.cell is None else self.cell[chosen]
        return CellGroups(self.group[chosen], cell, self.keys)


@dataclass(frozen=True, eq=False)
class GroupMatches:
    """The number of rows of each entry's group that have a matching value.

    Attributes:
        is_possible: whether any row may have one (bool); a group without one does not count.
        least: the least number (int64).
        most: the greatest number (int64).
        expected: the assumed number (float64) among `among` (float64 or int64).
        among: the number of rows, or of admitted values, of which the assumed share is taken.
        total: the number of rows of all groups that have one (int64, one per cell, or
            one for all); None without a marginal.
    """

    is_possible: np.ndarray
    least: np.ndarray
    most: np.ndarray
    expected: np.ndarray
    among: np.ndarray
    total: np.ndarray | None = None


@dataclass(frozen=True)
class DirectCountsEngine(CountsEngine):
    """Published tables that are read once, and a session that sees them."""

    tables: Files = field(kw_only=True)
    conditions: ValueConditions = field(kw_only=True)
    _admitted: dict[str, AdmittedValues] = field(default_factory=dict)
    _counted: dict[str, PublishedCounts] = field(default_factory=dict)
    _totals: dict[str, np.ndarray] = field(default_factory=dict)

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of each count by the values of the group columns.

        Raises:
            QueryError: if the query cannot be evaluated.
        """
        try:
            return self._ask(question, estimates)
        except NotDirectError:
            return super().ask(question, estimates)

    def starts(self, name: str) -> list[Any]:
        """Return the values of an ordered column that groups admit, ascending, without NaN."""
        try:
            values = self._values_of(name).table.coded_column(name).values.drop_null()
        except NotDirectError:
            return super().starts(name)
        return list(values.to_pylist())

    def _ask(self, question: Question, estimates: bool) -> dict[Key, dict[Aggregate, Bounds]]:
        if len(question.group_by) > 1 or question.condition:
            raise NotDirectError
        if self.declared.is_composed and self.declared.form.counted_columns:
            raise NotDirectError
        tables = tables_of_counts(self.declared)
        matching = {
            m.columns if m.columns in tables else m.columns[:1]: m for m in question.matching
        }
        name = question.group_by[0] if question.group_by else None
        entries, terms = self._all_groups(), []
        if name is not None:
            entries, of_key = self._cells(name, matching.pop((name,), None))
            terms.append(of_key)
        terms += [self._matching_rows(condition, entries) for condition in matching.values()]
        return self._answer(question, entries, terms, estimates)

    def _answer(
        self,
        question: Question,
        entries: CellGroups,
        terms: Sequence[GroupMatches],
        estimates: bool,
    ) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of the rows of which every term holds, by cell."""
        is_possible = np.ones(len(entries.group), dtype=bool)
        size, here = self._sizes[entries.group], self._here[entries.group]
        low = here - max(len(terms), 1) * size  # each row of somebody who left may be counted
        high, rows = here, here.astype(np.float64)
        for term in terms:
            is_possible = is_possible & term.is_possible
            low, high = low + term.least, np.minimum(high, term.most)
            rows = rows * term.expected / term.among
        low = np.maximum(low, 0) if terms else here
        met = entries.where(is_possible)
        least, most, expected = (met.sums(ends[is_possible]) for ends in (low, high, rows))
        if any(term.total is not None for term in terms):
            parts = [
                met.sums(term.least[is_possible]) if term.total is None else term.total
                for term in terms
            ]
            least = np.maximum(least, sum(parts) - (len(terms) - 1) * self._sizes.sum())
            for term in terms:
                most = most if term.total is None else np.minimum(most, term.total)
        expected = np.clip(expected, least, most)
        has_rows = met.sums(is_possible[is_possible]) if question.group_by else [True]
        return {
            entries.keys[cell]: dict.fromkeys(
                question.aggregates,
                Bounds(
                    int(least[cell]),
                    int(most[cell]),
                    Fraction(float(expected[cell])) if estimates else None,
                ),
            )
            for cell in np.flatnonzero(has_rows).tolist()
        }

    def _all_groups(self) -> CellGroups:
        """Return every group once, in one cell."""
        return CellGroups(np.flatnonzero(self._sizes), None, [()])

    def _cells(self, name: str, matching: Matching | None) -> tuple[CellGroups, GroupMatches]:
        """Return the groups that admit each matching value of a column, and rows with it."""
        values = self._values_of(name)
        column, group = values.table.coded_column(name), values.table.group
        rows = np.arange(len(group))
        if matching is not None:
            rows = np.flatnonzero(self.conditions.rows(values.table, matching.condition))
        keys = [(value,) for value in column.values.to_pylist()]
        entries = CellGroups(group[rows], column.codes[rows], keys)
        ones = np.ones(len(rows), dtype=np.int64)
        expected = values.occurrences[rows]
        matches = self._of_admitted(values, entries, ones, expected)
        return entries, replace(matches, total=self._totals_of(name))

    def _totals_of(self, name: str) -> np.ndarray | None:
        """Return the rows of all groups with each value of a column (int64, by code)."""
        if name not in self.declared.form.counted_columns:
            return None
        if name not in self._totals:
            table = PublishedColumns(self.tables[marginal_table(name)])
            coded = table.coded_column(name)
            if not coded.values.equals(self._values_of(name).table.coded_column(name).values):
                raise NotDirectError
            self._totals[name] = np.empty(len(coded.values), dtype=np.int64)
            self._totals[name][coded.codes] = table.numbers("count")
        return self._totals[name]

    def _matching_rows(self, matching: Matching, entries: CellGroups) -> GroupMatches:
        """Return the rows of each entry's group that match a condition."""
        tables = tables_of_counts(self.declared)
        if matching.columns in tables:
            return self._of_sensitive(tables[matching.columns], matching, entries)
        values = self._values_of(matching.columns[0])  # and columns that are joined to it
        rows = np.flatnonzero(self.conditions.rows(values.table, matching.condition))
        group, groups = values.table.group[rows], len(self._sizes)
        admitted = np.bincount(group, minlength=groups)[entries.group]
        expected = np.bincount(group, values.occurrences[rows], groups)[entries.group]
        matches = self._of_admitted(values, entries, admitted, expected)
        totals = self._totals_of(name := matching.columns[0])
        if totals is None:
            return matches
        has_value = np.zeros(len(totals), dtype=bool)
        has_value[values.table.coded_column(name).codes[rows]] = True
        return replace(matches, total=totals[has_value].sum())

    def _of_admitted(
        self,
        values: AdmittedValues,
        entries: CellGroups,
        matching: np.ndarray,
        expected: np.ndarray,
    ) -> GroupMatches:
        """Return the rows with one of some admitted values, all of which occur.

        Args:
            values: the values of the column.
            entries: the groups.
            matching: the number of values that match, one per entry (int64).
            expected: the number of rows that are expected to have one of them (float64).
        """
        size = self._sizes[entries.group]
        number = values.number[entries.group]
        least = np.where(matching == number, size, matching)
        most = size - number + matching
        if self.estimator == "weighted":
            return GroupMatches(matching > 0, least, most, expected, size)
        return GroupMatches(matching > 0, least, most, matching.astype(np.float64), number)

    def _of_sensitive(self, table: str, matching: Matching, entries: CellGroups) -> GroupMatches:
        """Return the rows with a matching sensitive value, whose number is published."""
        counted = self._counts_of(table)
        rows = np.flatnonzero(self.conditions.rows(counted.table, matching.condition))
        group, times = counted.table.group[rows], counted.times[rows]
        number = np.bincount(group, times, len(self._sizes)).astype(np.int64)
        number = number[entries.group]
        size = self._sizes[entries.group]
        return GroupMatches(number > 0, number, number, number.astype(np.float64), size)

    @cached_property
    def _here(self) -> np.ndarray:
        """The number of rows of each group that are of people who are still here (int64)."""
        return self._lineage.numbers(ROWS) if self.declared.is_composed else self._sizes

    @cached_property
    def _lineage(self) -> PublishedColumns:
        """The table of all groups of a composed release, in order.

        Raises:
            NotDirectError: if it is not in order.
        """
        lineage = PublishedColumns(self.tables[LINEAGE])
        if not np.array_equal(lineage.group, np.arange(len(lineage.group))):
            raise NotDirectError
        return lineage

    @cached_property
    def _sizes(self) -> np.ndarray:
        """The number of rows of each group, those of people who left included (int64)."""
        if self.declared.is_composed:
            return np.asarray(self._lineage.numbers(ROWS) + self._lineage.numbers(VACANT_ROWS))
        counted = self._counts_of(next(iter(tables_of_counts(self.declared).values())))
        return np.bincount(counted.table.group, counted.times).astype(np.int64)

    def _counts_of(self, table: str) -> PublishedCounts:
        if table not in self._counted:
            self._counted[table] = PublishedCounts(PublishedColumns(self.tables[table]))
        return self._counted[table]

    def _values_of(self, name: str) -> AdmittedValues:
        if name not in self._admitted:
            table = PublishedColumns(self.tables[help_name(name)])
            self._admitted[name] = AdmittedValues(table, name)
        return self._admitted[name]
