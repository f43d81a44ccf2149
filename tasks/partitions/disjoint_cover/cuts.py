"""The cuts of a part of a table in two, by the values of one quasi-identifier.

A cut gives some of the values to the left side and the others to the right. The values are taken
in an order, and a cut is between two of them, or of one against the rest. The order is that of the
codes, or that of the mean, over the rows with a value, of random scores of another column's values:
any two sets of values are parted by some order.

The worth of a cut is what it takes off |G| (w H_G(S) + sum_i ln W_i), with w the taste for the
sensitive attribute and W_i the mass of the values that the part admits: their number where all
weigh one.
"""

from math import log
from typing import Any

import numpy as np

from sfumato.tasks.partitions.disjoint_cover.table import TALLY, tally

_MOST = 2**62
_LEAST = 1e-9  # worth of a cut that changes nothing, and mass of a side


def _draw(room: Any) -> Any:
    room.drawn[0] += 1
    return room.draws[room.drawn[0] % len(room.draws)]


def _all_right(taste: Any, room: Any) -> None:
    """Put everything on the right side."""
    for a in range(len(room.firsts) - 1):
        values = room.values[room.firsts[a] : room.firsts[a + 1]]
        room.admitted[0, a] = 0
        room.admitted[1, a] = len(values)
        room.mass[0, a] = 0.0
        room.mass[1, a] = 0.0
        for value in values:
            room.left[value] = 0
            room.mass[1, a] += taste.mass[value]


def _move(table: Any, vectors: Any, sign: int, taste: Any, room: Any) -> int:
    """Move vectors to the left side, or back where the sign is -1; returns the rows it gained."""
    moved = 0
    for vector in vectors:
        rows = sign * table.rows[vector]
        moved += rows
        for a in range(table.codes.shape[1]):
            value = table.codes[vector, a]
            before = room.left[value]
            after = before + rows
            room.left[value] = after
            total = room.total[value]
            come = int(after > 0) - int(before > 0)
            gone = int(after < total) - int(before < total)
            room.admitted[0, a] += come
            room.admitted[1, a] += gone
            room.mass[0, a] += come * taste.mass[value]
            room.mass[1, a] += gone * taste.mass[value]
    return moved


def _n_log_n(n: int, room: Any) -> float:
    """The number times its logarithm, 0 for 0; those of small numbers are tabled."""
    if n < len(room.n_log_n):
        tabled: float = room.n_log_n[n]
        return tabled
    return n * log(n)


def _compare(left: int, rows: int, room: Any) -> Any:
    """The most rows that one sensitive value has on each side, and |G| H_G(S) of each."""
    most, other = 0, 0
    unlike, unlike_other = _n_log_n(left, room), _n_log_n(rows - left, room)
    for value in room.values[room.firsts[-2] : room.firsts[-1]]:
        count = room.left[value]
        rest = room.total[value] - count
        most, other = max(most, count), max(other, rest)
        unlike -= _n_log_n(count, room)
        unlike_other -= _n_log_n(rest, room)
    return most, other, unlike, unlike_other


def keeps(rule: Any, side: int, rows: int, most: int, room: Any) -> bool:
    """True where a side keeps α and β, decided in integers."""
    if most * rule.per_beta > rows * rule.beta:
        return False
    needed = rows * rule.per_alpha
    covered = rule.alpha
    for a in range(len(room.firsts) - 2):
        admitted = room.admitted[side, a]
        if covered >= needed or covered > _MOST // admitted:
            return True
        covered *= admitted
    return bool(covered >= needed)


def _cost(taste: Any, side: int, rows: int, unlike: float, room: Any) -> float:
    cost: float = taste.sensitive * unlike
    for a in range(len(room.firsts) - 2):
        mass = max(room.mass[side, a], _LEAST)
        if mass != room.logged[side, a]:
            room.logged[side, a] = mass
            room.logs[side, a] = log(mass)
        cost += rows * room.logs[side, a]
    return cost


