"""Bounds on releases that show exact rows, computed from codes and group ids instead of joins.

A help table has the bounds of an aggregate for each group and each number of rows that a query
selects of it. SQL answers the questions that raise `NotDirectError` here: a condition that compares
columns or cannot be evaluated on some value, a column whose values nearly all differ, floats that
are NaN or negative zeros, and files in another order than a release's.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.tasks.query.aggregates.kind import HelpColumn
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.cells import Hits, SelectedRows, hits_of, selected_rows
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.counted import CountedBounds
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.group_values import GroupMeans, largest, product, sums_by
from sfumato.tasks.query.engines.published_columns import NotDirectError
from sfumato.tasks.query.engines.release_tables import ReleaseTables
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.terms import Declared

_Answers = dict[Key, dict[Aggregate, Bounds]]


class BoundsFromHelp:
    """The bounds of aggregates over the rows in cells, from help tables."""

    def __init__(self, tables: ReleaseTables, rows: SelectedRows, *, estimates: bool) -> None:
        """Take the rows; hits are counted when an aggregate first needs them."""
        self._tables, self._rows, self._estimates = tables, rows, estimates
        self._places: dict[str, np.ndarray] = {}
        self._combined: dict[tuple[str, str], list[Any]] = {}

    @cached_property
    def hits(self) -> Hits:
        """The number of selected rows of each group in each cell."""
        return hits_of(self._rows, self._tables.rows.groups)

    def answers(self, question: Question) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of a question's aggregates, by the values of the group columns.

        Raises:
            NotDirectError: if no help table has them.
        """
        columns = {aggregate: self.bounds(aggregate) for aggregate in question.aggregates}
        return {
            self._rows.keys[cell]: {a: bounds[cell] for a, bounds in columns.items()}
            for cell, number in enumerate(self._rows.of_cells)
            if number or not question.group_by
        }

    def bounds(self, aggregate: Aggregate) -> list[Bounds]:
        """Return the bounds of an aggregate, by cell.

        Raises:
            NotDirectError: if no help table has them.
        """
        counts, help_bounds = self._rows.of_cells.tolist(), aggregate.kind.help
        if aggregate.kind.counts_rows:
            return [Bounds(rows, rows, rows) for rows in counts]
        if help_bounds is None:
            raise NotDirectError
        low, high, sums = self.sides(aggregate)
        whole = self._tables.is_whole(str(aggregate.sensitive))
        cells = zip(low, high, counts, sums, strict=True)
        return [help_bounds.bounds(*cell, whole=whole) for cell in cells]

    def sides(self, aggregate: Aggregate) -> tuple[list[Any], list[Any], Sequence[Fraction | None]]:
        """Return the lower and the upper bound of an aggregate, and the expected sum, by cell.

        Bounds are not yet divided by the number of rows (see `HelpBounds.per_row`). Expected sums
        are None without estimates, or if they do not give the aggregate's estimate.

        Raises:
            NotDirectError: if no help table has them.
        """
        help_bounds, name = aggregate.kind.help, str(aggregate.sensitive)
        if help_bounds is None:
            raise NotDirectError
        low, high = (self._side(name, column) for column in (help_bounds.lower, help_bounds.upper))
        if help_bounds.expected and self._estimates:
            return low, high, self.expected_sums(self.hits, name)
        return low, high, [None] * len(low)

    def _side(self, name: str, column: HelpColumn) -> list[Any]:
        """Return a column of the help table, combined by cell."""
        key, helping = (name, column.name), self._tables.helping(name)
        if name not in self._places:
            self._places[name] = helping.places(self.hits)
        if key not in self._combined:
            self._combined[key] = helping.combine(column, self._places[name], self.hits)
        return self._combined[key]

    def expected_sums(self, hits: Hits, name: str) -> Sequence[Fraction]:
        """Return the expected sum of a column over the hits of each cell."""
        return expected_sums(hits, self._tables.totals(name).means)


def expected_sums(hits: Hits, means: GroupMeans) -> list[Fraction]:
    """Return the expected sum in each cell: the hits of every group times its mean."""
    units = product(means.units[hits.group], hits.hits)
    scale = 10**means.digits
    if means.rank is None:
        denominator = int(means.denominators[0]) * scale
        return [
            Fraction(int(cell_sum), denominator) for cell_sum in hits.sums(units, largest(units))
        ]
    # the numerators are added up by cell and denominator, then the fractions by cell
    number = len(means.denominators)
    sums = sums_by(hits.cell * number + means.rank[hits.group], hits.cells * number, units)
    totals = [Fraction(0)] * hits.cells
    for place in np.flatnonzero(sums).tolist():
        cell, rank = divmod(place, number)
        totals[cell] += Fraction(int(sums[place]), int(means.denominators[rank]) * scale)
    return totals


@contextmanager
def open_direct(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["DirectEngine"]:
    """Open an engine that answers questions on the published tables and help tables."""
    with session(tables) as connection:
        release_tables = ReleaseTables(tables, declared, relations(declared))
        yield DirectEngine(connection, declared, release_tables, ValueConditions(connection))


@dataclass(frozen=True)
class DirectEngine(RowsEngine):
    """Published tables that are read once, and a session that sees them."""

    tables: ReleaseTables
    conditions: ValueConditions

    def _bounds_by_help(self, question: Question, estimates: bool) -> _Answers:
        """Return the bounds if no condition is on sensitive values."""
        try:
            rows = self._select(question)
            return BoundsFromHelp(self.tables, rows, estimates=estimates).answers(question)
        except NotDirectError:
            return super()._bounds_by_help(question, estimates)

    def _bounds_by_values(self, question: Question, estimates: bool) -> _Answers:
        """Return the bounds if a condition is on sensitive values."""
        try:
            rows = self._select(question)
            counted = CountedBounds(
                self.tables, self.conditions, question, rows, estimates=estimates
            )
            return {
                rows.keys[cell]: {a: counted.bounds(a, cell) for a in question.aggregates}
                for cell, cell_rows in enumerate(counted.rows)
                if cell_rows.most or not question.group_by
            }
        except NotDirectError:
            return super()._bounds_by_values(question, estimates)

    def _select(self, question: Question) -> SelectedRows:
        return rows_selected(self.tables, self.conditions, question)

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, ascending, without NaN."""
        try:
            values = self.tables.rows.coded_column(name).values.drop_null()
        except NotDirectError:
            return super().starts(name)
        return list(values.to_pylist())


def rows_selected(
    tables: ReleaseTables, conditions: ValueConditions, question: Question
) -> SelectedRows:
    """Return the rows on which the condition on columns that are published unchanged holds.

    Raises:
        NotDirectError: if it cannot be evaluated on values.
    """
    rows, condition = tables.rows, question.condition
    chosen = None if condition is None else conditions.rows(rows, condition)
    return selected_rows(rows, question.group_by, chosen)
