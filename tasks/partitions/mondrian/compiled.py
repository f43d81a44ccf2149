"""Mondrian, compiled: one part after the other, as runs of columns; a cut writes its sides anew.

The result is that of `mondrian`; compiling takes seconds and pays only for large tables.

The rows of an open part are a run of columns (int32): the codes of each quasi-identifier, the rows'
numbers, and the codes of the sensitive attribute if one is needed. There are two sets of columns. A
cut writes the rows of the children one after the other into the set that the part is not in, where
they are judged and cut on. Rows of a part always stay in their first order. In code, a `run` is the
begin, the end and the set of columns of a part, and `a` is a quasi-identifier.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.partitions.mondrian.cuts import LOOPS as LEAVING_LOOPS
from sfumato.tasks.partitions.mondrian.cuts import Attribute, LeavingChance, mix
from sfumato.tasks.partitions.mondrian.rule import LOOPS as RULE_LOOPS
from sfumato.tasks.partitions.mondrian.rule import CountRule, all_keep
from sfumato.tasks.partitions.mondrian.sides import LOOPS as SIDE_LOOPS
from sfumato.tasks.partitions.mondrian.sides import (
    Tables,
    mark_above,
    mark_children,
    mark_halves,
    median_of,
    tables_of,
    widest,
    width_of,
)


def place_sides(
    side: np.ndarray, sides: int, least: int, place: np.ndarray, ends: np.ndarray
) -> bool:
    """Fill in the place of each row if sides follow each other, and the ends of sides.

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
    for number in side:
        ends[number + 1] += 1
    for number in range(sides):
        if ends[number + 1] < least:
            return False
        ends[number + 1] += ends[number]
    if sides == 2:  # the same, without reading `ends` for each row
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
    """Return the rows of a part in one column (int32), as a view.

    `run` is the begin, the end and the set of columns.
    """
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
    """Room to work in: arrays over attributes, codes and nodes, sensitive values, rows and parts.

    `widths` has the widths of a part, -1 for attributes that are not to be cut. `tally` has counts
    of its codes, `number` the number of each node (-1 without one). `seen` has how often each
    sensitive value was seen (0 at rest), then the list of seen values. `side` and `place` are of
    each row of a part, `ends` of the children. `stack` has the open parts: begin, end, set of
    columns. `widths` is float64, all other arrays are int32.
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
    chance: LeavingChance,
) -> np.ndarray:
    """Return the final part of each row (int64, one per row; 0, 1, …).

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
    codes = [*(attribute.codes for attribute in attributes), np.arange(len(order))]
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
    """Return room to work in, the strata on the stack; `strata` counts their rows (int64)."""
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
    """Mark the upper side of a cut in order; return the number of sides, 0 if one is too small."""
    if strict:
        return mark_above(codes, median, lower, least, side)
    return mark_halves(codes, median, side)


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

    Returns the number of sides, 0 if no cut is allowed. If `once`, only the first cut that sizes
    allow is tried, and the result is -1 if that cut breaks a promise.
    """
    begin, end, here = run
    there, attributes = (begin, end, 1 - here), len(scratch.widths)
    side, place = scratch.side[begin:end], scratch.place[begin:end]
    codes = column_of(columns, run, a)
    # -1: cut into the children of a node; otherwise at the median, or if strict also below it
    median = -1 if tables.levels[a] else median_of(codes, scratch.tally, side)
    for lower in range(2 if strict and median >= 0 else 1):
        if median < 0:
            sides = mark_children(tables, a, codes, scratch.number, side)
        else:
            sides = _two_sides(codes, median, lower == 1, rule.rows, strict, side)
        if sides == 0 or not place_sides(side, sides, rule.rows, place, scratch.ends):
            continue
        keeps = True
        # the sensitive values, if there are any, are the last column: they are moved first to judge
        if columns.shape[1] > attributes + 1:
            moved = move(columns, run, there, attributes + 1, place)
            keeps = all_keep(moved, scratch.ends[:sides], rule, scratch.seen)
        if keeps:
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


def _is_left(
    columns: np.ndarray, run: tuple[int, int, int], row: int, chance: LeavingChance
) -> bool:
    """Return True if a part is left by chance; the column `row` has the numbers of its rows."""
    if chance.often == 0:
        return False
    size = run[1] - run[0]
    # with the probability often / 2³¹ · few / max(size, few); see `LeavingChance`
    bits = mix(chance.keys[column_of(columns, run, row)[0]], size)
    return bool(bits * max(size, chance.few) < chance.often * chance.few)


def _push(stack: np.ndarray, place: int, begin: int, end: int, here: int) -> None:
    stack[place, 0], stack[place, 1], stack[place, 2] = begin, end, here


def _cut_all(
    columns: np.ndarray,
    strata: int,
    tables: Tables,
    rule: CountRule,
    strict: bool,
    chance: LeavingChance,
    scratch: Scratch,
    group: np.ndarray,
) -> None:
    """Write the final part of each row to `group`, given the number of strata on the stack."""
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
