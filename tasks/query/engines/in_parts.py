"""Answers of releases in parts: one part is in memory at a time, and groups' shares are joined.

No group has rows of two parts, so that sums over groups are sums over parts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.arrow import as_numpy
from sfumato.expectations.exact import exact
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.bounds.extremes import CountedValues, Counting
from sfumato.tasks.query.engines.cells import SelectedRows
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

_LONG = Context(prec=60)
_Found = dict[Key, dict[Aggregate, Bounds]]


@dataclass
class _CountedCell:
    """What counts in a cell: rows, and by column the values of each part."""

    rows: CountedRows | None = None
    values: dict[str, list[CountedValues]] = field(default_factory=dict)


class CountedInParts:
    """The bounds of aggregates over the rows that are meant, in all parts that were added."""

    def __init__(self, aggregates: Sequence[Aggregate], *, estimates: bool) -> None:
        """Know of no part yet."""
        self._aggregates, self._estimates = aggregates, estimates
        self._cells: dict[Key, _CountedCell] = {}

    def add(self, rows: SelectedRows, counted: CountedBounds) -> None:
        """Join what the groups of a part contribute.

        Raises:
            NotDirectError: where there are too many values and cells.
        """
        names = [str(a.sensitive) for a in self._aggregates if not a.kind.counts_rows]
        for place, (key, of) in enumerate(zip(rows.keys, counted.rows, strict=True)):
            cell = self._cells.setdefault(key, _CountedCell())
            cell.rows = _sum(cell.rows, of)
            for name in dict.fromkeys(names) if of.most else ():
                found = counted.values(name, place)
                if found is not None:
                    cell.values.setdefault(name, []).append(found)

    def found(self, *, grouped: bool) -> dict[Key, dict[Aggregate, Bounds]]:
        """The bounds of each aggregate by the values of the group columns."""
        return {
            key: {a: self._bounds(a, cell) for a in self._aggregates}
            for key, cell in self._cells.items()
            if cell.rows is not None and (cell.rows.most or not grouped)
        }

    def _bounds(self, aggregate: Aggregate, cell: _CountedCell) -> Bounds:
        rows = cell.rows or CountedRows(0, 0, Fraction(0) if self._estimates else None)
        parts = cell.values.get(str(aggregate.sensitive), [])
        return bounds_from_values(aggregate, rows, joined_values(parts) if parts else None)


def _sum(one: CountedRows | None, other: CountedRows) -> CountedRows:
    if one is None:
        return other
    none = one.expected is None or other.expected is None
    expected = None if none else Fraction(one.expected or 0) + Fraction(other.expected or 0)
    return CountedRows(one.least + other.least, one.most + other.most, expected)


def joined_values(parts: Sequence[CountedValues]) -> CountedValues:
    """The values of several parts, each once, and how many of their copies count in all."""
    if len(parts) == 1:
        return parts[0]
    shown = [_array(part) for part in parts]
    every = pc.unique(pa.concat_arrays(shown))
    every = every.take(pc.sort_indices(every))
    places = [as_numpy(pc.index_in(of, value_set=every)) for of in shown]

    def total(numbers: Sequence[np.ndarray]) -> np.ndarray:
        summed = np.zeros(len(every), dtype=numbers[0].dtype)
        for place, number in zip(places, numbers, strict=True):
            summed[place] += number
        return summed

    low, high = (
        Counting(total([of.sure for of in sides]), total([of.maybe for of in sides]))
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
    """What is known of a cell: its rows, and of each aggregate both sides and what is expected."""

    rows: int = 0
    sides: dict[Aggregate, tuple[Any, Any, Fraction | None]] = field(default_factory=dict)


class HelpedInParts:
    """The bounds of aggregates over the rows of all parts that were added."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        """Know of no part yet."""
        self._aggregates = aggregates
        self._cells: dict[Key, _HelpedCell] = {}

    def add(self, rows: SelectedRows, helped: BoundsFromHelp) -> None:
        """Join what the groups of a part contribute.

        Raises:
            NotDirectError: where no help table holds it.
        """
        cells = [self._cells.setdefault(key, _HelpedCell()) for key in rows.keys]
        counts = rows.of_cells.tolist()
        for cell, number in zip(cells, counts, strict=True):
            cell.rows += number
        for aggregate in self._aggregates:
            if aggregate.kind.counts_rows:
                continue
            of_part = zip(cells, counts, *helped.sides(aggregate), strict=True)
            for cell, number, low, high, expected in of_part:
                if number:
                    _join(cell, aggregate, (low, high, expected))

    def found(
        self, is_whole: Callable[[str], bool], *, grouped: bool
    ) -> dict[Key, dict[Aggregate, Bounds]]:
        """The bounds of each aggregate by the values of the group columns."""
        return {
            key: {a: _bounds(a, cell, is_whole) for a in self._aggregates}
            for key, cell in self._cells.items()
            if cell.rows or not grouped
        }


def _join(cell: _HelpedCell, aggregate: Aggregate, more: tuple[Any, Any, Fraction | None]) -> None:
    of = aggregate.kind.help
    if of is None:
        raise NotDirectError
    before = cell.sides.get(aggregate)
    if before is None:
        cell.sides[aggregate] = more
        return
    low, high = (
        _JOINED[column.function](one, other)
        for column, one, other in zip((of.lower, of.upper), before, more, strict=False)
    )
    expected = None if before[2] is None or more[2] is None else before[2] + more[2]
    cell.sides[aggregate] = low, high, expected


def _bounds(aggregate: Aggregate, cell: _HelpedCell, is_whole: Callable[[str], bool]) -> Bounds:
    of = aggregate.kind.help
    if of is None or aggregate not in cell.sides:
        rows = cell.rows if aggregate.kind.counts_rows else None
        return Bounds(rows, rows, rows)
    low, high, expected = cell.sides[aggregate]
    return of.bounds(low, high, cell.rows, expected, whole=is_whole(str(aggregate.sensitive)))


def _add_ends(one: Any, other: Any) -> Any:
    return _LONG.add(one, other) if isinstance(one, Decimal) else one + other


_JOINED: Mapping[type[exp.AggFunc], Callable[[Any, Any], Any]] = {
    exp.Sum: _add_ends,
    exp.Min: min,
    exp.Max: max,
}
"""How a side of two parts is that of both, by what combines it over groups."""


class JoinedQuestion(Protocol):
    """A question to which parts contribute."""

    def add(self, tables: ReleaseTables) -> None:
        """Join what a part contributes.

        Raises:
            NotDirectError: where it does not tell.
        """
        ...

    def found(self) -> _Found:
        """The bounds of each aggregate by the values of the group columns."""
        ...


@dataclass
class HelpedQuestion:
    """One without a condition on sensitive values."""

    conditions: ValueConditions
    question: Question
    estimates: bool
    is_whole: Callable[[str], bool]
    joined: HelpedInParts = field(init=False)

    def __post_init__(self) -> None:
        """Know of no part yet."""
        self.joined = HelpedInParts(self.question.aggregates)

    def add(self, tables: ReleaseTables) -> None:
        """See `JoinedQuestion`."""
        rows = rows_selected(tables, self.conditions, self.question)
        self.joined.add(rows, BoundsFromHelp(tables, rows, estimates=self.estimates))

    def found(self) -> _Found:
        """See `JoinedQuestion`."""
        return self.joined.found(self.is_whole, grouped=bool(self.question.group_by))


@dataclass
class CountedQuestion:
    """One with a condition on sensitive values."""

    conditions: ValueConditions
    question: Question
    estimates: bool
    joined: CountedInParts = field(init=False)

    def __post_init__(self) -> None:
        """Know of no part yet."""
        self.joined = CountedInParts(self.question.aggregates, estimates=self.estimates)

    def add(self, tables: ReleaseTables) -> None:
        """See `JoinedQuestion`."""
        rows = rows_selected(tables, self.conditions, self.question)
        of_part = CountedBounds(
            tables, self.conditions, self.question, rows, estimates=self.estimates
        )
        self.joined.add(rows, of_part)

    def found(self) -> _Found:
        """See `JoinedQuestion`."""
        return self.joined.found(grouped=bool(self.question.group_by))


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


def ask_each(
    asking: Engine, questions: Sequence[Question], *, estimates: bool
) -> Iterator[Mapping[Key, Mapping[Aggregate, Bounds]]]:
    """What an engine finds of each question, with estimates where these are asked for.

    Raises:
        QueryError: where one cannot be evaluated.
    """
    found = (
        asking.ask_each(questions, estimates)
        if isinstance(asking, EngineInParts)
        else (asking.ask(question, estimates) for question in questions)
    )
    for one in found:
        yield {key: _estimated(bounds, estimates) for key, bounds in one.items()}


def _estimated(bounds: Mapping[Aggregate, Bounds], estimates: bool) -> Mapping[Aggregate, Bounds]:
    return {of: with_estimate(one) if estimates else one for of, one in bounds.items()}
