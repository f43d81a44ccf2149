"""The nearest other rows of every row, by the number of columns in which they differ, exactly.

Rows that agree on all but d columns are found by grouping on the columns they agree on. For d = 0,
1, … and each choice of columns to keep, rows of one group differ in at most d columns, and in
exactly d if no smaller d has found them. A row is done when it has as many neighbours as are asked
for. Most rows are done long before all 2^columns choices are tried; the last few are compared with
all others directly.
"""

from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.arrays.compiled import Loop, compile_loop

_FEW_ROWS = 1024  # a table of all their distances is small
_CELLS = 1 << 21  # distances held at a time
_NEVER = INT64_MAX  # a row is not near itself
_ROWS_PER_CHOICE = 10  # comparing this many rows directly costs as much as grouping all rows once


def nearest(codes: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `many` nearest other rows of each row, nearest first, and their distances.

    The distance of two rows is the number of columns in which they differ.

    Ties are broken only by the order of the rows, so that equal input gives equal output on every
    machine: rows that follow come first, and after the last row the first ones.

    Args:
        codes: integers from 0, rows x columns.
        many: the number to find; there are never more than the other rows.

    Returns:
        Row positions and distances, both int64, rows x min(many, rows - 1).
    """
    rows = len(codes)
    many = max(min(many, rows - 1), 0)
    if rows <= _FEW_ROWS or not many:
        return nearest_directly(codes, np.arange(rows), many)
    return nearest_by_groups(codes, many)


def nearest_directly(
    codes: np.ndarray, rows: np.ndarray, many: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest others of some rows, by comparing these with all rows; see `nearest`."""
    neighbours = np.empty((len(rows), many), dtype=np.int64)
    distance = np.empty((len(rows), many), dtype=np.int64)
    step = max(_CELLS // max(len(codes), 1), 1)
    for start in range(0, len(rows) if many else 0, step):
        some = rows[start : start + step, None]
        apart = np.zeros((len(some), len(codes)), dtype=np.int16)
        for column in codes.T:
            apart += column[some] != column
        ranked = apart * np.int64(len(codes)) + (np.arange(len(codes)) - some) % len(codes)
        np.put_along_axis(ranked, some, _NEVER, axis=1)
        ranked.partition(many - 1, axis=1)
        ranked = np.sort(ranked[:, :many], axis=1)
        neighbours[start : start + step] = (ranked + some) % len(codes)
        distance[start : start + step] = ranked // len(codes)
    return neighbours, distance


def nearest_by_groups(codes: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest others of all rows, by grouping on fewer and fewer columns.

    See `nearest`.
    """
    rows, columns = codes.shape
    neighbours = np.full((rows, many), -1, dtype=np.int64)
    distance = np.zeros((rows, many), dtype=np.int64)
    filled = np.zeros(rows, dtype=np.int64)
    sizes = (codes.max(axis=0) + 1).tolist()
    by_column = [np.ascontiguousarray(column) for column in codes.T]
    for differ in range(columns + 1):
        waiting = np.flatnonzero(filled < many)
        if len(waiting) <= _ROWS_PER_CHOICE * comb(columns, differ):
            neighbours[waiting], distance[waiting] = nearest_directly(codes, waiting, many)
            return neighbours, distance
        for chosen in combinations(range(columns), columns - differ):
            order, starts = _groups(
                [by_column[i] for i in chosen], [sizes[i] for i in chosen], rows
            )
            _loop()(order, starts, differ, neighbours, distance, filled)
    return neighbours, distance


def _groups(
    columns: list[np.ndarray], sizes: list[int], rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows ordered so that equal ones are together, and the starts of groups, with the end.

    Both are int64.
    """
    if not columns:
        return np.arange(rows), np.array([0, rows])
    key, _ = pack(columns, sizes)
    order = stable_order(key)
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    return order, np.append(starts, rows)


def _scan(
    order: np.ndarray,
    starts: np.ndarray,
    differ: int,
    neighbours: np.ndarray,
    distance: np.ndarray,
    filled: np.ndarray,
) -> None:
    """Give each row that is not done those rows of its group that it does not have yet.

    A row that is not done has all rows that are nearer than `differ`, fewer than it wants: the
    group is searched no further than until it is done, less than twice as far as it wants.
    """
    many = neighbours.shape[1]
    for group in range(len(starts) - 1):
        first, size = starts[group], starts[group + 1] - starts[group]
        for place in range(size if size > 1 else 0):
            row = order[first + place]
            step = 1
            while step < size and filled[row] < many:
                other = order[first + (place + step) % size]
                if not _has(neighbours[row], filled[row], other):
                    neighbours[row, filled[row]] = other
                    distance[row, filled[row]] = differ
                    filled[row] += 1
                step += 1


def _has(neighbours: np.ndarray, filled: int, other: int) -> bool:
    for i in range(filled):  # noqa: SIM110 - it is compiled
        if neighbours[i] == other:
            return True
    return False


@cache
def _loop() -> Loop:
    return compile_loop(_has, _scan)
