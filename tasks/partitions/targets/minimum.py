"""The P-private generalization of a group's values with the least sum of ranges, without fakes.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
algorithm MinSumOfRange. From the root down, each node shares out its subdomains among its children
by their weights, as many as possible, so that no child gets more than there are values below it; it
keeps the rest. Every node then has as many as it can have in any P-private generalization, and the
sum of ranges only falls with each of these numbers.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop
from sfumato.tasks.partitions.targets.trees_with_weights import reduce_weights

_WORTH_COMPILING = 20_000  # values


@dataclass(frozen=True, eq=False)
class LeastCopies:
    """The copies of nodes in groups: parallel (int64), ascending by group and node, none of 0."""

    group: np.ndarray
    node: np.ndarray
    count: np.ndarray


def minimum(target: Target, counts: np.ndarray) -> np.ndarray:
    """Return the number of copies of each node to publish for some values.

    Args:
        target: the hierarchy with its distribution.
        counts: how often each node (a leaf) is a value (int64, one per node, or groups x nodes).

    Returns:
        The copies of each node (int64), in the shape of the counts; in each group as many as
        values.
    """
    rows = np.atleast_2d(counts).astype(np.int64)
    group, leaf = np.nonzero(rows)
    start = np.searchsorted(group, np.arange(len(rows) + 1))
    least = minima(target, start, leaf, rows[group, leaf])
    copies = np.zeros_like(rows)
    copies[least.group, least.node] = least.count
    return copies.reshape(np.shape(counts))


def minima(target: Target, start: np.ndarray, leaf: np.ndarray, count: np.ndarray) -> LeastCopies:
    """Return the copies of nodes in many groups.

    O(values x depth of the hierarchy), because only nodes above values count.

    Args:
        target: the hierarchy with its distribution.
        start: where the values of each group begin, and the end (int64).
        leaf: the node of each value, once in each group (int64).
        count: how often it occurs (int64, at least 1).
    """
    weight = reduce_weights(target)
    passes = weight > 0
    sums, families = np.zeros_like(weight), np.zeros(len(weight), dtype=np.int64)
    np.add.at(sums, target.parent[1:], weight[1:])
    np.add.at(families, target.parent[1:], passes[1:])
    room = int(count.sum())
    group, node, copies = (np.zeros(room, dtype=np.int64) for _ in range(3))
    large = len(leaf) >= _WORTH_COMPILING and weight.dtype == np.int64
    blank = [np.zeros(len(weight), dtype=np.int64) for _ in range(4)]
    arguments: list[Any] = [target.parent, weight, sums, families, start, leaf, count, *blank]
    if not large:
        arguments = [array.tolist() for array in arguments]
    number = choose_loop(large, _generalize_each, _compiled_loop)(*arguments, group, node, copies)
    return LeastCopies(group[:number], node[:number], copies[:number])


def _lift(parent: Any, leaf: Any, count: Any, below: Any, met: Any) -> int:
    """Count the values below each node above them, and list these nodes in `met`.

    Returns the number of nodes.
    """
    number = 0
    for value in range(len(leaf)):
        above = leaf[value]
        while above >= 0:
            if below[above] == 0:
                met[number] = above
                number += 1
            below[above] += count[value]
            above = parent[above]
    return number


def _pass_down(
    parent: Any,
    weight: Any,
    sums: Any,
    families: Any,
    nodes: Any,
    below: Any,
    times: Any,
    live: Any,
) -> None:
    """Turn the values below each node into subdomains, and note how many times it passes on.

    A node that passes on `times` times gives each child that many times the child's weight. It
    passes on nothing if a child that has a weight has no value below it: `families` counts the
    children of a node that have a weight, `live` those of them that also have a value, and `sums`
    adds up the weights of all children.
    """
    for node in nodes[:0:-1]:
        if weight[node] > 0:
            most, above = below[node] // weight[node], parent[node]
            times[above] = min(times[above], most) if live[above] else most
            live[above] += 1
    for node in nodes:
        if node:
            below[node] = weight[node] * times[parent[node]]
        able = families[node] and live[node] == families[node]
        times[node] = min(times[node], below[node] // sums[node]) if able else 0


def _generalize_each(
    parent: Any,
    weight: Any,
    sums: Any,
    families: Any,
    start: Any,
    leaf: Any,
    count: Any,
    below: Any,
    times: Any,
    live: Any,
    met: Any,
    group: Any,
    node: Any,
    copies: Any,
) -> int:
    """Write the copies of each group; return how many entries there are; see `minima`.

    `below`, `times`, `live` and `met` have room for each node, all 0.
    """
    filled = 0
    for index in range(len(start) - 1):
        first, end = start[index], start[index + 1]
        # parents have smaller numbers than their children
        nodes = np.sort(met[: _lift(parent, leaf[first:end], count[first:end], below, met)])
        _pass_down(parent, weight, sums, families, nodes, below, times, live)
        for current in nodes:
            rest = below[current] - times[current] * sums[current]
            if rest:
                group[filled], node[filled], copies[filled] = index, current, rest
                filled += 1
        for current in nodes:
            below[current] = times[current] = live[current] = 0
    return filled


@cache
def _compiled_loop() -> Loop:
    return compile_loop(_lift, _pass_down, _generalize_each)
