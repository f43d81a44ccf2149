"""Bounds of questions about people and their related rows, from the published tables.

DuckDB evaluates conditions and groups people; the bounds of each group are arithmetic on what a
question hits in it (`tasks.query.bounds.related`). Expected numbers are means over all ways to give
the rows of a group to its people that its numbers admit (`tasks.query.bounds.related_chances`).
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS, ApartParameters
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.related import (
    HitGroups,
    HitValues,
    RowChoices,
    mean_of_hits,
    sum_of_hits,
)
from sfumato.tasks.query.bounds.related_chances import chances_of
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.question.marks import condition_on_rows, conditions_of_marks
from sfumato.tasks.query.question.question import Aggregate, Key, PersonHas, Question, RelatedScope
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.sql.session import fetch, fetch_table, session
from sfumato.tasks.terms.terms import Declared

_NOTHING = Bounds(None, None, None)
_HITS = "hits"


@contextmanager
def open_related(
    tables: Files, declared: Declared, _estimator: Estimator = "weighted"
) -> Iterator["RelatedEngine"]:
    """Open an engine that answers questions on people and their related rows.

    Raises:
        Fault: if the release has no related rows.
    """
    form = declared.form
    if not isinstance(form, ApartParameters):
        raise Fault("a release without related rows has no such engine")
    with session(tables) as connection:
        numbers = fetch_table(connection, exp.select("*").from_(GROUPS).order_by(GROUP_ID))
        people, rows, most = (as_integers(numbers[name]) for name in (PEOPLE, ROWS, MOST))
        yield RelatedEngine(connection, declared, form, _Numbers(people, rows, most))


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The people, related rows, and most rows of one person of each group (int64)."""

    people: np.ndarray
    rows: np.ndarray
    most: np.ndarray

    def hit(self, groups: np.ndarray, people: np.ndarray, rows: np.ndarray) -> HitGroups:
        """Return what a question hits in some groups."""
        return HitGroups(self.people[groups], self.rows[groups], self.most[groups], people, rows)


@dataclass(frozen=True, eq=False)
class _HitPeople:
    """The groups of a cell in which people are hit, and how many (int64)."""

    groups: np.ndarray
    people: np.ndarray


