"""Trees annotated with a distribution, as whole-number weights of a bounded denominator.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). The
copies published below a node come in multiples of the sum of its children's weights, and the exact
ratios of a source are coprime: few groups are large enough for them. Ratios with a small
denominator define another distribution, whose distance from the requested one is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import ratios
from sfumato.expectations.shared.errors import SpecError
from sfumato.expectations.shared.sorting import lengths, stable_order, starts
from sfumato.tasks.partitions.targets.distribution import whole
from sfumato.tasks.partitions.targets.tree import Tree

_LARGEST = 256  # denominator up to which all fractions are listed
_FITTING = 2**62  # products below it fit in int64


def reduce_weights(target: Target) -> np.ndarray:
    """Return each node's weight, divided by the greatest common divisor of its siblings' weights.

    The result has the target's dtype (int64, or Python integers), one per node.

    What is below a node comes in multiples of the sum of its children's weights, so a divisor that
    they share would forbid some.
    """
    divisor = np.zeros_like(target.weight)
    np.gcd.at(divisor, target.parent[1:], target.weight[1:])
    weight = target.weight.copy()
    weight[1:] //= np.maximum(divisor[target.parent[1:]], 1)
    return weight


def sum_below(parent: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return the total count of each node and all nodes below it; parents come before children."""
    sums = list(counts)
    for node in range(len(sums) - 1, 0, -1):
        sums[parent[node]] += sums[node]
    return sums


def can_be_compared(total: int, denominator: int) -> bool:
    """Return True if pairs of at most this sum can be compared with all fractions in int64."""
    return denominator <= _LARGEST and total * denominator**2 < _FITTING


