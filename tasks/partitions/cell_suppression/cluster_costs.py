"""The clusters of a local search with their costs, kept up to date as rows come and go.

A cluster costs its rows times the columns that are not constant on it
(`tasks.partitions.cell_suppression.stars`). `LOOPS` has the functions that are compiled for large
data, in the order in which they call one another.
"""

from typing import Any, NamedTuple

import numpy as np

NONE: Any = np.int64(-1)  # in compiled loops a literal would be a type of its own


class SearchState(NamedTuple):
    """Clusters while they are improved (all int64).

    The rows of cluster c are `member[c, : size[c]]`, it is not constant on `price[c]` columns, and
    was last changed at the step `changed[c]`; without a row, its cluster would not be constant on
    `left[row]` columns. All rows of c but the row `odd[c, column]` (-1: none at all, -2: there is
    no such row) have the code `common[c, column]`.
    """

    codes: np.ndarray
    near: np.ndarray
    cluster: np.ndarray
    member: np.ndarray
    size: np.ndarray
    price: np.ndarray
    left: np.ndarray
    changed: np.ndarray
    odd: np.ndarray
    common: np.ndarray


def weigh(state: SearchState, c: int, now: int) -> None:
    """Note the costs of a cluster that has changed, with and without each of its rows."""
    rows, size, odd = state.member[c], state.size[c], state.odd[c]
    for column in range(state.codes.shape[1]):
        odd[column] = _odd(state.codes, rows, size, column)
        usual = rows[0] if odd[column] != rows[0] else rows[1]
        state.common[c, column] = state.codes[usual, column]
    price = 0
    for column in range(len(odd)):
        price += odd[column] != -1
    state.price[c], state.changed[c] = price, now
    for i in range(size):
        state.cluster[rows[i]] = c
        state.left[rows[i]] = spread_without(state, c, rows[i], NONE)


def _odd(codes: np.ndarray, rows: np.ndarray, size: int, column: int) -> int:
    """The one row that differs from all others, which are equal; -1: all are equal; -2: neither."""
    value, other, others = codes[rows[0], column], -1, 0
    for i in range(1, size):
        if codes[rows[i], column] != value:
            others += 1
            if other < 0:
                other = rows[i]
            elif codes[rows[i], column] != codes[other, column]:
                return -2
    if others < 2:
        return other
    return rows[0] if others == size - 1 else -2


def spread_without(state: SearchState, c: int, row: int, extra: int) -> int:
    """The columns on which a cluster without `row` and with `extra` (-1: none) is not constant."""
    spread = 0
    for column in range(state.codes.shape[1]):
        odd, value = state.odd[c, column], state.common[c, column]
        if odd >= 0 and state.size[c] == 2:  # either row is the odd one
            usual = state.member[c, 0] if state.member[c, 1] == row else state.member[c, 1]
            odd, value = row, state.codes[usual, column]
        if odd == -1 or odd == row:
            spread += extra >= 0 and state.codes[extra, column] != value
        else:
            spread += 1
    return spread


def spread_with(state: SearchState, c: int, row: int) -> int:
    """The number of columns on which a cluster with another row is not constant."""
    spread = 0
    for column in range(state.codes.shape[1]):
        same = state.codes[row, column] == state.common[c, column]
        spread += state.odd[c, column] != -1 or not same
    return spread


LOOPS = (_odd, spread_without, spread_with, weigh)
