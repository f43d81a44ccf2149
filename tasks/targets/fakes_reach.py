"""The numbers that an optimum with fakes can have at each node: always a short range.

A node passes on q times the sum of its children's weights. Fakes only raise what is passed on
without them, so the q of the generalization without fakes is the least that an optimum has; the
most is what the parent can give, and what at most t values missing below the children allow. Above
min ⌊|g_C| / w_C⌋ each step of q needs a fake, and below it q follows the parent's: no node has
more than about t + 1 numbers to try, and fewer the less likely it is.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.tasks.targets.shares import reduce_weights


@dataclass(frozen=True, eq=False)
class Families:
    """The nodes of a target that has a probability, by their parents.

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

    def below(self, counts: np.ndarray) -> np.ndarray:
        """How many there are at each node and below it (int64, one per node)."""
        at = np.flatnonzero(counts)
        held, number = np.zeros(len(self.parent), dtype=np.int64), counts[at]
        while len(at):
            np.add.at(held, at, number)
            above = self.parent[at]
            at, number = above[above >= 0], number[above >= 0]
        return held

    def heaviest(self, node: int) -> int:
        """The leaf below a node that is reached by the largest weights."""
        while self.children[node]:
            node = max(self.children[node], key=lambda child: self.weight[child])
        return node


_found: WeakKeyDictionary[Target, Families] = WeakKeyDictionary()


def families(target: Target) -> Families:
    """The families of a target, which all of its groups share."""
    if target not in _found:
        _found[target] = _families(target)
    return _found[target]


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

    They are numbered 0 (the root), 1, … in what follows, and `nodes` says which they are.
    `parent[node]` is the node above and `children[node]` those with a weight, none where nothing
    can be passed on; `held` counts values below a node; `weight` is free of common divisors and
    `total` its sum over the children; `low` and `high` bound q, and `width` is the most fakes that
    can be of use below the node.
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
        """How many numbers tables of q and fakes have at all nodes together."""
        sizes = zip(self.low, self.high, self.width, strict=True)
        return sum(int(high - low + 1) * int(width + 1) for low, high, width in sizes)


def reach(among: Families, counts: np.ndarray, most: int) -> Reach:
    """The numbers to try for some values and at most `most` fakes.

    Only nodes are met that get a subdomain in some optimum: a group of few values meets few of
    many nodes.

    Args:
        among: the nodes.
        counts: how often each node (a leaf) is a value (int64, one per node).
        most: the largest number of fakes.
    """
    below = among.below(counts)
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
    held, weight = below[nodes].tolist(), [among.weight[node] for node in nodes]
    total = [among.total[node] * (times > 0) for node, times in zip(nodes, high, strict=True)]
    width = _widths(parent, held, largest, most)
    return Reach(nodes, parent, children, held, weight, total, low, high, width)


def _times(
    among: Families, node: int, below: np.ndarray, fewest: int, largest: int, most: int
) -> tuple[int, int]:
    """The least and the most times that a node with some subdomains passes on."""
    total = among.total[node]
    if not total or largest < total:
        return 0, 0
    family = [(among.weight[child], int(below[child])) for child in among.children[node]]
    least = min(fewest // total, min(have // weight for weight, have in family))
    return least, _most_times(family, largest // total, most)


def _widths(
    parent: Sequence[int], held: Sequence[int], largest: Sequence[int], most: int
) -> list[int]:
    """The most fakes that can be of use below each node."""
    wanted = [max(top - have, 0) for top, have in zip(largest, held, strict=True)]
    below, width = [0] * len(parent), [0] * len(parent)
    for node in range(len(parent) - 1, -1, -1):
        width[node] = min(max(wanted[node], below[node]), most)
        if node:
            below[parent[node]] += width[node]
    return width


def _most_times(family: Sequence[tuple[int, int]], limit: int, most: int) -> int:
    """The largest number up to a limit whose multiples exceed the values by `most` in all."""

    def missing(times: int) -> int:
        return sum(max(weight * times - have, 0) for weight, have in family)

    return bisect_right(range(limit + 1), most, key=missing) - 1
