"""An aggregate that bounds are asked of."""

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES


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
