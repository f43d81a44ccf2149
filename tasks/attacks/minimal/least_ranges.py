"""Least ranges: that subdomains are as narrow as the target allows tells which values they hide.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009),
algorithm MinSumOfRange. The attacker takes the target as the prior, as `subdomains` does, and rules
out the values that this algorithm would have shown by other subdomains (minimality: Wong, Fu, Wang,
Pei, VLDB 2007). All multisets of values that can be behind a group's subdomains are gone through.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import comb, factorial, lcm, prod

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import Multiset, leaves, probabilities
from sfumato.tasks.attacks.attack import (
    SURE,
    AttackedRelease,
    Score,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.group.subdomains import are_few, beliefs_of_groups, beliefs_of_people
from sfumato.tasks.forms.targets import ShownGroups, shown_groups
from sfumato.tasks.partitions.targets.minimum import minimum

_MULTISETS, _PEOPLE, _NODES = 20_000, 500, 2_000  # of a group, in it, and of its target
_CELLS = 2_000_000  # of multisets and nodes, of all groups
_NAME, _ALONE = "minimality", "from the subdomains alone"
_WORDS = "own value {} by who knows that ranges are the least"
_FOUND = "guessed", f"believed with {SURE:.0%} or more"
_ROUNDED = 1 - 1e-12  # of a share that is as large as what it is compared with
_MADE_UP = "values may be made up, and nothing tells which"
_OTHERWISE = "no values would have been shown by these subdomains"
_TOO_MANY = (
    f"more than {_MULTISETS:,} multisets of values behind a group's subdomains, {_PEOPLE} people "
    f"in it or {_NODES:,} nodes of its target, or too many of all groups"
)


class NotEnumeratedError(Exception):
    """Why the values behind subdomains are not gone through, in words."""


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess each person's likeliest value of those that are left."""
    if getattr(target.declared.form, "fakes", 0):
        return skipped_attack(_NAME, _MADE_UP)
    seen = shown_groups(target.tables, target.declared.columns)
    if not are_few(target, seen):
        return skipped_attack(_NAME, _TOO_MANY)
    try:
        belief = beliefs_by_least_ranges(seen)
    except NotEnumeratedError as error:
        return skipped_attack(_NAME, str(error))
    own, *told = beliefs_of_people(target, seen, [belief, beliefs_of_groups(seen)[0]])
    guessed, sure = (
        [right_guesses(one, own) for one in told],
        [float((own * (one >= SURE * _ROUNDED)).sum() / own.sum()) for one in told],
    )
    return tuple(
        Score(_WORDS.format(words), share, {_ALONE: alone})
        for words, (share, alone) in zip(_FOUND, (guessed, sure), strict=True)
    )


def beliefs_by_least_ranges(seen: ShownGroups) -> np.ndarray:
    """What is believed of each person of a group (float64, groups x values).

    Raises:
        NotEnumeratedError: where too many values can be behind subdomains, or none.
    """
    known: dict[tuple[int, Multiset], list[float]] = {}
    left, found = _CELLS, np.zeros((len(seen.sizes), len(seen.told.domain)))
    if max(len(of.parent) for of in seen.shown.targets) > _NODES or seen.sizes.max() > _PEOPLE:
        raise NotEnumeratedError(_TOO_MANY)
    for group, shown in enumerate(_multisets(seen)):
        number = int(seen.shown.target[group])
        if (number, shown) not in known:
            target = seen.shown.targets[number]
            most = min(_MULTISETS, left // len(target.parent))
            values = multisets_behind(target, shown, most)
            left -= len(values) * len(target.parent)
            told = posterior(target, shown, values)
            known[number, shown] = [float(share) for share in told]
        found[group] = known[number, shown]
    return found


def _multisets(seen: ShownGroups) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The nodes that each group shows, and how often."""
    shown = seen.shown
    order = np.lexsort((shown.node, shown.group))
    starts = np.searchsorted(shown.group[order], np.arange(len(seen.sizes) + 1)).tolist()
    node, count = shown.node[order].tolist(), shown.count[order].tolist()
    for first, end in pairwise(starts):
        yield tuple(node[first:end]), tuple(count[first:end])


def multisets_behind(target: Target, shown: Multiset, most: int = _MULTISETS) -> np.ndarray:
    """All that values can be behind some subdomains: how often each occurs (int64, ways x leaves).

    Raises:
        NotEnumeratedError: where there are more than `most`.
    """
    number, below = len(leaves(target)), _likely_below(target)
    found = np.zeros((1, number), dtype=np.int64)
    for node, copies in zip(*shown, strict=True):
        if len(found) * comb(copies + len(below[node]) - 1, copies) > most:
            raise NotEnumeratedError(_TOO_MANY)
        more = _taken(below[node], copies, number)
        found = np.unique((found[:, np.newaxis] + more).reshape(-1, number), axis=0)
    return found


def _likely_below(target: Target) -> list[list[int]]:
    """The values below each node that have a probability, by their numbers."""
    chance, parent = probabilities(target), target.parent.tolist()
    found: list[list[int]] = [[] for _ in parent]
    for number, leaf in enumerate(leaves(target)):
        node = leaf if chance[leaf] else -1
        while node >= 0:
            found[node].append(number)
            node = parent[node]
    return found


def _taken(below: Sequence[int], copies: int, leaves_: int) -> np.ndarray:
    """All ways to take so many of some leaves (int64, ways x leaves)."""
    ways = list(combinations_with_replacement(below, copies))
    found = np.zeros((len(ways), leaves_), dtype=np.int64)
    for one, of in zip(found, ways, strict=True):
        np.add.at(one, list(of), 1)
    return found


def posterior(target: Target, shown: Multiset, values: np.ndarray) -> list[Fraction]:
    """How likely somebody of a group has each value, of those that would have been shown so.

    >>> tree = Target(np.array([-1, 0, 0]), np.array([1, 2, 1]))
    >>> shown = (0, 1, 2), (1, 2, 1)
    >>> print(*posterior(tree, shown, multisets_behind(tree, shown)))
    9/14 5/14

    Args:
        target: of the group.
        shown: its subdomains.
        values: what can be behind them (int64, ways x leaves), see `multisets_behind`.

    Raises:
        NotEnumeratedError: where none of them would have been.
    """
    counts = np.zeros((len(values), len(target.parent)), dtype=np.int64)
    counts[:, leaves(target)] = values
    wanted = np.zeros(len(target.parent), dtype=np.int64)
    wanted[list(shown[0])] = shown[1]
    left = values[(minimum(target, counts) == wanted).all(axis=1)]
    if not len(left):
        raise NotEnumeratedError(_OTHERWISE)
    weights = _weights(target, left)
    total = sum(weights) * int(wanted.sum())
    sums = (sum(w * n for w, n in zip(weights, of, strict=True)) for of in left.T.tolist())
    return [Fraction(of, total) for of in sums]


def _weights(target: Target, values: np.ndarray) -> list[int]:
    """How likely multisets are by the target, in proportion."""
    chance, rows = probabilities(target), int(values[0].sum())
    unit = lcm(*(chance[leaf].denominator for leaf in leaves(target)))
    share = [int(chance[leaf] * unit) for leaf in leaves(target)]
    return [
        factorial(rows) // prod(map(factorial, of)) * prod(map(pow, share, of))
        for of in values.tolist()
    ]
