"""Random queries asked of a release that is not sealed yet, and of the rows that it represents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from sqlglot import exp

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import OriginalColumn
from sfumato.tasks.query.intervals.calibration.draw import Domains, below, draw_selections
from sfumato.tasks.query.intervals.calibration.truth import TruthOfColumn
from sfumato.tasks.query.intervals.laws.spread import AnswerLaw
from sfumato.tasks.query.intervals.shapes.alike import ALIKE
from sfumato.tasks.query.intervals.shapes.families import family_of
from sfumato.tasks.query.intervals.shapes.limits import LEAST_ROWS
from sfumato.tasks.query.intervals.shapes.selection import Selection
from sfumato.tasks.query.intervals.shapes.shape import shape_of
from sfumato.tasks.query.intervals.ways.way import LikelyAnswers
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.question.conditions import question_of

FamilyKey = tuple[str, str]
"""The name of a family, and the sensitive column that it is about; "" for none."""

QUERIES = 2_000
"""So many queries of each family are calibrated on, where there are so many."""

_TRIES = 3  # times as many queries are drawn at most: some are too small, or exact


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
class _Asked:
    """Any of some alike aggregates, of a column; of none, rows are counted."""

    alike: str
    of: str | None


_ROWS = _Asked("count", None)


@dataclass(frozen=True)
class _Kind:
    """Queries that are drawn alike: by several columns or one, and by a sensitive value."""

    several: bool
    of: str | None
    asked: tuple[_Asked, ...]


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
        self._truths: dict[str, TruthOfColumn] = {}

    def measure(self, number: int, randomness: Randomness) -> dict[FamilyKey, list[MeasuredQuery]]:
        """So many queries of each family, or fewer where few are large enough and not exact."""
        found: dict[FamilyKey, list[MeasuredQuery]] = {}
        for kind in self._kinds():
            waiting = set(kind.asked)
            for _ in range(number * _TRIES):
                if not waiting:
                    break
                for asked, family, query in self._ask(kind, waiting, randomness):
                    queries = found.setdefault(family, [])
                    queries.append(query)
                    if len(queries) == number:
                        waiting.remove(asked)
        return found

    def _kinds(self) -> Iterator[_Kind]:
        laws, columns = self._likely.laws, len(self._domains.names("quasi-identifier"))
        names = self._domains.names("sensitive")
        whole = [name for name in names if not self._declared.columns[name].nulls]
        together = (*((_ROWS,) if "rows" in laws else ()), *self._aggregates(whole))
        for several in [False, True][: min(columns, 2)]:
            if together:
                yield _Kind(several, None, together)
            for name in names:
                yield _Kind(several, name, (_ROWS,))
                alone = () if name in whole else tuple(self._aggregates([name]))
                if alone:  # each passes over its own nulls
                    yield _Kind(several, None, alone)

    def _aggregates(self, names: Sequence[str]) -> Iterator[_Asked]:
        for name in names:
            type_, laws = self._declared.columns[name].type, self._laws_of(name)
            for alike in (of for of in ALIKE if of in laws):
                kinds = [AGGREGATES[function] for function in ALIKE[alike].functions]
                takes = all(type_ in kind.takes and not kind.counts_rows for kind in kinds)
                if takes and type_ not in ("string", "boolean"):
                    yield _Asked(alike, name)

    def _laws_of(self, name: str) -> frozenset[str]:
        """The families of a sensitive column of which there are laws."""
        nullable = self._declared.columns[name].nulls
        return self._likely.laws_over_nulls if nullable else self._likely.laws

    def _ask(
        self, kind: _Kind, waiting: set[_Asked], randomness: Randomness
    ) -> Iterator[tuple[_Asked, FamilyKey, MeasuredQuery]]:
        """A random query, asked of all aggregates that wait for more."""
        drawn = draw_selections(
            self._domains, several=kind.several, of=kind.of, randomness=randomness
        )
        chosen = self._chosen(drawn[:-1] if kind.of else drawn)
        if chosen.sum() < LEAST_ROWS:  # most are told by this, and it is cheap
            return
        condition = exp.and_(*(selection.condition for selection in drawn), copy=False)
        aggregates = {
            ALIKE[one.alike].draw(one.of, partial(below, randomness=randomness)): one
            for one in kind.asked
            if one in waiting
        }
        question = question_of(next(iter(aggregates)), condition, self._declared)
        question = question.with_aggregates(aggregates)
        laws = self._likely.spreads(question).get((), {})
        laws = {a: law for a, law in laws.items() if not (law.size.is_small or law.is_exact)}
        if kind.of is not None:
            chosen &= drawn[-1].holds(self._columns[kind.of])
        shape = shape_of(question, self._declared)
        values = cache(lambda name: self._truth_of(name).chosen(chosen))
        for aggregate, law in laws.items():
            family, name = family_of(shape, aggregate), aggregate.sensitive
            truth: float | None = float(chosen.sum())
            if name is not None:
                truth = self._truth_of(name).answer(aggregate, values(name))
            if family is not None and truth is not None:
                yield aggregates[aggregate], family, MeasuredQuery(law, truth)

    def _chosen(self, drawn: Sequence[Selection]) -> np.ndarray:
        """The rows of the original that are selected (bool)."""
        chosen = np.ones(self._original.rows, dtype=bool)
        for selection in drawn:
            chosen &= selection.holds(self._columns[selection.name])
        return chosen

    def _truth_of(self, name: str) -> TruthOfColumn:
        if name not in self._truths:
            self._truths[name] = TruthOfColumn(self._original[name])
        return self._truths[name]
