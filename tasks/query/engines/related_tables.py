"""Counts of the people and related rows that a question hits, by their groups.

Conditions are decided on the distinct values of columns, as other engines do; SQL decides those
that compare columns or cannot be evaluated on some value.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_integers, as_numpy
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import INT64_MAX, Exact, exact
from sfumato.expectations.shared.sorting import tally
from sfumato.tasks.query.engines.cells import selected_rows
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.published_columns import NotDirectError, PublishedColumns
from sfumato.tasks.query.question.question import Key
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.sql.session import fetch, fetch_table

if TYPE_CHECKING:
    import duckdb

_HITS = "hits"


class RelatedTables:
    """The tables of people and of their related rows; columns are read once, when needed."""

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        tables: Files,
        people: str,
        related: str,
        groups: int,
    ) -> None:
        """Take the published tables.

        Args:
            connection: sees the tables by their names.
            tables: the published tables by name.
            people: the name of the table of people.
            related: the name of that of their rows.
            groups: the number of groups, which both tables number from 0.
        """
        self._connection, self._people, self._groups = connection, people, groups
        self._columns = {name: _Columns(tables[name]) for name in (people, related)}
        self._related = related
        self._conditions = ValueConditions(connection)
        self._counted: dict[tuple[str, str], np.ndarray] = {}
        self._values: dict[str, _ColumnValues] = {}

    def people_by_cell(
        self, group_by: Sequence[str], condition: exp.Expr | None, number: str | None
    ) -> dict[Key, np.ndarray]:
        """Return the people on whom a condition holds, by the values of group columns.

        Args:
            group_by: the group columns.
            condition: about columns of people; None for all.
            number: the column with everyone's number of rows, if people are told apart by it.

        Returns:
            For each key the groups, ascending, the numbers of rows (0 if they are not told apart),
            and how many people there are (int64, three rows).

        Raises:
            QueryError: if the condition cannot be evaluated.
        """
        try:
            return self._people_from_codes(group_by, condition, number)
        except NotDirectError:
            return self._people_by_sql(group_by, condition, number)

    def _people_from_codes(
        self, group_by: Sequence[str], condition: exp.Expr | None, number: str | None
    ) -> dict[Key, np.ndarray]:
        columns = self._columns[self._people]
        chosen = None if condition is None else self._conditions.rows(columns, condition)
        rows = selected_rows(columns, group_by, chosen)
        cells, numbers = len(rows.keys), np.zeros(1, np.int64)
        key = rows.group.astype(np.int64)
        if rows.cell is not None:
            key = rows.cell.astype(np.int64) * self._groups + key
        if number is not None:
            coded = columns.coded_column(number)
            codes = coded.codes if chosen is None else coded.codes[chosen]
            numbers = as_numpy(coded.values).astype(np.int64)
            key = key * len(numbers) + codes
        if (bound := cells * self._groups * len(numbers)) > INT64_MAX:
            raise NotDirectError
        met, people = tally(key, bound)
        met, code = np.divmod(met, len(numbers))
        cell, group = np.divmod(met, self._groups)
        first = np.searchsorted(cell, np.arange(cells + 1))
        hits = np.stack([group, numbers[code], people])
        return {
            rows.keys[place]: hits[:, first[place] : first[place + 1]]
            for place in range(cells)
            if first[place] < first[place + 1] or not group_by
        }

    def _people_by_sql(
        self, group_by: Sequence[str], condition: exp.Expr | None, number: str | None
    ) -> dict[Key, np.ndarray]:
        columns: list[exp.Expr] = [exp.column(name, quoted=True) for name in (*group_by, GROUP_ID)]
        if number is not None:
            columns.append(exp.column(number, quoted=True))
        counted = exp.Count(this=exp.Star()).as_(_HITS)
        query = exp.select(*columns, counted).from_(self._people)
        if condition is not None:
            query = query.where(condition.copy())
        query = query.group_by(*(column.copy() for column in columns))
        hits: dict[Key, list[tuple[int, int, int]]] = defaultdict(list)
        if not group_by:
            hits[()] = []
        for row in fetch(self._connection, query):
            key, (group, *rows, people) = row[: len(group_by)], row[len(group_by) :]
            hits[tuple(key)].append((group, rows[0] if rows else 0, people))
        return {
            key: np.array(sorted(each), np.int64).reshape(-1, 3).T for key, each in hits.items()
        }

    def count_in_groups(self, condition: exp.Expr, table: str) -> np.ndarray:
        """Return the rows of a table in each group on which a condition holds (int64).

        Raises:
            QueryError: if it cannot be evaluated.
        """
        key = table, condition.sql("duckdb")
        if key not in self._counted:
            self._counted[key] = self._count(condition, table)
        return self._counted[key]

    def _count(self, condition: exp.Expr, table: str) -> np.ndarray:
        columns = self._columns[table]
        try:
            chosen = self._conditions.rows(columns, condition)
            return np.bincount(columns.group[chosen], minlength=self._groups)
        except NotDirectError:
            query = exp.select(GROUP_ID, exp.Count(this=exp.Star())).from_(table)
            query = query.where(condition.copy()).group_by(GROUP_ID)
            counted = np.zeros(self._groups, dtype=np.int64)
            for group, rows in fetch(self._connection, query):
                counted[group] = rows
            return counted

    def values(self, name: str, condition: exp.Expr | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the values of a column of the related rows on which a condition holds.

        Returns:
            The group of each value (int64, ascending), its units (int64, or Python integers;
            ascending within a group), and the digits of units. Nulls have no value.

        Raises:
            QueryError: if the condition cannot be evaluated.
            InputError: if a value is no finite number.
        """
        columns = self._columns[self._related]
        try:
            if name not in self._values:
                self._values[name] = _ColumnValues(columns, name)
            chosen = None if condition is None else self._conditions.rows(columns, condition)
            return self._values[name].of_rows(chosen)
        except NotDirectError:
            return self._values_by_sql(name, condition)

    def _values_by_sql(
        self, name: str, condition: exp.Expr | None
    ) -> tuple[np.ndarray, np.ndarray, int]:
        column = exp.column(name, quoted=True)
        query = exp.select(exp.column(GROUP_ID), column.as_("value")).from_(self._related)
        null = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
        query = query.where(null if condition is None else exp.and_(condition.copy(), null))
        table = fetch_table(self._connection, query)
        numbers = _exact(table["value"], name)
        group = as_integers(table[GROUP_ID])
        order = np.lexsort((numbers.units, group))
        return group[order], numbers.units[order], numbers.digits


