"""Bounds from the values that may count in a cell, and how many of its rows do."""

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.counted_values import CountedValues
from sfumato.tasks.query.question.aggregate import Aggregate


@dataclass(frozen=True)
class CountedRows:
    """How many rows count in a cell: at least, at most, and as expected, if that is asked for."""

    least: int
    most: int
    expected: Fraction | None


def bounds_from_values(
    aggregate: Aggregate, rows: CountedRows, values: CountedValues | None
) -> Bounds:
    """The bounds of an aggregate over the values of its column; None where none may count."""
    fewest = aggregate.kind.fewest
    if aggregate.kind.counts_rows:
        return Bounds(rows.least, rows.most, rows.expected)
    if values is None or rows.most < fewest:
        return Bounds(None, None, None)
    return replace(aggregate.bounds_over(values), may_be_empty=rows.least < fewest)
