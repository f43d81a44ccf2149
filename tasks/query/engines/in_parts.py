"""Answers of releases in parts: one part is in memory at a time, and the parts' answers are joined.

No group has rows in two parts, so sums over groups are sums over parts. Bounds that SQL has to
compute are computed over all parts at once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import distinct_values, places_among
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import CountedValues, Counting
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.counted import CountedBounds, ShownValues
from sfumato.tasks.query.engines.direct import BoundsFromHelp, open_direct, rows_selected
from sfumato.tasks.query.engines.engine import Engine, Files
from sfumato.tasks.query.engines.group_bounds import CountedRows, bounds_from_values
from sfumato.tasks.query.engines.published_columns import NotDirectError
from sfumato.tasks.query.engines.release_tables import ReleaseTables
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.terms import Declared

_Answers = dict[Key, dict[Aggregate, Bounds]]


@dataclass
class _CountedCell:
    """The rows that count in a cell, and by column the values that count in each part."""

    rows: CountedRows | None = None
    values: dict[str, list[CountedValues]] = field(default_factory=dict)


def _sum(first: CountedRows | None, second: CountedRows) -> CountedRows:
    if first is None:
        return second
    none = first.expected is None or second.expected is None
    expected = None if none else Fraction(first.expected or 0) + Fraction(second.expected or 0)
    return CountedRows(first.least + second.least, first.most + second.most, expected)


def joined_values(parts: Sequence[CountedValues]) -> CountedValues:
    """Join the values of several parts: each value once, with its copies of all parts added up.

    The expected numbers are None if a part has none.

    Raises:
        TypeError: if a part's values are not those of a published column.
    """
    if len(parts) == 1:
        return parts[0]
    arrays = [_array(part) for part in parts]
    every = distinct_values(arrays)
    places = [places_among(array, every) for array in arrays]

    def total(numbers: Sequence[np.ndarray]) -> np.ndarray:
        summed = np.zeros(len(every), dtype=numbers[0].dtype)
        for place, number in zip(places, numbers, strict=True):
            summed[place] += number
        return summed

    low, high = (
        Counting(
            total([counting.sure for counting in sides]),
            total([counting.maybe for counting in sides]),
        )
        for sides in ([p.low for p in parts], [p.high for p in parts])
    )
    chances = [part.expected for part in parts if part.expected is not None]
    return CountedValues(
        ShownValues(every),
        partial(exact, every, "aggregated"),
        low,
        high,
        parts[0].whole,
        total(chances) if len(chances) == len(parts) else None,
        sum(part.expected_rows for part in parts),
    )


def _array(part: CountedValues) -> pa.Array:
    if not isinstance(part.values, ShownValues):
        raise TypeError(type(part.values).__name__)
    return part.values.values


@dataclass
class _HelpedCell:
    """The number of rows of a cell, and the ends of each aggregate's bounds.

    `sides` has an aggregate's lower bound, upper bound and expected sum (None without estimates),
    as help tables have them: before they are divided by the number of rows for a mean.
    """

    rows: int = 0
    sides: dict[Aggregate, tuple[Any, Any, Fraction | None]] = field(default_factory=dict)

    def join(self, aggregate: Aggregate, low: Any, high: Any, expected: Fraction | None) -> None:
        """Join the ends of an aggregate in another part with those of the parts before.

        Raises:
            NotDirectError: if no help table has the bounds of the aggregate.
        """
        help_bounds = aggregate.kind.help
        if help_bounds is None:
            raise NotDirectError
        if aggregate in self.sides:
            low_before, high_before, before = self.sides[aggregate]
            low = help_bounds.lower.join(low_before, low)
            high = help_bounds.upper.join(high_before, high)
            expected = None if before is None or expected is None else before + expected
        self.sides[aggregate] = low, high, expected


class JoinedQuestion(Protocol):
    """A question whose answer is joined from the answers of parts."""

    def add(self, tables: ReleaseTables) -> None:
        """Add the contribution of a part.

        Raises:
            NotDirectError: if only SQL can answer.
        """
        ...

    def answers(self) -> _Answers:
        """Return the bounds of each aggregate by the values of the group columns."""
        ...


@dataclass
class HelpedQuestion:
    """A question without a condition on sensitive values, answered from help tables."""

    conditions: ValueConditions
    question: Question
    estimates: bool
    is_whole: Callable[[str], bool]
    _cells: dict[Key, _HelpedCell] = field(default_factory=dict)

    def add(self, tables: ReleaseTables) -> None:
        """See `JoinedQuestion`."""
        rows = rows_selected(tables, self.conditions, self.question)
        helped = BoundsFromHelp(tables, rows, estimates=self.estimates)
        cells = [self._cells.setdefault(key, _HelpedCell()) for key in rows.keys]
        counts = rows.of_cells.tolist()
        for cell, number in zip(cells, counts, strict=True):
            cell.rows += number
        for aggregate in self.question.aggregates:
            if aggregate.kind.counts_rows:
                continue
            of_part = zip(cells, counts, *helped.sides(aggregate), strict=True)
            for cell, number, *sides in of_part:
                if number:
                    cell.join(aggregate, *sides)

    def answers(self) -> _Answers:
        """See `JoinedQuestion`."""
        return {
            key: {a: self._bounds(a, cell) for a in self.question.aggregates}
            for key, cell in self._cells.items()
            if cell.rows or not self.question.group_by
        }

    def _bounds(self, aggregate: Aggregate, cell: _HelpedCell) -> Bounds:
        help_bounds = aggregate.kind.help
        if help_bounds is None or aggregate not in cell.sides:
            rows = cell.rows if aggregate.kind.counts_rows else None
            return Bounds(rows, rows, rows)
        low, high, expected = cell.sides[aggregate]
        whole = self.is_whole(str(aggregate.sensitive))
        return help_bounds.bounds(low, high, cell.rows, expected, whole=whole)


@dataclass
class CountedQuestion:
    """A question with a condition on sensitive values, answered from the values that may count."""

    conditions: ValueConditions
    question: Question
    estimates: bool
    _cells: dict[Key, _CountedCell] = field(default_factory=dict)

    def add(self, tables: ReleaseTables) -> None:
        """See `JoinedQuestion`."""
        rows = rows_selected(tables, self.conditions, self.question)
        counted = CountedBounds(
            tables, self.conditions, self.question, rows, estimates=self.estimates
        )
        names = [str(a.sensitive) for a in self.question.aggregates if not a.kind.counts_rows]
        for place, (key, cell_rows) in enumerate(zip(rows.keys, counted.rows, strict=True)):
            cell = self._cells.setdefault(key, _CountedCell())
            cell.rows = _sum(cell.rows, cell_rows)
            for name in dict.fromkeys(names) if cell_rows.most else ():
                values = counted.values(name, place)
                if values is not None:
                    cell.values.setdefault(name, []).append(values)

    def answers(self) -> _Answers:
        """See `JoinedQuestion`."""
        return {
            key: {a: self._bounds(a, cell) for a in self.question.aggregates}
            for key, cell in self._cells.items()
            if cell.rows is not None and (cell.rows.most or not self.question.group_by)
        }

    def _bounds(self, aggregate: Aggregate, cell: _CountedCell) -> Bounds:
        rows = cell.rows or CountedRows(0, 0, Fraction(0) if self.estimates else None)
        parts = cell.values.get(str(aggregate.sensitive), [])
        return bounds_from_values(aggregate, rows, joined_values(parts) if parts else None)


@contextmanager
def open_rows(
    tables: Files, declared: Declared, estimator: Estimator = "weighted"
) -> Iterator[Engine]:
    """Open an engine that answers questions on the published tables and help tables.

    The estimator is only for other ways of showing people.
    """
    parts = _parts(tables)
    if not parts:
        with open_direct(tables, declared, estimator) as engine:
            yield engine
        return
    with session(tables) as connection:
        yield EngineInParts(connection, declared, parts, ValueConditions(connection))


def _parts(tables: Files) -> tuple[Files, ...]:
    """Return the tables of each part; empty if the tables are not in parts."""
    cut = {name: table for name, table in tables.items() if isinstance(table, TableInParts)}
    number = len(next(iter(cut.values())).files) if cut else 0
    return tuple({name: table.files[n] for name, table in cut.items()} for n in range(number))


@dataclass(frozen=True)
class EngineInParts(RowsEngine):
    """The tables of each part, which are read one part at a time; SQL sees all parts."""

    parts: tuple[Files, ...]
    conditions: ValueConditions

    def _bounds_by_help(self, question: Question, estimates: bool) -> _Answers:
        """Return the bounds if no condition is on sensitive values."""
        joined = HelpedQuestion(self.conditions, question, estimates, self._is_whole)
        try:
            return self._join(joined)
        except NotDirectError:
            return super()._bounds_by_help(question, estimates)

    def _bounds_by_values(self, question: Question, estimates: bool) -> _Answers:
        """Return the bounds if a condition is on sensitive values."""
        try:
            return self._join(CountedQuestion(self.conditions, question, estimates))
        except NotDirectError:
            return super()._bounds_by_values(question, estimates)

    def ask_each(self, questions: Sequence[Question], estimates: bool) -> list[_Answers]:
        """Return the bounds for several questions; each part is read once for all of them.

        Raises:
            QueryError: if a question cannot be evaluated.
        """
        joined = [self._joining(question, estimates) for question in questions]
        for tables in self._each():
            joined = [_add_part(question_in_parts, tables) for question_in_parts in joined]
        return [
            self.ask(question, estimates)
            if question_in_parts is None
            else question_in_parts.answers()
            for question, question_in_parts in zip(questions, joined, strict=True)
        ]

    def _joining(self, question: Question, estimates: bool) -> JoinedQuestion | None:
        """Return the object that joins the parts' answers; None if only SQL can answer."""
        kinds = [aggregate.kind for aggregate in question.aggregates]
        if any(kind.of_choices is not None for kind in kinds):
            return None
        if question.matching:
            return CountedQuestion(self.conditions, question, estimates)
        if any(kind.help is None and not kind.counts_rows for kind in kinds):
            return None
        return HelpedQuestion(self.conditions, question, estimates, self._is_whole)

    def _join(self, question: JoinedQuestion) -> _Answers:
        """Return the answer that all parts give together."""
        for tables in self._each():
            question.add(tables)
        return question.answers()

    def _each(self) -> Iterator[ReleaseTables]:
        """Yield the tables of each part; only one part is kept in memory."""
        for tables in self.parts:
            yield ReleaseTables(tables, self.declared, relations(self.declared))

    def _is_whole(self, name: str) -> bool:
        return self.declared.columns[name].type == "integer"


def _add_part(joined: JoinedQuestion | None, tables: ReleaseTables) -> JoinedQuestion | None:
    """Add another part to a question; return None if its answer needs SQL."""
    try:
        if joined is not None:
            joined.add(tables)
    except NotDirectError:
        return None
    return joined