class _Columns(PublishedColumns):
    """The columns of a table that need not have a row of every group."""

    @cached_property
    def group(self) -> np.ndarray:
        """The group of each row (int64, one per row)."""
        return self.numbers(GROUP_ID).astype(np.int64, copy=False)


class _ColumnValues:
    """The values of a column of related rows, in the order of their groups and values."""

    def __init__(self, columns: PublishedColumns, name: str) -> None:
        """Read the column, and order its values once.

        Raises:
            NotDirectError: if a value is no finite number, or groups are no integers.
        """
        column = columns.read(name)
        try:
            numbers = _exact(column.drop_null(), name)
        except InputError:  # it may be about a value that a condition leaves out
            raise NotDirectError from None
        place = np.arange(len(column))
        if column.null_count:
            place = np.flatnonzero(as_numpy(column.is_valid().combine_chunks().cast(pa.uint8())))
        group = columns.group[place]
        order = np.lexsort((numbers.units, group))
        self._place, self._group, self._units = place[order], group[order], numbers.units[order]
        self._digits = numbers.digits

    def of_rows(self, chosen: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the groups and units of the values of some rows (bool; None for all)."""
        if chosen is None:
            return self._group, self._units, self._digits
        some = chosen[self._place]
        return self._group[some], self._units[some], self._digits


def _exact(column: pa.ChunkedArray, name: str) -> Exact:
    """Return a column without nulls as exact numbers."""
    return exact(column.combine_chunks(), name)
