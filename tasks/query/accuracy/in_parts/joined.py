"""An aggregate over rows of several parts, from what it is over those of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.tasks.query.question.aggregates.kind import AggregateKind, HelpColumn


@dataclass
class JoinedAnswer:
    """What parts add up to.

    Attributes:
        column: whose function combines them; without one rows are counted.
        per_row: whether each is by the number of its rows.
        rows: how many there are so far.
        combined: of those, what is by no number of rows.
    """

    column: HelpColumn | None
    per_row: bool = False
    rows: int = 0
    combined: Fraction | None = None

    def add(self, rows: int, answer: Fraction | None) -> None:
        """Add the answer of a part, which is over so many rows."""
        self.rows += rows
        if self.column is None or answer is None:
            return
        more = answer * rows if self.per_row else answer
        known, join = self.combined, _JOINED[self.column.function]
        self.combined = more if known is None else join(known, more)

    @property
    def answer(self) -> Fraction | None:
        """The answer over all rows; None where there are none."""
        if self.column is None:
            return Fraction(self.rows)
        if self.combined is None or not self.per_row:
            return self.combined
        return self.combined / self.rows


def joined_ends(kind: AggregateKind) -> tuple[JoinedAnswer, JoinedAnswer]:
    """What joins the lower, and what joins the upper ends of an aggregate's bounds."""
    if kind.help is None:
        return JoinedAnswer(None), JoinedAnswer(None)
    lower, upper = (
        JoinedAnswer(of, kind.help.per_row) for of in (kind.help.lower, kind.help.upper)
    )
    return lower, upper


def joined_truth(kind: AggregateKind) -> JoinedAnswer:
    """What joins an aggregate's exact answers, which lie between both ends."""
    return joined_ends(kind)[0]


def _sum(one: Fraction, other: Fraction) -> Fraction:
    return one + other


_JOINED: Mapping[type[exp.AggFunc], Callable[[Any, Any], Any]] = {
    exp.Sum: _sum,
    exp.Min: min,
    exp.Max: max,
}
"""How what is over two parts comes from what is over each, by what combines it over groups."""
