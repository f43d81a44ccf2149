"""Bounds of questions about people and their related rows, from the published tables.

What a question hits in each group is counted in the tables (`related_tables`); the bounds of each
group are arithmetic on it (`tasks.query.bounds.related`). Expected numbers are means over all ways
to give the rows of a group to its people that its numbers admit (`…bounds.related_chances`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.forms.related.facts import (
    published_number,
    shuffled_number,
    told_by_facts,
)
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS, ApartParameters
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.related import (
    HitGroups,
    HitValues,
    RowChoices,
    choices_between,
    mean_of_hits,
    sum_of_hits,
)
from sfumato.tasks.query.bounds.related_chances import chances_of
from sfumato.tasks.query.bounds.related_numbers import (
    PublishedHits,
    RowNumbers,
    ShuffledHits,
    chances_by_numbers,
)
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.engines.related_tables import RelatedTables
from sfumato.tasks.query.question.facts import conditions_on_facts
from sfumato.tasks.query.question.marks import condition_on_rows, conditions_of_marks
from sfumato.tasks.query.question.question import Aggregate, Key, PersonHas, Question, RelatedScope
from sfumato.tasks.query.question.ways import facts_of
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
        everyone = _shuffled_numbers(connection, declared, form, len(people))
        both = RelatedTables(connection, tables, form.people, form.related, len(people))
        yield RelatedEngine(
            connection, both, declared, form, _Numbers(people, rows, most, everyone)
        )


def _shuffled_numbers(
    connection: duckdb.DuckDBPyConnection, declared: Declared, form: ApartParameters, groups: int
) -> RowNumbers | None:
    """Return the numbers of rows of the people of all groups, if they are published shuffled."""
    name = shuffled_number(declared.columns)
    if name is None:
        return None
    number = exp.column(name, quoted=True)
    query = exp.select(GROUP_ID, number, exp.Count(this=exp.Star())).from_(form.people)
    rows = fetch(connection, query.group_by(GROUP_ID, number.copy()))
    group, numbers, people = np.array(rows, np.int64).reshape(-1, 3).T
    return RowNumbers.count(group, numbers, people, groups)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The people, related rows, and most rows of one person of each group (int64).

    `everyone` has the numbers of rows of all people, where they are published shuffled.
    """

    people: np.ndarray
    rows: np.ndarray
    most: np.ndarray
    everyone: RowNumbers | None = None

    def hit(
        self, groups: np.ndarray, people: np.ndarray, rows: np.ndarray, own: RowNumbers | None
    ) -> HitGroups:
        """Return what a question hits in some groups; `own` are numbers of these hit people."""
        counts = (self.people[groups], self.rows[groups], self.most[groups], people, rows)
        if own is not None:
            return PublishedHits(*counts, own)
        if self.everyone is not None:
            return ShuffledHits(*counts, self.everyone.of_groups(groups))
        return HitGroups(*counts)


@dataclass(frozen=True, eq=False)
class _HitPeople:
    """The groups of a cell in which people may be hit, and how many, at least and at most (int64).

    Conditions on facts say how many people of a group meet them, and not who. `expected` are the
    expected numbers (float64). `own` are these people's numbers of rows, where they are published.
    """

    groups: np.ndarray
    fewest: np.ndarray
    people: np.ndarray
    expected: np.ndarray
    own: RowNumbers | None = None

    @cached_property
    def is_certain(self) -> bool:
        """True if it is known how many people are hit."""
        return np.array_equal(self.fewest, self.people)


