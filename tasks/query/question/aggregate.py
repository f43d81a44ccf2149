"""An aggregate that bounds are asked of."""

from dataclasses import dataclass

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.bounds.spread import Choices
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a sensitive column; without one, COUNT(*)."""

    function: str
    sensitive: str | None
    label: str

    @property
    def kind(self) -> AggregateKind:
        """All that is known of the function."""
        return AGGREGATES[self.function]

    def bounds_over(self, counted: CountedValues) -> Bounds:
        """Its bounds over values of which copies count one by one."""
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
