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

from sfumato.expectations.groups.groups import Target
from sfumato.tasks.targets.shares import below, reduce_weights


@dataclass(frozen=True, eq=False)
class Reach:
    """The options of an optimum with limited fakes at each node that has a probability.

    `children[node]` are those with a weight; `held` counts values below a node; `weight` is free of
    common divisors and `total` its sum over the children; `low` and `high` bound q, and `width` is
    the most fakes that can be of use below the node.
    """

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


def reach(target: Target, counts: Sequence[int], most: int) -> Reach:
    """The numbers to try for some values and at most `most` fakes.

    `counts` is how often each node (a leaf) is a value.
    """
    parent, weight = target.parent.tolist(), reduce_weights(target).tolist()
    held, nodes = below(parent, counts), range(len(parent))
    children: list[list[int]] = [[] for _ in nodes]
    for node in nodes[1:]:
        if weight[node]:
            children[parent[node]].append(node)
    total = [sum(weight[child] for child in family) for family in children]
    low, high = [0] * len(parent), [0] * len(parent)
    fewest, largest = [0] * len(parent), [0] * len(parent)
    fewest[0], largest[0] = held[0], held[0] + most
    for node in nodes:
        if total[node] and largest[node]:
            family = [(weight[child], held[child]) for child in children[node]]
            low[node] = min(fewest[node] // total[node], min(have // w for w, have in family))
            high[node] = _most_times(family, largest[node] // total[node], most)
        for child in children[node]:
            fewest[child] = weight[child] * low[node]
            largest[child] = weight[child] * high[node]
    width = [min(max(top - have, 0), most) for top, have in zip(largest, held, strict=True)]
    for node in reversed(nodes):
        width[node] = min(max(width[node], sum(width[child] for child in children[node])), most)
    return Reach(children, held, weight, total, low, high, width)


def _most_times(family: Sequence[tuple[int, int]], limit: int, most: int) -> int:
    """The largest number up to a limit whose multiples exceed the values by `most` in all."""

    def missing(times: int) -> int:
        return sum(max(weight * times - have, 0) for weight, have in family)

    return bisect_right(range(limit + 1), most, key=missing) - 1
