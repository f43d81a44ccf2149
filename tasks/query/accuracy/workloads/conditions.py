"""The conditions that queries of workloads are made of: windows, shares of values, one value."""

from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.sql.parse import literal


def column_named(name: str) -> exp.Column:
    """A column in a condition."""
    return exp.column(name, quoted=True)


def end_of_window(low: Any, span: int) -> Any:
    """The other end of a window that begins at a number or a date; of dates in days."""
    if isinstance(low, date):
        return low + min(timedelta(days=span), type(low).max - low)
    return low + span


def between(name: str, low: Any, high: Any) -> exp.Expr:
    """The rows whose value is in a window, both ends among it."""
    return exp.Between(this=column_named(name), low=literal(low), high=literal(high))


def equals(name: str, value: Any) -> exp.Expr:
    """The rows that have a value, or none where it is None."""
    if value is None:
        return exp.Is(this=column_named(name), expression=exp.Null())
    return exp.EQ(this=column_named(name), expression=literal(value))


def draw_share(
    values: Sequence[Any], share: float, randomness: Randomness, *, ordered: bool
) -> list[Any]:
    """A share of a column's values, at least one: neighbours where they have an order.

    Args:
        values: ascending.
        share: of them, from 0 to 1.
        randomness: what is drawn from.
        ordered: whether neighbours are alike.
    """
    number = max(1, min(len(values), ceil(share * len(values))))
    if ordered:
        first = int(randomness(1)[0] % np.uint64(len(values) - number + 1))
        return list(values[first : first + number])
    return [values[at] for at in np.argsort(randomness(len(values)), kind="stable")[:number]]


def among(name: str, values: Sequence[Any], *, ordered: bool) -> exp.Expr:
    """The rows that have one of some values; neighbours, where they have an order."""
    if ordered:
        return between(name, values[0], values[-1])
    return exp.In(this=column_named(name), expressions=[literal(value) for value in values])
