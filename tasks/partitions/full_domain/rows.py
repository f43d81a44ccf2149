"""Rows at the nodes of a lattice: generalized, and equal ones collapsed to a count."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import number as number_runs
from sfumato.expectations.shared.sorting import stable_order, starts

Node = tuple[int, ...]
"""The level of each quasi-identifier."""

_DIRECT = 2**18  # keys below this are counted without sorting
_BITS = 63  # of a non-negative int64


@dataclass(frozen=True, eq=False)
class LatticeRows:
    """Rows as codes by column, in [0, bound), and the count of each row (int64, one per row).

    The quasi-identifiers come first, one column per axis of the lattice; codes are integers.
    """

    codes: tuple[np.ndarray, ...]
    bounds: tuple[int, ...]
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)

    def key(self, columns: Sequence[int]) -> tuple[np.ndarray, int]:
        """Return a key per row (int64) that separates rows by some columns, and its bound."""
        telling = [c for c in columns if self.bounds[c] > 1]
        if not telling:
            return np.zeros(len(self), dtype=np.int64), 1
        return pack([self.codes[c] for c in telling], [self.bounds[c] for c in telling])

    def take(self, rows: np.ndarray) -> "LatticeRows":
        """Return some rows, by position (integers) or mask (bool, one per row)."""
        return LatticeRows(
            tuple(codes[rows] for codes in self.codes), self.bounds, self.counts[rows]
        )

    def only(self, columns: Sequence[int]) -> "LatticeRows":
        """Return some columns, with equal rows collapsed."""
        codes, bounds = zip(*((self.codes[c], self.bounds[c]) for c in columns), strict=True)
        return LatticeRows(codes, bounds, self.counts).collapse()

    def collapse(self) -> "LatticeRows":
        """Return the distinct rows in ascending order."""
        if prod(map(int, self.bounds)) > INT64_MAX:
            return self.number()[0]
        keys, counts = tally(*self.key(range(len(self.codes))), self.counts)
        return LatticeRows(_unpack(keys, self.bounds), self.bounds, counts)

    def number(self) -> tuple["LatticeRows", np.ndarray]:
        """Return the distinct rows, ascending, and each row's distinct row, by number (int64)."""
        into, first = number_keys(*self.key(range(len(self.codes))))
        codes = tuple(codes[first] for codes in self.codes)
        counts = np.bincount(into, self.counts, len(first)).astype(np.int64)
        return LatticeRows(codes, self.bounds, counts), into

    def generalize(self, axis: int, nodes: np.ndarray) -> "LatticeRows":
        """Return rows with one quasi-identifier at `nodes` (int64, one per value), unmerged."""
        codes, bounds = list(self.codes), list(self.bounds)
        bounds[axis] = int(nodes.max(initial=-1)) + 1
        # a column of one value separates nothing, and is not read
        codes[axis] = nodes[codes[axis]] if bounds[axis] > 1 else np.broadcast_to(0, len(self))
        return LatticeRows(tuple(codes), tuple(bounds), self.counts)

    def generalize_to(self, levels: Sequence[np.ndarray], node: Node) -> "LatticeRows":
        """Return rows with all quasi-identifiers generalized to a node, unmerged.

        `levels` has the node above each value at each level, by axis (integers, levels x values).
        """
        rows = self
        for axis, (nodes, level) in enumerate(zip(levels, node, strict=True)):
            rows = rows.generalize(axis, nodes[level]) if level else rows
        return rows


def shown_rows(rows: LatticeRows, node: Node, tops: Node, starred: np.ndarray) -> LatticeRows:
    """Return rows at a node, the starred ones (bool, one per row) at the highest levels instead."""
    if not starred.any():
        return rows
    codes, bounds = list(rows.codes), list(rows.bounds)
    for axis, (level, top) in enumerate(zip(node, tops, strict=True)):
        if level < top:
            codes[axis] = np.where(starred, bounds[axis], codes[axis])
            bounds[axis] += 1
    return replace(rows, codes=tuple(codes), bounds=tuple(bounds))


def _unpack(keys: np.ndarray, bounds: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return the codes that `LatticeRows.key` packed (int64, one array per column).

    The product of the bounds must fit, since `pack` otherwise renumbers keys on the way.
    """
    codes: list[np.ndarray] = []
    for bound in reversed(bounds):
        if bound <= 1:
            codes.append(np.broadcast_to(0, len(keys)))
            continue
        above = keys // bound
        codes.append(keys - above * bound)
        keys = above
    return tuple(reversed(codes))


def number_keys(key: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the different keys in ascending order.

    Args:
        key: integers in [0, bound), one per row.
        bound: above every key.

    Returns:
        The number of each row's key (int64, one per row), and a row that has each different key
        (int64, one per different key).
    """
    if _ascending(key):
        return number_runs(key), starts(key)
    if bound > max(_DIRECT, 32 * len(key)):
        order, number = stable_order(key), np.empty(len(key), dtype=np.int64)
        ordered = key[order]
        number[order] = number_runs(ordered)
        return number, order[starts(ordered)]
    occurs = np.zeros(bound, dtype=bool)
    occurs[key] = True
    different = np.flatnonzero(occurs)
    rank = np.empty(bound, dtype=np.int64)
    rank[different] = np.arange(len(different))
    number = rank[key]
    first = np.empty(len(different), dtype=np.int64)
    first[number] = np.arange(len(key))
    return number, first


def tally(key: np.ndarray, bound: int, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys in ascending order, and the sum of each one's counts (both int64).

    Args:
        key: integers in [0, bound), one per row.
        bound: above every key.
        counts: whole numbers (int64, one per row), above 0 and below 2^53 in all.
    """
    if bound <= max(_DIRECT, 2 * len(key)):
        sums = np.bincount(key, counts, bound)  # exact: whole numbers below 2^53
        keys = np.flatnonzero(sums != 0)
        return keys, sums[keys].astype(np.int64)
    key, counts = _in_order(key, bound, counts)
    first = starts(key)
    if len(first) == len(key):
        return key, counts
    return key[first], np.add.reduceat(counts, first)


def _in_order(key: np.ndarray, bound: int, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return keys in ascending order with their counts.

    Both are sorted as one number if they fit into it.
    """
    if _ascending(key):
        return key, counts
    bits = int(counts.max(initial=0)).bit_length()
    if bound.bit_length() + bits > _BITS:
        order = stable_order(key)
        return key[order], counts[order]
    both = key << bits
    both |= counts
    both.sort()
    return both >> bits, both & ((1 << bits) - 1)


def _ascending(key: np.ndarray) -> bool:
    return bool((key[1:] >= key[:-1]).all())
