"""Parts as runs of columns, whose rows a cut writes to the places of its sides.

The rows of an open part are a run of columns (int32) that hold the codes of each quasi-identifier,
the rows' numbers, and the codes of the sensitive attribute where one is needed. There are two sets
of columns; a cut writes the rows of the children one after the other into the set that the part is
not in, where they are judged and cut on. Rows of a part always stay in their first order.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

import numpy as np


def place_sides(
    side: np.ndarray, sides: int, least: int, place: np.ndarray, ends: np.ndarray
) -> bool:
    """Fill in where each row goes if sides follow each other, and where those end.

    Args:
        side: the side of each row, 0, 1, … (int32).
        sides: the number of sides.
        least: smallest number of rows of a side.
        place: to be filled, one per row (int32).
        ends: to be filled, with room for one more than there are sides (int32).

    Returns:
        False where a side has fewer rows than `least`; `place` is not filled then.
    """
    ends[: sides + 1] = 0
    for one in side:
        ends[one + 1] += 1
    for one in range(sides):
        if ends[one + 1] < least:
            return False
        ends[one + 1] += ends[one]
    if sides == 2:
        first, second = 0, ends[1]
        for i in range(len(side)):
            place[i] = second if side[i] else first
            first += 1 - side[i]
            second += side[i]
        ends[0], ends[1] = first, second
        return True
    for i in range(len(side)):
        place[i] = ends[side[i]]
        ends[side[i]] += 1
    return True


def column_of(columns: np.ndarray, run: tuple[int, int, int], column: int) -> np.ndarray:
    """The rows of a part in one column (int32), a view; `run` is begin, end, set of columns."""
    begin, end, here = run
    return columns[here, column, begin:end]


def move(
    columns: np.ndarray,
    here: tuple[int, int, int],
    there: tuple[int, int, int],
    column: int,
    place: np.ndarray,
) -> np.ndarray:
    """Write one column with its rows in their places (int32); return a view of the result."""
    from_, to = column_of(columns, here, column), column_of(columns, there, column)
    for i in range(len(place)):
        to[place[i]] = from_[i]
    return to


LOOPS = (place_sides, column_of, move)
