"""Bounds on releases that show exact rows, from codes and group ids instead of joins.

SQL answers what these do not: a standard deviation, a condition that compares columns or cannot be
evaluated on some value, a column whose values nearly all differ, floats that are no numbers or are
negative zeros, and files that are in another order than a release's.
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

_Found = dict[Key, dict[Aggregate, Bounds]]


class BoundsFromHelp:
    """The bounds of aggregates over some rows in cells."""

    def __init__(self, tables: ReleaseTables, rows: SelectedRows, *, estimates: bool) -> None:
        """Count nothing yet: a number of rows needs no help."""
        self._tables, self._rows, self._estimates = tables, rows, estimates
        self._places: dict[str, np.ndarray] = {}
        self._combined: dict[tuple[str, str], list[Any]] = {}

    @cached_property
    def _hits(self) -> Hits:
        return hits_of(self._rows, self._tables.rows.groups)

    def bounds(self, aggregate: Aggregate) -> list[Bounds]:
        """The bounds of an aggregate, by cell.

        Raises:
            NotDirectError: where no help table holds them.
        """
        counts, of = self._rows.of_cells.tolist(), aggregate.kind.help
        if aggregate.kind.counts_rows:
            return [Bounds(rows, rows, rows) for rows in counts]
        if of is None:
            raise NotDirectError
        low, high, sums = self.sides(aggregate)
        whole = self._tables.is_whole(str(aggregate.sensitive))
        cells = zip(low, high, counts, sums, strict=True)
        return [of.bounds(*cell, whole=whole) for cell in cells]

    def sides(self, aggregate: Aggregate) -> tuple[list[Any], list[Any], Sequence[Fraction | None]]:
        """Both columns of the help table that bound an aggregate, combined, and expected sums.

        Raises:
            NotDirectError: where no help table holds them.
        """
        of, name = aggregate.kind.help, str(aggregate.sensitive)
        if of is None:
            raise NotDirectError
        low, high = (self._side(name, column) for column in (of.lower, of.upper))
        if of.expected and self._estimates:
            return low, high, self._expected(name)
        return low, high, [None] * len(low)

    def _side(self, name: str, column: HelpColumn) -> list[Any]:
        """A column of the help table, combined by cell."""
        key, helping = (name, column.name), self._tables.helping(name)
        if name not in self._places:
            self._places[name] = helping.places(self._hits)
        if key not in self._combined:
            self._combined[key] = helping.combined(column, self._places[name], self._hits)
        return self._combined[key]

    def _expected(self, name: str) -> list[Fraction]:
        return expected_sums(self._hits, self._tables.totals(name).means)


def expected_sums(hits: Hits, means: GroupMeans) -> list[Fraction]:
    """The sum that is expected in each cell: of every group its hits times its mean."""
    units = product(means.units[hits.group], hits.hits)
    scale = 10**means.digits
    if means.rank is None:
        denominator = int(means.denominators[0]) * scale
        return [Fraction(int(of), denominator) for of in hits.sums(units, largest(units))]
    number = len(means.denominators)
    sums = sums_by(hits.cell * number + means.rank[hits.group], hits.cells * number, units)
    found = [Fraction(0)] * hits.cells
    for place in np.flatnonzero(sums).tolist():
        cell, of = divmod(place, number)
        found[cell] += Fraction(int(sums[place]), int(means.denominators[of]) * scale)
    return found


@contextmanager
def open_direct(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["DirectEngine"]:
    """An engine that answers questions on the published tables and help tables."""
    with session(tables) as connection:
        known = ReleaseTables(tables, declared, relations(declared))
        yield DirectEngine(connection, declared, known, ValueConditions(connection))


@dataclass(frozen=True)
class DirectEngine(RowsEngine):
    """Published tables that are read once, and a session that sees them."""

    tables: ReleaseTables
    conditions: ValueConditions

    def _helped(self, question: Question, estimates: bool) -> _Found:
        """The bounds without a condition on sensitive values."""
        try:
            rows = self._selected(question)
            helped = BoundsFromHelp(self.tables, rows, estimates=estimates)
            columns = {a: helped.bounds(a) for a in question.aggregates}
        except NotDirectError:
            return super()._helped(question, estimates)
        shown = [cell for cell, of in enumerate(rows.of_cells) if of or not question.group_by]
        return {rows.keys[cell]: {a: of[cell] for a, of in columns.items()} for cell in shown}

    def _counted(self, question: Question, estimates: bool) -> _Found:
        """The bounds where a condition is on sensitive values."""
        try:
            rows = self._selected(question)
            counted = CountedBounds(
                self.tables, self.conditions, question, rows, estimates=estimates
            )
            return {
                rows.keys[cell]: {a: counted.bounds(a, cell) for a in question.aggregates}
                for cell, of in enumerate(counted.rows)
                if of.most or not question.group_by
            }
        except NotDirectError:
            return super()._counted(question, estimates)

    def _selected(self, question: Question) -> SelectedRows:
        return rows_selected(self.tables, self.conditions, question)

    def starts(self, name: str) -> list[Any]:
        """The published values of an ordered column, ascending, without NaN."""
        try:
            values = self.tables.rows.coded(name).values.drop_null()
        except NotDirectError:
            return super().starts(name)
        return list(values.to_pylist())


def rows_selected(
    tables: ReleaseTables, conditions: ValueConditions, question: Question
) -> SelectedRows:
    """The rows on which the condition on columns as they are published holds.

    Raises:
        NotDirectError: where it cannot be evaluated on values.
    """
    rows, condition = tables.rows, question.condition
    chosen = None if condition is None else conditions.rows(rows, condition)
    return selected_rows(rows, question.group_by, chosen)