@dataclass(frozen=True, eq=False)
class RelatedEngine:
    """A session that sees the published tables, and the rows that its questions count."""

    connection: duckdb.DuckDBPyConnection
    declared: Declared
    form: ApartParameters
    numbers: _Numbers
    scope: RelatedScope | None = None
    _kept: dict[str, np.ndarray] = field(default_factory=dict)

    def with_scope(self, scope: RelatedScope) -> "RelatedEngine":
        """Return an engine of the same tables for questions that count other rows."""
        return RelatedEngine(
            self.connection, self.declared, self.form, self.numbers, scope, self._kept
        )

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of each aggregate by the values of the group columns.

        Raises:
            QueryError: if the query cannot be evaluated.
        """
        cells = self._people_by_cell(question)
        if self.scope is not None and self.scope.counted == "people":
            marks = conditions_of_marks(question, self.scope)
            return {
                key: dict.fromkeys(question.aggregates, self._people(hit, marks, estimates))
                for key, hit in cells.items()
            }
        condition = condition_on_rows(question)
        rows = self._rows_in_groups(condition)
        return {
            key: {a: self._of_rows(a, hit, condition, rows, estimates) for a in question.aggregates}
            for key, hit in cells.items()
        }

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        table = self.form.related if name in self.form.columns else self.form.people
        query = exp.select(column).distinct().from_(table).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]

    def _people_by_cell(self, question: Question) -> dict[Key, _HitPeople]:
        """Return the people that a question hits in each group, by the values of group columns."""
        names = [*question.group_by, GROUP_ID]
        columns = [exp.column(name, quoted=True) for name in names]
        query = exp.select(*columns, exp.Count(this=exp.Star()).as_(_HITS)).from_(self.form.people)
        if question.condition is not None:
            query = query.where(question.condition.copy())
        query = query.group_by(*(column.copy() for column in columns))
        hits: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        if not question.group_by:
            hits[()] = []
        for *key, group, people in fetch(self.connection, query):
            hits[tuple(key)].append((group, people))
        pairs = {key: np.array(each, np.int64).reshape(-1, 2) for key, each in hits.items()}
        return {key: _HitPeople(each[:, 0], each[:, 1]) for key, each in pairs.items()}

    def _rows_in_groups(self, condition: exp.Expr | None) -> np.ndarray:
        """Return the related rows of each group on which a condition holds (int64)."""
        if condition is None:
            return self.numbers.rows
        text = condition.sql("duckdb")
        if text not in self._kept:
            query = exp.select(GROUP_ID, exp.Count(this=exp.Star())).from_(self.form.related)
            query = query.where(condition.copy()).group_by(GROUP_ID)
            counted = np.zeros(len(self.numbers.rows), dtype=np.int64)
            for group, rows in fetch(self.connection, query):
                counted[group] = rows
            self._kept[text] = counted
        return self._kept[text]

    def _of_rows(
        self,
        aggregate: Aggregate,
        hit: _HitPeople,
        condition: exp.Expr | None,
        rows: np.ndarray,
        estimates: bool,
    ) -> Bounds:
        """Return the bounds of an aggregate of related rows of some people."""
        hits = self.numbers.hit(hit.groups, hit.people, rows[hit.groups])
        if aggregate.distinct:
            return self._count_people(hits, 1, estimates)
        if aggregate.counts_all_rows:
            least, greatest = hits.shared_rows()
            expected = _total_share(hits.hit_rows, hits) if estimates else None
            return Bounds(int(least.sum()), int(greatest.sum()), expected)
        if aggregate.kind.name not in ("sum", "avg"):
            raise QueryError(
                f"{aggregate.kind.sql_name} of related rows has no bounds yet. Ask for COUNT, SUM "
                "or AVG"
            )
        return self._of_values(aggregate, hit, condition, hits.choices(), estimates)

    def _of_values(
        self,
        aggregate: Aggregate,
        hit: _HitPeople,
        condition: exp.Expr | None,
        choices: RowChoices,
        estimates: bool,
    ) -> Bounds:
        """Return the bounds of a sum or mean of the hit rows of hit people."""
        name = str(aggregate.sensitive)
        values, digits, counted = self._values(name, condition, hit)
        scale = 10**digits
        ends = (sum_of_hits if aggregate.kind.name == "sum" else mean_of_hits)(values, choices)
        if ends is None:
            return _NOTHING
        low, high = (Fraction(end) / scale for end in ends)
        fewest = np.maximum(choices.first[0], choices.second[0])
        exists = choices.first[0] <= choices.first[1], choices.second[0] <= choices.second[1]
        least = np.where(
            exists[0] & exists[1], np.minimum(choices.first[0], choices.second[0]), fewest
        )
        bounds = Bounds(low, high, may_be_empty=not int(least.sum()))
        if self.declared.columns[name].type == "integer" and aggregate.kind.name == "sum":
            bounds = Bounds(int(low), int(high), may_be_empty=bounds.may_be_empty)
        if not estimates:
            return bounds
        estimate = _estimate(aggregate, values, counted, hit, self.numbers, scale)
        inside = None if estimate is None else min(max(estimate, low), high)
        return Bounds(bounds.lower, bounds.upper, inside, may_be_empty=bounds.may_be_empty)

    def _values(
        self, name: str, condition: exp.Expr | None, hit: _HitPeople
    ) -> tuple[HitValues, int, np.ndarray]:
        """Return the values of the hit rows of some groups, their digits, and how many each has.

        Raises:
            QueryError: where a condition cannot be evaluated.
        """
        column = exp.column(name, quoted=True)
        query = exp.select(exp.column(GROUP_ID), column.as_("value")).from_(self.form.related)
        null = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
        query = query.where(null if condition is None else exp.and_(condition.copy(), null))
        table = fetch_table(self.connection, query)
        array = table["value"].combine_chunks()
        numbers = exact(array if isinstance(array, pa.Array) else pa.array([]), name)
        groups, units = as_integers(table[GROUP_ID]), numbers.units
        place = np.full(len(self.numbers.rows), -1, dtype=np.int64)
        place[hit.groups] = np.arange(len(hit.groups))
        inside = place[groups] >= 0
        group, units = place[groups[inside]], units[inside]
        order = np.lexsort((units, group))
        values = HitValues(group[order], units[order], len(hit.groups))
        return values, numbers.digits, np.bincount(group, minlength=len(hit.groups))

    def _people(
        self, hit: _HitPeople, marks: list[tuple[PersonHas, bool]] | None, estimates: bool
    ) -> Bounds:
        """Return the number of hit people who meet all conditions on their related rows."""
        if marks is None:
            return Bounds(0, 0, 0)
        total = int(hit.people.sum())
        if not marks:
            return Bounds(total, total, total)
        each = [self._people_who(hit, has, negated, estimates) for has, negated in marks]
        if len(each) == 1:
            return each[0][2]
        # of several conditions at once, only the numbers of people who meet each are known
        least = np.sum([low for low, _, _ in each], axis=0) - (len(each) - 1) * hit.people
        greatest = np.min([high for _, high, _ in each], axis=0)
        low, high = int(np.maximum(least, 0).sum()), int(greatest.sum())
        expected = Fraction(total) if estimates else None
        for _, _, bounds in each:
            if expected is not None and total and bounds.estimate is not None:
                expected *= Fraction(str(bounds.estimate)) / total
        inside = None if expected is None else min(max(expected, Fraction(low)), Fraction(high))
        return Bounds(low, high, inside, attained=False)

    def _people_who(
        self, hit: _HitPeople, has: PersonHas, negated: bool, estimates: bool
    ) -> tuple[np.ndarray, np.ndarray, Bounds]:
        """Return the least and greatest number of hit people per group, and the bounds of all."""
        rows = self._rows_in_groups(has.condition)
        hits = self.numbers.hit(hit.groups, hit.people, rows[hit.groups])
        least, greatest = hits.people_with(has.times)
        bounds = self._count_people(hits, has.times, estimates)
        if not negated:
            return least, greatest, bounds
        total = int(hit.people.sum())
        expected = None if bounds.estimate is None else total - Fraction(str(bounds.estimate))
        low, high = total - int(greatest.sum()), total - int(least.sum())
        return hit.people - greatest, hit.people - least, Bounds(low, high, expected)

    def _count_people(self, hits: HitGroups, times: int, estimates: bool) -> Bounds:
        """Return the number of hit people with at least so many of the hit rows."""
        least, greatest = (int(end.sum()) for end in hits.people_with(times))
        if not estimates:
            return Bounds(least, greatest)
        expected = Fraction(float((hits.hit_people * chances_of(times, hits)).sum()))
        return Bounds(least, greatest, min(max(expected, Fraction(least)), Fraction(greatest)))


def with_scope(engine: Engine, scope: RelatedScope) -> Engine:
    """Return an engine of two related tables that counts the rows of a scope.

    Raises:
        Fault: if the engine is of other tables.
    """
    if not isinstance(engine, RelatedEngine):
        raise Fault("only an engine of two related tables counts people or their rows")
    return engine.with_scope(scope)


def _total_share(rows: np.ndarray, hits: HitGroups) -> Fraction:
    """Return the expected number of rows of hit people: each group's by the share of its people."""
    share = rows * hits.hit_people / np.maximum(hits.people, 1)
    return Fraction(float(share.sum()))


def _estimate(
    aggregate: Aggregate,
    values: HitValues,
    counted: np.ndarray,
    hit: _HitPeople,
    numbers: _Numbers,
    scale: int,
) -> Fraction | None:
    """Return the expected sum or mean of the values of hit people."""
    share = hit.people / np.maximum(numbers.people[hit.groups], 1)
    sums = np.bincount(values.group, values.units.astype(np.float64), values.groups)
    total = float((share * sums).sum()) / scale
    if aggregate.kind.name == "sum":
        return Fraction(total)
    rows = float((share * counted).sum())
    return Fraction(total / rows) if rows else None
