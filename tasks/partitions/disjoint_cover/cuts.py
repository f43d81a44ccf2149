"""The cuts of a part of a table in two, by the values of one quasi-identifier.

A cut gives some of the values to the left side and the others to the right. Values are taken in an
order, and a cut is between two of them, or separates one value from the rest. The order is that of
the codes, or that of a mean: the mean, over the rows with a value, of random scores of another
column's values. Some order separates any two sets of values.

The worth of a cut is the cost of the part minus the costs of both sides. A part or side G of |G|
rows costs |G| (w H_G(S) + sum_i ln W_i). Here w is the weight of the sensitive attribute S in the
preference, and H_G(S) the entropy of its values in G. W_i is the mass of the values of the i-th
quasi-identifier that occur in G: their number if all weigh one.

The functions are compiled (`LOOPS`), so arguments have no types. `table` is a `Table`, `rule` a
`CoverRule`, `preference` a `CutPreference`, and `room` a `Room`, into which results are written.
`vectors` are the vectors of the part (positions in the table). `a` is an attribute, of which the
last is the sensitive one. Sides are 0, the left one, and 1, the right one.
"""

from math import log
from typing import Any

import numpy as np

from sfumato.tasks.partitions.disjoint_cover.table import TALLY, tally

_MOST = 2**62  # products beyond it are not computed
_LEAST = 1e-9  # worth of a cut that changes nothing, and least mass of a side


def _draw(room: Any) -> Any:
    """Return the next uniform number; after the last one comes the first again."""
    room.drawn[0] += 1
    return room.draws[room.drawn[0] % len(room.draws)]


def _all_right(preference: Any, room: Any) -> None:
    """Put all rows on the right side: the state from which values are moved to the left."""
    for a in range(len(room.firsts) - 1):
        values = room.values[room.firsts[a] : room.firsts[a + 1]]
        room.admitted[0, a] = 0
        room.admitted[1, a] = len(values)
        room.mass[0, a] = 0.0
        room.mass[1, a] = 0.0
        for value in values:
            room.left[value] = 0
            room.mass[1, a] += preference.mass[value]


def _move(table: Any, vectors: Any, sign: int, preference: Any, room: Any) -> int:
    """Move vectors to the left side, or back if the sign is -1; return the rows that it gained."""
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
            come = int(after > 0) - int(before > 0)  # 1 if the value is new on the left side
            gone = int(after < total) - int(before < total)  # -1 if it leaves the right side
            room.admitted[0, a] += come
            room.admitted[1, a] += gone
            room.mass[0, a] += come * preference.mass[value]
            room.mass[1, a] += gone * preference.mass[value]
    return moved


def _n_log_n(n: int, room: Any) -> float:
    """Return the number times its logarithm, 0 for 0; small numbers are looked up in a table."""
    if n < len(room.n_log_n):
        tabled: float = room.n_log_n[n]
        return tabled
    return n * log(n)


def _compare(left_rows: int, rows: int, room: Any) -> Any:
    """Return the most rows with one sensitive value on each side, and |G| H_G(S) of each side."""
    most, other = 0, 0
    unlike, unlike_other = _n_log_n(left_rows, room), _n_log_n(rows - left_rows, room)
    for value in room.values[room.firsts[-2] : room.firsts[-1]]:
        count = room.left[value]
        rest = room.total[value] - count
        most, other = max(most, count), max(other, rest)
        unlike -= _n_log_n(count, room)
        unlike_other -= _n_log_n(rest, room)
    return most, other, unlike, unlike_other


def keeps(rule: Any, side: int, rows: int, most: int, room: Any) -> bool:
    """Return True if a side keeps α and β, decided in integers.

    By α, the rows must be at most α times the product of the numbers of admitted values, over the
    quasi-identifiers; by β, one sensitive value may have at most a share β of the rows. Beside
    marginals only the rows that can have the same values of their attributes count, and only the
    other quasi-identifiers (see `expectations.groups.marginals`).

    Args:
        rule: α and β as fractions.
        side: 0 or 1.
        rows: the rows of the side.
        most: the rows of its most frequent sensitive value.
        room: has the `admitted` values of the side.
    """
    if most * rule.per_beta > rows * rule.beta:
        return False
    if rule.per_alpha == 0:
        return True
    most_alike = rows  # rows that can have one value of each attribute with a marginal
    for a in range(len(room.firsts) - 2):
        if rule.counted[a] > 0:
            spare = rows - room.admitted[side, a]
            most_alike = min(most_alike, rule.counted[a], spare + 1)
    needed = most_alike * rule.per_alpha
    covered = rule.alpha
    for a in range(len(room.firsts) - 2):
        if rule.counted[a] > 0:
            continue
        admitted = room.admitted[side, a]
        if covered >= needed or covered > _MOST // admitted:  # `needed` is at most 2^62
            return True
        covered *= admitted
    return bool(covered >= needed)


