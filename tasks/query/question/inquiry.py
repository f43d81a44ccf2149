"""An inquiry: one SELECT as questions that bounds answer, and calculations with the answers."""

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
    RelatedScope,
)


@dataclass(frozen=True)
class OrderKey:
    """A key by which rows are ordered: the place of a group column, or a calculated value."""

    by: "int | Formula | RowWindow"
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class RowWindow:
    """A rank, or a running total, over the rows of an answer.

    Attributes:
        name: "rank", "row_number" or "sum".
        value: the formula that is added up; None for ranks.
        partition: the places of the group columns that are the same in all rows of a window.
        order: the keys by which rows are ranked; of running totals only group columns.
    """

    name: str
    value: Formula | None
    partition: tuple[int, ...]
    order: tuple[OrderKey, ...]

    @property
    def formulas(self) -> list[Formula]:
        """The formulas that it compares or adds up."""
        ordered = [key.by for key in self.order if not isinstance(key.by, int | RowWindow)]
        return ordered if self.value is None else [self.value, *ordered]


@dataclass(frozen=True)
class Measure:
    """A calculated value of an answer, under a name."""

    formula: Formula | RowWindow
    label: str


@dataclass(frozen=True)
class ConstantColumn:
    """A constant in every row of an answer, under a name; null if a grouping leaves it out."""

    value: str | int | float | bool | None
    label: str


@dataclass(frozen=True)
class KeyColumn:
    """A column of GROUP BY.

    Attributes:
        name: of the published or calculated column.
        banded: whether it has sensitive values; then each of its values is asked for.
    """

    name: str
    banded: bool


@dataclass(frozen=True)
class InquiredPart:
    """Rows, and the aggregates that are asked of them.

    Attributes:
        condition: the condition on columns published as they are.
        matching: the conditions on values that are published apart from their rows.
        aggregates: with bounds.
        exact: aggregates of columns that are published as they are.
        grouped: whether each row of the answer has its own result, not all rows the same.
        extra: the condition in addition to WHERE, as of FILTER, if it is one condition.
        partition: the group columns in which rows of the answer agree that have the same result,
            if not each has its own.
    """

    condition: exp.Expr | None
    matching: tuple[Matching, ...]
    aggregates: tuple[Aggregate, ...]
    exact: tuple[Aggregate, ...] = ()
    grouped: bool = True
    extra: exp.Expr | None = None
    partition: tuple[str, ...] = ()

    @property
    def only_counts_rows(self) -> bool:
        """True if no aggregate with bounds is asked for other than the number of rows."""
        return all(aggregate.counts_all_rows for aggregate in self.aggregates)

    def question(self, group_by: tuple[str, ...]) -> Question:
        """Return the question of these aggregates by the values of some columns."""
        keys = (GroupColumn(name, name) for name in group_by)
        return Question((*keys, *self.aggregates), self.condition, group_by, self.matching)


@dataclass(frozen=True)
class Inquiry:
    """The questions of one SELECT.

    Attributes:
        shown: the selected columns, in order.
        keys: the columns of GROUP BY.
        parts: the sets of rows that are asked about.
        present: the number of rows on which WHERE holds.
        calculated: columns that the questions use in addition to published ones.
        having: the condition on rows of the answer, about formulas.
        order: the keys by which rows are ordered.
        limit: the greatest number of rows; None for all.
        offset: the number of first rows that are left out.
        joins: tables of the analyst's that the microdata is joined with.
        related: the rows that are counted, if two related tables are asked; otherwise None.
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
    related: RelatedScope | None = None

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """All formulas that are calculated in each row of the answer."""
        selected = (item.formula for item in self.shown if isinstance(item, Measure))
        measures = [formula for formula in selected if not isinstance(formula, RowWindow)]
        compared = self.having.aggregates if self.having else []
        ordered = [key.by for key in self.order if not isinstance(key.by, int | RowWindow)]
        in_windows = [formula for window in self.windows for formula in window.formulas]
        return tuple(dict.fromkeys([*measures, *compared, *ordered, *in_windows]))

    @property
    def windows(self) -> tuple[RowWindow, ...]:
        """All ranks and running totals of the rows of the answer."""
        selected = (item.formula for item in self.shown if isinstance(item, Measure))
        windows = [
            formula
            for formula in (*selected, *(key.by for key in self.order))
            if isinstance(formula, RowWindow)
        ]
        return tuple(dict.fromkeys(windows))

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed."""
        by_part = (part.question(()).helped_by for part in self.parts)
        calculated = {column.name for column in self.calculated}
        names = (name for of_part in by_part for name in of_part if name not in calculated)
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class RowSummary:
    """An aggregate over the rows of an answer.

    Attributes:
        name: "count", "sum", "avg", "min" or "max".
        column: the column of the answer; None for the number of rows.
        label: the name of the result.
    """

    name: str
    column: str | None
    label: str


@dataclass(frozen=True)
class SeveralInquiries:
    """Inquiries whose rows follow one another in one answer; mostly there is only one.

    Attributes:
        inquiries: with the same number of columns; the names are those of the first.
        order: the columns by which all rows together are ordered; empty to keep their order.
        headers: the columns as the reader typed them; empty if there is no text of a query.
        summaries: the aggregates that are shown in place of the rows; empty to show the rows.
    """

    inquiries: tuple[Inquiry, ...]
    order: tuple[KeyOrder, ...] = ()
    headers: tuple[str, ...] = ()
    summaries: tuple[RowSummary, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The names of the columns of the answer."""
        return [item.label for item in self.summaries or self.inquiries[0].shown]

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed."""
        return tuple(
            dict.fromkeys(name for inquiry in self.inquiries for name in inquiry.helped_by)
        )
