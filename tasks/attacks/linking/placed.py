"""Worlds that put people of a register into the groups that cover them, all counted.

A world puts everybody into one group at most, so that each group has as many people as it shows
rows, and each value that it shows is somebody's there. It weighs the product of what its members
weigh.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from math import prod

from sfumato.tasks.attacks.linking.counted import (
    ALL,
    EACH,
    Choice,
    Weight,
    hang_together,
    mean_choice,
    ways_to_give,
    ways_to_take,
    weigh_choices,
)

_GROUPS = 20  # that hang together and are counted
Pair = tuple[int, int]
"""People who are alike, and a group that covers them, by their numbers."""
_Left = tuple[tuple[int, frozenset[Pair]], ...]
"""Of each group how many people it lacks, and which of its values."""


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
