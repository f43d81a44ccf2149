"""The engine of releases that show exact rows, in one table or in parts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.counted import CountedBounds
from sfumato.tasks.query.engines.direct.engine import open_direct, rows_selected
from sfumato.tasks.query.engines.direct.helped import BoundsFromHelp
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.engines.in_parts.counted import CountedInParts
from sfumato.tasks.query.engines.in_parts.helped import HelpedInParts
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
        joined = HelpedInParts(question.aggregates)
        try:
            for tables in self._each():
                rows = rows_selected(tables, self.conditions, question)
                joined.add(rows, BoundsFromHelp(tables, rows, estimates=estimates))
        except NotDirectError:
            return super()._helped(question, estimates)
        return joined.found(self._is_whole, grouped=bool(question.group_by))

    def _counted(self, question: Question, estimates: bool) -> _Found:
        """The bounds where a condition is on sensitive values."""
        joined = CountedInParts(question.aggregates, estimates=estimates)
        try:
            for tables in self._each():
                rows = rows_selected(tables, self.conditions, question)
                counted = CountedBounds(
                    tables, self.conditions, question, rows, estimates=estimates
                )
                joined.add(rows, counted)
        except NotDirectError:
            return super()._counted(question, estimates)
        return joined.found(grouped=bool(question.group_by))

    def _each(self) -> Iterator[ReleaseTables]:
        for tables in self.parts:
            yield ReleaseTables(tables, self.declared, relations(self.declared))

    def _is_whole(self, name: str) -> bool:
        return self.declared.columns[name].type == "integer"
