"""Worlds counted by steps, and those that put people of a register into groups that cover them.

Worlds that leave the same for the rest are counted together, forwards and backwards, so that each
step's choices are weighed by all worlds without a list of them.

A world puts everybody into one group at most, so that each group has as many people as it shows
rows, and each value that it shows is somebody's there. It weighs the product of what its members
weigh.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from math import factorial, prod
from typing import TypeVar

import numpy as np

Weight = int | Fraction | float
Choice = tuple[int, ...]
_GROUPS = 20  # that hang together and are counted
Pair = tuple[int, int]
"""People who are alike, and a group that covers them, by their numbers."""
_Left = tuple[tuple[int, frozenset[Pair]], ...]
"""Of each group how many people it lacks, and which of its values."""


EACH, ALL = 20_000, 500_000
"""How many choices are looked at, at most: of what hangs together, and of everything."""


Left = TypeVar("Left", bound=Hashable)


Node = TypeVar("Node", bound=Hashable)


def hang_together(sets: Sequence[Collection[Node]]) -> list[frozenset[Node]]:
    """The members of sets, those together that sets tie, directly or through others.

    >>> sorted(map(sorted, hang_together([{1, 2}, {2, 3}, {4}])))
    [[1, 2, 3], [4]]
    """
    from scipy.sparse import coo_array  # imported where it is used: it takes long
    from scipy.sparse.csgraph import connected_components

    if not sets:
        return []
    place = {node: at for at, node in enumerate(dict.fromkeys(one for of in sets for one in of))}
    member = np.array([place[one] for of in sets for one in of], dtype=np.int64)
    of_set = len(place) + np.repeat(np.arange(len(sets)), [len(of) for of in sets])
    size = len(place) + len(sets)
    edges = coo_array((np.ones(len(member)), (member, of_set)), shape=(size, size))
    _, number = connected_components(edges, directed=False)
    found = defaultdict[int, set[Node]](set)
    for node, component in zip(place, number.tolist(), strict=False):
        found[component].add(node)
    return [frozenset(of) for of in found.values()]


def weigh_choices(
    start: Left,
    steps: Sequence[Callable[[Left], Iterable[tuple[Choice, Weight, Left]]]],
    last: Callable[[Left], Weight],
    looks: Iterator[int],
) -> list[Mapping[Choice, Weight]] | None:
    """The weight of all worlds with each choice, step by step.

    Args:
        start: what there is before the first step.
        steps: one after the other: from what is left, what can be chosen, each choice with its
            weight and what it leaves.
        last: the weight of what is left after all of them; 0 where that cannot be.
        looks: as many as choices may be looked at.

    Returns:
        One mapping per step; None where there are more choices, or no world.
    """
    reached: list[Mapping[Left, Weight]] = [{start: 1}]
    moves = []
    for step in steps:
        made, after = [], defaultdict[Left, Weight](int)
        for left, weight in reached[-1].items():
            for choice, ways, rest in step(left):
                if next(looks, None) is None:
                    return None
                made.append((left, choice, ways, rest))
                after[rest] += weight * ways
        moves.append(made)
        reached.append(after)
    ahead: Mapping[Left, Weight] = {left: last(left) for left in reached[-1]}
    found: list[Mapping[Choice, Weight]] = []
    for made, before in zip(reversed(moves), reversed(reached[:-1]), strict=True):
        here, chosen = defaultdict[Left, Weight](int), defaultdict[Choice, Weight](int)
        for left, choice, ways, rest in made:
            here[left] += ways * ahead[rest]
            chosen[choice] += before[left] * ways * ahead[rest]
        ahead = here
        found.append(chosen)
    return found[::-1] if ahead.get(start) else None


def mean_choice(chosen: Mapping[Choice, Weight], size: int) -> list[Weight]:
    """The share of a kind's people, so many, who have each of what is chosen from, on average."""
    total = sum(chosen.values()) * size
    sums = [sum(of) for of in zip(*(_times(*one) for one in chosen.items()), strict=True)]
    return [_share(of, total) for of in sums]


