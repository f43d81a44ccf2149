"""The cuts of large parts that may be made.

Cuts of large parts are found in a sample and looked at once: one pass counts the rows and sensitive
values of both sides, and some of the vectors mostly tell that each side admits enough values.
"""

from typing import Any

from sfumato.tasks.partitions.disjoint_cover.cuts import LOOPS, keeps

_ENOUGH = 128  # vectors of a part whose values are counted first, to see that its sides keep α
_MORE = 8  # times as many are counted next


def may_cut(table: Any, rule: Any, vectors: Any, a: int, room: Any) -> bool:
    """True where both sides of the cut noted for an attribute keep α and β."""
    left, rows, most, other = _count_sides(table, vectors, a, room)
    within = most * rule.per_beta <= left * rule.beta
    if not (within and other * rule.per_beta <= (rows - left) * rule.beta and 0 < left < rows):
        return False
    step = max(len(vectors) // _ENOUGH, 1)
    _admit(table, vectors, step, a, room)
    while step > 1 and not _keep(rule, left, rows - left, most, other, room):
        step = max(step // _MORE, 1)
        _admit(table, vectors, step, a, room)
    return _keep(rule, left, rows - left, most, other, room)


def _keep(rule: Any, left: int, right: int, most: int, other: int, room: Any) -> bool:
    return keeps(rule, 0, left, most, room) and keeps(rule, 1, right, other, room)


def _count_sides(table: Any, vectors: Any, a: int, room: Any) -> Any:
    """The rows on the left and all, and the most with one sensitive value on the left and right."""
    sensitive = table.codes.shape[1] - 1
    for vector in vectors:
        room.starts[table.codes[vector, sensitive]] = 0
        room.ends[table.codes[vector, sensitive]] = 0
    left, rows, most, other = 0, 0, 0, 0
    for vector in vectors:
        value = table.codes[vector, sensitive]
        rows += table.rows[vector]
        if room.side[table.codes[vector, a]] == 0:
            left += table.rows[vector]
            room.starts[value] += table.rows[vector]
            most = max(most, room.starts[value])
        else:
            room.ends[value] += table.rows[vector]
            other = max(other, room.ends[value])
    return left, rows, most, other


def _admit(table: Any, vectors: Any, step: int, a: int, room: Any) -> None:
    """Count the values that every step-th vector has on its side, at least one of each attribute.

    Each side must have vectors.
    """
    for b in range(table.codes.shape[1]):
        room.admitted[0, b] = 0
        room.admitted[1, b] = 0
    for i in range(0, len(vectors), step):
        for b in range(table.codes.shape[1]):
            room.starts[table.codes[vectors[i], b]] = 0
            room.ends[table.codes[vectors[i], b]] = 0
    for i in range(0, len(vectors), step):
        side = room.side[table.codes[vectors[i], a]]
        for b in range(table.codes.shape[1]):
            value = table.codes[vectors[i], b]
            if side == 0:
                room.admitted[0, b] += 1 - room.starts[value]
                room.starts[value] = 1
            else:
                room.admitted[1, b] += 1 - room.ends[value]
                room.ends[value] = 1
    for b in range(table.codes.shape[1]):
        room.admitted[0, b] = max(room.admitted[0, b], 1)
        room.admitted[1, b] = max(room.admitted[1, b], 1)


ALLOWED = (*LOOPS, _count_sides, _admit, _keep, may_cut)
