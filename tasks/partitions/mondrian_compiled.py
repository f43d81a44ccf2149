"""Mondrian, compiled: one part after the other, where counts of one sensitive attribute decide.

Importing this imports Numba, which takes a while: for large tables only.

The rows of an open part are a run of columns that hold the codes of each quasi-identifier, those of
the sensitive attribute where one is asked for, and the rows' numbers. There are two sets of
columns, `here` and `there`; a cut writes the rows of the children one after the other into the
other set, where they are judged and cut on. Rows of a part always stay in their first order.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

from tasks.partitions.mondrian_cuts import Attribute

_FEW = 16  # values that are counted at once

_F = TypeVar("_F", bound=Callable[..., Any])


class Rule(NamedTuple):
    """What every part keeps: rows, different sensitive values, and a largest share of each."""

    rows: int
    values: int
    numerator: int
    denominator: int


class Tables(NamedTuple):
    """Attributes for compiled code: `Attribute.nodes` and `spans` of all, one after the other.

    Those of attribute a begin at `begins[a]`, by level and code, `sizes[a]` codes a level;
    `levels[a]` is 0 for an attribute in order. `most` is the largest number of codes or nodes.
    """

    nodes: np.ndarray
    spans: np.ndarray
    begins: np.ndarray
    sizes: np.ndarray
    levels: np.ndarray
    lengths: np.ndarray
    most: int


class Scratch(NamedTuple):
    """Room to work in: of attributes, codes and nodes, sensitive values, rows, parts.

    `widths` of a part, a `tally` of its codes, the `number` of each node (-1 where it has none),
    how often each sensitive value was `seen` (0 at rest); the `side` and `place` of each row of a
    part and the `ends` of the children; and the `stack` of open parts: begin, end, set of columns.
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
    rule: Rule,
    strict: bool,
) -> np.ndarray:
    """The final part of each row.

    Args:
        attributes: the quasi-identifiers.
        stratum: the part of each row to begin with (0, 1, …, each occurring); they keep the rule.
        order: the rows by stratum; rows with equal values are parted in this order.
        sensitive: the codes of the sensitive attribute (one per row), where the rule needs them.
        rule: what every part keeps.
        strict: whether rows with equal values stay together.
    """
    codes = [*(one.codes for one in attributes), np.arange(len(order))]
    codes += [] if sensitive is None else [sensitive]
    columns = np.empty((2, len(codes), len(order)), dtype=np.int32)
    for column, of_all in zip(columns[0], codes, strict=True):
        column[:] = of_all[order]
    tables = _tables(attributes)
    values = 0 if sensitive is None else int(sensitive.max(initial=0)) + 1
    scratch = _scratch(tables, values, np.bincount(stratum))
    group = np.empty(len(order), dtype=np.int64)
    _cut_all(columns, int(stratum.max()) + 1, tables, rule, strict, scratch, group)
    return group


def _tables(attributes: Sequence[Attribute]) -> Tables:
    spans = [one.spans for one in attributes]
    nodes = [np.zeros_like(one.spans) if one.nodes is None else one.nodes for one in attributes]
    return Tables(
        np.concatenate([of_one.ravel() for of_one in nodes]).astype(np.int32),
        np.concatenate([of_one.ravel() for of_one in spans]),
        np.cumsum([0, *(of_one.size for of_one in spans)]),
        np.array([of_one.shape[1] for of_one in spans]),
        np.array([0 if one.nodes is None else len(one.nodes) for one in attributes]),
        np.array([one.length for one in attributes]),
        max(max(of_one.shape[1], int(of_one.max()) + 1) for of_one in nodes),
    )


def _scratch(tables: Tables, values: int, strata: np.ndarray) -> Scratch:
    """Given the number of rows of each stratum, the parts that are open first."""
    rows, most = int(strata.sum()), tables.most
    stack = np.zeros((rows, 3), dtype=np.int32)
    stack[: len(strata), 1] = np.cumsum(strata)
    stack[1 : len(strata), 0] = np.cumsum(strata)[:-1]
    return Scratch(
        np.empty(len(tables.levels)),
        np.empty(most, dtype=np.int32),
        np.full(most, -1, dtype=np.int32),
        np.zeros(values, dtype=np.int32),
        np.empty(rows, dtype=np.int32),
        np.empty(rows, dtype=np.int32),
        np.empty(most + 2, dtype=np.int32),
        stack,
    )


