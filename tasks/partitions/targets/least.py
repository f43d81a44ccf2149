"""The target that keeps promises and shows a group's values in the least sum of ranges.

Targets are all w/d of a denominator d up to D. The narrowest subdomains of a target are those of
`minimum`; so the sum of ranges is a function of the target, and the least one is chosen. Of targets
with equal sums it is the one with the least total variation from the group's own distribution, and
then the first in the order of its weights.

A multiset of nodes is P-private if, at each node, the copies below it are shared out among its
children in proportion to their weights (see `expectations.groups.subdomains`). So the least sum is
found by a program over the tree. Its states are a node, the weight of its values, and the copies
that reach it: it keeps some, at the cost of its range each, and B of them go on, w B / W to a child
with w of the weight W. The number must be whole, and no more than the group has values there.

Each state has a *front*: the ways to spend the weight of which no other is at most as costly and at
most as much of a burden to the promises. A *burden* is what joins from child to child, and what a
promise limits in the end (see `burdens`). First the least cost is found, then the best way with
that cost. A front of too many ways is thinned out; the least cost is then bounded from below, by
ways that are each as good as several together.

The choice of the least sum is this project's own; the paper leaves open where targets come from
(Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization, VLDB 2009).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd
from operator import le
from typing import NamedTuple

import numpy as np

from sfumato.tasks.partitions.targets.burdens import Burden, Burdens
from sfumato.tasks.partitions.targets.distribution import whole
from sfumato.tasks.partitions.targets.minimum import minimum
from sfumato.tasks.partitions.targets.tree import Tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate, sum_below

_MOST = 256
"""Ways of a front, at most."""


class _Way(NamedTuple):
    """A way to spend a weight on the values below a node.

    Attributes:
        cost: the sum of ranges of the copies at the node and below it.
        off: the total variation from the group's own distribution, as a whole number; 0 for all if
            only the cost counts.
        weights: the weight of each value, in the order of the domain.
        burden: see `burdens`.
    """

    cost: int
    off: int
    weights: tuple[int, ...]
    burden: Burden


Front = list[_Way]
Thin = Callable[[Front], Front]
"""Returns a smaller front in place of one that is too large."""
Keep = Callable[[np.ndarray], np.ndarray]
"""Marks the targets that keep promises (bool), given their weights (int64, targets x values)."""


@dataclass(frozen=True, eq=False)
class RangeTree:
    """A tree over the values of a column, with the length of the range of each of its nodes.

    Attributes:
        tree: the tree over the positions of the domain.
        lengths: the length of each node's range (whole numbers).
        order: the value of the column at each position (int64).
    """

    tree: Tree
    lengths: np.ndarray
    order: np.ndarray

    @cached_property
    def parent(self) -> Sequence[int]:
        """The node above each node (-1 for the root), parents before children."""
        return list(self.tree.parent.tolist())

    @cached_property
    def length(self) -> Sequence[int]:
        """The length of each node's range, as Python integers."""
        return list(self.lengths.tolist())

    @cached_property
    def position(self) -> Sequence[int]:
        """The position in the domain of each leaf, -1 for other nodes."""
        positions = np.full(len(self.tree.parent), -1)
        positions[self.tree.leaf] = np.arange(len(self.order))
        return list(positions.tolist())

    @cached_property
    def children(self) -> Sequence[Sequence[int]]:
        """The children of each node, in the order of the domain."""
        children: list[list[int]] = [[] for _ in self.parent]
        for node, above in enumerate(self.parent):
            if node:
                children[above].append(node)
        return children

    def sum_of_ranges(self, own: np.ndarray, weights: np.ndarray) -> int:
        """Return the least sum of ranges of a group with some target.

        Args:
            own: how often the group has each value of the column (int64).
            weights: the target's weights (int64, one per value).
        """
        return int(self.sums_of_ranges(own[None], weights)[0])

    def sums_of_ranges(self, own: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the same of several groups (int64, groups x values), as Python integers."""
        target = annotate(self.tree, weights[self.order]).target
        at_leaves = np.zeros((len(own), len(self.parent)), dtype=np.int64)
        at_leaves[:, self.tree.leaf] = own[:, self.order]
        sums: np.ndarray = minimum(target, at_leaves).astype(object) @ self.lengths
        return sums


@dataclass(frozen=True, eq=False)
class LeastTarget:
    """The target with the least sum of ranges.

    Attributes:
        weights: its weights (int64, one per value of the column).
        cost: the sum of ranges.
        at_least: a lower bound of the least sum: the cost itself, if no front was thinned out.
    """

    weights: np.ndarray
    cost: int
    at_least: int


@dataclass(eq=False)
class _Program:
    """The program over a tree for the values of one group and one denominator.

    Attributes:
        tree: the tree with its ranges.
        counts: how often the group has each value, in the order of the domain.
        denominator: what all weights add up to.
        burdens: of the promises, for this denominator.
        thin: what is done with a front that is too large.
        most: the largest cost of use, None without a limit.
        with_distance: whether ways with the same cost are compared by their distance.
        is_thin: whether a front was thinned out.
    """

    tree: RangeTree
    counts: Sequence[int]
    denominator: int
    burdens: Burdens
    thin: Thin
    most: int | None = None
    with_distance: bool = False
    is_thin: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._rows = sum(self.counts)
        at_leaves = [self.counts[place] if place >= 0 else 0 for place in self.tree.position]
        self._values_below = sum_below(self.tree.parent, at_leaves)
        self._fronts: dict[tuple[int, ...], Front] = {}
        self._shares: dict[tuple[int, ...], Front] = {}

    def front(self) -> Front:
        """Return the ways to spend all weight on the values, each with the copies it needs."""
        return self._front(0, 0, self.denominator, self._rows)

    def _front(self, node: int, before: int, weight: int, copies: int) -> Front:
        """Return the front of a node, given the weight of the values before it."""
        if copies > self._values_below[node]:
            return []
        key = (node, before * self.burdens.by_position, weight, copies)
        if key not in self._fronts:
            place = self.tree.position[node]
            make = self._of_leaf if place >= 0 else self._of_inner
            self._fronts[key] = make(node, before, weight, copies)
        return self._fronts[key]

    def _of_leaf(self, node: int, before: int, weight: int, _copies: int) -> Front:
        place = self.tree.position[node]
        burden = self.burdens.of_value(place, before, weight)
        if burden is None or self.burdens.is_hopeless(burden):
            return []
        off = abs(self.denominator * self.counts[place] - self._rows * weight)
        return [_Way(0, off * self.with_distance, (weight,), burden)]

    def _of_inner(self, node: int, before: int, weight: int, copies: int) -> Front:
        ways: list[_Way] = []
        for passed in range(copies if weight else 0, -1, -1):
            cost = (copies - passed) * self.tree.length[node]
            if self.most is not None and cost > self.most:
                break
            divisor = max(gcd(passed, weight), 1)
            rate = passed // divisor, weight // divisor
            shared = self._share_out(node, 0, before, weight, *rate)
            ways += [way._replace(cost=way.cost + cost) for way in shared] if cost else shared
        return self._unbeaten(ways)

    def _share_out(
        self, node: int, child: int, before: int, weight: int, over: int, under: int
    ) -> Front:
        """Return the ways to share a weight out among a node's children, from one of them on.

        A child with the weight w gets w `over` / `under` copies, which are whole.
        """
        family = self.tree.children[node]
        copies = weight * over // under if over else 0
        if child == len(family) - 1:
            return self._front(family[child], before, weight, copies)
        key = (node, child, before * self.burdens.by_position, weight, over, under)
        if key not in self._shares:
            step = under if over else 1
            self._shares[key] = self._unbeaten(
                self._join(first, other)
                for part in range(0, weight + 1, step)
                for first in self._front(family[child], before, part, part // step * over)
                for other in self._share_out(
                    node, child + 1, before + part, weight - part, over, under
                )
            )
        return self._shares[key]

    def _join(self, first: _Way, other: _Way) -> _Way:
        return _Way(
            first.cost + other.cost,
            first.off + other.off,
            first.weights + other.weights,
            self.burdens.join(first.burden, other.burden),
        )

    def _unbeaten(self, ways: Iterable[_Way]) -> Front:
        """Return the front of some ways, without those that no promise or cost allows."""
        front: Front = []
        for way in sorted(ways, key=_by_distance if self.with_distance else _by_cost):
            if self.most is not None and way.cost > self.most:
                break
            if not (self.burdens.is_hopeless(way.burden) or _is_beaten(way, front)):
                front.append(way)
        if len(front) <= _MOST:
            return front
        self.is_thin = True
        return self.thin(front)


def _by_cost(way: _Way) -> tuple[int, Burden]:
    return way.cost, way.burden


def _by_distance(way: _Way) -> tuple[int, int, tuple[int, ...]]:
    return way.cost, way.off, way.weights


def _is_beaten(way: _Way, front: Front) -> bool:
    """Return True if another way of a front, none of which costs more, is no larger a burden."""
    burden = way.burden
    if len(burden) < 2 and front:  # then each way of a front has a smaller burden than the last
        return front[-1].burden <= burden
    return any(all(map(le, better.burden, burden)) for better in front)


def _some(front: Front) -> Front:
    """Return some ways of a front: the best in cost and burden first, then others in their order.

    If the best alone are too many, they are every so many of them, and that with the least burden.
    """
    best: Front = []
    for way in sorted(front, key=_by_cost):
        if not _is_beaten(way, best):
            best.append(way)
    if len(best) > _MOST:
        step = -(-len(best) // (_MOST - 1))
        return [*best[::step], min(best, key=lambda way: way.burden)]
    chosen = set(best)
    others = [way for way in front if way not in chosen][: _MOST - len(best)]
    return sorted([*best, *others], key=_by_distance)


def _as_good_as_several(front: Front) -> Front:
    """Return fewer ways, each as good in cost and in each burden as several neighbours together."""
    size = -(-2 * len(front) // _MOST)
    parts = (front[start : start + size] for start in range(0, len(front), size))
    return [
        part[0]._replace(burden=tuple(map(min, zip(*(way.burden for way in part), strict=True))))
        for part in parts
    ]


def least_target(
    tree: RangeTree,
    own: np.ndarray,
    denominator: int,
    burdens: Callable[[int], Burdens],
    keep: Keep | None = None,
) -> LeastTarget | None:
    """Return the target with the least sum of ranges; None if none keeps the promises.

    Args:
        tree: the tree over the column's values.
        own: how often the group has each value of the column (int64).
        denominator: the largest denominator of a target.
        burdens: returns the burdens of the promises, given the denominator of a target.
        keep: decides exactly which targets keep the promises, if burdens do not.
    """
    counts = own[tree.order].tolist()

    def able(front: Front) -> Front:
        """Return the ways of a front of the root that keep the promises."""
        if keep is None or not front:
            return front
        return [way for way, keeps in zip(front, keep(_weights(front)), strict=True) if keeps]

    least: int | None = None
    at_least: list[int] = []
    ways: list[_Way] = []
    for d in range(denominator, 0, -1):
        program = _Program(tree, counts, d, burdens(d), _some, least)
        if front := able(program.front()):
            ways.append(front[0])
            least = front[0].cost
        if program.is_thin:
            bound = _Program(tree, counts, d, burdens(d), _as_good_as_several, least)
            at_least += [way.cost for way in bound.front()[:1]]
    if least is None:
        return None
    for d in {sum(way.weights) for way in ways if way.cost == least}:
        program = _Program(tree, counts, d, burdens(d), _some, least, with_distance=True)
        ways += able(program.front())
    best = min((way for way in ways if way.cost == least), key=lambda way: _preference(way, counts))
    weights = np.empty(len(own), dtype=np.int64)
    weights[tree.order] = whole(best.weights)
    return LeastTarget(weights, least, min([least, *at_least]))


def _weights(front: Front) -> np.ndarray:
    return np.array([way.weights for way in front], dtype=np.int64)


def _preference(way: _Way, counts: Sequence[int]) -> tuple[Fraction, tuple[int, ...]]:
    """Return what decides between ways of the same cost: the distance, then the weights."""
    d, rows = sum(way.weights), sum(counts)
    off = sum(abs(d * n - rows * w) for n, w in zip(counts, way.weights, strict=True))
    divisor = gcd(*way.weights)
    return Fraction(off, d), tuple(weight // divisor for weight in way.weights)
