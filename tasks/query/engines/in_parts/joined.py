"""A question that is answered part by part, by what joins the answers of the parts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.counted import CountedBounds
from sfumato.tasks.query.engines.direct.engine import rows_selected
from sfumato.tasks.query.engines.direct.helped import BoundsFromHelp
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.engines.in_parts.counted import CountedInParts
from sfumato.tasks.query.engines.in_parts.helped import HelpedInParts
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key, Question

_Found = dict[Key, dict[Aggregate, Bounds]]


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
