"""Which aggregates are alike, so that one factor widens the intervals of all of them.

A standard deviation is the root of a variance, and either kind is the other one times what the
number of rows tells: their intervals miss together. Quantiles are alike where the share of values
below them could have been drawn; half of the values is what is asked most, and stands by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from sfumato.tasks.query.question.aggregate import Aggregate

Drawn = TypeVar("Drawn")

_HALF = Fraction(1, 2)
_HUNDREDTHS = tuple(Fraction(part, 100) for part in range(1, 100) if part != 50)
_QUANTILES = ("percentile_cont", "percentile_disc")


@dataclass(frozen=True)
class AlikeAggregates:
    """Aggregates with a factor in common.

    Attributes:
        functions: their names.
        shares: of quantiles those that are drawn, ascending; whatever lies between the first and
            the last one is alike.
    """

    functions: tuple[str, ...]
    shares: tuple[Fraction, ...] = ()

    def has(self, aggregate: Aggregate) -> bool:
        """Decide whether an aggregate is one of them."""
        if aggregate.function not in self.functions:
            return False
        if aggregate.share is None or not self.shares:
            return aggregate.share is None
        return self.shares[0] <= aggregate.share <= self.shares[-1]

    def draw(self, of: str | None, below: Callable[[int], int]) -> Aggregate:
        """Any of them, of a column.

        Args:
            of: the column; None where rows are counted.
            below: draws a number below another one, from 0 on.
        """
        function = _any(self.functions, below)
        return Aggregate(function, of, function, share=_any(self.shares or (None,), below))


ALIKE: Mapping[str, AlikeAggregates] = {
    "count": AlikeAggregates(("count",)),
    "sum": AlikeAggregates(("sum",)),
    "avg": AlikeAggregates(("avg",)),
    "min": AlikeAggregates(("min",)),
    "max": AlikeAggregates(("max",)),
    "spread": AlikeAggregates(("stddev", "stddev_pop", "var_samp", "var_pop")),
    "median": AlikeAggregates(_QUANTILES, (_HALF,)),
    "quantile": AlikeAggregates(_QUANTILES, _HUNDREDTHS),
}
"""By the name that they have in common; an aggregate is of the first that has it."""

_NAMES: Mapping[str, Sequence[str]] = {
    function: [name for name, alike in ALIKE.items() if function in alike.functions]
    for alike in ALIKE.values()
    for function in alike.functions
}


def name_of(aggregate: Aggregate) -> str | None:
    """What aggregates like this one are called; None of others."""
    return next(
        (name for name in _NAMES.get(aggregate.function, ()) if ALIKE[name].has(aggregate)), None
    )


def _any(some: tuple[Drawn, ...], below: Callable[[int], int]) -> Drawn:
    """One of some; nothing is drawn where there is but one."""
    return some[below(len(some)) if len(some) > 1 else 0]
