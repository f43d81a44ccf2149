"""Leftover rows compared with all of some groups at once.

The groups are copied side by side, so that a processor compares a row with several of them in one
step. Which group a row joins is what `residue` finds one by one.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.ambiguity.open_groups import OpenGroups, join
from sfumato.tasks.partitions.ambiguity.rule import Limits


class _SideBySide(NamedTuple):
    """Groups side by side, in the order in which those of equal presence are preferred.

    `size` is that with one row more (float64), `admitted` (float64, columns x groups) the number of
    values, `new` (uint8, values x groups) 1 for each value that the group does not cover; `turn`
    (int64) is smaller for those that are preferred; `presence` (float64) is that with a row.
    """

    group: Any
    size: Any
    admitted: Any
    new: Any
    turn: Any
    presence: Any


def place_among(
    rows: np.ndarray,
    cells: np.ndarray,
    values: np.ndarray,
    able: np.ndarray,
    open_: OpenGroups,
    limits: Limits,
    group: np.ndarray,
    fast: bool,
) -> None:
    """Write the group of each row that finds one among those that are able.

    Of groups of equal presence, those that other rows have joined come first, in that order.

    Args:
        rows: numbers of rows (int64).
        cells: their cells (int64, rows x columns), as numbered in the groups.
        values: their sensitive values (int64).
        able: the groups (int64).
        open_: the groups' state.
        limits: the limits that a group must keep.
        group: the group of every row (int64), written to.
        fast: whether to run compiled.
    """
    candidates = _SideBySide(
        able,
        _sizes(open_.sizes[able], limits),
        np.ascontiguousarray(open_.admitted[able].T, dtype=np.float64),
        np.ascontiguousarray(~open_.covered[able].T).view(np.uint8),
        np.arange(len(able)),
        np.zeros(len(able)),
    )
    choose_loop(fast, _place, _compiled)(rows, cells, values, candidates, open_, limits, group)


def _sizes(sizes: np.ndarray, limits: Limits) -> np.ndarray:
    """The sizes with one row more (float64), infinite where that is too many."""
    return np.where(sizes + 1 < len(limits.times), sizes + 1.0, np.inf)


def _place(
    rows: Any, cells: Any, values: Any, candidates: Any, open_: Any, limits: Any, group: Any
) -> None:
    joined = 0
    for i in range(len(rows)):
        _compare(cells[i], candidates)
        at = _least(values[i], candidates, open_, limits.times)
        if at < 0:
            continue
        one = candidates.group[at]
        if join(one, cells[i], values[i], open_, limits.combinations):
            group[rows[i]] = one
            _update(at, cells[i], candidates, open_, len(limits.times))
            if candidates.turn[at] >= 0:
                candidates.turn[at] = joined - len(rows)
            joined += 1


def _compare(own: Any, candidates: Any) -> None:
    """Note the presence of each candidate with a row."""
    presence = candidates.presence
    presence[:] = 1.0
    for a in range(len(own)):
        admitted, new = candidates.admitted[a], candidates.new[own[a]]
        for k in range(len(presence)):
            presence[k] *= admitted[k] + new[k]
    np.divide(candidates.size, presence, presence)


def _least(value: int, candidates: Any, open_: Any, most: Any) -> int:
    """The candidate of smallest presence that may have the value once more, or -1."""
    best, least = -1, np.inf
    presence, turn = candidates.presence, candidates.turn
    for k in range(len(presence)):
        if presence[k] > least or presence[k] == np.inf:
            continue
        if presence[k] == least and turn[k] > turn[best]:
            continue
        if open_.times[candidates.group[k], value] < most[int(candidates.size[k])]:
            best, least = k, presence[k]
    return best


def _update(at: int, own: Any, candidates: Any, open_: Any, sizes: int) -> None:
    """Copy the state of a group that a row has joined."""
    one = candidates.group[at]
    size = open_.sizes[one] + 1
    candidates.size[at] = size if size < sizes else np.inf
    for a in range(len(own)):
        candidates.admitted[a, at] = open_.admitted[one, a]
        candidates.new[own[a], at] = 0


@cache
def _compiled() -> Loop:
    return compile_loop(join, _compare, _least, _update, _place)
