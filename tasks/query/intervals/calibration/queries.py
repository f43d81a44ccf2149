"""Random queries asked of a release that is not sealed yet, and of the rows that it represents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import OriginalColumn
from sfumato.tasks.query.accuracy.truth import Truth, truth_of
from sfumato.tasks.query.intervals.calibration.draw import Domains, draw_selections
from sfumato.tasks.query.intervals.laws.spread import AnswerLaw
from sfumato.tasks.query.intervals.shapes.families import family_of
from sfumato.tasks.query.intervals.shapes.limits import LEAST_ROWS
from sfumato.tasks.query.intervals.shapes.selection import Selection
from sfumato.tasks.query.intervals.shapes.shape import shape_of
from sfumato.tasks.query.intervals.ways.way import LikelyAnswers
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.conditions import question_of

FamilyKey = tuple[str, str]
"""The name of a family, and the sensitive column that it is about; "" for none."""

QUERIES = 2_000
"""So many queries of each family are calibrated on, where there are so many."""

_TRIES = 3  # times as many queries are drawn at most: some are too small, or exact
_AGGREGATED = ("sum", "avg", "min", "max")


@dataclass(frozen=True, eq=False)
class MeasuredQuery:
    """The law of an answer to a random query, and its truth."""

    law: AnswerLaw
    truth: float

    @property
    def score(self) -> float:
        """The least factor whose interval has the truth."""
        return self.law.score(self.truth)


@dataclass(frozen=True)
class _Kind:
    """Queries that are drawn alike: by several columns or one, and by a sensitive value."""

    several: bool
    of: str | None
    aggregates: tuple[Aggregate, ...]


class QueriesOnOriginal:
    """Random queries, asked of the published tables and of the original.

    `original` are the represented rows before anonymization.
    """

    def __init__(self, likely: LikelyAnswers, declared: Declared, original: Microdata) -> None:
        """Find out what queries may select by."""
        self._likely, self._declared, self._original = likely, declared, original
        sensitive = [name for name in declared.named("sensitive") if self._laws_of(name)]
        names = [*declared.named("quasi-identifier"), *sensitive]
        self._domains = Domains(
            declared.columns,
            {name: likely.domain(name) for name in names},
            {name: likely.times_of(name) for name in sensitive},
        )
        self._columns = {name: OriginalColumn(original[name]) for name in names}
        self._truths: dict[Aggregate, Truth] = {}

    def measure(self, number: int, randomness: Randomness) -> dict[FamilyKey, list[MeasuredQuery]]:
        """So many queries of each family, or fewer where few are large enough and not exact."""
        found: dict[FamilyKey, list[MeasuredQuery]] = {}
        for kind in self._kinds():
            waiting = set(kind.aggregates)
            for _ in range(number * _TRIES):
                if not waiting:
                    break
                for aggregate, family, query in self._ask(kind, waiting, randomness):
                    queries = found.setdefault(family, [])
                    queries.append(query)
                    if len(queries) == number:
                        waiting.remove(aggregate)
        return found

    def _kinds(self) -> Iterator[_Kind]:
        laws, columns = self._likely.laws, len(self._domains.names("quasi-identifier"))
        names = self._domains.names("sensitive")
        whole = [name for name in names if not self._declared.columns[name].nulls]
        together = (*((ROWS,) if "rows" in laws else ()), *self._aggregates(whole))
        for several in [False, True][: min(columns, 2)]:
            if together:
                yield _Kind(several, None, together)
            for name in names:
                yield _Kind(several, name, (ROWS,))
                alone = () if name in whole else tuple(self._aggregates([name]))
                if alone:  # each passes over its own nulls
                    yield _Kind(several, None, alone)

    def _aggregates(self, names: Sequence[str]) -> Iterator[Aggregate]:
        for name in names:
            type_, laws = self._declared.columns[name].type, self._laws_of(name)
            for function in (of for of in _AGGREGATED if of in laws):
                aggregate = Aggregate(function, name, function)
                if type_ in aggregate.kind.takes and type_ not in ("string", "boolean"):
                    yield aggregate

    def _laws_of(self, name: str) -> frozenset[str]:
        """The families of a sensitive column of which there are laws."""
        nullable = self._declared.columns[name].nulls
        return self._likely.laws_over_nulls if nullable else self._likely.laws

    def _ask(
        self, kind: _Kind, waiting: set[Aggregate], randomness: Randomness
    ) -> Iterator[tuple[Aggregate, FamilyKey, MeasuredQuery]]:
        """A random query, asked of all aggregates that wait for more."""
        drawn = draw_selections(
            self._domains, several=kind.several, of=kind.of, randomness=randomness
        )
        chosen = self._chosen(drawn[:-1] if kind.of else drawn)
        if chosen.sum() < LEAST_ROWS:  # most are told by this, and it is cheap
            return
        condition = exp.and_(*(selection.condition for selection in drawn), copy=False)
        question = question_of(kind.aggregates[0], condition, self._declared)
        question = question.with_aggregates(a for a in kind.aggregates if a in waiting)
        laws = self._likely.spreads(question).get((), {})
        laws = {a: law for a, law in laws.items() if not (law.size.is_small or law.is_exact)}
        if kind.of is not None:
            chosen &= drawn[-1].holds(self._columns[kind.of])
        shape = shape_of(question, self._declared)
        for aggregate, law in laws.items():
            family = family_of(shape, aggregate)
            truth = self._truth(aggregate, chosen)
            if family is not None and truth is not None:
                yield aggregate, family, MeasuredQuery(law, truth)

    def _chosen(self, drawn: Sequence[Selection]) -> np.ndarray:
        """The rows of the original that are selected (bool)."""
        chosen = np.ones(self._original.rows, dtype=bool)
        for selection in drawn:
            chosen &= selection.holds(self._columns[selection.name])
        return chosen

    def _truth(self, aggregate: Aggregate, chosen: np.ndarray) -> float | None:
        if aggregate.sensitive is None:
            return float(chosen.sum())
        if aggregate not in self._truths:
            column = self._original[aggregate.sensitive]
            self._truths[aggregate] = truth_of(column, aggregate)
        truth = self._truths[aggregate].answer(aggregate.kind, chosen)
        return None if truth is None else float(truth)