def _sort(table: Any, vectors: Any, a: int, room: Any) -> None:
    """Write the vectors ordered by their value of an attribute, and where each value's are."""
    values = room.values[room.firsts[a] : room.firsts[a + 1]]
    for value in values:
        room.ends[value] = 0
    for vector in vectors:
        room.ends[table.codes[vector, a]] += 1
    at = 0
    for value in values:
        room.starts[value] = at
        at += room.ends[value]
        room.ends[value] = room.starts[value]
    for vector in vectors:
        value = table.codes[vector, a]
        room.sorted[room.ends[value]] = vector
        room.ends[value] += 1


def _score(table: Any, a: int, room: Any) -> None:
    """Draw a score for each value of an attribute, and note those of values that occur."""
    begin, end = table.begins[a], table.begins[a + 1]
    for value in room.values[room.firsts[a] : room.firsts[a + 1]]:
        at = room.drawn[0] + 1 + value - begin
        room.scores[value] = room.draws[at % len(room.draws)]
    room.drawn[0] += end - begin


def _order(table: Any, taste: Any, a: int, room: Any) -> Any:
    """The values of an attribute that the part has, in the order in which they are taken."""
    values = room.values[room.firsts[a] : room.firsts[a + 1]]
    if len(values) < 3 or _draw(room) >= taste.scored:
        return values
    width = table.codes.shape[1]
    other = (a + 1 + int(_draw(room) * (width - 1))) % width
    _score(table, other, room)
    means = np.zeros(len(values))
    for i in range(len(values)):
        for vector in room.sorted[room.starts[values[i]] : room.ends[values[i]]]:
            means[i] += table.rows[vector] * room.scores[table.codes[vector, other]]
        means[i] /= room.total[values[i]]
    return values[np.argsort(means, kind="mergesort")]


def _scan(table: Any, rule: Any, taste: Any, a: int, rows: int, room: Any, sample: bool) -> float:
    """The worth of the best of some cuts by an attribute, below 0 for none; notes its sides."""
    values = _order(table, taste, a, room)
    single = len(values) > 2 and _draw(room) < taste.single
    _all_right(taste, room)
    whole = _cost(taste, 1, rows, _compare(0, rows, room)[3], room)
    best, at, left = -1.0, 0, 0
    for i in range(len(values) - (0 if single else 1)):
        block = room.sorted[room.starts[values[i]] : room.ends[values[i]]]
        left += _move(table, block, 1, taste, room)
        right = rows - left
        most, other, unlike, unlike_other = _compare(left, rows, room)
        if keeps(rule, 0, left, most, room) and keeps(rule, 1, right, other, room):
            cost = _cost(taste, 0, left, unlike, room) + _cost(taste, 1, right, unlike_other, room)
            if whole - cost > best:
                best, at = max(whole - cost, 0.0), i
        if single:
            left += _move(table, block, -1, taste, room)
    _note(values, at, single, room)
    if sample:
        _note_others(table, a, room)
    return best


def _note(values: Any, at: int, single: bool, room: Any) -> None:
    """Note the sides of a cut."""
    for i in range(len(values)):
        room.side[values[i]] = int(i != at if single else i > at)


def _note_others(table: Any, a: int, room: Any) -> None:
    """Note that a value which was not seen goes where the one before it goes."""
    begin, end = table.begins[a], table.begins[a + 1]
    for value in range(begin, end):
        if room.total[value] == 0:
            room.side[value] = room.side[value - 1] if value > begin else 1


def offers(table: Any, rule: Any, taste: Any, vectors: Any, room: Any, sample: bool) -> Any:
    """Note the best of some cuts by each attribute and its worth; returns the number of rows.

    Where the vectors are a `sample`, it is noted of values that they lack, too.
    """
    rows = tally(table, vectors, room)
    for a in range(len(table.begins) - 2):
        room.gains[a] = -1.0
        if room.firsts[a + 1] - room.firsts[a] > 1:
            _sort(table, vectors, a, room)
            gain = _scan(table, rule, taste, a, rows, room, sample)
            if gain >= 0:
                room.gains[a] = (gain + _LEAST) * _draw(room) ** taste.noise
    return rows


LOOPS = (
    *TALLY,
    _draw,
    _all_right,
    _move,
    _n_log_n,
    _compare,
    keeps,
    _cost,
    _sort,
    _score,
    _order,
    _note,
    _note_others,
    _scan,
    offers,
)
