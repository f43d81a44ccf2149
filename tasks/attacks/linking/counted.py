"""Weights of worlds, counted step by step, and of worlds that put people of a register into groups.

Worlds that leave the same state for the next steps are counted together, forwards and backwards.
So each step's choices are weighed by all worlds without a list of worlds.

A world puts each person into one group at most, so that each group has as many people as rows, and
each of its values is the value of one of its people. Its weight is the product of the weights of
its people in their groups.

People who look alike (who have the same values) are one *kind*.
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
"""The numbers of people of a kind that are given to each thing it can be given to, in order."""
_GROUPS = 20  # most connected groups for which worlds are counted
Pair = tuple[int, int]
"""Number of a kind of people, and number of a group that covers them."""
_Lacks = tuple[tuple[int, frozenset[Pair]], ...]
"""For each group, the number of people and the values that it still lacks."""


EACH, ALL = 20_000, 500_000
"""Most choices to look at: for one connected set, and altogether."""


State = TypeVar("State", bound=Hashable)


Node = TypeVar("Node", bound=Hashable)


def connected_sets(sets: Sequence[Collection[Node]]) -> list[frozenset[Node]]:
    """Return the connected components of some sets: members of one set are connected.

    >>> sorted(map(sorted, connected_sets([{1, 2}, {2, 3}, {4}])))
    [[1, 2, 3], [4]]
    """
    from sfumato.expectations.groups.connected import connected_sides  # where it is needed

    if not sets:
        return []
    place = {
        node: index
        for index, node in enumerate(dict.fromkeys(node for members in sets for node in members))
    }
    member = np.array([place[node] for members in sets for node in members], dtype=np.int64)
    of_set = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    number, _ = connected_sides(member, of_set, len(place), len(sets))
    components = defaultdict[int, set[Node]](set)
    for node, component in zip(place, number.tolist(), strict=True):
        components[component].add(node)
    return [frozenset(members) for members in components.values()]


def weigh_choices(
    start: State,
    steps: Sequence[Callable[[State], Iterable[tuple[Choice, Weight, State]]]],
    last: Callable[[State], Weight],
    looks: Iterator[int],
) -> list[Mapping[Choice, Weight]] | None:
    """Return the weight of all worlds with each choice, for each step.

    Args:
        start: the state before the first step.
        steps: functions from a state to its possible choices, each with its weight and the state
            after it.
        last: the weight of a state after the last step; 0 if it is impossible.
        looks: an iterator with one item for each choice that may be looked at.

    Returns:
        One mapping per step; None if there are more choices, or no world.
    """
    reached: list[Mapping[State, Weight]] = [{start: 1}]
    moves = []
    for step in steps:
        made, after = [], defaultdict[State, Weight](int)
        for state, weight in reached[-1].items():
            for choice, ways, rest in step(state):
                if next(looks, None) is None:
                    return None
                made.append((state, choice, ways, rest))
                after[rest] += weight * ways
        moves.append(made)
        reached.append(after)
    # backwards: `ahead` is the weight of all ways from a state to the end
    ahead: Mapping[State, Weight] = {state: last(state) for state in reached[-1]}
    chosen_by_step: list[Mapping[Choice, Weight]] = []
    for made, before in zip(reversed(moves), reversed(reached[:-1]), strict=True):
        here, chosen = defaultdict[State, Weight](int), defaultdict[Choice, Weight](int)
        for state, choice, ways, rest in made:
            here[state] += ways * ahead[rest]
            chosen[choice] += before[state] * ways * ahead[rest]
        ahead = here
        chosen_by_step.append(chosen)
    return chosen_by_step[::-1] if ahead.get(start) else None


def mean_choice(chosen: Mapping[Choice, Weight], size: int) -> list[Weight]:
    """Return the average share of a kind's people who are given to each thing.

    Args:
        chosen: the weight of all worlds with each choice, as `weigh_choices` returns it.
        size: the number of people of the kind.
    """
    total = sum(chosen.values()) * size
    sums = [sum(terms) for terms in zip(*(_times(*item) for item in chosen.items()), strict=True)]
    return [_share(subtotal, total) for subtotal in sums]


def _share(part: Weight, total: Weight) -> Weight:
    """Divide exactly, unless one of the weights is a float."""
    if isinstance(part, float) or isinstance(total, float):
        return part / total
    return Fraction(part) / Fraction(total)


def ways_to_give(counts: Iterable[int]) -> int:
    """Return the number of ways to give values, `counts` of each, to as many people.

    >>> ways_to_give([2, 1])
    3
    """
    numbers = list(counts)
    return factorial(sum(numbers)) // prod(map(factorial, numbers))


def ways_to_take(size: int, most: Sequence[int]) -> Iterator[Choice]:
    """Yield all ways to take `size` things, at most `most` of each kind.

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
    """Return the share of worlds in which a person of a kind is in a group.

    Pairs of a kind and a group with too many worlds are missing.

    Args:
        pairs: the weight of people of a kind in a group that covers them.
        people: the number of people of each kind.
        vectors: the values of each kind, each with the number of its quasi-identifier.
        groups: the number of rows of each group, and its values.
    """
    looks = iter(range(ALL))
    result: dict[Pair, Weight] = {}
    for kinds, scope in _connected_pairs(pairs):
        if len(scope) > _GROUPS:
            continue
        covering = [
            [index for index, group in enumerate(scope) if (kind, group) in pairs] for kind in kinds
        ]
        covered_kinds = zip(kinds, covering, strict=True)
        steps = [
            partial(
                _place,
                positions,
                [pairs[kind, scope[n]] for n in positions],
                people[kind],
                vectors[kind],
            )
            for kind, positions in covered_kinds
        ]
        start = tuple(groups[group] for group in scope)
        chosen = weigh_choices(start, steps, _is_full, islice(looks, EACH)) or []
        for kind, positions, choices in zip(kinds, covering, chosen, strict=False):
            shares = mean_choice(choices, people[kind])
            result.update(
                {(kind, scope[n]): share for n, share in zip(positions, shares, strict=False)}
            )
    return result


def _connected_pairs(pairs: Mapping[Pair, Weight]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the connected kinds of people and groups."""
    covering, covered = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for kind, group in pairs:
        covering[kind].append(group)
        covered[group].append(kind)
    for groups in connected_sets([*covering.values()]):
        yield sorted({kind for group in groups for kind in covered[group]}), sorted(groups)


def _place(
    covering: Sequence[int],
    weights: Sequence[Weight],
    people: int,
    values: frozenset[Pair],
    state: _Lacks,
) -> Iterator[tuple[Choice, Weight, _Lacks]]:
    """Put people who look alike into groups that cover them, or into no group."""
    for taken in ways_to_take(people, [*(state[position][0] for position in covering), people]):
        rest = list(state)
        for position, members in zip(covering, taken, strict=False):
            lacks, lacking = state[position]
            rest[position] = (lacks - members, lacking - values if members else lacking)
        weight = prod(each**n for each, n in zip(weights, taken, strict=False))
        yield taken, ways_to_give(taken) * weight, tuple(rest)


def _is_full(state: _Lacks) -> int:
    return int(not any(lacks or lacking for lacks, lacking in state))
