"""Random queries by which likely intervals are calibrated.

Rows are selected by one column, or by two or three. For a column with an order a range of its
values is drawn, and for another one some of its values; often it is a single value, as in a GROUP
BY. A sensitive value is drawn as often as it occurs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sqlglot import exp

from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import PublishedColumns
from sfumato.tasks.query.intervals.shapes import MOST_COLUMNS, Selection, selections_in
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.published import Schema

Item = TypeVar("Item")
_WHOLE = float(2**64)  # random numbers are below it
_ALONE = 0.25  # chance that one value of a column is drawn, or all values of one with nulls
_NULL = np.zeros(1, dtype=bool)  # no selection admits null


@dataclass(frozen=True, eq=False)
class Domains:
    """The values by which queries may select.

    Attributes:
        schema: the published columns.
        values: the values of each column, ascending if they have an order.
        times: how often each value of a sensitive column occurs (int64).
    """

    schema: Schema
    values: Mapping[str, Sequence[Any]]
    times: Mapping[str, np.ndarray]

    def names(self, *roles: str) -> list[str]:
        """Return the columns of some roles with more than one value."""
        return [
            name
            for name, values in self.values.items()
            if self.schema[name].role in roles and len(values) > 1
        ]


def draw_selections(
    domains: Domains, *, several: bool, sensitive: str | None, randomness: Randomness
) -> list[Selection]:
    """Draw the selections of a random query.

    Args:
        domains: the values by which it may select.
        several: whether it selects by two or three columns.
        sensitive: the sensitive column of which it also selects a value; None if there is none.
        randomness: the source of random numbers.
    """
    names = domains.names("quasi-identifier")
    number = 2 + draw_below(MOST_COLUMNS - 1, randomness) if several else 1
    order = np.argsort(randomness(len(names)), kind="stable")[:number]
    selections = [_select(domains, names[position], several, randomness) for position in order]
    return (
        selections
        if sensitive is None
        else [*selections, select_sensitive(domains, sensitive, randomness)]
    )


def _select(domains: Domains, name: str, several: bool, randomness: Randomness) -> Selection:
    """Draw a range of a column with an order, or some values of another one.

    With a chance of `_ALONE` it is a single value. Otherwise, if several columns select, it is at
    least a tenth of the values.
    """
    values, share = domains.values[name], _share(randomness)
    number = 1
    if _share(randomness) >= _ALONE:
        number = int(np.ceil((max(share, 0.1) if several else share) * len(values)))
    if domains.schema[name].type in ORDERED:
        return _range(name, values, number, randomness)
    number = min(number, len(values) - 1)
    positions = np.sort(np.argsort(randomness(len(values)), kind="stable")[:number])
    return Selection(name, values=tuple(values[position] for position in positions))


def select_sensitive(domains: Domains, name: str, randomness: Randomness) -> Selection:
    """Draw a value, or a range that begins with one and has at most half of the values.

    If the column has nulls, the selection often contains all values.
    """
    if domains.schema[name].nulls and _share(randomness) < _ALONE:
        return Selection(name)
    values, before = domains.values[name], np.cumsum(domains.times[name])
    position = int(np.searchsorted(before, draw_below(int(before[-1]), randomness), side="right"))
    if domains.schema[name].type not in ORDERED:
        return Selection(name, values=(values[position],))
    number = int(np.ceil(_share(randomness) * len(values) / 2))
    return Selection(
        name, low=values[position], high=values[min(position + number, len(values)) - 1]
    )


def _range(name: str, values: Sequence[Any], number: int, randomness: Randomness) -> Selection:
    """Draw a range of a number of neighbouring values."""
    first = draw_below(len(values) - number + 1, randomness)
    return Selection(name, low=values[first], high=values[first + number - 1])


def _share(randomness: Randomness) -> float:
    """Draw a number above 0, and up to 1."""
    return (float(randomness(1)[0]) + 1) / (_WHOLE + 1)


def draw_below(end: int, randomness: Randomness) -> int:
    """Draw a number from 0 to below `end`."""
    return int(randomness(1)[0] % end)


def draw_some(items: Sequence[Item], number: int, randomness: Randomness) -> list[Item]:
    """Draw a number of items, each any of some; draws nothing if there is only one."""
    if len(items) == 1:
        return [items[0]] * number
    return [items[place] for place in (randomness(number) % len(items)).tolist()]


class DrawnConditions(ValueConditions):
    """Evaluates conditions that `draw_selections` made directly, and others by DuckDB."""

    def rows(self, table: PublishedColumns, condition: exp.Expr) -> np.ndarray:
        """Return whether a condition holds on each row (bool, one per row).

        Raises:
            NotDirectError: if it compares columns, or cannot be evaluated on some value.
        """
        selections = selections_in(condition)
        if selections is None:
            return super().rows(table, condition)
        holds = np.ones(len(table.group), dtype=bool)
        for selection in selections:
            column = table.coded_column(selection.name)
            admitted = selection.admits(self._values_of(table, selection.name))
            holds &= column.rows_with(np.append(admitted, _NULL[: column.values.null_count]))
        return holds

    def _values_of(self, table: PublishedColumns, name: str) -> list[Any]:
        values = self._lists.get((table, name))
        if values is None:
            values = table.coded_column(name).values.drop_null().to_pylist()
            self._lists[table, name] = values
        return values

    def __init__(self, connection: Any) -> None:
        """Read no values yet."""
        super().__init__(connection)
        self._lists: dict[tuple[PublishedColumns, str], list[Any]] = {}
