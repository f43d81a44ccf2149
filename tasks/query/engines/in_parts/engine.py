"""The engine of releases that show exact rows, in one table or in parts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.engine import open_direct
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.engines.in_parts.joined import (
    CountedQuestion,
    HelpedQuestion,
    JoinedQuestion,
)
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key, Question
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.sql.session import session

_Found = dict[Key, dict[Aggregate, Bounds]]


@contextmanager
def open_rows(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator[Engine]:
    """An engine that answers questions on the published tables and help tables."""
    parts = _parts(tables)
    if not parts:
        with open_direct(tables, declared, estimator) as engine:
            yield engine
        return
    with session(tables) as connection:
        yield EngineInParts(connection, declared, parts, ValueConditions(connection))


def _parts(tables: Files) -> tuple[Files, ...]:
    """The tables of each part, none where they are not in parts."""
    cut = {name: of for name, of in tables.items() if isinstance(of, TableInParts)}
    number = len(next(iter(cut.values())).files) if cut else 0
    return tuple({name: of.files[n] for name, of in cut.items()} for n in range(number))


@dataclass(frozen=True)
class EngineInParts(RowsEngine):
    """The tables of each part, of which one is read at a time; SQL sees all of them."""

    parts: tuple[Files, ...]
    conditions: ValueConditions

    def _helped(self, question: Question, estimates: bool) -> _Found:
        """The bounds without a condition on sensitive values."""
        joined = HelpedQuestion(self.conditions, question, estimates, self._is_whole)
        try:
            return self._joined(joined)
        except NotDirectError:
            return super()._helped(question, estimates)

    def _counted(self, question: Question, estimates: bool) -> _Found:
        """The bounds where a condition is on sensitive values."""
        try:
            return self._joined(CountedQuestion(self.conditions, question, estimates))
        except NotDirectError:
            return super()._counted(question, estimates)

    def ask_each(self, questions: Sequence[Question], estimates: bool) -> list[_Found]:
        """The bounds that several questions ask for: each part is read once for all of them.

        Raises:
            QueryError: where one cannot be evaluated.
        """
        joined = [self._joining(question, estimates) for question in questions]
        for tables in self._each():
            joined = [_added(one, tables) for one in joined]
        return [
            self.ask(question, estimates) if one is None else one.found()
            for question, one in zip(questions, joined, strict=True)
        ]

    def _joining(self, question: Question, estimates: bool) -> JoinedQuestion | None:
        """What joins the parts' answers to a question, where one thing does."""
        kinds = [aggregate.kind for aggregate in question.aggregates]
        if any(kind.of_choices is not None for kind in kinds):
            return None
        if question.matching:
            return CountedQuestion(self.conditions, question, estimates)
        if any(kind.help is None and not kind.counts_rows for kind in kinds):
            return None
        return HelpedQuestion(self.conditions, question, estimates, self._is_whole)

    def _joined(self, question: JoinedQuestion) -> _Found:
        for tables in self._each():
            question.add(tables)
        return question.found()

    def _each(self) -> Iterator[ReleaseTables]:
        for tables in self.parts:
            yield ReleaseTables(tables, self.declared, relations(self.declared))

    def _is_whole(self, name: str) -> bool:
        return self.declared.columns[name].type == "integer"


def _added(joined: JoinedQuestion | None, tables: ReleaseTables) -> JoinedQuestion | None:
    """The same with another part; None where that gives no answer, but SQL does."""
    try:
        if joined is not None:
            joined.add(tables)
    except NotDirectError:
        return None
    return joined
