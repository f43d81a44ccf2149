"""Leftover rows join groups that stay, or become, as ambiguous as the promise asks.

A row joins, of the groups that may have its sensitive value once more, the one whose presence with
it is smallest, if that is at most α. (See `groups` for presence; a group covers, or admits, the
values of quasi-identifiers that its rows have.) Two loops find the group. If a sensitive value may
occur only once in a group, groups are tried one by one in the order of the presence that they could
reach at best, until no other can beat the best so far. Otherwise the groups are copied side by
side, so that a processor compares a row with several of them in one step.

Cells are the values of quasi-identifiers, numbered over all columns; `a` is a column.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import cover
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.ambiguity.groups import Stratum
from sfumato.tasks.partitions.ambiguity.rule import Limits

_WORTH_COMPILING = 20_000  # pairs of a row that is left over and a group
_CELLS = 1 << 29  # bytes of `covered` and `times`, at most: further groups are left out
_PAIRS = 1 << 26  # of a row and a group, compared in one pass where values may occur several times
_AT_ONCE = 128  # rows between two orderings of the groups


class OpenGroups(NamedTuple):
    """Groups that rows may join: their sizes, and the number and set of values that they cover.

    The data of one group are adjacent. `sizes` (int64) is one per group. `admitted` (int64, groups
    x columns) is the number of values that a group covers. `covered` (bool, groups x cells) marks
    the cells that it covers, of those that leftover rows have. `times` (int32, groups x sensitive
    values) counts each value in each group. `floor` (float64) is the least presence that each group
    could reach with one row more, in columns that have `domain` values.
    """

    sizes: Any
    admitted: Any
    covered: Any
    times: Any
    floor: Any
    domain: Any


def join(group: int, row: Any, value: int, open_: Any, least: Any) -> bool:
    """Add a row to a group if the group then has enough combinations; return True if it has.

    `least` is the least number of combinations, by the size of a group.
    """
    # ⌈⌈x/a⌉/b⌉ = ⌈x/ab⌉: so the product, which could overflow, is not computed
    combinations = least[open_.sizes[group] + 1]
    for a in range(len(row)):
        many = open_.admitted[group, a] + (not open_.covered[group, row[a]])
        combinations = (combinations + many - 1) // many
    if combinations > 1:
        return False
    open_.sizes[group] += 1
    open_.times[group, value] += 1
    highest = 1.0
    for a in range(len(row)):
        open_.admitted[group, a] += not open_.covered[group, row[a]]
        open_.covered[group, row[a]] = True
        highest *= min(open_.admitted[group, a] + 1, open_.domain[a])
    open_.floor[group] = (open_.sizes[group] + 1) / highest
    return True


class _SideBySide(NamedTuple):
    """Groups side by side, in the order in which groups of equal presence are preferred.

    `size` is each group's size with one row more (float64), `admitted` (float64, columns x groups)
    the number of values, `new` (uint8, values x groups) 1 for each value that the group does not
    cover. `turn` (int64) is smaller for groups that are preferred. `presence` (float64) is each
    group's presence with the row that is compared.
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
    """Write the group of each row that fits in one of the groups `able`.

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
    choose_loop(fast, _place, _compiled_loop)(rows, cells, values, candidates, open_, limits, group)


def _sizes(sizes: np.ndarray, limits: Limits) -> np.ndarray:
    """Return the sizes with one row more (float64), infinite if that is too many."""
    return np.where(sizes + 1 < len(limits.times), sizes + 1.0, np.inf)


def _place(
    rows: Any, cells: Any, values: Any, candidates: Any, open_: Any, limits: Any, group: Any
) -> None:
    """Write the group of each row that fits in one of the candidates; see `place_among`."""
    joined = 0
    for i in range(len(rows)):
        _compare(cells[i], candidates)
        place = _least(values[i], candidates, open_, limits.times)
        if place < 0:
            continue
        choice = candidates.group[place]
        if join(choice, cells[i], values[i], open_, limits.combinations):
            group[rows[i]] = choice
            _update(place, cells[i], candidates, open_, len(limits.times))
            # groups that rows have joined come before all others, in the order of their first row
            if candidates.turn[place] >= 0:
                candidates.turn[place] = joined - len(rows)
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
    """Return the candidate of smallest presence that may have the value once more, or -1."""
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


def _update(place: int, own: Any, candidates: Any, open_: Any, sizes: int) -> None:
    """Copy the state of a group that a row has joined."""
    group = candidates.group[place]
    size = open_.sizes[group] + 1
    candidates.size[place] = size if size < sizes else np.inf
    for a in range(len(own)):
        candidates.admitted[a, place] = open_.admitted[group, a]
        candidates.new[own[a], place] = 0


@cache
def _compiled_loop() -> Loop:
    return compile_loop(join, _compare, _least, _update, _place)


class _LeftoverRows(NamedTuple):
    """The cells and the sensitive value of each row, numbered among those of leftover rows.

    A cell or value that no leftover row has is -1. There are `kinds` different cells and `many`
    different values.
    """

    cells: np.ndarray
    values: np.ndarray
    kinds: int
    many: int


def place_rows(stratum: Stratum, group: np.ndarray, limits: Limits) -> np.ndarray:
    """Return the group of each row of a stratum (int64), with leftover rows placed; -1 for none.

    If a sensitive value may occur only once in a group, the rows are placed value by value, once.
    Otherwise rows are placed in random order, and again as long as rows that joined make room for
    others. If there are too many pairs of a row and a group to compare, or the tables of groups
    outgrow memory, rows join only those groups that could reach the smallest presences.

    Args:
        stratum: the rows.
        group: the group of each row (int64), -1 for leftover ones.
        limits: the limits that a group must keep.
    """
    leftover = np.flatnonzero(group < 0)
    if len(leftover) in (0, len(group)):
        return group
    numbered = _number_leftover(stratum, leftover)
    order, open_ = _open(stratum, group, numbered)
    rank = np.append(np.argsort(order), -1)[group]
    once = int(limits.times.max()) == 1
    leftover = leftover if once else leftover[np.argsort(stratum.keys[leftover])]
    while len(leftover):
        _place_all(leftover, numbered, open_, limits, rank)
        before, leftover = len(leftover), leftover[rank[leftover] < 0]
        if once or len(leftover) == before:
            break
    result: np.ndarray = np.append(order, -1)[rank]
    return result


def _number_leftover(stratum: Stratum, leftover: np.ndarray) -> _LeftoverRows:
    cells, kinds = _renumber(stratum.cells, leftover, stratum.numbers)
    values, many = _renumber(stratum.values, leftover, int(stratum.values[-1]) + 1)
    return _LeftoverRows(cells, values, kinds, many)


def _renumber(codes: np.ndarray, leftover: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    used = np.zeros(size, dtype=bool)
    used[codes[leftover]] = True
    return np.where(used, np.cumsum(used) - 1, -1)[codes], int(used.sum())


def _open(
    stratum: Stratum, group: np.ndarray, numbered: _LeftoverRows
) -> tuple[np.ndarray, OpenGroups]:
    """Return the groups in the order of their floor (int64), and the state of the first of them."""
    inside = np.flatnonzero(group >= 0)
    mine, domain = group[inside], np.array(stratum.domain)
    sizes = np.bincount(mine)
    admitted = np.array(
        [cover(mine, cells[inside], stratum.numbers).sizes(len(sizes)) for cells in stratum.cells.T]
    )
    most = np.minimum(admitted + 1, domain[:, None])
    floor = (sizes + 1) / np.prod(most.astype(np.float64), axis=0)
    order = np.argsort(floor, kind="stable")
    chosen = order[: max(_CELLS // (numbered.kinds + 4 * numbered.many), 1)]
    place = np.full(len(order), -1)
    place[chosen] = np.arange(len(chosen))
    covered, times = _contents(numbered, inside, place[mine], len(chosen))
    many = np.ascontiguousarray(admitted[:, chosen].T)
    return order, OpenGroups(sizes[chosen], many, covered, times, floor[chosen], domain)


def _contents(
    numbered: _LeftoverRows, inside: np.ndarray, place: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that groups cover (bool), and their counts of values (int32).

    `place` is the place of each row's group, -1 for none.
    """
    covered = np.zeros((groups, numbered.kinds), dtype=np.bool_)
    for cells in numbered.cells[inside].T:
        present = (cells >= 0) & (place >= 0)
        covered[place[present], cells[present]] = True
    values = numbered.values[inside]
    present = (values >= 0) & (place >= 0)
    pairs = place[present] * numbered.many + values[present]
    times = np.bincount(pairs, minlength=groups * numbered.many).astype(np.int32)
    return covered, times.reshape(groups, numbered.many)


