"""Cuts of one part of Mondrian along one attribute, in loops: widths, medians and sides.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.tasks.partitions.mondrian.cuts import Attribute

_FEW = 16  # values that are counted at once


class Tables(NamedTuple):
    """Attributes for compiled code: all `nodes` (int32) and `spans` (float64) in sequence.

    The entries of attribute a begin at `begins[a]`, by level and code, with `sizes[a]` codes a
    level; `levels[a]` is 0 for an attribute in order (all int64, one per attribute). `most` is the
    largest number of codes or nodes.
    """

    nodes: np.ndarray
    spans: np.ndarray
    begins: np.ndarray
    sizes: np.ndarray
    levels: np.ndarray
    lengths: np.ndarray
    most: int


def tables_of(attributes: Sequence[Attribute]) -> Tables:
    """Return the attributes for compiled code."""
    spans = [attribute.spans for attribute in attributes]
    nodes = [
        np.zeros_like(attribute.spans) if attribute.nodes is None else attribute.nodes
        for attribute in attributes
    ]
    return Tables(
        np.concatenate([array.ravel() for array in nodes]).astype(np.int32),
        np.concatenate([array.ravel() for array in spans]),
        np.cumsum([0, *(array.size for array in spans)]),
        np.array([array.shape[1] for array in spans]),
        np.array(
            [0 if attribute.nodes is None else len(attribute.nodes) for attribute in attributes]
        ),
        np.array([attribute.length for attribute in attributes]),
        max(max(array.shape[1], int(array.max()) + 1) for array in nodes),
    )


def _top(tables: Tables, a: int, codes: np.ndarray) -> int:
    """Return the level of the lowest common ancestor of some codes."""
    size, begin, top = tables.sizes[a], tables.begins[a], 0
    for code in codes:
        while tables.nodes[begin + code] != tables.nodes[begin + codes[0]]:
            begin += size
            top += 1
    return top


def width_of(tables: Tables, a: int, codes: np.ndarray, strict: bool) -> float:
    """Return the normalized width of an attribute's codes (int32), -1 if no cut has two sides."""
    begin = tables.begins[a]
    if tables.levels[a]:
        top = _top(tables, a, codes)
        place = begin + top * tables.sizes[a] + codes[0]
        return float(tables.spans[place] / tables.lengths[a]) if top > 0 else -1.0
    low = high = codes[0]
    for code in codes:
        low, high = min(low, code), max(high, code)
    if low == high and strict:
        return -1.0
    return float((tables.spans[begin + high] - tables.spans[begin + low]) / tables.lengths[a])


def widest(widths: np.ndarray) -> int:
    """Return the attribute of the largest width (float64), the first of equals."""
    best = 0
    for a in range(1, len(widths)):
        if widths[a] > widths[best]:
            best = a
    return best


def _select(codes: np.ndarray, rank: int) -> int:
    """Return the code of this rank, by Hoare's selection, which reorders the codes."""
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


def median_of(codes: np.ndarray, tally: np.ndarray, copy: np.ndarray) -> int:
    """Return the lower median of codes (int32).

    `tally` has room for every code, `copy` for every row.
    """
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


def mark_above(codes: np.ndarray, median: int, lower: bool, least: int, side: np.ndarray) -> int:
    """Mark in `side` the codes (int32) above the median, or from the median on if `lower`.

    Returns:
        The number of sides, 0 where one has fewer rows than `least`.
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


def mark_halves(codes: np.ndarray, median: int, side: np.ndarray) -> int:
    """Mark in `side` (int32) the upper half, rows with the median in their order; return 2."""
    room = (len(codes) + 1) // 2
    for code in codes:
        room -= code < median
    for i in range(len(codes)):
        upper = codes[i] > median or (codes[i] == median and room <= 0)
        room -= codes[i] == median
        side[i] = upper
    return 2


def mark_children(
    tables: Tables, a: int, codes: np.ndarray, number: np.ndarray, side: np.ndarray
) -> int:
    """Fill `side` with each code's child of the lowest common ancestor; return their number.

    `number` has room for every node (int32), and is -1 before and after.
    """
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


LOOPS = (_top, width_of, widest, _select, median_of, mark_above, mark_halves, mark_children)
