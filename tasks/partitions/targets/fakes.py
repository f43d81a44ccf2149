"""The least sum of ranges of a P-private multiset if fake values may be added.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
problem 5.1, their recurrence corrected. By Hall's condition on nested sets, A subdomains at a node
and below it generalize its values and x fakes exactly if A is at most |g| + x, there and at every
node below. The sum of ranges is least if A·(range(parent) - range(node)), summed over the nodes, is
largest, and the largest such sum for a node, A and x follows from those of its children.

A node passes on q times the sum of its children's weights. Fakes only raise the number that is
passed on without them, so the q of the generalization without fakes is the least that an optimum
has. The most is what the parent can give, and what at most t values missing below the children
allow. Above min ⌊|g_C| / w_C⌋ each step of q needs a fake, and below it q follows the parent's: no
node has more than about t + 1 numbers to try, and fewer if it is less likely.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.partitions.targets.trees_with_weights import reduce_weights

_FITTING = 2**60  # sums of a few still fit int64
_MOST_CELLS = 2**27  # of eight bytes: a GiB


@dataclass(frozen=True, eq=False)
class Families:
    """The nodes of a target with a positive probability, by their parents.

    Attributes:
        parent: the node above (int64, -1 for the root).
        weight: of each node, free of common divisors.
        children: those with a weight.
        total: the sum of their weights.
    """

    parent: np.ndarray
    weight: Sequence[int]
    children: Sequence[Sequence[int]]
    total: Sequence[int]

    def counts_below(self, counts: np.ndarray) -> np.ndarray:
        """Return the sum of counts at each node and below it (int64, one per node)."""
        nodes = np.flatnonzero(counts)
        sums, number = np.zeros(len(self.parent), dtype=np.int64), counts[nodes]
        while len(nodes):
            np.add.at(sums, nodes, number)
            above = self.parent[nodes]
            nodes, number = above[above >= 0], number[above >= 0]
        return sums

    def heaviest(self, node: int) -> int:
        """Return the leaf below a node that is reached by the largest weights."""
        while self.children[node]:
            node = max(self.children[node], key=lambda child: self.weight[child])
        return node


_families_by_target: WeakKeyDictionary[Target, Families] = WeakKeyDictionary()


def families(target: Target) -> Families:
    """Return the families of a target, which all of its groups share."""
    if target not in _families_by_target:
        _families_by_target[target] = _families(target)
    return _families_by_target[target]


def _families(target: Target) -> Families:
    parent, weight = target.parent.tolist(), reduce_weights(target).tolist()
    children: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent):
        if node and weight[node]:
            children[above].append(node)
    total = [sum(weight[child] for child in family) for family in children]
    return Families(target.parent, weight, children, total)


@dataclass(frozen=True, eq=False)
class Reach:
    """The options of an optimum with limited fakes at each node that can get a subdomain.

    These nodes are numbered 0 (the root), 1, … in this class, and `nodes` has their numbers in the
    target. `parent[node]` is the node above and `children[node]` those with a weight, none if
    nothing can be passed on. `held` counts values below a node; `weight` is free of common
    divisors, and `total` is its sum over the children. `low` and `high` bound q, and `width` is the
    most fakes that can be of use below the node.
    """

    nodes: Sequence[int]
    parent: Sequence[int]
    children: Sequence[Sequence[int]]
    held: Sequence[int]
    weight: Sequence[int]
    total: Sequence[int]
    low: Sequence[int]
    high: Sequence[int]
    width: Sequence[int]

    @property
    def cells(self) -> int:
        """The number of entries of the tables of q and fakes at all nodes together."""
        sizes = zip(self.low, self.high, self.width, strict=True)
        return sum(int(high - low + 1) * int(width + 1) for low, high, width in sizes)


def reach(among: Families, counts: np.ndarray, most: int) -> Reach:
    """Return the numbers to try for some values and at most `most` fakes.

    It has only nodes that get a subdomain in some optimum: a group of few values needs few of many
    nodes.

    Args:
        among: the nodes.
        counts: how often each node (a leaf) is a value (int64, one per node).
        most: the largest number of fakes.
    """
    below = among.counts_below(counts)
    nodes, parent, fewest, largest = [0], [-1], [int(below[0])], [int(below[0]) + most]
    children, low, high = list[Sequence[int]](), list[int](), list[int]()
    for number, node in enumerate(nodes):  # which grow meanwhile
        least, times = _times(among, node, below, fewest[number], largest[number], most)
        family = among.children[node] if times else []
        children.append(range(len(nodes), len(nodes) + len(family)))
        low.append(least)
        high.append(times)
        nodes += family
        parent += [number] * len(family)
        fewest += [among.weight[child] * least for child in family]
        largest += [among.weight[child] * times for child in family]
    values_below, weight = below[nodes].tolist(), [among.weight[node] for node in nodes]
    total = [among.total[node] * (times > 0) for node, times in zip(nodes, high, strict=True)]
    width = _widths(parent, values_below, largest, most)
    return Reach(nodes, parent, children, values_below, weight, total, low, high, width)


def _times(
    among: Families, node: int, below: np.ndarray, fewest: int, largest: int, most: int
) -> tuple[int, int]:
    """Return the least and the most times that a node with some subdomains passes on."""
    total = among.total[node]
    if not total or largest < total:
        return 0, 0
    family = [(among.weight[child], int(below[child])) for child in among.children[node]]
    least = min(fewest // total, min(have // weight for weight, have in family))
    return least, _most_times(family, largest // total, most)


def _widths(
    parent: Sequence[int], values_below: Sequence[int], largest: Sequence[int], most: int
) -> list[int]:
    """Return the most fakes that can be of use below each node."""
    missing = [max(top - have, 0) for top, have in zip(largest, values_below, strict=True)]
    below, width = [0] * len(parent), [0] * len(parent)
    for node in range(len(parent) - 1, -1, -1):
        width[node] = min(max(missing[node], below[node]), most)
        if node:
            below[parent[node]] += width[node]
    return width


def _most_times(family: Sequence[tuple[int, int]], limit: int, most: int) -> int:
    """Return the most times, up to a limit, at which at most `most` values are missing in all."""

    def missing(times: int) -> int:
        return sum(max(weight * times - have, 0) for weight, have in family)

    return bisect_right(range(limit + 1), most, key=missing) - 1


@dataclass(frozen=True, eq=False)
class Savings:
    """Tables of the savings from passing subdomains down instead of keeping them at the root.

    A copy of a node in place of one of its parent saves `gain[node]`. `shared[node]` has a row
    for each q from `low` to `high` and a column for each number of fakes from 0 to `width`: the
    most that is saved below the node when it passes q times on, with at most so many fakes; it is
    negative where that is impossible, as no saving outweighs `never`. Tables are int64, or Python
    integers where those overflow.
    """

    reach: Reach
    gain: Sequence[int]
    never: int
    shared: Sequence[np.ndarray]

    def passing(self, node: int, copies: np.ndarray) -> np.ndarray:
        """Return the largest saving at a node and below it, by the number of subdomains there.

        Args:
            node: not the root.
            copies: numbers of subdomains (int64, or Python integers).

        Returns:
            The same dtype, a row for each number of subdomains, a column for each number of fakes
            from 0 to the node's width.
        """
        reach, width = self.reach, self.reach.width[node]
        best = np.zeros((len(copies), width + 1), dtype=copies.dtype)
        if reach.total[node]:
            best = self.best(node)[self._row(node, copies)]
        needed = np.maximum(copies - reach.held[node], 0)
        saved: np.ndarray = best + (copies * self.gain[node])[:, None]
        return np.where(np.arange(width + 1) < needed[:, None], self.never, saved)

    def best(self, node: int) -> np.ndarray:
        """Return `shared` of a node, but by the largest q that the node may pass on."""
        return np.maximum.accumulate(self.shared[node], axis=0)

    def _row(self, node: int, copies: np.ndarray) -> np.ndarray:
        times = np.minimum(copies // self.reach.total[node], self.reach.high[node])
        rows: np.ndarray = (times - self.reach.low[node]).astype(np.int64)
        return rows

    def together(self, node: int, times: np.ndarray) -> list[np.ndarray]:
        """Return the savings below the first child, the first two, …, for each q in `times`.

        The savings at the children are included.
        """
        reach = self.reach
        sums: list[np.ndarray] = []
        for child in reach.children[node]:
            saved = self.passing(child, times * reach.weight[child])
            sums.append(self._add_savings(sums[-1], saved, reach.width[node]) if sums else saved)
        return sums

    def _add_savings(self, first: np.ndarray, other: np.ndarray, width: int) -> np.ndarray:
        """Return the largest sum for each total of fakes, up to `width` of them."""
        narrow, wide = (first, other) if first.shape[1] < other.shape[1] else (other, first)
        columns = min(narrow.shape[1] + wide.shape[1] - 1, width + 1)
        most = np.full((len(first), columns), self.never, dtype=first.dtype)
        for fakes in range(min(narrow.shape[1], columns)):
            upper = most[:, fakes : fakes + wide.shape[1]]
            sums = narrow[:, fakes, None] + wide[:, : upper.shape[1]]
            np.maximum(upper, sums, out=upper)
        return most


def savings(reach: Reach, ranges: Sequence[int]) -> Savings:
    """Fill the tables from the leaves up; int64, or Python integers if those overflow."""
    parent = reach.parent
    gain = [0, *(ranges[above] - ranges[node] for node, above in enumerate(parent) if node)]
    bound = 1 + ranges[0] * (reach.total[0] * reach.high[0] + 1)
    dtype = np.int64 if max(bound, *reach.total) < _FITTING else object
    shared = [np.empty((0, 0), dtype=dtype) for _ in parent]
    tables = Savings(reach, gain, -bound, shared)
    for node in range(len(parent) - 1, -1, -1):
        if reach.total[node]:
            times = np.arange(reach.low[node], reach.high[node] + 1).astype(dtype)
            shared[node] = _widen(tables.together(node, times)[-1], reach.width[node])
    return tables


def _widen(table: np.ndarray, width: int) -> np.ndarray:
    """Return a table with its last column repeated: further fakes are of no use."""
    return np.pad(table, ((0, 0), (0, width + 1 - table.shape[1])), mode="edge")


@dataclass(frozen=True, eq=False)
class Redistributed:
    """The copies and fakes of each node (int64; only leaves are fakes), and the sum of ranges."""

    copies: np.ndarray
    fakes: np.ndarray
    cost: int


def with_fakes(target: Target, counts: np.ndarray, ranges: np.ndarray, most: int) -> Redistributed:
    """Return the P-private multiset with the least sum of ranges, and of those the fewest fakes.

    O(nodes · most³) in all, for nodes that can get a subdomain, and far less if values are spread
    nearly as P says.

    Args:
        target: the hierarchy with its distribution.
        counts: how often each node (a leaf) is a value (int64, one per node).
        ranges: the range of each node in whole units (int64, or Python integers), no larger than
            its parent's.
        most: the largest number of fakes.

    Returns:
        Copies and fakes (int64, one per node); as many copies as values and fakes.

    Raises:
        InputError: if the tables for so many fakes do not fit in memory.
    """
    among = families(target)
    tables = _tables(among, counts, ranges, most)
    least = _least(tables, int(ranges[0]), most)
    fakes = least.index(min(least))
    reached_copies = _copies(tables, tables.reach.held[0] + fakes, fakes)
    copies = np.zeros(len(counts), dtype=np.int64)
    copies[tables.reach.nodes] = reached_copies
    return Redistributed(copies, _place_fakes(tables.reach, among, reached_copies), least[fakes])


def costs(target: Target, counts: np.ndarray, ranges: np.ndarray, most: int) -> list[int]:
    """Return the least sum of ranges with exactly 0, 1, …, `most` fakes; see `with_fakes`.

    It is neither monotone nor convex in the number of fakes.
    """
    return _least(_tables(families(target), counts, ranges, most), int(ranges[0]), most)


def _tables(among: Families, counts: np.ndarray, ranges: np.ndarray, most: int) -> Savings:
    around = reach(among, counts, most)
    if max(most, around.cells) > _MOST_CELLS:
        raise InputError("form.fakes: tables for so many do not fit in memory: allow fewer")
    return savings(around, [int(length) for length in ranges[around.nodes]])


def _least(tables: Savings, length: int, most: int) -> list[int]:
    around = tables.reach
    costs = [(around.held[0] + fakes) * length for fakes in range(most + 1)]
    if around.total[0]:
        best = tables.best(0)
        for fakes in range(most + 1):
            times = min((around.held[0] + fakes) // around.total[0], around.high[0])
            row, column = times - around.low[0], min(fakes, around.width[0])
            costs[fakes] -= int(best[row, column])
    return costs


def _copies(tables: Savings, copies: int, fakes: int) -> np.ndarray:
    """Return the copies of each node within reach (int64) for the largest saving.

    `copies` and `fakes` are those at the root.
    """
    around = tables.reach
    counts = np.zeros(len(around.held), dtype=np.int64)
    stack = [(0, copies, fakes)]
    while stack:
        node, copies, fakes = stack.pop()
        times = _count_fakes(tables, node, copies, fakes)
        counts[node] = copies - times * around.total[node]
        if times:
            split = _split(tables, node, times, min(fakes, around.width[node]))
            family = around.children[node]
            stack += [
                (child, around.weight[child] * times, part)
                for child, part in zip(family, split, strict=True)
            ]
    return counts


def _count_fakes(tables: Savings, node: int, copies: int, fakes: int) -> int:
    """Return the best multiple that a node with so many copies and fakes passes on."""
    around = tables.reach
    low, total = around.low[node], around.total[node]
    if not total:
        return 0
    times = min(copies // total, around.high[node])
    saved = tables.shared[node][: times - low + 1, min(fakes, around.width[node])]
    return low + int(np.argmax(saved))


def _split(tables: Savings, node: int, times: int, fakes: int) -> list[int]:
    """Return the fakes that go to each child of a node that passes on that multiple."""
    dtype = tables.shared[node].dtype
    together = tables.together(node, np.array([times], dtype=dtype))
    family, parts = tables.reach.children[node], list[int]()
    for child, first in zip(family[:0:-1], together[-2::-1], strict=True):
        alone = tables.passing(child, np.array([times * tables.reach.weight[child]], dtype=dtype))
        parts.append(_count_taken(first[0], alone[0], fakes))
        fakes -= parts[-1]
    return [*parts, fakes][::-1]


def _count_taken(others: np.ndarray, last: np.ndarray, fakes: int) -> int:
    """Return the fakes that the last child takes: the fewest for which the sum is largest."""
    taken = np.arange(min(fakes + 1, len(last)))
    sums = others[np.minimum(fakes - taken, len(others) - 1)] + last[taken]
    return int(np.argmax(sums))


def _place_fakes(around: Reach, among: Families, copies: np.ndarray) -> np.ndarray:
    """Return fakes where copies lack values: below each node, at its heaviest leaf."""
    fakes = np.zeros(len(among.parent), dtype=np.int64)
    above, lacking = copies.tolist(), [0] * len(copies)
    for node in range(len(copies) - 1, -1, -1):
        more = max(above[node] - around.held[node] - lacking[node], 0)
        if more:
            fakes[among.heaviest(around.nodes[node])] += more
            lacking[node] += more
        if node:
            for sums in (above, lacking):
                sums[around.parent[node]] += sums[node]
    return fakes
