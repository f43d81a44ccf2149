"""The values that some vectors of a table have, counted and listed."""

from typing import Any

_FEW = 8  # values that there are, for each that some vectors could have, make it pay to sort


def tally(table: Any, vectors: Any, room: Any) -> Any:
    """Count the values of some vectors, and list those that occur; returns the number of rows.

    What it takes depends on the vectors, and not on the values that there are elsewhere.
    """
    for value in room.values[: room.firsts[-1]]:
        room.total[value] = 0
    if len(room.total) > _FEW * len(vectors) * table.codes.shape[1]:
        _list_met(table, vectors, room)
    else:
        _list_all(table, vectors, room)
    rows = 0
    for vector in vectors:
        rows += table.rows[vector]
    return rows


def _list_met(table: Any, vectors: Any, room: Any) -> None:
    """Count each attribute's values and list them as they are met, then sort the list."""
    found = 0
    for a in range(len(table.begins) - 1):
        first = found
        room.firsts[a] = first
        for vector in vectors:
            value = table.codes[vector, a]
            if room.total[value] == 0:
                room.values[found] = value
                found += 1
            room.total[value] += table.rows[vector]
        room.values[first:found].sort()
    room.firsts[len(table.begins) - 1] = found


def _list_all(table: Any, vectors: Any, room: Any) -> None:
    """Count all values, then look through those that there are."""
    for vector in vectors:
        for value in table.codes[vector]:
            room.total[value] += table.rows[vector]
    found = 0
    for a in range(len(table.begins) - 1):
        room.firsts[a] = found
        for value in range(table.begins[a], table.begins[a + 1]):
            if room.total[value] > 0:
                room.values[found] = value
                found += 1
    room.firsts[len(table.begins) - 1] = found


TALLY = (_list_met, _list_all, tally)