def nearest_ratios(
    first: np.ndarray, second: np.ndarray, denominator: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the a, b >= 1 whose a/(a+b) is nearest to first/(first+second) of each pair.

    Args:
        first: the first of each pair (int64, at least 1).
        second: the second of each pair (int64, at least 1).
        denominator: the most that a + b is, at least 2; see `can_be_compared`.

    Returns:
        a and b (int64, one per pair), without a common divisor, and True for each pair to which two
        ratios are equally near (bool): a and b are then one of the two, and the caller chooses.
    """
    above, below = _fractions(denominator)
    total = first + second
    place = np.searchsorted(above / below, first / total)
    best = np.clip(place - 2, 0, len(above) - 1)
    off = np.abs(first * below[best] - above[best] * total)
    tied = np.zeros(len(first), dtype=bool)
    for step in (-1, 0, 1):  # a float may be on the wrong side of its neighbour
        next_ = np.clip(place + step, 0, len(above) - 1)
        next_off = np.abs(first * below[next_] - above[next_] * total)
        here, there = off * below[next_], next_off * below[best]
        tied = np.where(there < here, False, tied | ((there == here) & (next_ != best)))
        nearer = there < here
        best, off = np.where(nearer, next_, best), np.where(nearer, next_off, off)
    return above[best], below[best] - above[best], tied


@lru_cache(maxsize=4)
def _fractions(denominator: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the fractions in (0, 1) in lowest terms, ascending: above and below the line (int64).

    >>> _fractions(4)
    (array([1, 1, 1, 2, 3]), array([4, 3, 2, 3, 4]))
    """
    above, below = np.meshgrid(np.arange(1, denominator), np.arange(2, denominator + 1))
    proper = (above < below) & (np.gcd(above, below) == 1)
    order = np.argsort(above[proper] / below[proper])
    return above[proper][order], below[proper][order]


@dataclass(frozen=True, eq=False)
class Annotated:
    """A target, and the distribution that was requested of it.

    Attributes:
        target: the tree with its weights.
        leaf: the leaf of each value (see `Tree.leaf`).
        asked: the requested weight of each node.
    """

    target: Target
    leaf: np.ndarray
    asked: list[int]

    @property
    def distance(self) -> Fraction:
        """The total variation of the target's distribution from the requested one.

        That is the most by which the chances of any set of values differ.
        """
        (shares, parts), leaves, requested = ratios(self.target), self.leaf.tolist(), self.asked
        unit = lcm(*(parts[leaf] for leaf in leaves))
        off = (
            shares[leaf] * (unit // parts[leaf]) * requested[0] - requested[leaf] * unit
            for leaf in leaves
        )
        return Fraction(sum(map(abs, off)), 2 * unit * requested[0])


def annotate(tree: Tree, weights: np.ndarray, denominator: int | None = None) -> Annotated:
    """Give each node its share of its parent: exactly, or with parts of at most `denominator`.

    A possible node keeps a weight of at least 1, an impossible one has 0. Two children get the
    nearest ratio; more children get the largest remainders at the best sum of weights, the smallest
    of equally good sums. Weights below one node have no common divisor.

    Args:
        tree: a tree over the domain.
        weights: the weight of each of its positions (int64, or Python integers), not all 0.
        denominator: the largest sum of the weights below one node; None for the exact ratios.

    Raises:
        SpecError: if more children of a node are possible than the denominator.
    """
    requested = sum_below(tree.parent.tolist(), tree.at_leaves(whole(weights.tolist())).tolist())
    reduced = _weigh_nodes(tree.parent, requested, denominator)
    small = max(reduced) < 2**62 // len(reduced)
    target = Target(tree.parent, np.array(reduced, dtype=np.int64 if small else object))
    return Annotated(target, tree.leaf, requested)


def _weigh_nodes(parent: np.ndarray, requested: list[int], denominator: int | None) -> list[int]:
    """Return the weight of each node, 1 for the root; pairs of children are computed in bulk.

    `parent` is int64, one per node; `requested` the requested weight of each node.
    """
    weights = [1] + [0] * (len(requested) - 1)
    children = stable_order(parent)[1:]
    places = starts(parent[children])
    sizes = lengths(places, len(children))
    two = np.zeros(len(places), dtype=bool)
    if denominator is not None and denominator > 1 and can_be_compared(requested[0], denominator):
        two = sizes == 2
        pairs = children[places[two]], children[places[two] + 1]
        two[two] = _share_in_bulk(pairs, np.array(requested, dtype=np.int64), denominator, weights)
    for first, size in zip(places[~two].tolist(), sizes[~two].tolist(), strict=True):
        family = children[first : first + size].tolist()
        parts = _share([requested[child] for child in family], denominator)
        for child, part in zip(family, parts, strict=True):
            weights[child] = part
    return weights


def _share_in_bulk(
    pairs: tuple[np.ndarray, np.ndarray],
    requested: np.ndarray,
    denominator: int,
    weights: list[int],
) -> np.ndarray:
    """Enter the weights of pairs of siblings, except pairs with two equally near ratios.

    Returns:
        True for each pair whose weights have been entered (bool).
    """
    first, second = (requested[nodes] for nodes in pairs)
    divisor = np.maximum(np.gcd(first, second), 1)
    small = ((first + second) // divisor <= denominator) | (first == 0) | (second == 0)
    parts = first // divisor, second // divisor
    a, b, tied = nearest_ratios(np.maximum(first, 1), np.maximum(second, 1), denominator)
    clear = small | ~tied
    for nodes, exactly, nearly in zip(pairs, parts, (a, b), strict=True):
        entered = np.where(small, exactly, nearly)
        for node, part in zip(nodes[clear].tolist(), entered[clear].tolist(), strict=True):
            weights[node] = part
    return np.asarray(clear)


def _share(parts: list[int], denominator: int | None) -> list[int]:
    """Return small whole numbers in nearly these proportions.

    Raises:
        SpecError: if more parts are possible than the denominator.
    """
    possible = [part for part in parts if part]
    divisor = gcd(*possible)
    if not possible or denominator is None or sum(possible) <= denominator * divisor:
        return [part // max(divisor, 1) for part in parts]
    if len(possible) > denominator:
        raise SpecError(
            f"target: a node has {len(possible)} possible parts, and the denominator is only "
            f"{denominator}; use a larger denominator or a smaller arity"
        )
    near = _two if len(possible) == 2 else _several
    weights = iter(near(possible, denominator))
    return [next(weights) if part else 0 for part in parts]


def _two(parts: list[int], denominator: int) -> list[int]:
    """Return the a, b >= 1 with a/(a+b) nearest to the first part's share, a+b <= denominator."""
    share = Fraction(parts[0], sum(parts)).limit_denominator(denominator)
    share = min(max(share, Fraction(1, denominator)), Fraction(denominator - 1, denominator))
    return [share.numerator, share.denominator - share.numerator]


def _several(parts: list[int], denominator: int) -> list[int]:
    """Return the weights by largest remainders whose shares are nearest.

    Nearness is the sum of the differences of shares.
    """
    total = sum(parts)
    best, least = [1] * len(parts), Fraction(2)
    for size in range(len(parts), denominator + 1):
        seats = _apportion(parts, total, size)
        off = sum(abs(n * total - size * part) for n, part in zip(seats, parts, strict=True))
        if Fraction(off, size * total) < least:
            best, least = seats, Fraction(off, size * total)
    return [n // gcd(*best) for n in best]


def _apportion(parts: list[int], total: int, size: int) -> list[int]:
    """Return how many of `size` seats each part gets by the largest remainders, at least one.

    `total` is the sum of the parts.
    """
    seats = [max(size * part // total, 1) for part in parts]
    while sum(seats) != size:
        short = [size * part - n * total for n, part in zip(seats, parts, strict=True)]
        if sum(seats) < size:
            seats[short.index(max(short))] += 1
        else:
            seats[min((s, i) for i, s in enumerate(short) if seats[i] > 1)[1]] -= 1
    return seats
