"""The P-private multiset with the least sum of ranges for a group, if fakes may be added.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
problem 5.1, their recurrence corrected. A multiset of nodes is P-private if it looks as if drawn
from the distribution P: see `expectations.groups.subdomains`. A fake is a made-up value that is
added to the values of a group.

A group shows subdomains in place of its values: nodes of a hierarchy (leaves are single values),
each one possibly in several copies. All subdomains start at the root. A node with A subdomains
passes some on and keeps the rest as its copies: by P, its children get q times their weights, with
one whole number q for all of them. So every choice of the q gives a P-private multiset.

- Which choices fit the values: those with A <= |g| + x at every node, for the |g| values of the
  group and the x fakes at the node and below it (Hall's condition on nested sets).
- Which choice is best: a subdomain that a node gets from its parent saves range(parent) -
  range(node), so the sum of ranges is least if the savings of all nodes add up to the most. The
  most that is saved below a node, by A and x, follows from the tables of its children.
- Which q to try, if t fakes are allowed: at least the q of the best choice without fakes, because
  fakes only raise it; at most what the node's own A allows, and what leaves the children C, with
  the weights w_C and |g_C| values at and below them, short of at most t values in all. Up to
  min ⌊|g_C| / w_C⌋ the children lack nothing, and q is all that A allows; each step above needs
  another fake. So a node has at most about t + 1 numbers to try, and
  an unlikely node fewer.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.partitions.targets.trees_with_weights import reduce_weights

_FITTING = 2**60  # smaller numbers are kept in int64, which sums of a few still fit
_MOST_CELLS = 2**27  # cells of all tables, of eight bytes each: a GiB


@dataclass(frozen=True, eq=False)
class Families:
    """The tree of a target, in which only children with a positive weight are listed.

    Attributes:
        parent: the node above each node (int64, -1 for the root).
        weight: the weight of each node, divided by the greatest common divisor of its own and its
            siblings' weights.
        children: the children of each node that have a weight.
        total: the sum of these children's weights, by node.
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
        """Return the leaf that is reached from a node by always taking the heaviest child."""
        while self.children[node]:
            node = max(self.children[node], key=lambda child: self.weight[child])
        return node


_families_by_target: WeakKeyDictionary[Target, Families] = WeakKeyDictionary()


