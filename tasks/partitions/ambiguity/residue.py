"""Leftover rows join groups that stay, or become, as ambiguous as is asked.

A row joins, of the groups that may have its sensitive value once more, the one whose presence is
smallest with it, where that is no more than α. Groups are tried in the order of the presence that
they could reach at best, until no other can be better than the best found.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import cover
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.ambiguity.candidates import place_among
from sfumato.tasks.partitions.ambiguity.groups import Stratum
from sfumato.tasks.partitions.ambiguity.open_groups import OpenGroups, join
from sfumato.tasks.partitions.ambiguity.rule import Limits

_WORTH_COMPILING = 20_000  # pairs of a row that is left over and a group
_CELLS = 1 << 29  # of the matrices of what groups have
_PAIRS = 1 << 26  # of a row and a group, compared in one pass where there are several
_AT_ONCE = 128  # rows between two orderings of the groups


class _Numbered(NamedTuple):
    """The cells and the sensitive value of each row, numbered among those of leftover rows.

    What no leftover row has is -1; there are `kinds` cells and `many` values.
    """

    cells: np.ndarray
    values: np.ndarray
    kinds: int
    many: int


def place_rows(stratum: Stratum, group: np.ndarray, limits: Limits) -> np.ndarray:
    """Place leftover rows: the group of each row of a stratum (int64), -1 where it still has none.

    Where a value may come once in a group, values are placed one after the other; otherwise rows
    are placed in random order, and again for as long as others that joined make room. Where there
    are too many pairs of a row and a group to compare, or the tables of groups outgrow memory, rows
    join only those groups that could reach the smallest presences.

    Args:
        stratum: the rows.
        group: the group of each row (int64), -1 for leftover ones.
        limits: the limits that a group must keep.
    """
    left = np.flatnonzero(group < 0)
    if len(left) in (0, len(group)):
        return group
    numbered = _numbered(stratum, left)
    order, open_ = _open(stratum, group, numbered)
    rank = np.append(np.argsort(order), -1)[group]
    once = int(limits.times.max()) == 1
    left = left if once else left[np.argsort(stratum.keys[left])]
    while len(left):
        _place_all(left, numbered, open_, limits, rank)
        before, left = len(left), left[rank[left] < 0]
        if once or len(left) == before:
            break
    result: np.ndarray = np.append(order, -1)[rank]
    return result


def _numbered(stratum: Stratum, left: np.ndarray) -> _Numbered:
    cells, kinds = _renumbered(stratum.cells, left, stratum.numbers)
    values, many = _renumbered(stratum.values, left, int(stratum.values[-1]) + 1)
    return _Numbered(cells, values, kinds, many)


def _renumbered(codes: np.ndarray, left: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    used = np.zeros(size, dtype=bool)
    used[codes[left]] = True
    return np.where(used, np.cumsum(used) - 1, -1)[codes], int(used.sum())


def _open(
    stratum: Stratum, group: np.ndarray, numbered: _Numbered
) -> tuple[np.ndarray, OpenGroups]:
    """The groups by floor: their order (int64), and the state of those that are kept."""
    inside = np.flatnonzero(group >= 0)
    mine, domain = group[inside], np.array(stratum.domain)
    sizes = np.bincount(mine)
    admitted = np.array(
        [cover(mine, cells[inside], stratum.numbers).sizes(len(sizes)) for cells in stratum.cells.T]
    )
    most = np.minimum(admitted + 1, domain[:, None])
    floor = (sizes + 1) / np.prod(most.astype(np.float64), axis=0)
    order = np.argsort(floor, kind="stable")
    kept = order[: max(_CELLS // (numbered.kinds + 4 * numbered.many), 1)]
    place = np.full(len(order), -1)
    place[kept] = np.arange(len(kept))
    covered, times = _had(numbered, inside, place[mine], len(kept))
    many = np.ascontiguousarray(admitted[:, kept].T)
    return order, OpenGroups(sizes[kept], many, covered, times, floor[kept], domain)


def _had(
    numbered: _Numbered, inside: np.ndarray, place: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """The cells that groups cover (bool), and their counts of values, given the places of rows."""
    covered = np.zeros((groups, numbered.kinds), dtype=np.bool_)
    for cells in numbered.cells[inside].T:
        known = (cells >= 0) & (place >= 0)
        covered[place[known], cells[known]] = True
    values = numbered.values[inside]
    known = (values >= 0) & (place >= 0)
    pairs = place[known] * numbered.many + values[known]
    times = np.bincount(pairs, minlength=groups * numbered.many).astype(np.int32)
    return covered, times.reshape(groups, numbered.many)


def _place_all(
    left: np.ndarray, numbered: _Numbered, open_: OpenGroups, limits: Limits, group: np.ndarray
) -> None:
    """Write the groups of rows that find one, in order; the groups are ordered every so often."""
    candidates, once = np.arange(len(open_.sizes)), int(limits.times.max()) == 1
    ends = np.arange(_AT_ONCE, len(left), _AT_ONCE)
    if once:
        ends = np.union1d(ends, np.flatnonzero(np.diff(numbered.values[left])) + 1)
    for rows in np.split(left, ends):
        candidates = candidates[np.argsort(open_.floor[candidates], kind="stable")]
        of_rows = (rows, numbered.cells[rows], numbered.values[rows])
        if once:
            able = candidates[open_.times[candidates, numbered.values[rows[0]]] == 0]
            fast = len(left) * len(able) >= _WORTH_COMPILING
            place = choose_loop(fast, _place, _compiled)
            place(*of_rows, able, open_.floor[able], open_, limits, group)
        else:
            able = candidates[: max(_PAIRS // len(left), 1)]
            fast = len(left) * len(able) >= _WORTH_COMPILING
            place_among(*of_rows, able, open_, limits, group, fast)


def _place(
    rows: Any,
    cells: Any,
    values: Any,
    candidates: Any,
    floor: Any,
    open_: Any,
    limits: Any,
    group: Any,
) -> None:
    """Write the group of each row that finds one.

    The floors are those of the candidates, ascending, before any row joined; groups that rows have
    joined since are all tried.
    """
    joined, many = np.zeros(len(rows), np.int64), 0
    always = np.zeros(len(rows))
    for i in range(len(rows)):
        own, value = cells[i], values[i]
        best, least = _best(joined[:many], always, np.inf, own, value, open_, limits.times)
        other, less = _best(candidates, floor, least, own, value, open_, limits.times)
        best = other if less < least else best
        if best >= 0 and join(best, own, value, open_, limits.combinations):
            group[rows[i]] = best
            joined[many] = best
            many += 1


def _best(
    candidates: Any, floor: Any, least: float, own: Any, value: int, open_: Any, most: Any
) -> Any:
    """The group of smallest presence with a row, and that presence, where it is below `least`."""
    best = -1
    for at in range(len(candidates)):
        if floor[at] >= least:
            break
        one = candidates[at]
        size = open_.sizes[one] + 1
        if size < len(most) and open_.times[one, value] < most[size]:
            combinations = 1.0
            for a in range(len(own)):
                combinations *= open_.admitted[one, a] + (not open_.covered[one, own[a]])
            if size / combinations < least:
                best, least = one, size / combinations
    return best, least


@cache
def _compiled() -> Loop:
    return compile_loop(_best, join, _place)
