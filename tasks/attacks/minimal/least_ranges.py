"""Least-ranges attack: subdomains as narrow as the target allows say which values they hide.

A *target* is the distribution that a group is declared to have: a tree of nodes, whose leaves are
values. A *subdomain* is a node that is shown in place of a value below it.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
algorithm MinSumOfRange. The attacker takes the target as the prior, as `subdomains` does, and rules
out values that this algorithm would have shown by other subdomains (minimality: Wong, Fu, Wang,
Pei, VLDB 2007). All multisets of values that can be behind a group's subdomains are enumerated.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import comb, factorial, lcm, prod

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import Multiset, leaves, probabilities
from sfumato.tasks.attacks.group.subdomains import are_few, beliefs_of_groups, beliefs_of_people
from sfumato.tasks.attacks.shared.attack import (
    SURE,
    AttackedRelease,
    Score,
    right_guesses,
    skipped_attack,
    top_guesses,
)
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs
from sfumato.tasks.forms.targets import ShownGroups, shown_groups
from sfumato.tasks.partitions.targets.minimum import minimum

_MULTISETS, _PEOPLE, _NODES = 20_000, 500, 2_000  # of a group, in it, and of its target
_CELLS = 2_000_000  # of multisets and nodes, of all groups
NAME, ALONE = "minimality", "from the subdomains alone"
_WORDS = "own value {} by who knows that ranges are the least"
FOUND = "guessed", f"believed with {SURE:.0%} or more"
_ROUNDED = 1 - 1e-12  # tolerance for rounding in a share that equals its limit
_MADE_UP = "some values may be made up, and it is not known which"
_OTHERWISE = "these subdomains do not fit any possible values"
TOO_MANY = (
    f"a group has more than {_MULTISETS:,} possible combinations of values behind its "
    f"subdomains, {_PEOPLE} people or {_NODES:,} nodes of its target, or all groups "
    "together have too many"
)


class NotEnumeratedError(Exception):
    """The values behind subdomains are not enumerated, for a reason given in words."""


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess each person's likeliest value among those that remain possible."""
    if getattr(target.declared.form, "fakes", 0):
        return skipped_attack(NAME, _MADE_UP)
    seen = shown_groups(target.tables, target.declared.columns)
    if not are_few(target, seen):
        return skipped_attack(NAME, TOO_MANY)
    try:
        belief = beliefs_by_least_ranges(seen)
    except NotEnumeratedError as error:
        return skipped_attack(NAME, str(error))
    own, *by_attacker = beliefs_of_people(target, seen, [belief, beliefs_of_groups(seen)[0]])
    return tuple(
        Score(_WORDS.format(words), share, {ALONE: alone})
        for words, (share, alone) in zip(FOUND, shares_believed(own, by_attacker), strict=True)
    )


def figures(target: AttackedRelease) -> OwnValueBeliefs | None:
    """Return the beliefs about everyone, None where values were made up or are not enumerated."""
    seen = shown_groups(target.tables, target.declared.columns)
    if getattr(target.declared.form, "fakes", 0) or not are_few(target, seen):
        return None
    try:
        return own_value_beliefs(target, seen, beliefs_by_least_ranges(seen))
    except NotEnumeratedError:
        return None


def own_value_beliefs(
    target: AttackedRelease, seen: ShownGroups, belief: np.ndarray
) -> OwnValueBeliefs:
    """Return beliefs about each person of a group (float64, groups x values) as those of people.

    Guesses from the subdomains alone are their reference.
    """
    of_groups = [belief, beliefs_of_groups(seen)[0]]
    own, believed, alone = beliefs_of_people(target, seen, of_groups)
    there = own > 0
    top, top_alone = (top_guesses(probability)[there] for probability in (believed, alone))
    return OwnValueBeliefs(own[there], believed[there], top, top_alone)


def shares_believed(
    own: np.ndarray, by_attacker: Sequence[np.ndarray]
) -> tuple[list[float], list[float]]:
    """Return the shares of people guessed, and believed with `SURE` or more, by each attacker.

    Args:
        own: the people with each value (int64, vectors x values).
        by_attacker: the beliefs of each attacker (float64, the same shape).
    """
    sure = [float((own * (p >= SURE * _ROUNDED)).sum() / own.sum()) for p in by_attacker]
    return [right_guesses(probability, own) for probability in by_attacker], sure


