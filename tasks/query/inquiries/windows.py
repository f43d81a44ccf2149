"""Ranks and running totals over the rows of an answer, with bounds.

A rank is 1 plus the number of rows that come before. Rows whose bounds overlap may come in either
order, and a row that may not be in the answer may not count: the bounds contain all cases. They
apply if the row itself is in the answer.

The ends of bounds are compared exactly, once for each key; rows are then compared by the ranks of
these ends. Running totals are ordered by group columns, which have no bounds, and are added up row
by row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import UNBOUNDED, number
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.inquiries.ordering import AnsweredRow, sort_key
from sfumato.tasks.query.inquiries.summaries import RunningSum, bounded_number
from sfumato.tasks.query.question.inquiry import Inquiry, OrderKey, RowWindow


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The possible orders of rows and one row (bool, one per row).

    Attributes:
        before: whether a row may come before that one.
        equal: whether it may be equal.
        after: whether it may come after.
    """

    before: np.ndarray
    equal: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class KeyValues:
    """The possible values of one key in all rows.

    Attributes:
        low: the rank of each lower bound among all ends of bounds (int64); 0 without a value.
        high: the rank of each upper bound.
        has_value: whether there may be a value (bool).
        may_be_null: whether it may be null (bool).
        unbounded: whether nothing is known (bool).
    """

    low: np.ndarray
    high: np.ndarray
    has_value: np.ndarray
    may_be_null: np.ndarray
    unbounded: np.ndarray


def add_windows(inquiry: Inquiry, rows: Sequence[AnsweredRow]) -> list[AnsweredRow]:
    """Return the rows with the bounds of the inquiry's windows.

    Raises:
        QueryError: where hidden values may be several rows.
    """
    if any(row.rest for row in rows):
        raise QueryError(
            "a rank or a running total is not possible here, because hidden values (*) may be "
            "several rows of the answer. Leave them out with WHERE"
        )
    by_window = {window: _bounds(window, rows) for window in inquiry.windows}
    return [
        replace(row, bounds={**row.bounds, **{w: bounds[place] for w, bounds in by_window.items()}})
        for place, row in enumerate(rows)
    ]


def _bounds(window: RowWindow, rows: Sequence[AnsweredRow]) -> list[Bounds]:
    """Return the bounds of a window in each row, if this row is in the answer."""
    bounds: list[Bounds] = [UNBOUNDED] * len(rows)
    for places in _partitions(window, rows):
        own = [rows[place] for place in places]
        results = _ranks(window, own) if window.value is None else _totals(window, own)
        for place, of_row in zip(places, results, strict=True):
            bounds[place] = of_row
    return bounds


def _partitions(window: RowWindow, rows: Sequence[AnsweredRow]) -> list[list[int]]:
    """Return the places of the rows of each partition."""
    partitions: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        key = tuple(sort_key([row.key[column] for column in window.partition]))
        partitions.setdefault(key, []).append(place)
    return list(partitions.values())


def _ranks(window: RowWindow, rows: Sequence[AnsweredRow]) -> Iterator[Bounds]:
    keys = [(key, key_values(_values(key, rows))) for key in window.order]
    certain = np.array([row.certain for row in rows])
    ties_count = window.name == "row_number"
    for place in range(len(rows)):
        outcomes = compare_rows(keys, place, len(rows))
        others = np.arange(len(rows)) != place
        surely = others & certain & outcomes.before & ~outcomes.equal & ~outcomes.after
        possibly = others & (outcomes.before | (outcomes.equal & ties_count))
        least, most = 1 + int(surely.sum()), 1 + int(possibly.sum())
        yield with_estimate(Bounds(least, most, attained=least == most))


def _totals(window: RowWindow, rows: Sequence[AnsweredRow]) -> list[Bounds]:
    """Return the bounds of the sum up to each row, with its peers."""
    peers: dict[int, list[int]] = {}
    for place, position in enumerate(_positions(window, rows).tolist()):
        peers.setdefault(position, []).append(place)
    totals, running = [UNBOUNDED] * len(rows), RunningSum()
    for position in sorted(peers):
        cells = [(rows[place].bounds[_value(window)], place) for place in peers[position]]
        if any(cell.unbounded for cell, _ in cells):
            break
        numbers = {
            place: bounded_number(cell, window.name, rows[place].certain)
            for cell, place in cells
            if cell.lower is not None
        }
        for added in numbers.values():
            running.add(added)
        for cell, place in cells:
            own = numbers.get(place)  # the row is there, but its value may still be null
            is_open = own is not None and not own.sure and not cell.may_be_empty
            totals[place] = running.bounds(own if is_open else None)
    return totals


