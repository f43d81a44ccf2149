"""Subdomains of a distribution's hierarchy: the nodes' probabilities, balance, generalizations.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). A
multiset of n nodes is P-private if, for each value t with P(t) > 0, the copies of the nodes above
it, each counted as 1/P(node), add up to n: a row of the group has the value t with chance P(t).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from operator import floordiv
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Subdomains, Target
from sfumato.expectations.shared.errors import PromiseError

Multiset = tuple[Sequence[int], Sequence[int]]
"""Nodes, and how many copies of each there are, at least one."""

_LARGEST_UNIT = 1 << 40
Ratios = tuple[Sequence[int], Sequence[int]]
"""Numerators and denominators in lowest terms."""
_ratios: WeakKeyDictionary[Target, Ratios] = WeakKeyDictionary()
_probabilities: WeakKeyDictionary[Target, tuple[Fraction, ...]] = WeakKeyDictionary()


def probabilities(target: Target) -> tuple[Fraction, ...]:
    """P(node) of each node: its share of the weight of its siblings, times its parent's P.

    They are found once for each target.

    Raises:
        PromiseError: where a weight is negative, or the P of the leaves do not add up to 1.
    """
    if target not in _probabilities:
        _probabilities[target] = tuple(map(Fraction, *ratios(target)))
    return _probabilities[target]


def ratios(target: Target) -> Ratios:
    """The same as whole numbers, which take a fraction's tenth of the time where nodes are many.

    They are found once for each target, as several promises are about them.

    Raises:
        PromiseError: where a weight is negative, or the P of the leaves do not add up to 1.
    """
    if target not in _ratios:
        _ratios[target] = _found(target)
    return _ratios[target]


def _found(target: Target) -> Ratios:
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
    divisors = list(map(gcd, of, parts))
    return tuple(map(floordiv, of, divisors)), tuple(map(floordiv, parts, divisors))


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
    nodes = np.flatnonzero(copies)
    return next(imbalances(target, [(nodes.tolist(), copies[nodes].tolist())]))


def imbalances(target: Target, multisets: Iterable[Multiset]) -> Iterator[Fraction | None]:
    """The imbalance of each of several multisets that have one target, see `imbalance`.

    Raises:
        PromiseError: where the target is no distribution, or a multiset has no copies.
    """
    of, parts = ratios(target)
    first, end = _spans(target, of)
    for nodes, copies in multisets:
        if not sum(copies):
            raise PromiseError("no subdomain is shown")
        if not all(of[node] for node in nodes):
            yield None
            continue
        unit = lcm(*(of[node] for node in nodes))
        number = unit * sum(copies)
        steps = Counter[int]()
        for node, shown in zip(nodes, copies, strict=True):
            each = shown * (unit // of[node] * parts[node])
            steps[first[node]] += each
            steps[end[node]] -= each
        sums = list(_sums(steps, end[0]))
        yield Fraction(max(max(sums) - number, number - min(sums)), number)


def _spans(target: Target, of: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where the leaves below each node begin and end, of those with a P, by the hierarchy.

    `of` has the numerator of each node's P.
    """
    parents = target.parent.tolist()
    below = [0] * len(parents)
    for leaf in leaves(target):
        below[leaf] = int(of[leaf] > 0)
    for node in range(len(parents) - 1, 0, -1):
        below[parents[node]] += below[node]
    first, free = [0] * len(parents), [0] * len(parents)
    for node in range(1, len(parents)):
        first[node] = free[node] = free[parents[node]]
        free[parents[node]] += below[node]
    return first, [start + leaves for start, leaves in zip(first, below, strict=True)]


def _sums(steps: Mapping[int, int], leaves: int) -> Iterator[int]:
    """The different sums that leaves have, where a sum changes at each step from left to right."""
    at, total = 0, 0
    for place in sorted(steps):
        if place > at:
            yield total
        at, total = place, total + steps[place]
    if at < leaves:
        yield total


def declared_counts(shown: Subdomains) -> Counts:
    """The distribution that each group is declared to have, as counts of values in no unit.

    Values are numbered in the order of the domain.

    Raises:
        PromiseError: where a target is no distribution, or its ratios are too large to compare.
    """
    found, values = [np.zeros((3, 0), dtype=np.int64)], 0
    for number, target in enumerate(shown.targets):
        of, whole = ratios(target)
        ends = leaves(target)
        unit = lcm(*(whole[leaf] for leaf in ends))
        if unit > _LARGEST_UNIT:
            raise PromiseError("the target's ratios are too large to be compared as counts")
        parts = [of[leaf] * (unit // whole[leaf]) for leaf in ends]
        possible = np.flatnonzero(parts)
        members = np.flatnonzero(shown.target == number)
        told = np.stack([possible, np.array(parts, dtype=np.int64)[possible]])
        each = np.tile(told, (1, len(members)))
        found.append(np.vstack([np.repeat(members, len(possible)), each]))
        values = max(values, len(parts))
    group, value, count = np.concatenate(found, axis=1)
    order = np.lexsort((value, group))
    return Counts(group[order], value[order], count[order], values, None)


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
