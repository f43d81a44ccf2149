"""Workloads over people and their related rows: the join of both, and people by their rows.

Ranges and counts are asked of the join, in which each related row has the columns of its person.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.accuracy.drawing import (
    Exactly,
    InWindow,
    column_named,
    end_of_window,
    frequent_values,
)
from sfumato.tasks.query.accuracy.joined import AskedTables, first_sensitive
from sfumato.tasks.query.accuracy.parameters import PeopleWorkload
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.related import with_scope
from sfumato.tasks.query.engines.truth import (
    OriginalColumn,
    OriginalInParts,
    Outcome,
    PartInMemory,
    as_fraction,
    outcome_of,
)
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import MARK, Aggregate, PersonHas, RelatedScope
from sfumato.tasks.schema.published import DerivedColumn
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared

_HAS = f"{MARK}0"
_COUNTED = Aggregate("count", None, "asked")


@dataclass(frozen=True, eq=False)
class JoinedTables(AskedTables):
    """The join of two related tables, as workloads ask it."""

    def rows(self, kind: str) -> int:
        """Return the number of people, or of related rows, that queries count."""
        counts = self.declared.related_rows
        if kind == "people" or counts is None:
            return self.declared.rows.published
        return counts.published

    def ends(self, name: str) -> tuple[Fraction | None, Fraction | None]:
        """Return the least and the greatest published value of a column, or None twice."""
        values = self.engine.starts(name)
        return (as_fraction(values[0]), as_fraction(values[-1])) if values else (None, None)


def joined_tables(engine: Engine, declared: Declared, original: OriginalInParts) -> JoinedTables:
    """Return the join of two tables: of the release, and of the original.

    Raises:
        Fault: if the original has no related rows, or is in parts.
    """
    scope = RelatedScope("rows", _form(declared).key)
    parts = [PartInMemory(_join(part)) for part in original.parts]
    return JoinedTables(with_scope(engine, scope), declared, OriginalInParts(parts))


def _form(declared: Declared) -> ApartParameters:
    if not isinstance(declared.form, ApartParameters):
        raise Fault("a release without related rows has no join")
    return declared.form


def _join(part: Any) -> Microdata:
    """Return the join of an original in memory."""
    if not isinstance(part, PartInMemory):
        raise Fault("the original of a release with related rows is not in memory")
    return join_related(part.rows)


def join_related(people: Microdata) -> Microdata:
    """Return related rows with the columns of their people; `person` is the owner of each.

    Raises:
        Fault: if the people have no related rows.
    """
    if people.related is None:
        raise Fault("the original of a release with related rows has no such rows")
    owner, table = people.related.owner, people.related.table
    columns = [column.take(owner) for column in people.columns]
    return Microdata((*columns, *table.columns), table.rows, owner)


class PeopleQueries:
    """Counts of people in a window who have at least so many rows with the value of a row."""

    def __init__(
        self,
        workload: PeopleWorkload,
        engine: Engine,
        declared: Declared,
        original: OriginalInParts,
    ) -> None:
        """Read the published values of the quasi-identifier, and the values of the rows."""
        self._workload, self._engine, self._declared = workload, engine, declared
        form = _form(declared)
        self._key, self._first = form.key, form.columns[0]
        name = workload.of or first_sensitive(declared)
        (self._rows,) = original.each([workload.over, name])
        self._values = frequent_values(name, [self._rows[name]])
        self._starts = engine.starts(workload.over)

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None for a query that cannot be asked."""
        for times in levels:
            if not self._starts or not self._values.rows:
                yield None
                continue
            low = self._starts[int(randomness(1)[0] % np.uint64(len(self._starts)))]
            high = end_of_window(low, self._workload.span)
            window = InWindow(self._workload.over, low, high)
            value = Exactly(self._values.name, self._values.draw(randomness))
            yield outcome_of(self._bounds(window, value, times), self._truth(window, value, times))

    def _bounds(self, window: InWindow, value: Exactly, times: int) -> Bounds:
        mark = DerivedColumn(role="sensitive", type="boolean", of=(self._first,))
        columns = {**self._declared.columns, _HAS: mark}
        declared = self._declared.model_copy(update={"columns": columns})
        has = PersonHas(value.condition, times)
        asking = with_scope(self._engine, RelatedScope("people", self._key, {_HAS: has}))
        where = exp.and_(window.condition, column_named(_HAS))
        return asking.ask(question_of(_COUNTED, where, declared), estimates=True)[()][_COUNTED]

    def _truth(self, window: InWindow, value: Exactly, times: int) -> Fraction:
        """Return the number of people in the window who have so many rows with the value."""
        tests = ((test, OriginalColumn(self._rows[test.name])) for test in (window, value))
        rows = np.logical_and.reduce([test.rows(column) for test, column in tests])
        person = self._rows.person
        if person is None:
            raise Fault("rows of a join have no people")
        return Fraction(int((np.bincount(person[rows]) >= times).sum()))


def people_queries(
    workload: PeopleWorkload,
    _aggregate: Aggregate,
    asking: Engine,
    release: Release,
    original: OriginalInParts,
) -> PeopleQueries:
    """Return counts of people by their related rows."""
    return PeopleQueries(workload, asking, release.declared, original)
