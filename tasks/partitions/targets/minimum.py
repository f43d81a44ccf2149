"""The P-private generalization of a group's values with the least sum of ranges, without fakes.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
algorithm MinSumOfRange. From the root down, each node passes on as many of the subdomains that it
has as it can share out among its children by their weights, so that no child gets more than there
are values below it; it keeps the rest. Every node then has as many as it can have in any
P-private generalization, and the sum of ranges only falls with each of these numbers.
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
    """The number of copies of each node to publish for some values.

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
    found = minima(target, start, leaf, rows[group, leaf])
    copies = np.zeros_like(rows)
    copies[found.group, found.node] = found.count
    return copies.reshape(np.shape(counts))


def minima(target: Target, start: np.ndarray, leaf: np.ndarray, count: np.ndarray) -> LeastCopies:
    """The same for many groups. O(values x depth of the hierarchy): only nodes above values count.

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
    given: list[Any] = [target.parent, weight, sums, families, start, leaf, count, *blank]
    if not large:
        given = [array.tolist() for array in given]
    shown = choose_loop(large, _each, _compiled)(*given, group, node, copies)
    return LeastCopies(group[:shown], node[:shown], copies[:shown])


def _lift(parent: Any, leaf: Any, count: Any, held: Any, met: Any) -> int:
    """Count the values below each node above them; how many nodes there are, which `met` gets."""
    number = 0
    for value in range(len(leaf)):
        above = leaf[value]
        while above >= 0:
            if held[above] == 0:
                met[number] = above
                number += 1
            held[above] += count[value]
            above = parent[above]
    return number


def _pass_down(
    parent: Any, weight: Any, sums: Any, families: Any, nodes: Any, held: Any, times: Any, live: Any
) -> None:
    """Turn the values that each node holds into subdomains, and say how many times it passes on.

    A node passes on nothing where a child that has a weight holds no value.
    """
    for node in nodes[:0:-1]:
        if weight[node] > 0:
            most, above = held[node] // weight[node], parent[node]
            times[above] = min(times[above], most) if live[above] else most
            live[above] += 1
    for node in nodes:
        if node:
            held[node] = weight[node] * times[parent[node]]
        able = families[node] and live[node] == families[node]
        times[node] = min(times[node], held[node] // sums[node]) if able else 0


def _each(
    parent: Any,
    weight: Any,
    sums: Any,
    families: Any,
    start: Any,
    leaf: Any,
    count: Any,
    held: Any,
    times: Any,
    live: Any,
    met: Any,
    group: Any,
    node: Any,
    copies: Any,
) -> int:
    """The copies of each group, and how many there are; see `minima`.

    `held`, `times`, `live` and `met` have room for each node, all 0.
    """
    shown = 0
    for of in range(len(start) - 1):
        first, end = start[of], start[of + 1]
        nodes = np.sort(met[: _lift(parent, leaf[first:end], count[first:end], held, met)])
        _pass_down(parent, weight, sums, families, nodes, held, times, live)
        for one in nodes:
            kept = held[one] - times[one] * sums[one]
            if kept:
                group[shown], node[shown], copies[shown] = of, one, kept
                shown += 1
        for one in nodes:
            held[one] = times[one] = live[one] = 0
    return shown


@cache
def _compiled() -> Loop:
    return compile_loop(_lift, _pass_down, _each)
