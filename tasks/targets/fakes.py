"""The least sum of ranges of a P-private multiset when fake values may be added.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
problem 5.1, their recurrence mended. By Hall's condition on nested sets, A subdomains at a node and
below it generalize its values and x fakes exactly if A is at most |g| + x, there and at every node
below. The sum of ranges is least where A·(range(parent) - range(node)), summed over the nodes, is
largest, and the largest such sum for a node, A and x follows from those of its children.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.errors import InputError
from sfumato.expectations.groups.groups import Target
from sfumato.tasks.targets.fakes_reach import Families, Reach, families, reach
from sfumato.tasks.targets.fakes_tables import Savings, savings

_MOST_CELLS = 2**27  # of eight bytes: a GiB


@dataclass(frozen=True, eq=False)
class Redistributed:
    """The copies and fakes of each node (int64; only leaves are fakes), and the sum of ranges."""

    copies: np.ndarray
    fakes: np.ndarray
    cost: int


def with_fakes(target: Target, counts: np.ndarray, ranges: np.ndarray, most: int) -> Redistributed:
    """The P-private multiset with the least sum of ranges, and of those the fewest fakes.

    O(nodes · most³) in all, of those nodes that can get a subdomain, and far less where values are
    spread nearly as P says.

    Args:
        target: the hierarchy with its distribution.
        counts: how often each node (a leaf) is a value (int64, one per node).
        ranges: the range of each node in whole units (int64, or Python integers), no larger than
            its parent's.
        most: the largest number of fakes.

    Returns:
        Copies and fakes (int64, one per node); as many copies as values and fakes.

    Raises:
        InputError: where the tables for so many fakes do not fit in memory.
    """
    among = families(target)
    tables = _tables(among, counts, ranges, most)
    least = _least(tables, int(ranges[0]), most)
    fakes = least.index(min(least))
    shown = _copies(tables, tables.reach.held[0] + fakes, fakes)
    copies = np.zeros(len(counts), dtype=np.int64)
    copies[tables.reach.nodes] = shown
    return Redistributed(copies, _placed(tables.reach, among, shown), least[fakes])


def costs(target: Target, counts: np.ndarray, ranges: np.ndarray, most: int) -> list[int]:
    """The least sum of ranges with exactly 0, 1, …, `most` fakes; see `with_fakes`.

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
    """The copies of each node within reach (int64) for the largest saving with so many fakes."""
    around = tables.reach
    kept = np.zeros(len(around.held), dtype=np.int64)
    stack = [(0, copies, fakes)]
    while stack:
        node, copies, fakes = stack.pop()
        times = _times(tables, node, copies, fakes)
        kept[node] = copies - times * around.total[node]
        if times:
            split = _split(tables, node, times, min(fakes, around.width[node]))
            family = around.children[node]
            stack += [
                (child, around.weight[child] * times, part)
                for child, part in zip(family, split, strict=True)
            ]
    return kept


def _times(tables: Savings, node: int, copies: int, fakes: int) -> int:
    """The best multiple that a node with so many copies and fakes passes on."""
    around = tables.reach
    low, total = around.low[node], around.total[node]
    if not total:
        return 0
    times = min(copies // total, around.high[node])
    saved = tables.shared[node][: times - low + 1, min(fakes, around.width[node])]
    return low + int(np.argmax(saved))


def _split(tables: Savings, node: int, times: int, fakes: int) -> list[int]:
    """The fakes that go to each child of a node that passes on that multiple."""
    dtype = tables.shared[node].dtype
    together = tables.together(node, np.array([times], dtype=dtype))
    family, parts = tables.reach.children[node], list[int]()
    for child, first in zip(family[:0:-1], together[-2::-1], strict=True):
        alone = tables.passing(child, np.array([times * tables.reach.weight[child]], dtype=dtype))
        parts.append(_taken(first[0], alone[0], fakes))
        fakes -= parts[-1]
    return [*parts, fakes][::-1]


def _taken(others: np.ndarray, last: np.ndarray, fakes: int) -> int:
    """The fakes that the last child takes: the fewest for which the sum is largest."""
    taken = np.arange(min(fakes + 1, len(last)))
    sums = others[np.minimum(fakes - taken, len(others) - 1)] + last[taken]
    return int(np.argmax(sums))


def _placed(around: Reach, among: Families, shown: np.ndarray) -> np.ndarray:
    """Fakes where copies lack values: below each node, at the leaf of its largest weights."""
    fakes = np.zeros(len(among.parent), dtype=np.int64)
    above, lacking = shown.tolist(), [0] * len(shown)
    for node in range(len(shown) - 1, -1, -1):
        more = max(above[node] - around.held[node] - lacking[node], 0)
        if more:
            fakes[among.heaviest(around.nodes[node])] += more
            lacking[node] += more
        if node:
            for sums in (above, lacking):
                sums[around.parent[node]] += sums[node]
    return fakes