def _compiled(function: _F) -> _F:
    return cast(_F, njit(cache=True)(function))


@_compiled
def _top(tables: Tables, a: int, codes: np.ndarray) -> int:
    """The level of the lowest common ancestor of some codes."""
    size, begin, top = tables.sizes[a], tables.begins[a], 0
    for code in codes:
        while tables.nodes[begin + code] != tables.nodes[begin + codes[0]]:
            begin += size
            top += 1
    return top


@_compiled
def _width(tables: Tables, a: int, codes: np.ndarray, strict: bool) -> float:
    """The normalized width, -1 where no cut can have two sides."""
    begin = tables.begins[a]
    if tables.levels[a]:
        top = _top(tables, a, codes)
        at = begin + top * tables.sizes[a] + codes[0]
        return float(tables.spans[at] / tables.lengths[a]) if top > 0 else -1.0
    low = high = codes[0]
    for code in codes:
        low, high = min(low, code), max(high, code)
    if low == high and strict:
        return -1.0
    return float((tables.spans[begin + high] - tables.spans[begin + low]) / tables.lengths[a])


@_compiled
def _widest(widths: np.ndarray) -> int:
    widest = 0
    for a in range(1, len(widths)):
        if widths[a] > widths[widest]:
            widest = a
    return widest


@_compiled
def _select(codes: np.ndarray, rank: int) -> int:
    """The code of this rank, by Hoare's selection, which changes the order of the codes."""
    low, high = 0, len(codes) - 1
    while low < high:
        pivot, i, j = codes[rank], low, high
        while i <= j:
            while codes[i] < pivot:
                i += 1
            while codes[j] > pivot:
                j -= 1
            if i <= j:
                codes[i], codes[j] = codes[j], codes[i]
                i, j = i + 1, j - 1
        if j < rank:
            low = i
        if i > rank:
            high = j
    return int(codes[rank])


@_compiled
def _median(codes: np.ndarray, tally: np.ndarray, copy: np.ndarray) -> int:
    """The lower median; `tally` has room for every code, `copy` for every row."""
    low = high = int(codes[0])
    for code in codes:
        low, high = min(low, code), max(high, code)
    rank = (len(codes) - 1) // 2
    if high - low > 2 * len(codes) + _FEW:
        for i in range(len(codes)):
            copy[i] = codes[i]
        return _select(copy, rank)
    tally[: high - low + 1] = 0
    for code in codes:
        tally[code - low] += 1
    below, median = tally[0], low
    while below <= rank:
        median += 1
        below += tally[median - low]
    return median


@_compiled
def _above(codes: np.ndarray, median: int, lower: bool, least: int, side: np.ndarray) -> int:
    """Which codes are above the median, or else above the value before.

    Returns:
        How many sides there are, 0 where one has fewer rows than `least`.
    """
    cut = median
    if lower:
        cut = -1
        for code in codes:
            cut = max(cut, code if code < median else -1)
    above = 0
    for code in codes:
        above += code > cut
    if not least <= above <= len(codes) - least:
        return 0
    for i in range(len(codes)):
        side[i] = codes[i] > cut
    return 2


@_compiled
def _halves(codes: np.ndarray, median: int, side: np.ndarray) -> int:
    """Which rows belong to the upper half, those with the median in their order."""
    room = (len(codes) + 1) // 2
    for code in codes:
        room -= code < median
    for i in range(len(codes)):
        upper = codes[i] > median or (codes[i] == median and room <= 0)
        room -= codes[i] == median
        side[i] = upper
    return 2


@_compiled
def _down(tables: Tables, a: int, codes: np.ndarray, number: np.ndarray, side: np.ndarray) -> int:
    """The child of the lowest common ancestor above each code; `number` is -1 before and after."""
    begin = tables.begins[a] + (_top(tables, a, codes) - 1) * tables.sizes[a]
    children = 0
    for i in range(len(codes)):
        node = tables.nodes[begin + codes[i]]
        if number[node] < 0:
            number[node] = children
            children += 1
        side[i] = number[node]
    for code in codes:
        number[tables.nodes[begin + code]] = -1
    return children


@_compiled
def _keeps(values: np.ndarray, rule: Rule, tally: np.ndarray) -> bool:
    """Whether sensitive values are different and rare enough; `tally` is 0 before and after."""
    distinct, most, seen = 0, 0, 0
    for value in values:
        tally[value] += 1
        distinct += tally[value] == 1
        most = max(most, tally[value])
        seen += 1
        if distinct >= rule.values and rule.numerator == rule.denominator:
            break
    for value in values[:seen]:
        tally[value] = 0
    return distinct >= rule.values and most * rule.denominator <= rule.numerator * len(values)


