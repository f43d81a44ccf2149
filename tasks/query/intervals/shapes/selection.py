"""What a part of a random query selects, as SQL and on values."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.accuracy.random_query import OriginalColumn
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.sql.parse import literal

_MADE_OF = "selection"


@dataclass(frozen=True)
class Selection:
    """What a part of a query selects: some values of a column, or all from `low` to `high`.

    Without any of these it selects all values, and no null.
    """

    name: str
    values: tuple[Any, ...] | None = None
    low: Any = None
    high: Any = None

    @property
    def condition(self) -> exp.Expr:
        """As SQL, which remembers what it was made of."""
        column = exp.column(self.name, quoted=True)
        made: exp.Expr
        if self.selects_all:
            made = exp.Not(this=exp.Is(this=column, expression=exp.Null()))
        elif self.values is None:
            made = exp.Between(this=column, low=literal(self.low), high=literal(self.high))
        else:
            made = exp.In(this=column, expressions=[literal(value) for value in self.values])
        made.meta[_MADE_OF] = self
        return made

    @property
    def selects_all(self) -> bool:
        """Whether every value is selected."""
        return self.values is None and self.low is None and self.high is None

    def __deepcopy__(self, _: dict[int, Any]) -> "Selection":
        """Itself, which nothing changes: trees that remember it are copied thousands of times."""
        return self

    def admits(self, values: Sequence[Any]) -> np.ndarray:
        """Which values are selected (bool); they ascend where the column has an order."""
        if self.values is not None:
            wanted = set(self.values)
            return np.array([value in wanted for value in values], dtype=bool)
        if self.selects_all:
            return np.ones(len(values), dtype=bool)
        found = np.zeros(len(values), dtype=bool)
        found[bisect_left(values, self.low) : bisect_right(values, self.high)] = True
        return found

    def holds(self, column: OriginalColumn) -> np.ndarray:
        """The rows of the original that are selected (bool, one per row)."""
        if self.selects_all:
            return column.there()
        if self.values is None:
            return column.between(self.low, self.high)
        return column.among(self.values)


def selections_in(condition: exp.Expr) -> list[Selection] | None:
    """What a condition was made of; None of one that was not drawn."""
    found = [part.unnest().meta.get(_MADE_OF) for part in conjuncts(condition)]
    known = [selection for selection in found if isinstance(selection, Selection)]
    return known if len(known) == len(found) else None
