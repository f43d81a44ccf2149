"""Random queries of the shapes that are calibrated, drawn from what is published alone.

Rows are selected by one column, or by two or three. Of a column that has an order a range of its
values is drawn, of another one some of its values; often it is a single one, as in a GROUP BY. A
sensitive value is drawn as often as it occurs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.query.intervals.shapes.selection import Selection
from sfumato.tasks.query.intervals.shapes.shape import MOST_COLUMNS
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.published import Schema

_WHOLE = float(2**64)
_ALONE = 0.25  # how often a single value is drawn of a column


@dataclass(frozen=True, eq=False)
class Domains:
    """What may be selected by.

    Attributes:
        schema: of the published columns.
        values: of each column, ascending where they have an order.
        times: how often each value of a sensitive column occurs (int64).
    """

    schema: Schema
    values: Mapping[str, Sequence[Any]]
    times: Mapping[str, np.ndarray]

    def names(self, *roles: str) -> list[str]:
        """The columns of some roles by which rows can be told apart."""
        return [
            name
            for name, values in self.values.items()
            if self.schema[name].role in roles and len(values) > 1
        ]


def draw_selections(
    domains: Domains, *, several: bool, of: str | None, randomness: Randomness
) -> list[Selection]:
    """What a random query selects.

    Args:
        domains: what may be selected by.
        several: whether by two or three columns.
        of: the sensitive column of which a value is selected, too.
        randomness: what is drawn from.
    """
    names = domains.names("quasi-identifier")
    number = 2 + below(MOST_COLUMNS - 1, randomness) if several else 1
    order = np.argsort(randomness(len(names)), kind="stable")[:number]
    found = [_select(domains, names[at], several, randomness) for at in order]
    return found if of is None else [*found, _select_sensitive(domains, of, randomness)]


def _select(domains: Domains, name: str, several: bool, randomness: Randomness) -> Selection:
    values, share = domains.values[name], _share(randomness)
    number = 1
    if _share(randomness) >= _ALONE:
        number = int(np.ceil((max(share, 0.1) if several else share) * len(values)))
    if domains.schema[name].type in ORDERED:
        return _range(name, values, number, randomness)
    number = min(number, len(values) - 1)
    drawn = np.sort(np.argsort(randomness(len(values)), kind="stable")[:number])
    return Selection(name, values=tuple(values[at] for at in drawn))


def _select_sensitive(domains: Domains, name: str, randomness: Randomness) -> Selection:
    """A value, or a range that begins with one and has at most half of the values.

    Where some are missing it is often all of them.
    """
    if domains.schema[name].nulls and _share(randomness) < _ALONE:
        return Selection(name)
    values, before = domains.values[name], np.cumsum(domains.times[name])
    at = int(np.searchsorted(before, below(int(before[-1]), randomness), side="right"))
    if domains.schema[name].type not in ORDERED:
        return Selection(name, values=(values[at],))
    number = int(np.ceil(_share(randomness) * len(values) / 2))
    return Selection(name, low=values[at], high=values[min(at + number, len(values)) - 1])


def _range(name: str, values: Sequence[Any], number: int, randomness: Randomness) -> Selection:
    first = below(len(values) - number + 1, randomness)
    return Selection(name, low=values[first], high=values[first + number - 1])


def _share(randomness: Randomness) -> float:
    return (float(randomness(1)[0]) + 1) / (_WHOLE + 1)


def below(end: int, randomness: Randomness) -> int:
    """A number below `end`, from 0 on."""
    return int(randomness(1)[0] % end)