def _share(part: Weight, total: Weight) -> Weight:
    """Exact, unless weights are floats."""
    if isinstance(part, float) or isinstance(total, float):
        return part / total
    return Fraction(part) / Fraction(total)


def ways_to_give(counts: Iterable[int]) -> int:
    """How many ways there are to give so many of each value to as many people.

    >>> ways_to_give([2, 1])
    3
    """
    numbers = list(counts)
    return factorial(sum(numbers)) // prod(map(factorial, numbers))


def ways_to_take(size: int, most: Sequence[int]) -> Iterator[Choice]:
    """All ways to take so many in all, of each at most so many.

    >>> list(ways_to_take(2, [1, 2]))
    [(0, 2), (1, 1)]
    """
    if not most:
        if not size:
            yield ()
        return
    rest = most[1:]
    for taken in range(max(0, size - sum(rest)), min(size, most[0]) + 1):
        for others in ways_to_take(size - taken, rest):
            yield (taken, *others)


def _times(choice: Choice, weight: Weight) -> list[Weight]:
    return [number * weight for number in choice]


def shares_of_pairs(
    pairs: Mapping[Pair, Weight],
    people: Mapping[int, int],
    vectors: Mapping[int, frozenset[Pair]],
    groups: Mapping[int, tuple[int, frozenset[Pair]]],
) -> dict[Pair, Weight]:
    """The share of worlds in which somebody is in a group; those of too many worlds lack.

    Args:
        pairs: what people of a kind weigh in a group that covers them.
        people: how many are of each kind.
        vectors: their values, each with the number of its quasi-identifier.
        groups: how many rows each shows, and which values.
    """
    looks = iter(range(ALL))
    found: dict[Pair, Weight] = {}
    for kinds, scope in _hanging_together(pairs):
        if len(scope) > _GROUPS:
            continue
        covering = [
            [at for at, group in enumerate(scope) if (kind, group) in pairs] for kind in kinds
        ]
        told = zip(kinds, covering, strict=True)
        steps = [
            partial(_place, at, [pairs[kind, scope[n]] for n in at], people[kind], vectors[kind])
            for kind, at in told
        ]
        start = tuple(groups[group] for group in scope)
        chosen = weigh_choices(start, steps, _is_full, islice(looks, EACH)) or []
        for kind, at, of in zip(kinds, covering, chosen, strict=False):
            shares = mean_choice(of, people[kind])
            found.update({(kind, scope[n]): share for n, share in zip(at, shares, strict=False)})
    return found


def _hanging_together(pairs: Mapping[Pair, Weight]) -> Iterator[tuple[list[int], list[int]]]:
    """Kinds of people and groups, those together that pairs tie."""
    covering, covered = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for kind, group in pairs:
        covering[kind].append(group)
        covered[group].append(kind)
    for groups in hang_together([*covering.values()]):
        yield sorted({kind for group in groups for kind in covered[group]}), sorted(groups)


def _place(
    covering: Sequence[int],
    weights: Sequence[Weight],
    people: int,
    values: frozenset[Pair],
    left: _Left,
) -> Iterator[tuple[Choice, Weight, _Left]]:
    """Put so many people who are alike into groups that cover them, or into none."""
    for taken in ways_to_take(people, [*(left[at][0] for at in covering), people]):
        rest = list(left)
        for at, members in zip(covering, taken, strict=False):
            lacks, lacking = left[at]
            rest[at] = (lacks - members, lacking - values if members else lacking)
        weight = prod(of**n for of, n in zip(weights, taken, strict=False))
        yield taken, ways_to_give(taken) * weight, tuple(rest)


def _is_full(left: _Left) -> int:
    return int(not any(lacks or lacking for lacks, lacking in left))
