"""Questions: the rows and aggregates for which bounds are asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from sqlglot import exp

from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import CountedValues
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.question.having import Having

Key = tuple[Any, ...]
"""The values of the group columns of a row of an answer."""
TABLE = "microdata"
BOUNDS = ("lower", "upper")
Counted = Literal["people", "rows"]
"""The rows of a question on two tables: people, or related rows with their people's columns."""
MARK = "\x04"
"""The beginning of the name of a column of truth values, which no published column has."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a sensitive column, or COUNT(*) if there is no column.

    Attributes:
        function: its name among all aggregates.
        sensitive: the column.
        label: its name in the answer.
        distinct: whether only different values count.
        share: the share of the values below it, for a quantile.
        weight: an exact column by which each value is multiplied.
        exact: whether databases compute it from published rows, for a column that they contain.
        where: for an exact aggregate, the condition on its rows in addition to the question's.
    """

    function: str
    sensitive: str | None
    label: str
    distinct: bool = False
    share: Fraction | None = None
    weight: str | None = None
    exact: bool = False
    where: exp.Expr | None = None

    @property
    def kind(self) -> AggregateKind:
        """The definition of the function."""
        return AGGREGATES[self.function]

    @property
    def counts_all_rows(self) -> bool:
        """True for COUNT(*)."""
        return self.kind.counts_rows and self.sensitive is None

    def bounds_over(self, counted: CountedValues) -> Bounds:
        """Return its bounds over values whose copies count one by one."""
        if self.kind.of_share is not None and self.share is not None:
            return self.kind.of_share(counted, self.share)
        if self.kind.of_values is None:
            raise TypeError(self.function)
        return self.kind.of_values(counted)

    def bounds_of(self, choices: Choices) -> Bounds:
        """Return its bounds if it matters which values of a group count together."""
        if self.kind.of_choices is None:
            raise TypeError(self.function)
        return self.kind.of_choices(choices)


ROWS = Aggregate("count", None, "count(*)")
"""The number of rows."""


@dataclass(frozen=True)
class GroupColumn:
    """A selected column of GROUP BY."""

    name: str
    label: str


@dataclass(frozen=True)
class Matching:
    """A condition on columns that keep their association, by which values match.

    The columns are sensitive, or a quasi-identifier that is published separately.
    """

    columns: tuple[str, ...]
    condition: exp.Expr


@dataclass(frozen=True)
class KeyOrder:
    """A column by which the rows of groups, or of an answer, are ordered."""

    name: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class PersonHas:
    """The condition that a person has at least so many related rows of some kind.

    Attributes:
        condition: on the columns of a related row; None for any row.
        times: how many such rows the person has, at least.
    """

    condition: exp.Expr | None
    times: int = 1


@dataclass(frozen=True)
class RelatedScope:
    """The rows that an inquiry about two tables counts.

    Attributes:
        counted: people, or related rows.
        key: the column that names people, which no table has.
        marks: conditions on the related rows of a person, by the names of columns that stand for
            them in the inquiry.
        alone: whether the inquiry reads people, some of whose facts are published, and no rows.
    """

    counted: Counted
    key: str
    marks: Mapping[str, PersonHas] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True)
class Question:
    """A query that bounds answer.

    Attributes:
        shown: the selected columns, in order.
        condition: the condition on columns published as they are.
        group_by: the columns whose values make the rows of the answer.
        matching: the conditions on values that are published apart from their rows.
        having: the condition on rows of the answer.
        calculated: the expressions of calculated columns that are not published, by name.
        order: the group columns by which rows are ordered, if an order is asked for.
        limit: the greatest number of rows; None for all.
        offset: the number of first rows that are left out.
        related: the rows that databases count, if two related tables are asked; otherwise None.
    """

    shown: tuple[GroupColumn | Aggregate, ...]
    condition: exp.Expr | None
    group_by: tuple[str, ...]
    matching: tuple[Matching, ...] = ()
    having: Having | None = None
    calculated: Mapping[str, exp.Expr] = field(default_factory=dict)
    order: tuple[KeyOrder, ...] = ()
    limit: int | None = None
    offset: int = 0
    related: RelatedScope | None = None

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates; those that are only compared come last."""
        selected = [item for item in self.shown if isinstance(item, Aggregate)]
        compared = self.having.aggregates if self.having else []
        return tuple(dict.fromkeys([*selected, *compared]))

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed; counts need none."""
        names = (a.sensitive for a in self.aggregates if a.kind.help is not None and not a.exact)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def with_aggregates(self, aggregates: Iterable[Aggregate]) -> "Question":
        """Return the question with these aggregates, and all group columns before them."""
        keys = (GroupColumn(name, name) for name in self.group_by)
        return replace(self, shown=(*keys, *aggregates), having=None)


@dataclass(frozen=True)
class SideBySide:
    """Questions that are answered side by side, in one query.

    Attributes:
        whole: the question with all selected columns, which determines the rows of the answer.
        others: about other rows; each shows all group columns first, or has none.
        places: the numbers of the other questions of selected aggregates, by their labels.
    """

    whole: Question
    others: tuple[Question, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)


def sides(label: str) -> tuple[str, str]:
    """Return the names of an aggregate's bounds in a rewritten query."""
    return f"{label}_{BOUNDS[0]}", f"{label}_{BOUNDS[1]}"
