"""The P-private generalization of a group's values with the least sum of ranges, without fakes.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
algorithm MinSumOfRange. From the root down, each node passes on as many of the subdomains that it
has as it can share out among its children by their weights, so that no child gets more than there
are values below it; it keeps the rest. Every node then has as many as it can have in any
P-private generalization, and the sum of ranges only falls with each of these numbers.
"""

from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.tasks.arrays.compiled import Loop, compile_loop
from sfumato.tasks.targets.shares import reduce_weights

_WORTH_COMPILING = 1_000_000  # counts


def minimum(target: Target, counts: np.ndarray) -> np.ndarray:
    """The number of copies of each node to publish for some values. O(nodes) for each group.

    Args:
        target: the hierarchy with its distribution.
        counts: how often each node (a leaf) is a value (int64, one per node, or groups x nodes).

    Returns:
        The copies of each node (int64), in the shape of the counts; in each group as many as
        values.
    """
    rows = np.atleast_2d(counts).astype(np.int64)
    copies = np.zeros_like(rows)
    weight = reduce_weights(target)
    if rows.size >= _WORTH_COMPILING and weight.dtype == np.int64:
        _compiled()(target.parent, weight, rows, copies)
    else:
        parent, weights = target.parent.tolist(), weight.tolist()
        for held, kept in zip(rows, copies, strict=True):
            shown = held.tolist()
            _pass_down(parent, weights, shown, [0] * len(shown), [0] * len(shown))
            kept[:] = shown
    return copies.reshape(np.shape(counts))


def _pass_down(parent: Any, weight: Any, held: Any, sums: Any, times: Any) -> None:
    """Turn the number of values that each node holds into its copies.

    `sums`, all 0, become the sums of the weights below each node; `times` has room for the multiple
    of that sum which the node passes on.
    """
    nodes = len(parent)
    for node in range(nodes - 1, 0, -1):
        above = parent[node]
        held[above] += held[node]
        if weight[node] > 0:
            most = held[node] // weight[node]
            times[above] = min(times[above], most) if sums[above] else most
            sums[above] += weight[node]
    for node in range(nodes):
        if node:
            held[node] = weight[node] * times[parent[node]]
        times[node] = min(times[node], held[node] // sums[node]) if sums[node] else 0
    for node in range(nodes):
        held[node] -= times[node] * sums[node]


def _each(parent: Any, weight: Any, counts: Any, copies: Any) -> None:
    """The copies of each group; see `minimum`."""
    sums, times = np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    for group in range(len(counts)):
        copies[group] = counts[group]
        sums[:] = 0
        _pass_down(parent, weight, copies[group], sums, times)


@cache
def _compiled() -> Loop:
    return compile_loop(_pass_down, _each)
