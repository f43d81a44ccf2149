"""Groups that leftover rows may join, and what becomes of one that a row joins."""

from typing import Any, NamedTuple


class OpenGroups(NamedTuple):
    """Groups that rows may join: their sizes, the number of values they cover, and which.

    What is known of a group is adjacent. `sizes` (int64) is one per group, `admitted` (int64)
    groups x columns, `covered` (bool) groups x values; `times` (int32, groups x sensitive values)
    is each group's count of a value; `floor` (float64) is the least presence that each could reach
    with one row more, in columns that have `domain` values.
    """

    sizes: Any
    admitted: Any
    covered: Any
    times: Any
    floor: Any
    domain: Any


def join(one: int, row: Any, value: int, open_: Any, least: Any) -> bool:
    """Add a row to a group, if the group then has enough combinations."""
    combinations = least[open_.sizes[one] + 1]
    for a in range(len(row)):
        many = open_.admitted[one, a] + (not open_.covered[one, row[a]])
        combinations = (combinations + many - 1) // many
    if combinations > 1:
        return False
    open_.sizes[one] += 1
    open_.times[one, value] += 1
    highest = 1.0
    for a in range(len(row)):
        open_.admitted[one, a] += not open_.covered[one, row[a]]
        open_.covered[one, row[a]] = True
        highest *= min(open_.admitted[one, a] + 1, open_.domain[a])
    open_.floor[one] = (open_.sizes[one] + 1) / highest
    return True
