"""Mondrian, compiled: one part after the other, as runs of columns that cuts write to sides.

The rows of an open part are a run of columns (int32) that hold the codes of each quasi-identifier,
the rows' numbers, and the codes of the sensitive attribute where one is needed. There are two sets
of columns; a cut writes the rows of the children one after the other into the set that the part is
not in, where they are judged and cut on. Rows of a part always stay in their first order.

`LOOPS` has the functions that are compiled, in the order in which they call one another.

For large tables only, because compiling takes seconds; what it finds is what `mondrian` finds.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.partitions.mondrian.cuts import LOOPS as LEAVING_LOOPS
from sfumato.tasks.partitions.mondrian.cuts import Attribute, Leaving, mix
from sfumato.tasks.partitions.mondrian.rule import LOOPS as RULE_LOOPS
from sfumato.tasks.partitions.mondrian.rule import CountRule, all_keep
from sfumato.tasks.partitions.mondrian.sides import LOOPS as SIDE_LOOPS
from sfumato.tasks.partitions.mondrian.sides import (
    Tables,
    above,
    down,
    halves,
    median_of,
    tables_of,
    widest,
    width_of,
)


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


class Scratch(NamedTuple):
    """Room to work in: of attributes, codes and nodes, sensitive values, rows, parts.

    `widths` of a part, a `tally` of its codes, the `number` of each node (-1 where it has none),
    how often each sensitive value was `seen` (0 at rest) and then which were; the `side` and
    `place` of each row of a part and the `ends` of the children; and the `stack` of open parts:
    begin, end, set of columns. `widths` is float64, all else is int32.
    """

    widths: np.ndarray
    tally: np.ndarray
    number: np.ndarray
    seen: np.ndarray
    side: np.ndarray
    place: np.ndarray
    ends: np.ndarray
    stack: np.ndarray


def cut_by_part(
    attributes: Sequence[Attribute],
    stratum: np.ndarray,
    order: np.ndarray,
    sensitive: np.ndarray | None,
    rule: CountRule,
    strict: bool,
    chance: Leaving,
) -> np.ndarray:
    """The final part of each row (int64, one per row; 0, 1, …).

    Args:
        attributes: the quasi-identifiers.
        stratum: the part of each row to begin with (int64; 0, 1, …, each occurring); all keep the
            rule.
        order: the rows by stratum (int64); rows with equal values are parted in this order.
        sensitive: the codes of the sensitive attribute (integers, one per row), where the rule
            needs them.
        rule: the rule that every part keeps.
        strict: whether rows with equal values stay together.
        chance: how parts are left by chance.
    """
    codes = [*(one.codes for one in attributes), np.arange(len(order))]
    codes += [] if sensitive is None else [sensitive]
    columns = np.empty((2, len(codes), len(order)), dtype=np.int32)
    for column, of_all in zip(columns[0], codes, strict=True):
        column[:] = of_all[order]
    tables = tables_of(attributes)
    values = 0 if sensitive is None else int(sensitive.max(initial=0)) + 1
    scratch = _scratch(tables, values, np.bincount(stratum))
    group = np.empty(len(order), dtype=np.int64)
    strata = int(stratum.max()) + 1
    _compiled_cut_all()(columns, strata, tables, rule, strict, chance, scratch, group)
    return group


def _scratch(tables: Tables, values: int, strata: np.ndarray) -> Scratch:
    """Room to work in, the strata on the stack, given the number of rows of each (int64)."""
    rows, most = int(strata.sum()), tables.most
    stack = np.zeros((rows, 3), dtype=np.int32)
    stack[: len(strata), 1] = np.cumsum(strata)
    stack[1 : len(strata), 0] = np.cumsum(strata)[:-1]
    return Scratch(
        np.empty(len(tables.levels)),
        np.empty(most, dtype=np.int32),
        np.full(most, -1, dtype=np.int32),
        np.zeros(2 * values, dtype=np.int32),
        np.empty(rows, dtype=np.int32),
        np.empty(rows, dtype=np.int32),
        np.empty(most + 2, dtype=np.int32),
        stack,
    )


def _two_sides(
    codes: np.ndarray, median: int, lower: bool, least: int, strict: bool, side: np.ndarray
) -> int:
    """Mark the upper side of a cut in order; the number of sides, 0 where one is too small."""
    if strict:
        return above(codes, median, lower, least, side)
    return halves(codes, median, side)


def _cut_along(
    columns: np.ndarray,
    run: tuple[int, int, int],
    tables: Tables,
    a: int,
    rule: CountRule,
    strict: bool,
    once: bool,
    scratch: Scratch,
) -> int:
    """Cut a part along attribute a, if that is allowed: see `_cut`.

    Where `once`, the first cut that sizes allow decides, and -1 tells that it is not.
    """
    begin, end, here = run
    there, attributes = (begin, end, 1 - here), len(scratch.widths)
    side, place = scratch.side[begin:end], scratch.place[begin:end]
    codes = column_of(columns, run, a)
    median = -1 if tables.levels[a] else median_of(codes, scratch.tally, side)
    for lower in range(2 if strict and median >= 0 else 1):
        if median < 0:
            sides = down(tables, a, codes, scratch.number, side)
        else:
            sides = _two_sides(codes, median, lower == 1, rule.rows, strict, side)
        if sides == 0 or not place_sides(side, sides, rule.rows, place, scratch.ends):
            continue
        kept = True
        if columns.shape[1] > attributes + 1:
            moved = move(columns, run, there, attributes + 1, place)
            kept = all_keep(moved, scratch.ends[:sides], rule, scratch.seen)
        if kept:
            for column in range(attributes + 1):
                move(columns, run, there, column, place)
            return sides
        if once:
            return -1
    return 0


def _cut(
    columns: np.ndarray,
    run: tuple[int, int, int],
    tables: Tables,
    rule: CountRule,
    strict: bool,
    once: bool,
    scratch: Scratch,
) -> int:
    """Cut a part, if any cut is allowed; set the `ends` of its children and return their number."""
    widths = scratch.widths
    for a in range(len(widths)):
        widths[a] = width_of(tables, a, column_of(columns, run, a), strict)
    for _ in range(len(widths)):
        a = widest(widths)
        if widths[a] < 0:
            break
        children = _cut_along(columns, run, tables, a, rule, strict, once, scratch)
        if children:
            return max(children, 0)
        widths[a] = -1.0
    return 0


def _is_left(columns: np.ndarray, run: tuple[int, int, int], row: int, chance: Leaving) -> bool:
    """True where a part is left by chance; the column `row` has the numbers of its rows."""
    if chance.often == 0:
        return False
    size = run[1] - run[0]
    drawn = mix(chance.keys[column_of(columns, run, row)[0]], size)
    return bool(drawn * max(size, chance.few) < chance.often * chance.few)


def _push(stack: np.ndarray, at: int, begin: int, end: int, here: int) -> None:
    stack[at, 0], stack[at, 1], stack[at, 2] = begin, end, here


def _cut_all(
    columns: np.ndarray,
    strata: int,
    tables: Tables,
    rule: CountRule,
    strict: bool,
    chance: Leaving,
    scratch: Scratch,
    group: np.ndarray,
) -> None:
    """Fill `group`, given the number of strata on the stack."""
    least, open_, groups = max(rule.rows, rule.values), strata, 0
    stack, ends = scratch.stack, scratch.ends
    while open_:
        open_ -= 1
        run = (stack[open_, 0], stack[open_, 1], stack[open_, 2])
        begin, end, here = run
        children = 0
        if end - begin >= 2 * least and not _is_left(columns, run, len(scratch.widths), chance):
            children = _cut(columns, run, tables, rule, strict, chance.often > 0, scratch)
        from_ = 0
        for child in range(children):
            _push(stack, open_, begin + from_, begin + ends[child], 1 - here)
            from_ = ends[child]
            open_ += 1
        if children == 0:
            for row in column_of(columns, run, len(scratch.widths)):
                group[row] = groups
            groups += 1


@cache
def _compiled_cut_all() -> Loop:
    callees = (*LOOPS, *RULE_LOOPS, *SIDE_LOOPS, *LEAVING_LOOPS)
    return compile_loop(*callees, _two_sides, _cut_along, _cut, _is_left, _push, _cut_all)
