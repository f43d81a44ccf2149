"""Clusters cut in two between two far rows, which never raises what they cost.

`LOOPS` has the functions that are compiled for large data, in the order in which they call one
another.
"""

import numpy as np

from sfumato.tasks.partitions.cell_suppression.cluster_costs import SearchState, weigh


def halve(state: SearchState, k: int, c: int, clusters: int, now: int) -> int:
    """Cut a cluster and its parts while they have 2k rows; return the new number of clusters."""
    member, size = state.member, state.size
    at, made = c, clusters
    while True:
        while size[at] >= 2 * k:
            cut, _ = cut_in_two(state.codes, member[at], size[at], k)
            size[clusters] = size[at] - cut
            copy_rows(member[clusters], member[at, cut:], size[clusters])
            size[at] = cut
            weigh(state, at, now)
            weigh(state, clusters, now)
            clusters += 1
        if made == clusters:
            return clusters
        at = made
        made += 1


def copy_rows(into: np.ndarray, rows: np.ndarray, size: int) -> None:
    """Copy the first `size` rows to the beginning of `into` (both int64)."""
    for i in range(size):  # compiling an assignment of slices takes seconds
        into[i] = rows[i]


def cut_in_two(codes: np.ndarray, rows: np.ndarray, size: int, k: int) -> tuple[int, int]:
    """Order rows from one far row to another; return where to cut them, and the least cost.

    Args:
        codes: integers, rows x columns.
        rows: positions of rows (int64), of which the first `size` are ordered in place.
        size: the number of rows, at least 2k.
        k: smallest size of a part.
    """
    one = _farthest(codes, rows, size, rows[0])
    _order(codes, rows, size, one, _farthest(codes, rows, size, one))
    columns = codes.shape[1]
    begins, ends = np.full(columns, size), np.full(columns, -1)  # where a column first, last varies
    for column in range(columns):
        for i in range(size):
            if codes[rows[i], column] != codes[rows[0], column]:
                begins[column] = min(begins[column], i)
            if codes[rows[i], column] != codes[rows[size - 1], column]:
                ends[column] = i
    best, least = k, -1
    for cut in range(k, size - k + 1):
        cost = 0
        for column in range(columns):
            cost += cut * (begins[column] < cut) + (size - cut) * (ends[column] >= cut)
        if least < 0 or cost < least:
            best, least = cut, cost
    return best, least


def _order(codes: np.ndarray, rows: np.ndarray, size: int, one: int, other: int) -> None:
    """Order rows by their distance to one row, less that to another."""
    old, nearer = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i in range(size):
        old[i] = rows[i]
        nearer[i] = _apart(codes, rows[i], one) - _apart(codes, rows[i], other)
    filled = 0
    for wanted in range(-codes.shape[1], codes.shape[1] + 1):
        for i in range(size):
            if nearer[i] == wanted:
                rows[filled] = old[i]
                filled += 1


def _farthest(codes: np.ndarray, rows: np.ndarray, size: int, row: int) -> int:
    far, most = row, 0
    for i in range(size):
        apart = _apart(codes, rows[i], row)
        if apart > most:
            far, most = rows[i], apart
    return far


def _apart(codes: np.ndarray, row: int, other: int) -> int:
    apart = 0
    for column in range(codes.shape[1]):
        if codes[row, column] != codes[other, column]:
            apart += 1
    return apart


LOOPS = (copy_rows, _apart, _farthest, _order, cut_in_two, halve)