def _value(window: RowWindow) -> Any:
    if window.value is None:
        raise TypeError(window)
    return window.value


def _positions(window: RowWindow, rows: Sequence[AnsweredRow]) -> np.ndarray:
    """Return the position of each row by keys without bounds; that of peers is the same (int64)."""
    position = np.zeros(len(rows), dtype=np.int64)
    for key in window.order:
        values = key_values(_values(key, rows))
        rank = -values.low if key.descending else values.low
        beyond = 1 + np.abs(rank).max(initial=0)
        rank = np.where(values.may_be_null, -beyond if key.nulls_first else beyond, rank)
        _, position = np.unique(np.stack([position, rank]), axis=1, return_inverse=True)
        position = position.reshape(-1)
    return position


def _values(key: OrderKey, rows: Sequence[AnsweredRow]) -> list[Bounds]:
    """Return the values of a key in rows; those of group columns have equal bounds."""
    measure = key.by
    if isinstance(measure, int):
        return [Bounds(row.key[measure], row.key[measure]) for row in rows]
    return [row.bounds[measure] for row in rows]


def key_values(bounds: Sequence[Bounds]) -> KeyValues:
    """Return the values of a key by the ranks of their ends."""
    has_value = [cell.lower is not None for cell in bounds]
    ends = [
        tuple(map(_comparable, (cell.lower, cell.upper))) if some else None
        for cell, some in zip(bounds, has_value, strict=True)
    ]
    ordered = sorted({end for pair in ends if pair is not None for end in pair})
    ranks = {end: rank for rank, end in enumerate(ordered)}
    low, high = (
        np.array([0 if pair is None else ranks[pair[side]] for pair in ends], dtype=np.int64)
        for side in (0, 1)
    )
    return KeyValues(
        low,
        high,
        np.array(has_value, dtype=bool),
        np.array([cell.lower is None or cell.may_be_empty for cell in bounds], dtype=bool),
        np.array([cell.unbounded for cell in bounds], dtype=bool),
    )


def compare_rows(
    keys: Sequence[tuple[OrderKey, KeyValues]], place: int, number_of_rows: int
) -> Outcomes:
    """Return the possible orders of all rows and the one at a place, by several keys."""
    before, after = np.zeros((2, number_of_rows), dtype=bool)
    equal = np.ones(number_of_rows, dtype=bool)
    for key, values in keys:
        outcomes = compare_values(values, place, key.descending, key.nulls_first)
        before = before | (equal & outcomes.before)
        after = after | (equal & outcomes.after)
        equal = equal & outcomes.equal
    return Outcomes(before, equal, after)


def compare_values(values: KeyValues, place: int, descending: bool, nulls_first: bool) -> Outcomes:
    """Return the possible orders of all values of a key and the one at a place.

    >>> values = key_values([Bounds(1, 4), Bounds(4, 5), Bounds(None, None)])
    >>> outcomes = compare_values(values, 1, descending=False, nulls_first=False)
    >>> outcomes.before.tolist(), outcomes.equal.tolist(), outcomes.after.tolist()
    ([True, True, False], [True, True, False], [False, True, True])
    """
    has_value, may_be_null = values.has_value, values.may_be_null
    both_values, both_null = has_value & has_value[place], may_be_null & may_be_null[place]
    null_here, null_there = may_be_null & has_value[place], has_value & may_be_null[place]
    is_less = both_values & (values.low < values.high[place])
    is_greater = both_values & (values.high > values.low[place])
    before = (is_greater if descending else is_less) | (null_here if nulls_first else null_there)
    after = (is_less if descending else is_greater) | (null_there if nulls_first else null_here)
    overlap = (values.low <= values.high[place]) & (values.low[place] <= values.high)
    equal = both_null | (both_values & overlap)
    unknown = values.unbounded | values.unbounded[place]
    return Outcomes(before | unknown, equal | unknown, after | unknown)


def _comparable(value: Any) -> Any:
    """Return a value that compares with others of its kind; NaN is above all numbers."""
    if isinstance(value, Fraction | Decimal):
        value = number(value)
    return tuple(sort_key([value]))
