"""A toy aggregate: the mode, between the least and the greatest one."""

from statistics import median

from sqlglot import exp

from sfumato.tasks.query.aggregates.kind import AggregateKind, HelpBounds
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds.bounds import Bounds

_LOW, _HIGH = AGGREGATES["min"], AGGREGATES["max"]


def _of_cells(cells):
    ends = zip(cells.least(), cells.greatest(), strict=True)
    return [Bounds(low.lower, high.upper) for low, high in ends]


def _of_values(counted):
    return Bounds(_LOW.of_values(counted).lower, _HIGH.of_values(counted).upper)


def middle(values):
    """Return the middle of some values, None of none."""
    return median(values) if values else None


MODE = AggregateKind(
    name="mode",
    parsed=(exp.Mode,),
    takes=_LOW.takes,
    returns=_LOW.returns,
    of_cells=_of_cells,
    of_values=_of_values,
    help=HelpBounds(_LOW.help.lower, _HIGH.help.upper),
    over_counts=(_LOW.over_counts[0], _HIGH.over_counts[1]),
    over_ranges=(_LOW.over_ranges[0], _HIGH.over_ranges[1]),
)
