"""Trees over an ordered domain: each node is a run of neighbouring values, each leaf one value."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

Cuts = Callable[[int, int], list[int]]
"""Starts of the parts into which the positions first, …, last are cut, two or more."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes 0 (the root), 1, …, parents before children, no node with a single child.

    `parent[node]` is the node above (-1 for the root); `first[node]` and `last[node]` are the
    positions in the domain (from 0) where its run begins and ends. All int64.
    """

    parent: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @cached_property
    def leaf(self) -> np.ndarray:
        """The leaf of each position of the domain (int64, one per position)."""
        leaves = np.flatnonzero(self.first == self.last)
        return leaves[np.argsort(self.first[leaves])]

    def at_leaves(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers by position as numbers by node, of the same dtype; 0 for inner nodes."""
        placed = np.zeros(len(self.parent), dtype=numbers.dtype)
        placed[self.leaf] = numbers
        return placed

    @property
    def steps(self) -> np.ndarray:
        """The range of each node if values have no distance: its leaves less one (int64)."""
        steps: np.ndarray = self.last - self.first
        return steps

    def ranges(self, units: np.ndarray) -> np.ndarray:
        """Return the range of each node, given the domain's values in whole units, ascending.

        Both are int64, or Python integers.
        """
        ranges: np.ndarray = units[self.last] - units[self.first]
        return ranges


def balanced_tree(n: int, arity: int) -> Tree:
    """Return a tree over n values whose nodes have `arity` children, or fewer if values are few.

    The sizes of siblings differ by at most one, the larger first, so that the tree is as low as
    possible.
    """
    parents, firsts, lasts = [np.array([-1])], [np.array([0])], [np.array([n - 1])]
    nodes = 1
    while len(firsts[-1]):
        above, first, last = _children(firsts[-1], lasts[-1], arity)
        parents.append(nodes - len(firsts[-1]) + above)
        firsts.append(first)
        lasts.append(last)
        nodes += len(first)
    return Tree(*(np.concatenate(level) for level in (parents, firsts, lasts)))


def _children(
    first: np.ndarray, last: np.ndarray, arity: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return runs cut evenly into parts: each part's run, first and last position (int64)."""
    cut = np.flatnonzero(last > first)
    sizes = (last - first)[cut] + 1
    parts = np.minimum(arity, sizes)
    size, larger = np.divmod(sizes, parts)
    above = np.repeat(np.arange(len(cut)), parts)
    part = np.arange(len(above)) - np.repeat(np.cumsum(parts) - parts, parts)
    start = first[cut][above] + part * size[above] + np.minimum(part, larger[above])
    return cut[above], start, start + size[above] - 1 + (part < larger[above])


def median_tree(weights: Sequence[int], arity: int) -> Tree:
    """Return a tree over values with these weights (whole, not negative), siblings about as heavy.

    A node with the weight W is cut where the weight to the left is nearest to W/arity, 2W/arity, …,
    the leftmost of two such places; every part has a value. Values without weight are cut evenly.
    """
    sums = [0, *accumulate(int(weight) for weight in weights)]

    def cuts(first: int, last: int) -> list[int]:
        if sums[last + 1] == sums[first]:
            return _even(first, last, arity)
        return _weighty(sums, first, last, arity)

    return _grow_tree(len(weights), cuts)


def taxonomy_tree(ancestors: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Return a hierarchy as a tree, with its leaves in an order that makes every node a run.

    Args:
        ancestors: the node above each value at each level (integers, levels x values), from the
            value itself to the root; nodes nest, and are numbered anew at each level.

    Returns:
        The tree, and the value at each of its positions (int64). Nodes of a level stay in the order
        of their numbers, below the same node.
    """
    order = np.lexsort(ancestors)
    n = len(order)
    parents, firsts, lasts = [np.array([-1])], [np.array([0])], [np.array([n - 1])]
    nodes, above, length = 1, np.zeros(n, dtype=np.int64), np.full(n, n)
    for level in [*ancestors[::-1, order], np.arange(n)]:
        first = np.flatnonzero(np.diff(level, prepend=-1))
        sizes = np.diff(np.append(first, n))
        new = sizes < length[first]  # a node with all values of the node above is left out
        parents.append(above[first[new]])
        firsts.append(first[new])
        lasts.append((first + sizes - 1)[new])
        numbers = above[first]
        numbers[new] = nodes + np.arange(int(new.sum()))
        nodes += int(new.sum())
        above, length = np.repeat(numbers, sizes), np.repeat(sizes, sizes)
    return Tree(*(np.concatenate(part) for part in (parents, firsts, lasts))), order


def _grow_tree(n: int, cuts: Cuts) -> Tree:
    """Return the tree over n positions whose nodes are cut by `cuts`, level by level."""
    parent, first, last = [-1], [0], [n - 1]
    for node, low in enumerate(first):
        high = last[node]
        starts = cuts(low, high) if low < high else []
        parent += [node] * len(starts)
        last += [start - 1 for start in starts[1:]] + [high] * bool(starts)
        first += starts
    return Tree(*(np.array(part, dtype=np.int64) for part in (parent, first, last)))


def _even(first: int, last: int, arity: int) -> list[int]:
    parts = min(arity, last - first + 1)
    size, larger = divmod(last - first + 1, parts)
    return [first + part * size + min(part, larger) for part in range(parts)]


def _weighty(sums: Sequence[int], first: int, last: int, arity: int) -> list[int]:
    """Return the starts of parts, given the total weight of the values before each position."""
    parts = min(arity, last - first + 1)
    starts = [first]
    for part in range(1, parts):
        low, high = starts[-1] + 1, last + 1 - (parts - part)
        # the weight before the cut that is aimed at, times `parts`, so that it is whole
        target = part * (sums[last + 1] - sums[first]) + parts * sums[first]
        place = bisect_left(sums, -(-target // parts), low, high)
        before = place - (place > low)
        nearer = parts * sums[place] - target < target - parts * sums[before]
        starts.append(place if nearer or before == place else before)
    return starts
