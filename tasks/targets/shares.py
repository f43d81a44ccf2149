"""Weights as small as they can be: without common divisors, or by the nearest small ratios.

And the counts below the nodes of a target.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sfumato.expectations.groups.groups import Target

_LARGEST = 256  # denominator, of which all fractions are listed
_FITTING = 2**62


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


def can_be_compared(total: int, denominator: int) -> bool:
    """True where pairs of at most this sum can be compared with all fractions in int64."""
    return denominator <= _LARGEST and total * denominator**2 < _FITTING


def nearest_ratios(
    one: np.ndarray, other: np.ndarray, denominator: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The a and b, both at least 1, whose a/(a+b) is nearest to one/(one+other) of each pair.

    Args:
        one: the first of each pair (int64, at least 1).
        other: the second.
        denominator: the most that a + b is, at least 2; see `can_be_compared`.

    Returns:
        a and b (int64, one per pair), without a common divisor, and where two are equally near
        (bool, one per pair): of these it is said which are near, not which is meant.
    """
    above, below = _fractions(denominator)
    total = one + other
    at = np.searchsorted(above / below, one / total)
    best = np.clip(at - 2, 0, len(above) - 1)
    off = np.abs(one * below[best] - above[best] * total)
    tied = np.zeros(len(one), dtype=bool)
    for step in (-1, 0, 1):  # a float may stand on the wrong side of its neighbour
        next_ = np.clip(at + step, 0, len(above) - 1)
        next_off = np.abs(one * below[next_] - above[next_] * total)
        here, there = off * below[next_], next_off * below[best]
        tied = np.where(there < here, False, tied | ((there == here) & (next_ != best)))
        nearer = there < here
        best, off = np.where(nearer, next_, best), np.where(nearer, next_off, off)
    return above[best], below[best] - above[best], tied


@lru_cache(maxsize=4)
def _fractions(denominator: int) -> tuple[np.ndarray, np.ndarray]:
    """The fractions between 0 and 1, exclusive, in lowest terms: above and below the line (int64).

    >>> _fractions(4)
    (array([1, 1, 1, 2, 3]), array([4, 3, 2, 3, 4]))
    """
    above, below = np.meshgrid(np.arange(1, denominator), np.arange(2, denominator + 1))
    proper = (above < below) & (np.gcd(above, below) == 1)
    order = np.argsort(above[proper] / below[proper])
    return above[proper][order], below[proper][order]