@dataclass(frozen=True, eq=False)
class RelatedEngine:
    """A session that sees the published tables, and the rows that its questions count."""

    connection: duckdb.DuckDBPyConnection
    tables: RelatedTables
    declared: Declared
    form: ApartParameters
    numbers: _Numbers
    scope: RelatedScope | None = None

    def with_scope(self, scope: RelatedScope) -> "RelatedEngine":
        """Return an engine of the same tables for questions that count other rows."""
        return replace(self, scope=scope)

    def ask(self, question: Question, estimates: bool = True) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of each aggregate by the values of the group columns.

        Raises:
            QueryError: if the query cannot be evaluated.
        """
        of_facts, others = conditions_on_facts(question.matching, self.declared)
        question = replace(question, matching=tuple(others))
        cells = self._people_by_cell(question, of_facts)
        answers = self._answers(question, cells, estimates)
        if not of_facts and self._admits_every_world:
            return answers
        return {
            key: {aggregate: _attained_if_exact(bounds) for aggregate, bounds in each.items()}
            for key, each in answers.items()
        }

    def _answers(
        self, question: Question, cells: Mapping[Key, "_HitPeople"], estimates: bool
    ) -> dict[Key, dict[Aggregate, Bounds]]:
        """Return the bounds of each aggregate in each cell, given the people that are hit."""
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

    @cached_property
    def _admits_every_world(self) -> bool:
        """True if facts rule out none of the worlds that bounds are attained in."""
        facts = {name: self.declared.columns[name] for name in facts_of(self.declared)}
        return told_by_facts(facts) in ("none", "numbers")

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, ascending, without NaN."""
        column = exp.column(name, quoted=True)
        table = self.form.related if name in self.form.columns else self.form.people
        query = exp.select(column).distinct().from_(table).order_by(column.copy())
        values = (value for (value,) in fetch(self.connection, query))
        return [value for value in values if value is not None and value == value]

    def _people_by_cell(
        self, question: Question, of_facts: Sequence[exp.Expr]
    ) -> dict[Key, _HitPeople]:
        """Return the people that a question hits in each group, by the values of group columns."""
        number = published_number(self.declared.columns)
        cells = self.tables.people_by_cell(question.group_by, question.condition, number)
        if number is not None:
            return {key: _with_own(*each) for key, each in cells.items()}
        met = [self.tables.count_in_groups(each, self.form.people) for each in of_facts]
        return {key: self._meeting(group, people, met) for key, (group, _, people) in cells.items()}

    def _meeting(
        self, groups: np.ndarray, people: np.ndarray, met: Sequence[np.ndarray]
    ) -> _HitPeople:
        """Return how many of some people of each group meet conditions on facts.

        Args:
            groups: the groups (int64).
            people: the people of each of them (int64).
            met: by condition, the people of every group who meet it (int64).
        """
        fewest, most, expected = people, people, people.astype(np.float64)
        sizes = self.numbers.people[groups]
        for of_all in met:
            fewest = fewest + of_all[groups] - sizes
            most = np.minimum(most, of_all[groups])
            expected = expected * of_all[groups] / np.maximum(sizes, 1)
        return _HitPeople(groups, np.maximum(fewest, 0), most, expected)

    def _rows_in_groups(self, condition: exp.Expr | None) -> np.ndarray:
        """Return the related rows of each group on which a condition holds (int64)."""
        return (
            self.numbers.rows
            if condition is None
            else self.tables.count_in_groups(condition, self.form.related)
        )

    def _of_rows(
        self,
        aggregate: Aggregate,
        hit: _HitPeople,
        condition: exp.Expr | None,
        rows: np.ndarray,
        estimates: bool,
    ) -> Bounds:
        """Return the bounds of an aggregate of related rows of some people."""
        if aggregate.distinct:
            return self._count_people(hit, 1, rows, estimates)
        fewest, most = self._hits(hit, rows)
        if aggregate.counts_all_rows:
            low, high = int(fewest.shared_rows()[0].sum()), int(most.shared_rows()[1].sum())
            expected = _total_of(most.hit_rows * _share(hit, most)) if estimates else None
            return Bounds(low, high, expected, attained=hit.is_certain)
        if aggregate.kind.name not in ("sum", "avg"):
            raise QueryError(
                f"{aggregate.kind.sql_name} of related rows has no bounds yet. Ask for COUNT, SUM "
                "or AVG"
            )
        values = self._values(str(aggregate.sensitive), condition, hit)
        choices = choices_between(fewest, most)
        bounds = self._of_values(aggregate, hit, most, values, choices, estimates)
        if not hit.is_certain:
            return replace(bounds, attained=False)
        if not isinstance(most, ShuffledHits):
            return bounds
        inner = self._of_values(aggregate, hit, most, values, most.sure_choices(), False)
        same = (bounds.lower, bounds.upper) == (inner.lower, inner.upper)
        return replace(bounds, attained=same)

    def _hits(self, hit: _HitPeople, rows: np.ndarray) -> tuple[HitGroups, HitGroups]:
        """Return what a question hits in groups, with the fewest and with the most people."""
        of_groups = rows[hit.groups]
        return (
            self.numbers.hit(hit.groups, hit.fewest, of_groups, hit.own),
            self.numbers.hit(hit.groups, hit.people, of_groups, hit.own),
        )

    def _of_values(
        self,
        aggregate: Aggregate,
        hit: _HitPeople,
        hits: HitGroups,
        read: "_ReadValues",
        choices: RowChoices,
        estimates: bool,
    ) -> Bounds:
        """Return the bounds of a sum or mean of the hit rows of hit people."""
        name, values, scale = str(aggregate.sensitive), read.values, 10**read.digits
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
        estimate = _estimate(aggregate, read, _share(hit, hits))
        inside = None if estimate is None else min(max(estimate, low), high)
        return Bounds(bounds.lower, bounds.upper, inside, may_be_empty=bounds.may_be_empty)

    def _values(self, name: str, condition: exp.Expr | None, hit: _HitPeople) -> "_ReadValues":
        """Return the values of the hit rows of some groups, in order.

        Raises:
            QueryError: where a condition cannot be evaluated.
        """
        groups, units, digits = self.tables.values(name, condition)
        place = np.full(len(self.numbers.rows), -1, dtype=np.int64)
        place[hit.groups] = np.arange(len(hit.groups))
        inside = place[groups] >= 0
        group, units = place[groups[inside]], units[inside]
        values = HitValues(group, units, len(hit.groups))
        return _ReadValues(values, digits, np.bincount(group, minlength=len(hit.groups)))

    def _people(
        self, hit: _HitPeople, marks: list[tuple[PersonHas, bool]] | None, estimates: bool
    ) -> Bounds:
        """Return the number of hit people who meet all conditions on their related rows."""
        if marks is None:
            return Bounds(0, 0, 0)
        if not marks:
            low, high = int(hit.fewest.sum()), int(hit.people.sum())
            expected = Fraction(float(hit.expected.sum())) if estimates else None
            return Bounds(low, high, expected, attained=hit.is_certain)
        each = [self._people_who(hit, has, negated, estimates) for has, negated in marks]
        if len(each) == 1:
            return each[0][2]
        # of several conditions at once, only the numbers of people who meet each are known
        least = np.sum([low for low, _, _ in each], axis=0) - (len(each) - 1) * hit.fewest
        greatest = np.min([high for _, high, _ in each], axis=0)
        if hit.own is not None:
            greatest = np.minimum(greatest, _most_between(marks, each, hit))
        low, high = int(np.maximum(least, 0).sum()), int(greatest.sum())
        total = Fraction(float(hit.expected.sum()))
        expected = total if estimates else None
        for _, _, bounds in each:
            if expected is not None and total and bounds.estimate is not None:
                expected *= Fraction(str(bounds.estimate)) / total
        inside = None if expected is None else min(max(expected, Fraction(low)), Fraction(high))
        return Bounds(low, high, inside, attained=False)

    def _people_who(
        self, hit: _HitPeople, has: PersonHas, negated: bool, estimates: bool
    ) -> tuple[np.ndarray, np.ndarray, Bounds]:
        """Return the least and greatest number of hit people per group, and the bounds of all.

        One person more among the hit ones is at most one more who meets the condition, and at most
        one more who does not. So the ends are those of the fewest and of the most hit people.
        """
        rows = self._rows_in_groups(has.condition)
        fewest, most = self._hits(hit, rows)
        least, greatest = fewest.people_with(has.times)[0], most.people_with(has.times)[1]
        bounds = self._count_people(hit, has.times, rows, estimates)
        if not negated:
            return least, greatest, bounds
        least = hit.fewest - fewest.people_with(has.times)[1]
        greatest = hit.people - most.people_with(has.times)[0]
        total = Fraction(float(hit.expected.sum()))
        expected = None if bounds.estimate is None else total - Fraction(str(bounds.estimate))
        low, high = int(least.sum()), int(greatest.sum())
        if expected is not None:
            expected = min(max(expected, Fraction(low)), Fraction(high))
        return least, greatest, Bounds(low, high, expected, attained=hit.is_certain)

    def _count_people(
        self, hit: _HitPeople, times: int, rows: np.ndarray, estimates: bool
    ) -> Bounds:
        """Return the number of hit people with at least so many of the rows that are hit."""
        fewest, most = self._hits(hit, rows)
        least = int(fewest.people_with(times)[0].sum())
        greatest = int(most.people_with(times)[1].sum())
        if not estimates:
            return Bounds(least, greatest, attained=hit.is_certain)
        expected = Fraction(float((hit.expected * _chances(times, most)).sum()))
        inside = min(max(expected, Fraction(least)), Fraction(greatest))
        return Bounds(least, greatest, inside, attained=hit.is_certain)


