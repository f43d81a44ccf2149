"""A question: the rows and aggregates that bounds are asked of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

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


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a sensitive column; without one, COUNT(*).

    Attributes:
        function: its name among all aggregates.
        sensitive: the column.
        label: its name in the answer.
        distinct: whether it is of the different values.
        share: of the values that are below it, where it is a quantile.
        weight: a column that is published as it is, which each value is multiplied by.
        exact: whether a database finds it in published rows, of a column that they have.
        where: the condition on rows that it is of, besides that of the question, where it is exact.
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
        """All that is known of the function."""
        return AGGREGATES[self.function]

    @property
    def counts_all_rows(self) -> bool:
        """True for COUNT(*)."""
        return self.kind.counts_rows and self.sensitive is None

    def bounds_over(self, counted: CountedValues) -> Bounds:
        """Its bounds over values of which copies count one by one."""
        if self.kind.of_share is not None and self.share is not None:
            return self.kind.of_share(counted, self.share)
        if self.kind.of_values is None:
            raise TypeError(self.function)
        return self.kind.of_values(counted)

    def bounds_of(self, choices: Choices) -> Bounds:
        """Its bounds where it matters which values of a group count together."""
        if self.kind.of_choices is None:
            raise TypeError(self.function)
        return self.kind.of_choices(choices)


ROWS = Aggregate("count", None, "count(*)")
"""The number of rows."""


@dataclass(frozen=True)
class GroupColumn:
    """A column of the GROUP BY that is shown."""

    name: str
    label: str


@dataclass(frozen=True)
class Matching:
    """A condition on columns that keep their association: the values that are meant.

    These are sensitive ones, or a quasi-identifier that stands by itself.
    """

    columns: tuple[str, ...]
    condition: exp.Expr


@dataclass(frozen=True)
class KeyOrder:
    """A column that rows are ordered by: of groups, or of an answer."""

    name: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Question:
    """A query that bounds answer.

    Attributes:
        shown: what is selected, in order.
        condition: which rows are meant, decided on columns published as they are.
        group_by: the columns whose values make a row of the answer each.
        matching: which values are meant, where they stand apart from their rows.
        having: which rows of the answer are wanted.
        calculated: by their names, what columns are calculated by that are not published.
        order: the group columns that rows are ordered by, where that is asked for.
        limit: how many rows are wanted, of those that come first; None for all.
        offset: how many are left out before.
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

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates alone, those that are only compared last."""
        selected = [item for item in self.shown if isinstance(item, Aggregate)]
        compared = self.having.aggregates if self.having else []
        return tuple(dict.fromkeys([*selected, *compared]))

    @property
    def helped_by(self) -> tuple[str, ...]:
        """The sensitive columns whose help tables are needed; counts need none."""
        names = (a.sensitive for a in self.aggregates if a.kind.help is not None and not a.exact)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def with_aggregates(self, aggregates: Iterable[Aggregate]) -> "Question":
        """The same rows and groups, all group columns shown first, with these aggregates."""
        keys = (GroupColumn(name, name) for name in self.group_by)
        return replace(self, shown=(*keys, *aggregates), having=None)


@dataclass(frozen=True)
class SideBySide:
    """Questions that are answered side by side, in one query.

    Attributes:
        whole: all that is shown, and which rows the answer has.
        others: about other rows than those; each shows all group columns first, or it has none.
        places: by their labels the numbers of the others that shown aggregates are of, if of any.
    """

    whole: Question
    others: tuple[Question, ...] = ()
    places: Mapping[str, int] = field(default_factory=dict)


def sides(label: str) -> tuple[str, str]:
    """The names of an aggregate's bounds in a rewritten query."""
    return f"{label}_{BOUNDS[0]}", f"{label}_{BOUNDS[1]}"
