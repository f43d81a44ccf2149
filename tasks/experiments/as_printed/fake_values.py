"""The least sum of ranges with fake values as Algorithm 2 of the paper prints it.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). The
last term of its recurrence, the subdomains that a node keeps, lacks the fakes that came to it.
"""

from functools import cache

import numpy as np

from sfumato.tasks.partitions.targets.tree import Tree

_NEVER = float("inf")


def printed_costs(
    tree: Tree, counts: np.ndarray, ranges: np.ndarray, most: int, *, mended: bool = False
) -> list[float]:
    """The sum of ranges that the recurrence gives with 0, 1, …, `most` fakes.

    Args:
        tree: binary, all values as likely, so that siblings with as many leaves weigh the same.
        counts: how often each node (a leaf) is a value (int64, one per node).
        ranges: the range of each node.
        most: the largest number of fakes.
        mended: with the term that is missing, for comparison.
    """
    held = counts.copy()
    for node in range(len(held) - 1, 0, -1):
        held[tree.parent[node]] += held[node]
    family = [np.flatnonzero(tree.parent == node).tolist() for node in range(len(held))]

    @cache
    def cost(node: int, fakes: int, removed: int) -> float:
        """The least sum below a node that got fakes, and from which subdomains are removed."""
        if not family[node]:
            return 0.0 if removed <= held[node] + fakes else _NEVER
        return min((split(node, fakes, removed, x) for x in range(fakes + 1)), default=_NEVER)

    def split(node: int, fakes: int, removed: int, x: int) -> float:
        left, right = family[node]
        room = int(held[node]) + fakes - removed
        if room < 0:
            return _NEVER
        passed = min(int(held[left]) + x, int(held[right]) + fakes - x, room // 2)
        below = cost(left, x, int(held[left]) + x - passed)
        below += cost(right, fakes - x, int(held[right]) + fakes - x - passed)
        kept = int(held[node]) - 2 * passed - removed + (fakes if mended else 0)
        return below + kept * int(ranges[node])

    return [cost(0, fakes, 0) for fakes in range(most + 1)]