def _cost(preference: Any, side: int, rows: int, unlike: float, room: Any) -> float:
    """Return the cost of a side; `unlike` is its |G| H_G(S). Logarithms are kept for next time."""
    cost: float = preference.sensitive * unlike
    for a in range(len(room.firsts) - 2):
        mass = max(room.mass[side, a], _LEAST)
        if mass != room.logged[side, a]:
            room.logged[side, a] = mass
            room.logs[side, a] = log(mass)
        cost += rows * room.logs[side, a]
    return cost


def _sort(table: Any, vectors: Any, a: int, room: Any) -> None:
    """Write the vectors ordered by their value of an attribute, and the range of each value.

    Those of a value are in `sorted` from its `starts` to its `ends`, by a counting sort.
    """
    values = room.values[room.firsts[a] : room.firsts[a + 1]]
    for value in values:
        room.ends[value] = 0
    for vector in vectors:
        room.ends[table.codes[vector, a]] += 1
    place = 0
    for value in values:
        room.starts[value] = place
        place += room.ends[value]
        room.ends[value] = room.starts[value]
    for vector in vectors:
        value = table.codes[vector, a]
        room.sorted[room.ends[value]] = vector
        room.ends[value] += 1


def _score(table: Any, a: int, room: Any) -> None:
    """Draw a score for each value of an attribute, and write the scores of values that occur."""
    begin, end = table.begins[a], table.begins[a + 1]
    for value in room.values[room.firsts[a] : room.firsts[a + 1]]:
        place = room.drawn[0] + 1 + value - begin
        room.scores[value] = room.draws[place % len(room.draws)]
    room.drawn[0] += end - begin


def _order(table: Any, preference: Any, a: int, room: Any) -> Any:
    """Return the values of an attribute in the part, in the order in which they are taken.

    It is that of the codes, or of the mean scores of another attribute, drawn at random.
    """
    values = room.values[room.firsts[a] : room.firsts[a + 1]]
    if len(values) < 3 or _draw(room) >= preference.scored:
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


def _scan(
    table: Any, rule: Any, preference: Any, a: int, rows: int, room: Any, sample: bool
) -> float:
    """Write the sides of the best cut by an attribute; return its worth, below 0 if there is none.

    Cuts are tried along one order: either between two neighbours, or of a single value each.
    """
    values = _order(table, preference, a, room)
    single = len(values) > 2 and _draw(room) < preference.single
    _all_right(preference, room)
    whole = _cost(preference, 1, rows, _compare(0, rows, room)[3], room)
    best, best_place, left_rows = -1.0, 0, 0
    for i in range(len(values) - (0 if single else 1)):
        block = room.sorted[room.starts[values[i]] : room.ends[values[i]]]
        left_rows += _move(table, block, 1, preference, room)
        right = rows - left_rows
        most, other, unlike, unlike_other = _compare(left_rows, rows, room)
        if keeps(rule, 0, left_rows, most, room) and keeps(rule, 1, right, other, room):
            cost = _cost(preference, 0, left_rows, unlike, room) + _cost(
                preference, 1, right, unlike_other, room
            )
            if whole - cost > best:
                best, best_place = max(whole - cost, 0.0), i
        if single:
            left_rows += _move(table, block, -1, preference, room)
    _note(values, best_place, single, room)
    if sample:
        _note_others(table, a, room)
    return best


def _note(values: Any, place: int, single: bool, room: Any) -> None:
    """Write the side of each value for the cut at a place: after it, or of only its value."""
    for i in range(len(values)):
        room.side[values[i]] = int(i != place if single else i > place)


def _note_others(table: Any, a: int, room: Any) -> None:
    """Put each value that the part lacks on the side of the value before it, the first right."""
    begin, end = table.begins[a], table.begins[a + 1]
    for value in range(begin, end):
        if room.total[value] == 0:
            room.side[value] = room.side[value - 1] if value > begin else 1


def offers(table: Any, rule: Any, preference: Any, vectors: Any, room: Any, sample: bool) -> Any:
    """Write the best of some cuts by each quasi-identifier; return the number of rows.

    Afterwards `side` in the room has the side of each value, and `gains` the worth of each
    quasi-identifier's cut, times a random factor, or a number below 0 if no cut keeps the rule on
    both sides. If the vectors are a `sample`, values that they lack get a side, too.
    """
    rows = tally(table, vectors, room)
    for a in range(len(table.begins) - 2):
        room.gains[a] = -1.0
        if room.firsts[a + 1] - room.firsts[a] > 1:
            _sort(table, vectors, a, room)
            gain = _scan(table, rule, preference, a, rows, room, sample)
            if gain >= 0:
                room.gains[a] = (gain + _LEAST) * _draw(room) ** preference.noise
    return rows


# for the compiler: each function comes after those that it calls
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
