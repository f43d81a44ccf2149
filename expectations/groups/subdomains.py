"""Subdomains of a distribution's hierarchy: the nodes' probabilities, balance, generalizations.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009). A
multiset of n nodes is P-private if, for each value t with P(t) > 0, the copies of the nodes above
it, each counted as 1/P(node), add up to n: a row of the group has the value t with chance P(t).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Subdomains, Target

Multiset = tuple[Sequence[int], Sequence[int]]
"""Nodes, and how many copies of each there are, at least one."""

_LARGEST_UNIT = 1 << 40
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
    nodes = np.flatnonzero(copies)
    return next(imbalances(target, [(nodes.tolist(), copies[nodes].tolist())]))


def imbalances(target: Target, multisets: Iterable[Multiset]) -> Iterator[Fraction | None]:
    """The imbalance of each of several multisets that have one target, see `imbalance`.

    Raises:
        PromiseError: where the target is no distribution, or a multiset has no copies.
    """
    chance = probabilities(target)
    unit = lcm(*(p.numerator for p in chance if p))
    inverse = [unit // p.numerator * p.denominator if p else 0 for p in chance]
    first, end = _spans(target, chance)
    for nodes, copies in multisets:
        number = unit * sum(copies)
        if not number:
            raise PromiseError("no subdomain is shown")
        steps = Counter[int]()
        for node, shown in zip(nodes, copies, strict=True):
            each = inverse[node]
            steps[first[node]] += shown * each
            steps[end[node]] -= shown * each
        if all(inverse[node] for node in nodes):
            sums = list(_sums(steps, end[0]))
            yield Fraction(max(max(sums) - number, number - min(sums)), number)
        else:
            yield None


def _spans(target: Target, chance: Sequence[Fraction]) -> tuple[list[int], list[int]]:
    """Where the leaves below each node begin and end, of those with a P, by the hierarchy."""
    parents = target.parent.tolist()
    below = [0] * len(parents)
    for leaf in leaves(target):
        below[leaf] = int(chance[leaf] > 0)
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
        chance = probabilities(target)
        of_leaves = [chance[leaf] for leaf in leaves(target)]
        unit = lcm(*(part.denominator for part in of_leaves))
        if unit > _LARGEST_UNIT:
            raise PromiseError("the target's ratios are too large to be compared as counts")
        parts = [part.numerator * (unit // part.denominator) for part in of_leaves]
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
