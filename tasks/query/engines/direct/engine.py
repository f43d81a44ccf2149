"""Bounds on releases that show exact rows, from codes and group ids instead of joins.

SQL answers what these do not: a standard deviation, a condition that compares columns or cannot be
evaluated on some value, a column whose values nearly all differ, floats that are no numbers or are
negative zeros, and files that are in another order than a release's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.direct.cells import SelectedRows, selected_rows
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.counted import CountedBounds
from sfumato.tasks.query.engines.direct.helped import BoundsFromHelp
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key, Question
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator
from sfumato.tasks.sql.session import session

_Found = dict[Key, dict[Aggregate, Bounds]]


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
