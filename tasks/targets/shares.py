"""The weights of a target without common divisors, and the counts below its nodes."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.groups.groups import Target


def reduce_weights(target: Target) -> np.ndarray:
    """The weight of each node, divided by the greatest common divisor of its siblings' weights.

    The result has the target's dtype (int64, or Python integers), one per node.

    What is below a node comes in multiples of the sum of its children's weights, so a divisor that
    they share would forbid some.
    """
    divisor = np.zeros_like(target.weight)
    np.gcd.at(divisor, target.parent[1:], target.weight[1:])
    weight = target.weight.copy()
    weight[1:] //= np.maximum(divisor[target.parent[1:]], 1)
    return weight


def below(parent: Sequence[int], counts: Sequence[int]) -> list[int]:
    """The total count of each node and all nodes below it; parents stand before children."""
    sums = list(counts)
    for node in range(len(sums) - 1, 0, -1):
        sums[parent[node]] += sums[node]
    return sums
