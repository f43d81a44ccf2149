"""Worlds counted by steps: some kind of people after the other, and what is left for the rest.

Worlds that leave the same for the rest are counted together, forwards and backwards, so that each
step's choices are weighed by all worlds without a list of them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import factorial, prod
from typing import TypeVar

import numpy as np

EACH, ALL = 20_000, 500_000
"""How many choices are looked at, at most: of what hangs together, and of everything."""
Weight = int | Fraction | float
Choice = tuple[int, ...]
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
