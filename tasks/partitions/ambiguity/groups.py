"""Groups that cover many combinations of quasi-identifiers: the main phase of ambiguity.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, Algorithms 2 and 4. A combination has one value of each quasi-identifier; a group covers all
combinations of values that its rows have. A group has at least ⌈1/β⌉ rows, and no more than it
needs. Its presence is its number of rows over its number of combinations, and the row that it takes
next is the one that multiplies its combinations by the most.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.ambiguity.rule import AmbiguityRule, Limits

_WORTH_COMPILING = 4000  # rows
_NARROW = 2**16  # numbers of cells that 16 bits hold: fewer bytes are read sooner


class Stratum(NamedTuple):
    """The rows of a stratum by sensitive value, the rows of each value in random order.

    `rows` are their positions in the table (int64), `values` their sensitive values (int64; 0, 1,
    …, ascending), `cells` their quasi-identifiers (uint16 or int32, rows x columns; values of
    different columns have different numbers, below `numbers`), `domain` the number of values of
    each column. `keys` has a random number for each row that a group takes (int64), `order` one for
    each sensitive value (uint64).
    """

    rows: np.ndarray
    values: np.ndarray
    cells: np.ndarray
    numbers: int
    domain: tuple[int, ...]
    keys: np.ndarray
    order: np.ndarray


def draw_stratum(
    microdata: Microdata, rows: np.ndarray, rule: AmbiguityRule, randomness: Randomness
) -> Stratum:
    """Return a stratum in random order, given the positions of its rows (int64)."""
    codes = microdata[rule.sensitive].category()[0][rows]
    order = np.lexsort((randomness(len(rows)), codes))
    values = np.cumsum(np.diff(codes[order], prepend=codes[order[:1]]) != 0)
    chosen = rows[order]
    parts = [_dense(microdata[name], chosen) for name in rule.quasi_identifiers]
    domain = tuple(int(part.max(initial=-1)) + 1 for part in parts)
    offsets = np.cumsum([0, *domain])[:-1]
    cells = np.column_stack([part + offset for part, offset in zip(parts, offsets, strict=True)])
    keys = (randomness(len(rows)) >> np.uint64(1)).astype(np.int64)
    shuffled = randomness(int(values.max(initial=-1)) + 1)
    narrow = np.uint16 if sum(domain) <= _NARROW else np.int32
    return Stratum(chosen, values, cells.astype(narrow), sum(domain), domain, keys, shuffled)


def _dense(column: Column, rows: np.ndarray) -> np.ndarray:
    """Return the categories of some rows, numbered without gaps."""
    codes, size = column.category()
    used = np.zeros(size, dtype=bool)
    used[codes[rows]] = True
    numbers: np.ndarray = (np.cumsum(used) - 1)[codes[rows]]
    return numbers


def grow(stratum: Stratum, limits: Limits, probes: int) -> np.ndarray:
    """Return the group of each row of a stratum (int64; 0, 1, …), -1 for a row that is left over.

    Each group takes one row after the other, from the sensitive value that has the most rows left
    among those that it may still take, and stops as soon as it keeps the limits. A group that
    cannot keep them is dissolved, which ends the growing, as it does when too few values are left
    for a group.

    Args:
        stratum: the rows.
        limits: the limits that a group must keep.
        probes: the number of rows looked at for each one taken.
    """
    remaining = np.bincount(stratum.values)
    largest = np.lexsort((stratum.order, -remaining))
    group = np.full(len(stratum.rows), -1, dtype=np.int64)
    columns, most = len(stratum.domain), len(limits.times)
    room = _Room(
        np.array(stratum.domain),
        np.zeros(columns, dtype=np.int64),
        np.full(stratum.numbers, -1, dtype=np.int64),
        np.zeros(len(remaining), dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.ones((columns, 2)),
    )
    rows = _Remaining(
        stratum.cells.copy(),
        np.arange(len(group)),
        np.cumsum(remaining) - remaining,
        remaining,
        largest,
    )
    grown = choose_loop(len(group) >= _WORTH_COMPILING, _grow, _compiled_loop)
    grown(rows, limits, stratum.keys, probes, room, group)
    return group


class _Remaining(NamedTuple):
    """Rows that are left, by sensitive value: `left[v]` rows of value v begin at `first[v]`.

    `rows` are numbers of rows and `cells` their quasi-identifiers; `largest` are the values in the
    order of the number of rows that they have left, descending.
    """

    cells: Any
    rows: Any
    first: Any
    left: Any
    largest: Any


class _Room(NamedTuple):
    """A group while it grows.

    Attributes:
        domain: the number of values of each column (int64).
        admitted: the number of values of each column that the group has (int64).
        covered: for each cell, the number of the last group that has it, -1 for none (int64).
        times: how often the group has each sensitive value (int64).
        members: the numbers of its rows (int64).
        factor: by how much a row multiplies the combinations by its value of each column (float64,
            columns x 2): first for a value that the group has, always 1, then for a new one.
    """

    domain: Any
    admitted: Any
    covered: Any
    times: Any
    members: Any
    factor: Any


def _grow(remaining: Any, limits: Any, keys: Any, probes: int, room: Any, group: Any) -> None:
    """Write the group of each row that is in one."""
    picks, groups = 0, 0
    while (
        limits.least <= len(remaining.left)
        and remaining.left[remaining.largest[limits.least - 1]] > 0
    ):
        size = _grow_group(remaining, limits, keys[picks:], probes, room, groups)
        if size == 0:
            return
        for i in range(size):
            group[room.members[i]] = groups
        picks += size
        groups += 1


def _grow_group(remaining: Any, limits: Any, keys: Any, probes: int, room: Any, group: int) -> int:
    """Grow one group; return the number of its rows, 0 if it cannot keep the limits."""
    room.admitted[:] = 0
    room.times[:] = 0
    size = 0
    while size + 1 < len(limits.times):
        place = _allowed_place(remaining, room.times, limits.times[size + 1])
        if place < 0:
            return 0
        row = _best_row(remaining, remaining.largest[place], keys[size], probes, room, group)
        room.members[size] = remaining.rows[row]
        room.times[remaining.largest[place]] += 1
        _add(remaining, row, room, group)
        _shrink(remaining, place, row)
        size += 1
        if size >= limits.least and _covers(room.admitted, limits.combinations[size]):
            return size
    return 0


def _allowed_place(remaining: Any, times: Any, most: int) -> int:
    """Return the place of the value with the most rows left that the group may take, or -1."""
    for place in range(len(remaining.largest)):
        value = remaining.largest[place]
        if remaining.left[value] == 0:
            return -1
        if times[value] < most:
            return place
    return -1


def _best_row(remaining: Any, value: int, key: int, probes: int, room: Any, group: int) -> int:
    """Return the probed row of a value that multiplies the group's combinations by the most.

    No row is better than one that is new in every column with a value not yet covered.
    """
    begin, many, most = remaining.first[value], remaining.left[value], _weigh(room)
    place, best, highest = int(begin + key % many), int(begin), 0.0
    for _ in range(min(probes, many)):
        score = 1.0
        for a in range(len(room.domain)):  # a table of factors, because branches cost more
            score *= room.factor[a, int(room.covered[remaining.cells[place, a]] != group)]
        if score > highest:
            best, highest = place, score
        if score == most:
            break
        place = place + 1 if place + 1 < begin + many else begin
    return best


def _weigh(room: Any) -> float:
    """Note by what factor a new value of each column multiplies; return the product of all."""
    most = 1.0
    for a in range(len(room.domain)):
        many = room.admitted[a]
        room.factor[a, 1] = (many + 1) / max(many, 1) if many < room.domain[a] else 1.0
        most *= room.factor[a, 1]
    return most


def _add(remaining: Any, row: int, room: Any, group: int) -> None:
    """Cover a row's values."""
    for a in range(len(room.domain)):
        cell = remaining.cells[row, a]
        room.admitted[a] += room.covered[cell] != group
        room.covered[cell] = group


def _shrink(remaining: Any, place: int, row: int) -> None:
    """Take a row away from the value at this place, and keep the values in order."""
    value = remaining.largest[place]
    # the last of the value's rows takes the place of the row
    last = remaining.first[value] + remaining.left[value] - 1
    remaining.rows[row] = remaining.rows[last]
    remaining.cells[row] = remaining.cells[last]
    # the last value with as many rows left: if this one goes to its place, the order stays right
    low, high = place, len(remaining.largest)
    while high - low > 1:
        middle = (low + high) // 2
        if remaining.left[remaining.largest[middle]] == remaining.left[value]:
            low = middle
        else:
            high = middle
    remaining.largest[place], remaining.largest[low] = remaining.largest[low], value
    remaining.left[value] -= 1


def _covers(admitted: Any, combinations: int) -> bool:
    """Return True if the product reaches `combinations`, not computed: ⌈⌈x/a⌉/b⌉ = ⌈x/ab⌉."""
    for many in admitted:
        combinations = (combinations + many - 1) // many
    return bool(combinations <= 1)


@cache
def _compiled_loop() -> Loop:
    return compile_loop(
        _allowed_place, _weigh, _best_row, _add, _shrink, _covers, _grow_group, _grow
    )
