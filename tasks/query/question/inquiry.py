"""An inquiry: what one SELECT asks, as questions that bounds answer, and what is made of these."""

from dataclasses import dataclass

from sqlglot import exp

from sfumato.tasks.query.question.calculations import Calculated, JoinedTable
from sfumato.tasks.query.question.formulas import Formula
from sfumato.tasks.query.question.having import Having
from sfumato.tasks.query.question.question import (
    Aggregate,
    GroupColumn,
    KeyOrder,
    Matching,
    Question,
)


@dataclass(frozen=True)
class Measure:
    """Something calculated that is shown, under a name."""

    formula: Formula
    label: str


@dataclass(frozen=True)
class ConstantColumn:
    """A constant that is shown in every row, under a name; null where a grouping leaves it out."""

    value: str | int | float | bool | None
    label: str


@dataclass(frozen=True)
class KeyColumn:
    """A column of GROUP BY.

    Attributes:
        name: of the published, or calculated, column.
        banded: whether it is of sensitive values: then each value that it has is asked for.
    """

    name: str
    banded: bool


@dataclass(frozen=True)
class InquiredPart:
    """Rows that are meant, and what is asked of them.

    Attributes:
        condition: which rows are meant, decided on columns published as they are.
        matching: which values are meant, where they stand apart from their rows.
        aggregates: with bounds.
        exact: aggregates of columns that are published as they are.
        grouped: whether each row of the answer has its own; else it is the same in all of them.
        extra: what its condition says besides WHERE, as FILTER does, if that is one condition.
    """

    condition: exp.Expr | None
    matching: tuple[Matching, ...]
    aggregates: tuple[Aggregate, ...]
    exact: tuple[Aggregate, ...] = ()
    grouped: bool = True
    extra: exp.Expr | None = None

    @property
    def counts_rows_alone(self) -> bool:
        """True where nothing is asked of them that has bounds, but how many there are."""
        return all(one.counts_all_rows for one in self.aggregates)

    def question(self, group_by: tuple[str, ...]) -> Question:
        """The question of these aggregates by the values of some columns."""
        keys = (GroupColumn(name, name) for name in group_by)
        return Question((*keys, *self.aggregates), self.condition, group_by, self.matching)


@dataclass(frozen=True)
class OrderKey:
    """What rows are ordered by: a group column, by its place, or something calculated."""

    by: int | Formula
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Inquiry:
    """What one SELECT asks.

    Attributes:
        shown: what is selected, in order.
        keys: the columns of GROUP BY.
        parts: rows that are meant.
        present: the number of rows on which WHERE holds.
        calculated: columns that the questions name beside published ones.
        having: which rows of the answer are wanted, about formulas.
        order: how they are ordered.
        limit: how many are wanted; None for all.
        offset: how many are left out before.
        joins: tables of the analyst's that the microdata is joined with.
    """

    shown: tuple[GroupColumn | Measure | ConstantColumn, ...]
    keys: tuple[KeyColumn, ...]
    parts: tuple[InquiredPart, ...]
    present: Formula
    calculated: tuple[Calculated, ...]
    having: Having | None
    order: tuple[OrderKey, ...]
    limit: int | None = None
    offset: int = 0
    joins: tuple[JoinedTable, ...] = ()

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """All that is calculated in each row of the answer."""
        shown = [item.formula for item in self.shown if isinstance(item, Measure)]
        compared = self.having.aggregates if self.having else []
        ordered = [key.by for key in self.order if not isinstance(key.by, int)]
        return tuple(dict.fromkeys([*shown, *compared, *ordered]))

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed."""
        asked = (part.question(()).helped_by for part in self.parts)
        calculated = {one.name for one in self.calculated}
        names = (name for of_part in asked for name in of_part if name not in calculated)
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class SeveralInquiries:
    """Inquiries whose rows stand one after another in one answer; mostly one alone.

    Attributes:
        inquiries: each shows as many columns; their names are those of the first.
        order: the columns that all rows together are ordered by; as they come, without any.
    """

    inquiries: tuple[Inquiry, ...]
    order: tuple[KeyOrder, ...] = ()

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed."""
        return tuple(dict.fromkeys(name for one in self.inquiries for name in one.helped_by))