@_compiled
def _placed(side: np.ndarray, sides: int, least: int, place: np.ndarray, ends: np.ndarray) -> bool:
    """Where each row goes if sides follow each other, and where those end.

    False where a side has fewer rows than `least`.
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


@_compiled
def _kept(values: np.ndarray, ends: np.ndarray, rule: Rule, tally: np.ndarray) -> bool:
    """Whether all parts, of which `ends` are given, keep the rule about sensitive values."""
    begin = 0
    for end in ends:
        if not _keeps(values[begin:end], rule, tally):
            return False
        begin = end
    return True


@_compiled
def _column(columns: np.ndarray, run: tuple[int, int, int], column: int) -> np.ndarray:
    begin, end, here = run
    return columns[here, column, begin:end]


@_compiled
def _moved(
    columns: np.ndarray,
    here: tuple[int, int, int],
    there: tuple[int, int, int],
    column: int,
    place: np.ndarray,
) -> np.ndarray:
    """A column written with its rows in their places."""
    from_, to = _column(columns, here, column), _column(columns, there, column)
    for i in range(len(place)):
        to[place[i]] = from_[i]
    return to


@_compiled
def _cut_along(
    columns: np.ndarray,
    run: tuple[int, int, int],
    tables: Tables,
    a: int,
    rule: Rule,
    strict: bool,
    scratch: Scratch,
) -> int:
    """Cut a part along attribute a, if that is allowable: see `_cut`."""
    begin, end, here = run
    there, attributes = (begin, end, 1 - here), len(scratch.widths)
    side, place = scratch.side[begin:end], scratch.place[begin:end]
    codes = _column(columns, run, a)
    median = -1 if tables.levels[a] else _median(codes, scratch.tally, side)
    for lower in range(2 if strict and median >= 0 else 1):
        if median < 0:
            sides = _down(tables, a, codes, scratch.number, side)
        elif strict:
            sides = _above(codes, median, lower == 1, rule.rows, side)
        else:
            sides = _halves(codes, median, side)
        if sides == 0 or not _placed(side, sides, rule.rows, place, scratch.ends):
            continue
        kept = True
        if columns.shape[1] > attributes + 1:
            moved = _moved(columns, run, there, attributes + 1, place)
            kept = _kept(moved, scratch.ends[:sides], rule, scratch.seen)
        if kept:
            for column in range(attributes + 1):
                _moved(columns, run, there, column, place)
            return sides
    return 0


@_compiled
def _cut(
    columns: np.ndarray,
    run: tuple[int, int, int],
    tables: Tables,
    rule: Rule,
    strict: bool,
    scratch: Scratch,
) -> int:
    """Cut a part, if any cut is allowable: into how many children, whose `ends` are set."""
    widths = scratch.widths
    for a in range(len(widths)):
        widths[a] = _width(tables, a, _column(columns, run, a), strict)
    for _ in range(len(widths)):
        a = _widest(widths)
        if widths[a] < 0:
            break
        children = _cut_along(columns, run, tables, a, rule, strict, scratch)
        if children:
            return children
        widths[a] = -1.0
    return 0


@_compiled
def _push(stack: np.ndarray, at: int, begin: int, end: int, here: int) -> None:
    stack[at, 0], stack[at, 1], stack[at, 2] = begin, end, here


@_compiled
def _cut_all(
    columns: np.ndarray,
    strata: int,
    tables: Tables,
    rule: Rule,
    strict: bool,
    scratch: Scratch,
    group: np.ndarray,
) -> None:
    """Fill `group`, given so many strata on the stack."""
    least, open_, groups = max(rule.rows, rule.values), strata, 0
    stack, ends = scratch.stack, scratch.ends
    while open_:
        open_ -= 1
        run = (stack[open_, 0], stack[open_, 1], stack[open_, 2])
        begin, end, here = run
        children = 0
        if end - begin >= 2 * least:
            children = _cut(columns, run, tables, rule, strict, scratch)
        from_ = 0
        for child in range(children):
            _push(stack, open_, begin + from_, begin + ends[child], 1 - here)
            from_ = ends[child]
            open_ += 1
        if children == 0:
            for row in _column(columns, run, len(scratch.widths)):
                group[row] = groups
            groups += 1