def _attained_if_exact(bounds: Bounds) -> Bounds:
    """Return bounds that are said to be attained only if they are one number."""
    return replace(bounds, attained=bounds.attained and bounds.lower == bounds.upper)


def with_scope(engine: Engine, scope: RelatedScope) -> Engine:
    """Return an engine of two related tables that counts the rows of a scope.

    Raises:
        Fault: if the engine is of other tables.
    """
    if not isinstance(engine, RelatedEngine):
        raise Fault("only an engine of two related tables counts people or their rows")
    return engine.with_scope(scope)


@dataclass(frozen=True, eq=False)
class _ReadValues:
    """Values of hit rows, the digits of their units, and how many values each group has (int64)."""

    values: HitValues
    digits: int
    counted: np.ndarray


def _with_own(group: np.ndarray, rows: np.ndarray, people: np.ndarray) -> _HitPeople:
    """Return hit people whose numbers of rows are published.

    Args:
        group: the group of each kind of people, some of them with the same group (int64).
        rows: the rows of each of these people (int64).
        people: how many people they are (int64).
    """
    groups, place = np.unique(group, return_inverse=True)
    own = RowNumbers.count(place.reshape(-1), rows, people, len(groups))
    total = own.people_with(0)
    return _HitPeople(groups, total, total, total.astype(np.float64), own)