def families(target: Target) -> Families:
    """Return the families of a target, computed once for all groups that share it."""
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
    """The nodes that can get a subdomain, and the numbers that are tried at each of them.

    These nodes are renumbered 0 (the root), 1, …, parents before children. All attributes have one
    entry per node, and name nodes by the new numbers, except that `nodes` has those of the target.

    Attributes:
        nodes: the number of the node in the target.
        parent: the node above, -1 for the root.
        children: the children with a weight; none if nothing can be passed on.
        held: the number of the group's values at the node and below it.
        weight: the node's weight, as in `Families`.
        total: the sum of the children's weights; 0 if nothing can be passed on.
        low: the least q to try.
        high: the greatest q to try.
        width: the most fakes that can be of use at the node and below it.
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

    Only nodes that can get a subdomain are part of it: of many nodes, a group of few values reaches
    few.

    Args:
        among: the nodes.
        counts: how often each node (a leaf) is a value (int64, one per node).
        most: the largest number of fakes.
    """
    below = among.counts_below(counts)
    nodes, parent, fewest, largest = [0], [-1], [int(below[0])], [int(below[0]) + most]
    children, low, high = list[Sequence[int]](), list[int](), list[int]()
    # `fewest` and `largest` bound the subdomains of each node; children are appended meanwhile
    for number, node in enumerate(nodes):
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
    """Return the least and the greatest q to try at a node with `fewest` to `largest` subdomains.

    `below` has the values at each node and below it, and `most` is the largest number of fakes.
    """
    total = among.total[node]
    if not total or largest < total:
        return 0, 0
    family = [(among.weight[child], int(below[child])) for child in among.children[node]]
    least = min(fewest // total, min(have // weight for weight, have in family))
    return least, _most_times(family, largest // total, most)


def _widths(
    parent: Sequence[int], values_below: Sequence[int], largest: Sequence[int], most: int
) -> list[int]:
    """Return the most fakes that can be of use at each node and below it."""
    # subdomains that a node can get beyond its values
    missing = [max(top - have, 0) for top, have in zip(largest, values_below, strict=True)]
    below, width = [0] * len(parent), [0] * len(parent)
    for node in range(len(parent) - 1, -1, -1):
        width[node] = min(max(missing[node], below[node]), most)
        if node:
            below[parent[node]] += width[node]
    return width


def _most_times(family: Sequence[tuple[int, int]], limit: int, most: int) -> int:
    """Return the greatest q, up to a limit, for which at most `most` values are missing in all.

    `family` has the weight of each child, and the number of values at it and below it.
    """

    def missing(times: int) -> int:
        return sum(max(weight * times - have, 0) for weight, have in family)

    return bisect_right(range(limit + 1), most, key=missing) - 1


@dataclass(frozen=True, eq=False)
class Savings:
    """Tables of the savings from passing subdomains down instead of keeping them at the root.

    Numbers are int64, or Python integers if int64 might overflow.

    Attributes:
        reach: the nodes, and the numbers to try.
        gain: the saving of each subdomain that a node gets from its parent; 0 for the root.
        never: the saving of what is impossible: so negative that no other saving outweighs it.
        shared: for each node the most that is saved below it, by q (a row for each from `low` to
            `high`) and by the largest number of fakes (a column for each from 0 to `width`).
            Impossible entries are negative.
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
        """Return `shared` of a node, but in each row the best of all q up to the row's."""
        return np.maximum.accumulate(self.shared[node], axis=0)

    def _row(self, node: int, copies: np.ndarray) -> np.ndarray:
        """Return the row of the largest q for each number of subdomains (int64)."""
        times = np.minimum(copies // self.reach.total[node], self.reach.high[node])
        rows: np.ndarray = (times - self.reach.low[node]).astype(np.int64)
        return rows

    def together(self, node: int, times: np.ndarray) -> list[np.ndarray]:
        """Return the savings at and below the first child, the first two children, ….

        Each array has a row for each q in `times`, and a column for each number of fakes, from 0,
        that these children share.
        """
        reach = self.reach
        sums: list[np.ndarray] = []
        for child in reach.children[node]:
            saved = self.passing(child, times * reach.weight[child])
            sums.append(self._add_savings(sums[-1], saved, reach.width[node]) if sums else saved)
        return sums

    def _add_savings(self, first: np.ndarray, other: np.ndarray, width: int) -> np.ndarray:
        """Return the largest sum of two savings for each total of fakes, up to `width` of them.

        Rows are those of both tables; the fakes are split in the best way.
        """
        narrow, wide = (first, other) if first.shape[1] < other.shape[1] else (other, first)
        columns = min(narrow.shape[1] + wide.shape[1] - 1, width + 1)
        most = np.full((len(first), columns), self.never, dtype=first.dtype)
        for fakes in range(min(narrow.shape[1], columns)):  # those of the narrow table
            upper = most[:, fakes : fakes + wide.shape[1]]
            sums = narrow[:, fakes, None] + wide[:, : upper.shape[1]]
            np.maximum(upper, sums, out=upper)
        return most


def savings(reach: Reach, ranges: Sequence[int]) -> Savings:
    """Return the tables, filled from the leaves up.

    Args:
        reach: the nodes, and the numbers to try.
        ranges: the range of each of these nodes, in whole units.
    """
    parent = reach.parent
    gain = [0, *(ranges[above] - ranges[node] for node, above in enumerate(parent) if node)]
    # above all savings: of the subdomains passed on, each saves at most the root's range
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
    """The multiset of subdomains for a group, with its fakes.

    Attributes:
        copies: how often each node is shown (int64, one per node).
        fakes: how often each node is added as a fake value (int64, one per node; 0 except at
            leaves).
        cost: the sum of the ranges of all copies.
    """

    copies: np.ndarray
    fakes: np.ndarray
    cost: int


Measure = Callable[[np.ndarray], Any]
"""Returns what is to be least, given the copies of each node (int64)."""


def with_fakes(
    target: Target,
    counts: np.ndarray,
    ranges: np.ndarray,
    most: int,
    measure: Measure | None = None,
) -> Redistributed:
    """Return the P-private multiset with the least sum of ranges, and of those the fewest fakes.

    Another measure decides only how many fakes there are: for each number of them it judges the
    multiset with the least sum of ranges.

    O(nodes · most³) in all, for nodes that can get a subdomain, and far less if values are spread
    nearly as P says.

    Args:
        target: the hierarchy with its distribution.
        counts: how often each node (a leaf) is a value (int64, one per node).
        ranges: the range of each node in whole units (int64, or Python integers), no larger than
            its parent's.
        most: the largest number of fakes.
        measure: what is to be least; None for the sum of ranges.

    Returns:
        Copies and fakes (int64, one per node); as many copies as values and fakes together.

    Raises:
        InputError: if the tables for so many fakes do not fit in memory.
    """
    among = families(target)
    tables = _tables(among, counts, ranges, most)
    least = _least(tables, int(ranges[0]), most)
    numbers = (
        least
        if measure is None
        else [measure(_at_nodes(tables, fakes, len(counts))) for fakes in range(most + 1)]
    )
    fakes = numbers.index(min(numbers))
    copies = _at_nodes(tables, fakes, len(counts))
    placed = _place_fakes(tables.reach, among, copies[tables.reach.nodes])
    return Redistributed(copies, placed, least[fakes])


def mean_width(low: np.ndarray, high: np.ndarray, copies: np.ndarray, rows: int) -> tuple[int, int]:
    """Return how far apart the bounds of the sum of so many rows are, and the number of fakes.

    The sum of a group's rows, and so their mean, is between the sums of the lowest and of the
    highest ends of as many of its subdomains.

    Args:
        low: the least value of each node in whole units (int64, or Python integers).
        high: the greatest value of each node.
        copies: the copies of each node (int64), as many as rows or more.
        rows: the number of rows.
    """
    lowest = np.sort(np.repeat(low, copies))[:rows]
    highest = np.sort(np.repeat(high, copies))[int(copies.sum()) - rows :]
    width = sum(highest.tolist()) - sum(lowest.tolist())
    return width, int(copies.sum()) - rows


def _at_nodes(tables: Savings, fakes: int, nodes: int) -> np.ndarray:
    """Return the copies of each node (int64) that have the least sum with exactly so many fakes."""
    copies = np.zeros(nodes, dtype=np.int64)
    copies[tables.reach.nodes] = _copies(tables, tables.reach.held[0] + fakes, fakes)
    return copies


def costs(target: Target, counts: np.ndarray, ranges: np.ndarray, most: int) -> list[int]:
    """Return the least sum of ranges with exactly 0, 1, …, `most` fakes, for each number.

    Arguments are those of `with_fakes`. The sum is neither monotone nor convex in the number of
    fakes.
    """
    return _least(_tables(families(target), counts, ranges, most), int(ranges[0]), most)


def _tables(among: Families, counts: np.ndarray, ranges: np.ndarray, most: int) -> Savings:
    around = reach(among, counts, most)
    if max(most, around.cells) > _MOST_CELLS:
        raise InputError("form.fakes: so many fake values need too much memory; allow fewer")
    return savings(around, [int(length) for length in ranges[around.nodes]])


def _least(tables: Savings, length: int, most: int) -> list[int]:
    """Return the least sums for 0, 1, …, `most` fakes; `length` is the range of the root."""
    around = tables.reach
    # if the root keeps all subdomains; then less what is saved by passing them on
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

    It retraces the tables from the root down: `copies` are the subdomains that a node gets, at
    first those of the root, and `fakes` the fakes at the node and below it.
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
    """Return the best q of a node that gets so many subdomains and fakes."""
    around = tables.reach
    low, total = around.low[node], around.total[node]
    if not total:
        return 0
    times = min(copies // total, around.high[node])
    saved = tables.shared[node][: times - low + 1, min(fakes, around.width[node])]
    return low + int(np.argmax(saved))


def _split(tables: Savings, node: int, times: int, fakes: int) -> list[int]:
    """Return the fakes that go to each child of a node whose q is `times`."""
    dtype = tables.shared[node].dtype
    together = tables.together(node, np.array([times], dtype=dtype))
    family, parts = tables.reach.children[node], list[int]()
    # from the last child back, each against all children before it
    for child, first in zip(family[:0:-1], together[-2::-1], strict=True):
        alone = tables.passing(child, np.array([times * tables.reach.weight[child]], dtype=dtype))
        parts.append(_count_taken(first[0], alone[0], fakes))
        fakes -= parts[-1]
    return [*parts, fakes][::-1]


def _count_taken(others: np.ndarray, last: np.ndarray, fakes: int) -> int:
    """Return the fakes that the last child takes: the fewest for which the sum is largest.

    `others` has the savings of all children before it and `last` its own, by the number of fakes.
    """
    taken = np.arange(min(fakes + 1, len(last)))
    sums = others[np.minimum(fakes - taken, len(others) - 1)] + last[taken]
    return int(np.argmax(sums))


def _place_fakes(around: Reach, among: Families, copies: np.ndarray) -> np.ndarray:
    """Return the fakes (int64, one per node of the target) that let the copies fit the values.

    From the leaves up, a node with more subdomains at it and below it (`above`) than values and
    fakes so far (`lacking`) gets the missing fakes at its heaviest leaf.
    """
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
