"""Cuts along one quasi-identifier: the widths of parts, and the side of each row."""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.exact import exact, is_ordered
from sfumato.tasks.microdata.table import Column


@dataclass(frozen=True, eq=False)
class Attribute:
    """A quasi-identifier to be cut: by the order of its values, or down its hierarchy.

    `codes` (int32, one per row) number the values in ascending order, the null first where there is
    one. Down a hierarchy, `nodes[level]` numbers the node above each code, from the value itself
    (level 0) to the root, and `spans[level]` is the number of values below that node. Without one
    `nodes` is None, and `spans[0]` is where each code lies: a number, date or timestamp where it
    is, another value at its rank, the null at the lowest. Spans (float64) are out of `length`.
    """

    codes: np.ndarray
    nodes: np.ndarray | None
    spans: np.ndarray
    length: float

    def widths(self, rows: np.ndarray, starts: np.ndarray, strict: bool) -> np.ndarray:
        """The normalized width of each part (float64), -1 where no cut of it can have two sides.

        Args:
            rows: the rows of all parts (int64), one part after the other.
            starts: where parts begin in `rows` (int64, one per part).
            strict: whether equal values stay together.
        """
        codes = self.codes[rows]
        if self.nodes is not None:
            tops = _tops(self.nodes, codes, starts)
            return np.where(tops > 0, self.spans[tops, codes[starts]] / self.length, -1.0)
        low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        widths = (self.spans[0, high] - self.spans[0, low]) / self.length
        sizes = np.diff(np.append(starts, len(rows)))
        return np.where(low < high if strict else sizes > 1, widths, -1.0)

    def sides(self, rows: np.ndarray, part: np.ndarray, strict: bool, lower: bool) -> np.ndarray:
        """The side of the cut that each row is on (int64), -1 where its part has no such cut.

        Down a hierarchy there is a side for each child of the part's lowest common ancestor. In
        order there are two: strict, the values up to the median and those above it, or, if `lower`,
        up to the value before; else, the first half of the rows and the second.

        Args:
            rows: the rows of all parts (int64), one part after the other.
            part: the part of each (int64), ascending.
            strict: whether equal values stay together.
            lower: whether to cut below the median, which only a strict cut in order can.
        """
        codes, starts = self.codes[rows], np.flatnonzero(np.diff(part, prepend=-1))
        sizes = np.diff(np.append(starts, len(rows)))
        if self.nodes is not None:
            children = np.repeat(_tops(self.nodes, codes, starts) - 1, sizes)
            return np.full(len(rows), -1) if lower else self.nodes[children, codes]
        order = np.lexsort((codes, part))
        if strict:
            return _above(codes, np.repeat(_cuts(codes[order], starts, sizes, lower), sizes))
        side = np.empty(len(rows), dtype=np.int64)
        rank = np.arange(len(rows)) - np.repeat(starts, sizes)
        side[order] = rank >= np.repeat((sizes + 1) // 2, sizes)
        return side


def attribute(column: Column) -> Attribute:
    """A quasi-identifier as it is cut.

    Raises:
        InputError: where a number is not finite, or has too many digits.
    """
    codes, size = column.category()
    if column.ancestors is not None:
        nodes = column.levels()
        below = np.stack([np.bincount(level)[level] for level in nodes])
        return Attribute(codes, nodes, below.astype(np.float64), float(max(size, 1)))
    lies = np.arange(size)
    if is_ordered(column.values.type) and len(column.values):
        units = exact(column.values, column.name).units
        lies = np.append([0] * column.has_null, units - units[0])
    spans = lies.astype(np.float64)[np.newaxis]
    return Attribute(codes, None, spans, max(float(spans.max(initial=0)), 1.0))


def _tops(nodes: np.ndarray, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The level of the lowest common ancestor of each part."""
    tops = np.zeros(len(starts), dtype=np.int64)
    for level in nodes[:-1]:
        above = level[codes]
        differ = np.minimum.reduceat(above, starts) != np.maximum.reduceat(above, starts)
        if not differ.any():
            break
        tops += differ
    return tops


def _cuts(ordered: np.ndarray, starts: np.ndarray, sizes: np.ndarray, lower: bool) -> np.ndarray:
    """The last code below the cut of each part, -1 where none is; a part's codes are ascending."""
    cuts = ordered[starts + (sizes - 1) // 2]
    if lower:
        before = np.where(ordered < np.repeat(cuts, sizes), ordered, -1)
        return np.maximum.reduceat(before, starts)
    return np.where(cuts < ordered[starts + sizes - 1], cuts, -1)


def _above(codes: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    return np.where(cuts < 0, -1, codes > cuts)