def _most_between(
    marks: list[tuple[PersonHas, bool]],
    each: Sequence[tuple[np.ndarray, np.ndarray, Bounds]],
    hit: _HitPeople,
) -> np.ndarray:
    """Return the most hit people who have at least so many rows of a kind, and fewer than others.

    All who have more also have so many: the people between are the difference of both.
    """
    most = hit.people
    for (has, negated), (_, at_least, _) in zip(marks, each, strict=True):
        for (other, other_negated), (_, not_more, _) in zip(marks, each, strict=True):
            same = has.condition == other.condition and has.times < other.times
            if same and other_negated and not negated:
                most = np.minimum(most, at_least + not_more - hit.people)
    return most


def _chances(times: int, hits: HitGroups) -> np.ndarray:
    """Return the chance of a hit person of each group to have at least so many of the hit rows."""
    if isinstance(hits, PublishedHits):
        return chances_by_numbers(times, hits, hits.own)
    if isinstance(hits, ShuffledHits):
        return chances_by_numbers(times, hits, hits.everyone)
    return chances_of(times, hits)


def _share(hit: _HitPeople, hits: HitGroups) -> np.ndarray:
    """Return the expected share of each group's rows that hit people have (float64)."""
    if isinstance(hits, PublishedHits):
        return np.asarray(hits.totals[0] / np.maximum(hits.rows, 1))
    return np.asarray(hit.expected / np.maximum(hits.people, 1))


def _total_of(numbers: np.ndarray) -> Fraction:
    return Fraction(float(numbers.sum()))


def _estimate(aggregate: Aggregate, read: _ReadValues, share: np.ndarray) -> Fraction | None:
    """Return the expected sum or mean of the values of hit people, who have a share of each."""
    values = read.values
    sums = np.bincount(values.group, values.units.astype(np.float64), values.groups)
    total = float((share * sums).sum()) / 10**read.digits
    if aggregate.kind.name == "sum":
        return Fraction(total)
    rows = float((share * read.counted).sum())
    return Fraction(total / rows) if rows else None
