"""Subdomains of a distribution's hierarchy: the nodes' probabilities, balance, generalizations.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). A
multiset of n nodes is P-private if, for each value t with P(t) > 0, the copies of the nodes above
it, each counted as 1/P(node), add up to n: a row of the group has the value t with chance P(t).
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import lcm
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Target

_found: WeakKeyDictionary[Target, tuple[Fraction, ...]] = WeakKeyDictionary()


def probabilities(target: Target) -> tuple[Fraction, ...]:
    """P(node) of each node: its share of the weight of its siblings, times its parent's P.

    They are found once for each target, as several promises are about them.

    Raises:
        PromiseError: where a weight is negative, or the P of the leaves do not add up to 1.
    """
    if target not in _found:
        _found[target] = _probabilities(target)
    return _found[target]


def _probabilities(target: Target) -> tuple[Fraction, ...]:
    parents, weights = target.parent.tolist(), target.weight.tolist()
    if min(weights[1:], default=0) < 0:
        raise PromiseError("the target is not a distribution: a weight is negative")
    if min(parents[1:], default=0) < 0:
        raise PromiseError("the target is not a distribution: it has several roots")
    total = [0] * len(parents)
    for parent, weight in zip(parents[1:], weights[1:], strict=True):
        total[parent] += weight
    of, parts = [1], [1]
    for parent, weight in zip(parents[1:], weights[1:], strict=True):
        of.append(of[parent] * weight)
        parts.append(parts[parent] * total[parent] if weight else 1)
    inner = set(parents)
    if any(of[node] and not total[node] for node in range(len(parents)) if node in inner):
        raise PromiseError("the target is not a distribution: below a node, no weight is left")
    return tuple(map(Fraction, of, parts))


def leaves(target: Target) -> list[int]:
    """The nodes that have no children, ascending."""
    inner = set(target.parent.tolist())
    return [node for node in range(len(target.parent)) if node not in inner]


def imbalance(target: Target, copies: np.ndarray) -> Fraction | None:
    """The largest |Σ c(node)/P(node) - n| / n over the values t with P(t) > 0, nodes above t.

    Args:
        target: the hierarchy with its distribution.
        copies: the number of copies of each node (int64, one per node), n in all, at least one.

    Returns:
        0 for a P-private multiset; None where a node is shown to which no value can lead.

    Raises:
        PromiseError: where the target is no distribution, or there are no copies.
    """
    return next(imbalances(target, [copies]))


def imbalances(target: Target, multisets: Iterable[np.ndarray]) -> Iterator[Fraction | None]:
    """The imbalance of each of several multisets that have one target, see `imbalance`.

    Raises:
        PromiseError: where the target is no distribution, or a multiset has no copies.
    """
    chance = probabilities(target)
    unit = lcm(*(p.numerator for p in chance if p))
    inverse = [unit // p.numerator * p.denominator if p else None for p in chance]
    ends = [leaf for leaf in leaves(target) if chance[leaf]]
    for copies in multisets:
        number = unit * int(copies.sum())
        if not number:
            raise PromiseError("no subdomain is shown")
        sums = _sums_above(target, inverse, copies)
        if sums is None:
            yield None
        else:
            yield Fraction(max(abs(sums[leaf] - number) for leaf in ends), number)


def _sums_above(target: Target, inverse: list[int | None], copies: np.ndarray) -> list[int] | None:
    """Σ c(node)/P(node) over each node and those above it; None where a copy has no P."""
    sums: list[int] = []
    for parent, shown, each in zip(target.parent.tolist(), copies.tolist(), inverse, strict=True):
        if shown and each is None:
            return None
        sums.append((sums[parent] if parent >= 0 else 0) + shown * (each or 0))
    return sums


def fakes_needed(target: Target, copies: np.ndarray, values: np.ndarray) -> int:
    """The fakes that a multiset needs so that each copy of a node generalizes a value of its own.

    By Hall's condition on nested sets: below each node there are at most as many copies as values.

    Args:
        target: the hierarchy.
        copies: the copies of each node (int64, one per node).
        values: how often each node (a leaf) is an original value (int64, one per node).
    """
    held, shown = values.astype(np.int64), copies.astype(np.int64)
    below = np.zeros(len(held), dtype=np.int64)
    for node in range(len(held) - 1, -1, -1):
        below[node] = max(below[node], int(shown[node] - held[node]), 0)
        parent = int(target.parent[node])
        if parent >= 0:
            below[parent] += below[node]
            held[parent] += held[node]
            shown[parent] += shown[node]
    return int(below[0])


def generalizes(target: Target, copies: np.ndarray, values: np.ndarray, fakes: int = 0) -> bool:
    """True where the copies generalize the values and that many fakes, one for one.

    Arguments are as for `fakes_needed`.
    """
    whole = int(copies.sum()) == int(values.sum()) + fakes
    return whole and fakes_needed(target, copies, values) <= fakes
