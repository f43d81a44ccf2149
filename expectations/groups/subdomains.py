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

_LARGEST_UNIT = 1 << 40  # common denominator of chances that are compared as counts
Ratios = tuple[Sequence[int], Sequence[int]]
"""Numerators and denominators in lowest terms."""
_ratios: WeakKeyDictionary[Target, Ratios] = WeakKeyDictionary()
_probabilities: WeakKeyDictionary[Target, tuple[Fraction, ...]] = WeakKeyDictionary()


def probabilities(target: Target) -> tuple[Fraction, ...]:
    """Return P(node) of each node: its share of the weight of its siblings, times its parent's P.

    They are computed once for each target.

    Raises:
        PromiseError: where a weight is negative, or the P of the leaves do not add up to 1.
    """
    if target not in _probabilities:
        _probabilities[target] = tuple(map(Fraction, *ratios(target)))
    return _probabilities[target]


def ratios(target: Target) -> Ratios:
    """Return P(node) of each node as two whole numbers, which is faster than fractions.

    They are computed once for each target, as several promises are about them.

    Raises:
        PromiseError: where a weight is negative, or the P of the leaves do not add up to 1.
    """
    if target not in _ratios:
        _ratios[target] = _compute_ratios(target)
    return _ratios[target]


def _compute_ratios(target: Target) -> Ratios:
    """Return P(node) of each node, from the root down; see `ratios`.

    Raises:
        PromiseError: if the target is not a distribution.
    """
    parents, weights = target.parent.tolist(), target.weight.tolist()
    if min(weights[1:], default=0) < 0:
        raise PromiseError("the target is not a distribution: a weight is negative")
    if min(parents[1:], default=0) < 0:
        raise PromiseError("the target is not a distribution: it has several roots")
    total = [0] * len(parents)
    for parent, weight in zip(parents[1:], weights[1:], strict=True):
        total[parent] += weight
    numerators, denominators = [1], [1]
    for parent, weight in zip(parents[1:], weights[1:], strict=True):
        numerators.append(numerators[parent] * weight)
        denominators.append(denominators[parent] * total[parent] if weight else 1)
    inner = set(parents)
    if any(numerators[node] and not total[node] for node in range(len(parents)) if node in inner):
        raise PromiseError("the target is not a distribution: all weights below a node are 0")
    divisors = list(map(gcd, numerators, denominators))
    return tuple(map(floordiv, numerators, divisors)), tuple(map(floordiv, denominators, divisors))


def leaves(target: Target) -> list[int]:
    """Return the nodes that have no children, ascending."""
    inner = set(target.parent.tolist())
    return [node for node in range(len(target.parent)) if node not in inner]


def imbalance(target: Target, copies: np.ndarray) -> Fraction | None:
    """Return the largest |Σ c(node)/P(node) - n| / n over values t with P(t) > 0, nodes above t.

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
    """Yield the imbalance of each of several multisets that have one target, see `imbalance`.

    Raises:
        PromiseError: where the target is no distribution, or a multiset has no copies.
    """
    numerators, denominators = ratios(target)
    # copies of a node are added where its leaves begin, and subtracted behind them: running sums
    # are then the sums of all leaves
    first, end = _spans(target, numerators)
    for nodes, copies in multisets:
        if not sum(copies):
            raise PromiseError("a group shows no subdomain")
        if not all(numerators[node] for node in nodes):
            yield None
            continue
        unit = lcm(*(numerators[node] for node in nodes))
        number = unit * sum(copies)
        steps = Counter[int]()
        for node, times in zip(nodes, copies, strict=True):
            each = times * (unit // numerators[node] * denominators[node])
            steps[first[node]] += each
            steps[end[node]] -= each
        sums = list(_sums(steps, end[0]))
        yield Fraction(max(max(sums) - number, number - min(sums)), number)


def _spans(target: Target, numerators: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where the leaves below each node begin and end, counting only leaves with a P above 0.

    Leaves are ordered by the hierarchy; `numerators` has the numerator of each node's P.
    """
    parents = target.parent.tolist()
    below = [0] * len(parents)
    for leaf in leaves(target):
        below[leaf] = int(numerators[leaf] > 0)
    for node in range(len(parents) - 1, 0, -1):
        below[parents[node]] += below[node]
    first, free = [0] * len(parents), [0] * len(parents)
    for node in range(1, len(parents)):
        first[node] = free[node] = free[parents[node]]
        free[parents[node]] += below[node]
    return first, [start + leaves for start, leaves in zip(first, below, strict=True)]


def _sums(steps: Mapping[int, int], leaves: int) -> Iterator[int]:
    """Yield the different sums of leaves; the sum changes at each step from left to right."""
    previous, total = 0, 0
    for place in sorted(steps):
        if place > previous:
            yield total
        previous, total = place, total + steps[place]
    if previous < leaves:
        yield total


def declared_counts(subdomains: Subdomains) -> Counts:
    """Return the distribution that each group is declared to have, as counts of values.

    Only the proportions of a group's counts mean something. Values are numbered in the order of the
    domain.

    Raises:
        PromiseError: where a target is no distribution, or its ratios are too large to compare.
    """
    columns, values = [np.zeros((3, 0), dtype=np.int64)], 0
    for number, target in enumerate(subdomains.targets):
        numerators, denominators = ratios(target)
        ends = leaves(target)
        unit = lcm(*(denominators[leaf] for leaf in ends))
        if unit > _LARGEST_UNIT:
            raise PromiseError(
                "the ratios of the target are too large for exact counts; use a smaller denominator"
            )
        parts = [numerators[leaf] * (unit // denominators[leaf]) for leaf in ends]
        possible = np.flatnonzero(parts)
        members = np.flatnonzero(subdomains.target == number)
        entries = np.stack([possible, np.array(parts, dtype=np.int64)[possible]])
        each = np.tile(entries, (1, len(members)))
        columns.append(np.vstack([np.repeat(members, len(possible)), each]))
        values = max(values, len(parts))
    group, value, count = np.concatenate(columns, axis=1)
    order = np.lexsort((value, group))
    return Counts(group[order], value[order], count[order], values, None)


def fakes_needed(target: Target, copies: np.ndarray, values: np.ndarray) -> int:
    """Return how many fakes a multiset needs to generalize a value with each copy.

    By Hall's condition on nested sets: below each node there are at most as many copies as values.

    Args:
        target: the hierarchy.
        copies: the copies of each node (int64, one per node).
        values: how often each node (a leaf) is an original value (int64, one per node).
    """
    values_below, copies_below = values.astype(np.int64), copies.astype(np.int64)
    fakes = np.zeros(len(values_below), dtype=np.int64)
    for node in range(len(values_below) - 1, -1, -1):
        fakes[node] = max(fakes[node], int(copies_below[node] - values_below[node]), 0)
        parent = int(target.parent[node])
        if parent >= 0:
            fakes[parent] += fakes[node]
            values_below[parent] += values_below[node]
            copies_below[parent] += copies_below[node]
    return int(fakes[0])


def generalizes(target: Target, copies: np.ndarray, values: np.ndarray, fakes: int = 0) -> bool:
    """Return True if the copies generalize the values and that many fakes, one for one.

    Arguments are as for `fakes_needed`.
    """
    whole = int(copies.sum()) == int(values.sum()) + fakes
    return whole and fakes_needed(target, copies, values) <= fakes
