"""A tree of cuts: parts of a table that are cut in two while both sides keep α and β.

Cuts of large parts are found in a sample and checked once. One pass counts the rows and sensitive
values of both sides; then some of the vectors mostly suffice to show that each side admits enough
values.

A tree is the list of its parts in pre-order. Each part has the `first` and the `last` position
(exclusive) of its vectors in an order of all vectors: a later part that starts before its end is
inside it.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.disjoint_cover.cuts import LOOPS, keeps, offers
from sfumato.tasks.partitions.disjoint_cover.table import CoverRule, CutPreference, Room, Table

_ENOUGH = 128  # vectors of a part whose values are counted first, to see that its sides keep α
_MORE = 8  # times as many are counted next
_NO_COLUMN = np.zeros(0, dtype=np.int64)
_ANYTHING = CoverRule(1, 0, 1, 0, _NO_COLUMN)  # no limits, for cuts that are looked for in a sample


def may_cut(table: Any, rule: Any, vectors: Any, a: int, room: Any) -> bool:
    """Return True if both sides of the cut noted for an attribute keep α and β."""
    left_rows, rows, most, other = _count_sides(table, vectors, a, room)
    within = most * rule.per_beta <= left_rows * rule.beta
    if not (
        within and other * rule.per_beta <= (rows - left_rows) * rule.beta and 0 < left_rows < rows
    ):
        return False
    step = max(len(vectors) // _ENOUGH, 1)
    _admit(table, vectors, step, a, room)
    while step > 1 and not _both_keep(rule, left_rows, rows - left_rows, most, other, room):
        step = max(step // _MORE, 1)
        _admit(table, vectors, step, a, room)
    return _both_keep(rule, left_rows, rows - left_rows, most, other, room)


def _both_keep(rule: Any, left_rows: int, right: int, most: int, other: int, room: Any) -> bool:
    return keeps(rule, 0, left_rows, most, room) and keeps(rule, 1, right, other, room)


def _count_sides(table: Any, vectors: Any, a: int, room: Any) -> Any:
    """Return the rows on the left, all rows, and each side's most rows with one sensitive value."""
    # `starts` and `ends` of the room count rows by sensitive value, on the left and on the right
    sensitive = table.codes.shape[1] - 1
    for vector in vectors:
        room.starts[table.codes[vector, sensitive]] = 0
        room.ends[table.codes[vector, sensitive]] = 0
    left_rows, rows, most, other = 0, 0, 0, 0
    for vector in vectors:
        value = table.codes[vector, sensitive]
        rows += table.rows[vector]
        if room.side[table.codes[vector, a]] == 0:
            left_rows += table.rows[vector]
            room.starts[value] += table.rows[vector]
            most = max(most, room.starts[value])
        else:
            room.ends[value] += table.rows[vector]
            other = max(other, room.ends[value])
    return left_rows, rows, most, other


def _admit(table: Any, vectors: Any, step: int, a: int, room: Any) -> None:
    """Count the values that every step-th vector has on its side, at least one of each attribute.

    Each side must have vectors.
    """
    # `starts` and `ends` of the room mark the values that were seen, on the left and on the right
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


ALLOWED = (*LOOPS, _count_sides, _admit, _both_keep, may_cut)