def beliefs_by_least_ranges(seen: ShownGroups) -> np.ndarray:
    """Return the beliefs about each person of a group (float64, groups x values).

    Raises:
        NotEnumeratedError: too many values can be behind subdomains, or none.
    """
    known_shares: dict[tuple[int, Multiset], list[float]] = {}
    cells_left, beliefs = _CELLS, np.zeros((len(seen.sizes), len(seen.published.domain)))
    if (
        max(len(tree.parent) for tree in seen.subdomains.targets) > _NODES
        or seen.sizes.max() > _PEOPLE
    ):
        raise NotEnumeratedError(TOO_MANY)
    for group, multiset in enumerate(multisets_shown(seen)):
        number = int(seen.subdomains.target[group])
        if (number, multiset) not in known_shares:
            target = seen.subdomains.targets[number]
            most = min(_MULTISETS, cells_left // len(target.parent))
            values = multisets_behind(target, multiset, most)
            cells_left -= len(values) * len(target.parent)
            shares = posterior(target, multiset, values)
            known_shares[number, multiset] = [float(share) for share in shares]
        beliefs[group] = known_shares[number, multiset]
    return beliefs


def multisets_shown(seen: ShownGroups) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield, for each group, the nodes that it shows and their counts (a `Multiset`)."""
    subdomains = seen.subdomains
    order = np.lexsort((subdomains.node, subdomains.group))
    starts = np.searchsorted(subdomains.group[order], np.arange(len(seen.sizes) + 1)).tolist()
    node, count = subdomains.node[order].tolist(), subdomains.count[order].tolist()
    for first, end in pairwise(starts):
        yield tuple(node[first:end]), tuple(count[first:end])


def multisets_behind(
    target: Target, multiset: Multiset, most: int = _MULTISETS, *, also_impossible: bool = False
) -> np.ndarray:
    """Return all multisets of values that can be behind some subdomains (int64, ways x leaves).

    Args:
        target: the target of a group.
        multiset: its subdomains.
        most: the largest number of multisets.
        also_impossible: whether values count that the target gives no chance.

    Raises:
        NotEnumeratedError: there are more than `most`.
    """
    number, below = len(leaves(target)), _values_below(target, also_impossible)
    ways = np.zeros((1, number), dtype=np.int64)
    for node, copies in zip(*multiset, strict=True):
        if len(ways) * comb(copies + len(below[node]) - 1, copies) > most:
            raise NotEnumeratedError(TOO_MANY)
        more = _ways_to_take(below[node], copies, number)
        ways = np.unique((ways[:, np.newaxis] + more).reshape(-1, number), axis=0)
    return ways


def _values_below(target: Target, also_impossible: bool) -> list[list[int]]:
    """Return the numbers of the values below each node, as for `multisets_behind`."""
    chance, parent = probabilities(target), target.parent.tolist()
    values: list[list[int]] = [[] for _ in parent]
    for number, leaf in enumerate(leaves(target)):
        node = leaf if chance[leaf] or also_impossible else -1
        while node >= 0:
            values[node].append(number)
            node = parent[node]
    return values


def _ways_to_take(below: Sequence[int], copies: int, leaves_: int) -> np.ndarray:
    """Return all ways to take `copies` of some leaves (int64, ways x leaves)."""
    ways = list(combinations_with_replacement(below, copies))
    counts = np.zeros((len(ways), leaves_), dtype=np.int64)
    for row, way in zip(counts, ways, strict=True):
        np.add.at(row, list(way), 1)
    return counts


def posterior(target: Target, multiset: Multiset, values: np.ndarray) -> list[Fraction]:
    """Return the chance of each value for a person of a group with exactly these subdomains.

    >>> tree = Target(np.array([-1, 0, 0]), np.array([1, 2, 1]))
    >>> shown = (0, 1, 2), (1, 2, 1)
    >>> print(*posterior(tree, shown, multisets_behind(tree, shown)))
    9/14 5/14

    Args:
        target: the target of the group.
        multiset: its subdomains.
        values: the multisets that can be behind them (int64, ways x leaves), see
            `multisets_behind`.

    Raises:
        NotEnumeratedError: none of the multisets would have been shown by these subdomains.
    """
    possible = with_subdomains(target, multiset, values)
    if not len(possible):
        raise NotEnumeratedError(_OTHERWISE)
    weights = _weights(target, possible)
    total = sum(weights) * sum(multiset[1])
    sums = (
        sum(w * n for w, n in zip(weights, numbers, strict=True)) for numbers in possible.T.tolist()
    )
    return [Fraction(part, total) for part in sums]


def with_subdomains(target: Target, multiset: Multiset, values: np.ndarray) -> np.ndarray:
    """Return the multisets of values (int64, ways x leaves) that these subdomains show."""
    counts = np.zeros((len(values), len(target.parent)), dtype=np.int64)
    counts[:, leaves(target)] = values
    shown_counts = np.zeros(len(target.parent), dtype=np.int64)
    shown_counts[list(multiset[0])] = multiset[1]
    possible: np.ndarray = values[(minimum(target, counts) == shown_counts).all(axis=1)]
    return possible


def _weights(target: Target, values: np.ndarray) -> list[int]:
    """Return the likelihoods of multisets by the target, up to a common factor."""
    chance, rows = probabilities(target), int(values[0].sum())
    unit = lcm(*(chance[leaf].denominator for leaf in leaves(target)))
    share = [int(chance[leaf] * unit) for leaf in leaves(target)]
    return [
        factorial(rows) // prod(map(factorial, multiset)) * prod(map(pow, share, multiset))
        for multiset in values.tolist()
    ]
