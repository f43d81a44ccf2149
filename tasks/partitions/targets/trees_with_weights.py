"""Trees annotated with a distribution: whole-number weights, as small as a denominator asks.

And the counts below the nodes of a target.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). What
is published below a node comes in multiples of the sum of its children's weights, and the exact
ratios of a source are coprime: few groups are large enough for them. Ratios with a small
denominator define another distribution, whose distance from the requested one is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

import numpy as np

from sfumato.expectations.errors import SpecError
from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import ratios
from sfumato.expectations.sorting import lengths, stable_order, starts
from sfumato.tasks.partitions.targets.distribution import whole
from sfumato.tasks.partitions.targets.tree import Tree

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


@dataclass(frozen=True, eq=False)
class Annotated:
    """A target, and the distribution that was requested of it.

    Attributes:
        target: the tree with its weights.
        leaf: of each value (see `Tree.leaf`).
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
        (of, parts), leaves, asked = ratios(self.target), self.leaf.tolist(), self.asked
        unit = lcm(*(parts[leaf] for leaf in leaves))
        off = (of[leaf] * (unit // parts[leaf]) * asked[0] - asked[leaf] * unit for leaf in leaves)
        return Fraction(sum(map(abs, off)), 2 * unit * asked[0])


def annotate(tree: Tree, weights: np.ndarray, denominator: int | None = None) -> Annotated:
    """Give each node its share of its parent: exactly, or with parts of at most `denominator`.

    A node that is possible keeps a weight of at least 1, one that is not has 0. Two children get
    the nearest ratio, more of them the largest remainders at the best sum of weights, the smallest
    of equally good ones. Weights below one node have no common divisor.

    Args:
        tree: a tree over the domain.
        weights: the weight of each of its positions (int64, or Python integers), not all 0.
        denominator: the largest sum of the weights below one node; None for the exact ratios.

    Raises:
        SpecError: where more children of a node are possible than the denominator.
    """
    asked = below(tree.parent.tolist(), tree.at_leaves(whole(weights.tolist())).tolist())
    given = _given(tree.parent, asked, denominator)
    small = max(given) < 2**62 // len(given)
    target = Target(tree.parent, np.array(given, dtype=np.int64 if small else object))
    return Annotated(target, tree.leaf, asked)


def _given(parent: np.ndarray, asked: list[int], denominator: int | None) -> list[int]:
    """The weight of each node, 1 for the root: two children are shared in bulk where they can be.

    `parent` is int64, one per node; `asked` the requested weight of each node.
    """
    given = [1] + [0] * (len(asked) - 1)
    children = stable_order(parent)[1:]
    at = starts(parent[children])
    sizes = lengths(at, len(children))
    two = np.zeros(len(at), dtype=bool)
    if denominator is not None and denominator > 1 and can_be_compared(asked[0], denominator):
        two = sizes == 2
        pairs = children[at[two]], children[at[two] + 1]
        two[two] = _share_in_bulk(pairs, np.array(asked, dtype=np.int64), denominator, given)
    for first, size in zip(at[~two].tolist(), sizes[~two].tolist(), strict=True):
        family = children[first : first + size].tolist()
        parts = _shared([asked[child] for child in family], denominator)
        for child, part in zip(family, parts, strict=True):
            given[child] = part
    return given


def _share_in_bulk(
    pairs: tuple[np.ndarray, np.ndarray], asked: np.ndarray, denominator: int, given: list[int]
) -> np.ndarray:
    """Enter the weights of siblings, two by two, but for those that two ratios are as near to.

    Returns:
        Which pairs have been entered (bool).
    """
    one, other = (asked[nodes] for nodes in pairs)
    divisor = np.maximum(np.gcd(one, other), 1)
    small = ((one + other) // divisor <= denominator) | (one == 0) | (other == 0)
    parts = one // divisor, other // divisor
    a, b, tied = nearest_ratios(np.maximum(one, 1), np.maximum(other, 1), denominator)
    clear = small | ~tied
    for nodes, exactly, nearly in zip(pairs, parts, (a, b), strict=True):
        entered = np.where(small, exactly, nearly)
        for node, part in zip(nodes[clear].tolist(), entered[clear].tolist(), strict=True):
            given[node] = part
    return np.asarray(clear)


def _shared(parts: list[int], denominator: int | None) -> list[int]:
    """Small whole numbers in nearly these proportions.

    Raises:
        SpecError: where more parts are possible than the denominator.
    """
    possible = [part for part in parts if part]
    divisor = gcd(*possible)
    if not possible or denominator is None or sum(possible) <= denominator * divisor:
        return [part // max(divisor, 1) for part in parts]
    if len(possible) > denominator:
        raise SpecError(
            f"target: a node has {len(possible)} possible parts, which weights that add up to "
            f"{denominator} cannot tell apart: use a larger denominator or a tree of smaller arity"
        )
    near = _two if len(possible) == 2 else _several
    found = iter(near(possible, denominator))
    return [next(found) if part else 0 for part in parts]


def _two(parts: list[int], denominator: int) -> list[int]:
    """The a and b, both at least 1, whose a/(a+b) is nearest, a+b being at most the denominator."""
    share = Fraction(parts[0], sum(parts)).limit_denominator(denominator)
    share = min(max(share, Fraction(1, denominator)), Fraction(denominator - 1, denominator))
    return [share.numerator, share.denominator - share.numerator]


def _several(parts: list[int], denominator: int) -> list[int]:
    """The weights of largest remainders whose shares are nearest, by the sum of the differences."""
    total = sum(parts)
    best, least = [1] * len(parts), Fraction(2)
    for size in range(len(parts), denominator + 1):
        found = _apportioned(parts, total, size)
        off = sum(abs(n * total - size * part) for n, part in zip(found, parts, strict=True))
        if Fraction(off, size * total) < least:
            best, least = found, Fraction(off, size * total)
    return [n // gcd(*best) for n in best]


def _apportioned(parts: list[int], total: int, size: int) -> list[int]:
    """The `size` seats by the largest remainders, at least one for each part."""
    seats = [max(size * part // total, 1) for part in parts]
    while sum(seats) != size:
        short = [size * part - n * total for n, part in zip(seats, parts, strict=True)]
        if sum(seats) < size:
            seats[short.index(max(short))] += 1
        else:
            seats[min((s, i) for i, s in enumerate(short) if seats[i] > 1)[1]] -= 1
    return seats
