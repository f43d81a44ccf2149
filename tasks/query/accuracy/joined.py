"""Tables that workloads ask; queries of one or more parts in turn, and their answers joined."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeVar

from sfumato.tasks.query.aggregates.kind import AggregateKind, HelpColumn
from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.truth import OriginalInParts, Outcome, as_fraction
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.terms.terms import Declared

_AT_ONCE = 200
"""Queries that are asked while the parts are open once; each keeps a running answer in memory."""
Prepared = TypeVar("Prepared")
Drawn = TypeVar("Drawn")


@dataclass(frozen=True, eq=False)
class AskedTables:
    """The tables of a release and of its original, as workloads ask them.

    Attributes:
        engine: answers questions on the published tables.
        declared: the release's declaration.
        original: the rows before anonymization.
    """

    engine: Engine
    declared: Declared
    original: OriginalInParts

    def rows(self, kind: str) -> int:  # noqa: ARG002 - for tables with several kinds of rows
        """Return the number of published rows that queries of a kind of workload count."""
        return self.declared.rows.published

    def ends(self, name: str) -> tuple[Fraction | None, Fraction | None]:
        """Return the least and the greatest published value of a column, or None twice."""
        ends = tuple(Aggregate(end, name, end) for end in ("min", "max"))
        least, greatest = (
            ask(
                self.engine,
                self.declared,
                question_of(aggregate, None, self.declared),
                estimates=False,
            ).rows[0][aggregate.label]
            for aggregate in ends
        )
        return as_fraction(least.lower), as_fraction(greatest.upper)


def first_sensitive(declared: Declared) -> str:
    """Return the sensitive column that a workload is about if it names none.

    Of two tables it is one of the related rows.
    """
    names = declared.names_with_roles("sensitive")
    return next((name for name in names if name in declared.form.related_columns), names[0])


class PreparedParts(Generic[Prepared]):
    """Parts of a table, each prepared for queries when it is its turn; an only one is kept."""

    def __init__(self, number: int, read: Callable[[], Iterator[Prepared]]) -> None:
        """Take the number of parts, and the function that reads them all."""
        self._is_single, self._read = number == 1, read

    @property
    def at_once(self) -> int:
        """The number of queries to ask while the parts are read once."""
        return 1 if self._is_single else _AT_ONCE

    def __iter__(self) -> Iterator[Prepared]:
        """Yield the parts, one after the other."""
        return iter(self._only) if self._is_single else self._read()

    @cached_property
    def _only(self) -> Sequence[Prepared]:
        return list(self._read())


def ask_in_turn(
    levels: Sequence[int],
    at_once: int,
    draw: Callable[[int], Drawn | None],
    ask: Callable[[Sequence[Drawn]], Iterator[Outcome]],
) -> Iterator[Outcome | None]:
    """Draw one query per level and yield the outcomes; None for a level without a query.

    Args:
        levels: the levels of all queries.
        at_once: the number of queries to ask together.
        draw: draws the next query of a level, None if nothing can be asked.
        ask: asks several queries, all of a part before the next part is read.
    """
    for first in range(0, len(levels), at_once):
        queries = list(map(draw, levels[first : first + at_once]))
        outcomes = ask([query for query in queries if query is not None])
        yield from (None if query is None else next(outcomes) for query in queries)


@dataclass
class JoinedAnswer:
    """The answer over all parts, which grows by the answer of each part.

    Attributes:
        column: its function combines the parts' answers; None if rows are counted.
        per_row: whether an answer is divided by its number of rows.
        rows: the number of rows so far.
        total: the combined answers so far, not divided by rows.
    """

    column: HelpColumn | None
    per_row: bool = False
    rows: int = 0
    total: Fraction | None = None

    def add(self, rows: int, answer: Fraction | None) -> None:
        """Add the answer of a part that has `rows` rows."""
        self.rows += rows
        if self.column is None or answer is None:
            return
        more = answer * rows if self.per_row else answer
        self.total = more if self.total is None else self.column.join(self.total, more)

    @property
    def answer(self) -> Fraction | None:
        """The answer over all rows; None if there are no rows."""
        if self.column is None:
            return Fraction(self.rows)
        if self.total is None or not self.per_row:
            return self.total
        return self.total / self.rows


def joined_ends(kind: AggregateKind) -> tuple[JoinedAnswer, JoinedAnswer]:
    """Return empty answers for the lower and the upper end of an aggregate's bounds."""
    if kind.help is None:
        return JoinedAnswer(None), JoinedAnswer(None)
    lower, upper = (
        JoinedAnswer(column, kind.help.per_row) for column in (kind.help.lower, kind.help.upper)
    )
    return lower, upper


def joined_truth(kind: AggregateKind) -> JoinedAnswer:
    """Return an empty answer for an aggregate's exact value, which lies between both ends."""
    return joined_ends(kind)[0]