def _place_all(
    leftover: np.ndarray,
    numbered: _LeftoverRows,
    open_: OpenGroups,
    limits: Limits,
    group: np.ndarray,
) -> None:
    """Write the groups of rows that fit in one, ordering groups anew after `_AT_ONCE` rows."""
    candidates, once = np.arange(len(open_.sizes)), int(limits.times.max()) == 1
    ends = np.arange(_AT_ONCE, len(leftover), _AT_ONCE)
    if once:
        ends = np.union1d(ends, np.flatnonzero(np.diff(numbered.values[leftover])) + 1)
    for rows in np.split(leftover, ends):
        candidates = candidates[np.argsort(open_.floor[candidates], kind="stable")]
        of_rows = (rows, numbered.cells[rows], numbered.values[rows])
        if once:
            able = candidates[open_.times[candidates, numbered.values[rows[0]]] == 0]
            fast = len(leftover) * len(able) >= _WORTH_COMPILING
            place = choose_loop(fast, _place_of_residue, _compiled_of_residue)
            place(*of_rows, able, open_.floor[able], open_, limits, group)
        else:
            able = candidates[: max(_PAIRS // len(leftover), 1)]
            fast = len(leftover) * len(able) >= _WORTH_COMPILING
            place_among(*of_rows, able, open_, limits, group, fast)


def _place_of_residue(
    rows: Any,
    cells: Any,
    values: Any,
    candidates: Any,
    floor: Any,
    open_: Any,
    limits: Any,
    group: Any,
) -> None:
    """Write the group of each row that fits in one.

    `floor` has the floors of the candidates, ascending, before any row joined. Groups that rows
    have joined since are all tried for each row, since their floors have changed.
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
    """Return the group of smallest presence with a row, and that presence, if below `least`."""
    best = -1
    for place in range(len(candidates)):
        if floor[place] >= least:
            break
        group = candidates[place]
        size = open_.sizes[group] + 1
        if size < len(most) and open_.times[group, value] < most[size]:
            combinations = 1.0
            for a in range(len(own)):
                combinations *= open_.admitted[group, a] + (not open_.covered[group, own[a]])
            if size / combinations < least:
                best, least = group, size / combinations
    return best, least


@cache
def _compiled_of_residue() -> Loop:
    return compile_loop(_best, join, _place_of_residue)
