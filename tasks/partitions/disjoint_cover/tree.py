"""A tree of cuts: parts of a table that are cut in two for as long as both sides keep α and β.

Cuts of large parts are found in a sample and looked at once: one pass counts the rows and sensitive
values of both sides, and some of the vectors mostly tell that each side admits enough values.

A tree is its parts in pre-order, each the `first` and the `last` position (exclusive) of its
vectors in an order of all: what follows a part and starts before its end is inside it.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.disjoint_cover.cuts import LOOPS, keeps, offers
from sfumato.tasks.partitions.disjoint_cover.table import CoverRule, Room, Table, Taste

_ENOUGH = 128  # vectors of a part whose values are counted first, to see that its sides keep α
_MORE = 8  # times as many are counted next
_ANYTHING = CoverRule(1, 0, 1, 0)


def may_cut(table: Any, rule: Any, vectors: Any, a: int, room: Any) -> bool:
    """True where both sides of the cut noted for an attribute keep α and β."""
    left, rows, most, other = _count_sides(table, vectors, a, room)
    within = most * rule.per_beta <= left * rule.beta
    if not (within and other * rule.per_beta <= (rows - left) * rule.beta and 0 < left < rows):
        return False
    step = max(len(vectors) // _ENOUGH, 1)
    _admit(table, vectors, step, a, room)
    while step > 1 and not _keep(rule, left, rows - left, most, other, room):
        step = max(step // _MORE, 1)
        _admit(table, vectors, step, a, room)
    return _keep(rule, left, rows - left, most, other, room)


def _keep(rule: Any, left: int, right: int, most: int, other: int, room: Any) -> bool:
    return keeps(rule, 0, left, most, room) and keeps(rule, 1, right, other, room)


def _count_sides(table: Any, vectors: Any, a: int, room: Any) -> Any:
    """The rows on the left and all, and the most with one sensitive value on the left and right."""
    sensitive = table.codes.shape[1] - 1
    for vector in vectors:
        room.starts[table.codes[vector, sensitive]] = 0
        room.ends[table.codes[vector, sensitive]] = 0
    left, rows, most, other = 0, 0, 0, 0
    for vector in vectors:
        value = table.codes[vector, sensitive]
        rows += table.rows[vector]
        if room.side[table.codes[vector, a]] == 0:
            left += table.rows[vector]
            room.starts[value] += table.rows[vector]
            most = max(most, room.starts[value])
        else:
            room.ends[value] += table.rows[vector]
            other = max(other, room.ends[value])
    return left, rows, most, other


def _admit(table: Any, vectors: Any, step: int, a: int, room: Any) -> None:
    """Count the values that every step-th vector has on its side, at least one of each attribute.

    Each side must have vectors.
    """
    for b in range(table.codes.shape[1]):
        room.admitted[0, b] = 0
        room.admitted[1, b] = 0
    for i in range(0, len(vectors), step):
        for b in range(table.codes.shape[1]):
            room.starts[table.codes[vectors[i], b]] = 0
            room.ends[table.codes[vectors[i], b]] = 0
    for i in range(0, len(vectors), step):
        side = room.side[table.codes[vectors[i], a]]
        for b in range(table.codes.shape[1]):
            value = table.codes[vectors[i], b]
            if side == 0:
                room.admitted[0, b] += 1 - room.starts[value]
                room.starts[value] = 1
            else:
                room.admitted[1, b] += 1 - room.ends[value]
                room.ends[value] = 1
    for b in range(table.codes.shape[1]):
        room.admitted[0, b] = max(room.admitted[0, b], 1)
        room.admitted[1, b] = max(room.admitted[1, b], 1)


ALLOWED = (*LOOPS, _count_sides, _admit, _keep, may_cut)


class CutTree(NamedTuple):
    """Vectors in an order in which each part's are adjacent, and the parts in pre-order.

    `order` is int64; `nodes` has the first and the last position of each part (int64, parts x 2).
    """

    order: np.ndarray
    nodes: np.ndarray

    @property
    def uncut(self) -> np.ndarray:
        """Mark the parts that are not cut (bool, one per part)."""
        first = self.nodes[:, 0]
        return np.append(first[1:] != first[:-1], True)

    @property
    def leaves(self) -> np.ndarray:
        """The parts that are not cut, in order: first and last position (int64, leaves x 2)."""
        leaves: np.ndarray = self.nodes[self.uncut]
        return leaves

    def part(self) -> np.ndarray:
        """The leaf of each vector (int64, one per vector)."""
        leaves = self.leaves
        part = np.empty(len(self.order), dtype=np.int64)
        part[self.order] = np.repeat(np.arange(len(leaves)), leaves[:, 1] - leaves[:, 0])
        return part

    def end(self, node: int) -> int:
        """The end, in pre-order, of the parts inside a part, of which it is itself the first."""
        return node + int(np.count_nonzero(self.nodes[node:, 0] < self.nodes[node, 1]))

    def below(self, node: int) -> "CutTree":
        """A part as a tree of its own."""
        first, last = self.nodes[node]
        return CutTree(self.order[first:last], self.nodes[node : self.end(node)] - first)

    def with_below(self, node: int, part: "CutTree") -> "CutTree":
        """The tree with a part cut otherwise."""
        first, last = self.nodes[node]
        order = np.concatenate([self.order[:first], part.order, self.order[last:]])
        before, after = self.nodes[:node], self.nodes[self.end(node) :]
        return CutTree(order, np.concatenate([before, part.nodes + first, after]))

    def without(self, leaves: np.ndarray) -> "CutTree":
        """The tree without the cuts that made some leaves (int64), never the first part."""
        kept = np.ones(len(self.nodes), dtype=bool)
        for leaf in leaves.tolist():
            above = leaf - 1
            while self.nodes[above, 1] < self.nodes[leaf, 1]:
                above -= 1
            kept[above + 1 : self.end(above)] = False
        return CutTree(self.order, self.nodes[kept])


def join(trees: list[CutTree]) -> CutTree:
    """Trees of different vectors, side by side."""
    starts = np.cumsum([0, *(len(tree.order) for tree in trees)])
    nodes = [tree.nodes + start for tree, start in zip(trees, starts, strict=False)]
    return CutTree(np.concatenate([tree.order for tree in trees]), np.concatenate(nodes))


def grow(
    table: Table, rule: CoverRule, taste: Taste, order: np.ndarray, room: Room, fast: bool = True
) -> CutTree:
    """A tree of some vectors that keep α and β together, cut by a taste and by chance.

    Args:
        table: the vectors.
        rule: what every part keeps.
        taste: which cuts are preferred.
        order: numbers of vectors (int64).
        room: room for the table, with uniform numbers.
        fast: whether to run compiled; it makes no other difference.
    """
    order, nodes = order.copy(), np.empty((2 * len(order), 2), dtype=np.int64)
    parts = choose_loop(fast, _grow, _compiled)(table, rule, _ANYTHING, taste, order, nodes, room)
    return CutTree(order, nodes[:parts].copy())


def _grow(table: Any, rule: Any, free: Any, taste: Any, order: Any, nodes: Any, room: Any) -> int:
    """Write the parts in pre-order, and the order; returns the number of parts."""
    open_ = [(0, len(order))]
    parts = 0
    while len(open_) > 0:
        first, last = open_.pop()
        nodes[parts, 0] = first
        nodes[parts, 1] = last
        parts += 1
        left = _cut(table, rule, free, taste, order[first:last], room)
        if left > 0:
            open_.append((first + left, last))
            open_.append((first, first + left))
    return parts


def _cut(table: Any, rule: Any, free: Any, taste: Any, vectors: Any, room: Any) -> int:
    """Bring a left side to the front; returns the number of its vectors, 0 where no cut is allowed.

    Cuts found in a sample are tried first, where there are many vectors.
    """
    if len(vectors) > taste.sample:
        some = vectors[:: len(vectors) // taste.sample + 1].copy()
        offers(table, free, taste, some, room, True)
        for _ in range(len(room.gains)):
            a = int(np.argmax(room.gains))
            if room.gains[a] >= 0 and may_cut(table, rule, vectors, a, room):
                return _parted(table, vectors, a, room)
            room.gains[a] = -1.0
    offers(table, rule, taste, vectors, room, False)
    a = int(np.argmax(room.gains))
    return _parted(table, vectors, a, room) if room.gains[a] >= 0 else 0


def _parted(table: Any, vectors: Any, a: int, room: Any) -> int:
    left, right = 0, 0
    for i in range(len(vectors)):
        vector = vectors[i]
        if room.side[table.codes[vector, a]] == 0:
            vectors[left] = vector
            left += 1
        else:
            room.sorted[right] = vector
            right += 1
    vectors[left:] = room.sorted[:right]
    return left


@cache
def _compiled() -> Loop:
    return compile_loop(*ALLOWED, _parted, _cut, _grow)