class CutTree(NamedTuple):
    """Vectors in an order that keeps each part's together, and the parts in pre-order.

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
        """Return the leaf of each vector (int64, one per vector)."""
        leaves = self.leaves
        part = np.empty(len(self.order), dtype=np.int64)
        part[self.order] = np.repeat(np.arange(len(leaves)), leaves[:, 1] - leaves[:, 0])
        return part

    def end(self, node: int) -> int:
        """Return where the parts inside a part end in pre-order; the part is the first of them."""
        return node + int(np.count_nonzero(self.nodes[node:, 0] < self.nodes[node, 1]))

    def subtree(self, node: int) -> "CutTree":
        """Return a part as a tree of its own."""
        first, last = self.nodes[node]
        return CutTree(self.order[first:last], self.nodes[node : self.end(node)] - first)

    def with_subtree(self, node: int, part: "CutTree") -> "CutTree":
        """Return the tree with a part cut otherwise."""
        first, last = self.nodes[node]
        order = np.concatenate([self.order[:first], part.order, self.order[last:]])
        before, after = self.nodes[:node], self.nodes[self.end(node) :]
        return CutTree(order, np.concatenate([before, part.nodes + first, after]))

    def without_cuts(self, leaves: np.ndarray) -> "CutTree":
        """Return the tree without the cuts that made some leaves (int64), never the first part."""
        keeps = np.ones(len(self.nodes), dtype=bool)
        for leaf in leaves.tolist():
            above = leaf - 1
            while self.nodes[above, 1] < self.nodes[leaf, 1]:
                above -= 1
            keeps[above + 1 : self.end(above)] = False
        return CutTree(self.order, self.nodes[keeps])


def join(trees: list[CutTree]) -> CutTree:
    """Return one tree of the trees of different vectors, side by side."""
    starts = np.cumsum([0, *(len(tree.order) for tree in trees)])
    nodes = [tree.nodes + start for tree, start in zip(trees, starts, strict=False)]
    return CutTree(np.concatenate([tree.order for tree in trees]), np.concatenate(nodes))


def grow(
    table: Table,
    rule: CoverRule,
    preference: CutPreference,
    order: np.ndarray,
    room: Room,
    fast: bool = True,
) -> CutTree:
    """Return a tree of some vectors that keep α and β together, cut by a preference and by chance.

    Args:
        table: the vectors.
        rule: the limits that every part keeps.
        preference: which cuts are preferred.
        order: numbers of vectors (int64).
        room: room for the table, with uniform numbers.
        fast: whether to run compiled; it makes no other difference.
    """
    order, nodes = order.copy(), np.empty((2 * len(order), 2), dtype=np.int64)
    parts = choose_loop(fast, _grow, _compiled_loop)(
        table, rule, _ANYTHING, preference, order, nodes, room
    )
    return CutTree(order, nodes[:parts].copy())


def _grow(
    table: Any, rule: Any, free: Any, preference: Any, order: Any, nodes: Any, room: Any
) -> int:
    """Write the parts in pre-order, and the order; return the number of parts."""
    open_ = [(0, len(order))]
    parts = 0
    while len(open_) > 0:
        first, last = open_.pop()
        nodes[parts, 0] = first
        nodes[parts, 1] = last
        parts += 1
        left_size = _cut(table, rule, free, preference, order[first:last], room)
        if left_size > 0:
            open_.append((first + left_size, last))
            open_.append((first, first + left_size))
    return parts


def _cut(table: Any, rule: Any, free: Any, preference: Any, vectors: Any, room: Any) -> int:
    """Bring a left side to the front; return the number of its vectors, 0 if no cut is allowed.

    Cuts found in a sample are tried first, where there are many vectors.
    """
    if len(vectors) > preference.sample:
        some = vectors[:: len(vectors) // preference.sample + 1].copy()
        offers(table, free, preference, some, room, True)
        for _ in range(len(room.gains)):
            a = int(np.argmax(room.gains))
            if room.gains[a] >= 0 and may_cut(table, rule, vectors, a, room):
                return _part_vectors(table, vectors, a, room)
            room.gains[a] = -1.0
    offers(table, rule, preference, vectors, room, False)
    a = int(np.argmax(room.gains))
    return _part_vectors(table, vectors, a, room) if room.gains[a] >= 0 else 0


def _part_vectors(table: Any, vectors: Any, a: int, room: Any) -> int:
    """Bring the vectors of the left side to the front, all in their order; return their number."""
    left_count, right = 0, 0
    for i in range(len(vectors)):
        vector = vectors[i]
        if room.side[table.codes[vector, a]] == 0:
            vectors[left_count] = vector
            left_count += 1
        else:
            room.sorted[right] = vector
            right += 1
    vectors[left_count:] = room.sorted[:right]
    return left_count


@cache
def _compiled_loop() -> Loop:
    return compile_loop(*ALLOWED, _part_vectors, _cut, _grow)
