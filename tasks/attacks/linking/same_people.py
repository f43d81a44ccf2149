"""Who could have which value, as several releases about the same people tell together.

A world gives each person a value, so that each group of each release shows what its people have;
all worlds are as likely. Kinds are people who are in the same groups. Where few kinds hang together
by their groups all worlds are counted; else those of the groups of each kind alone, which other
groups may narrow further. Who is in one group alone has what the others leave there: whoever left
before the next release is told of by what the others took along (critical absence).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
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

_GROUPS = 100  # that hang together and are counted
ShownGroup = tuple[int, int]
"""Which release, and the group's number there."""
Kind = frozenset[ShownGroup]
"""The groups that hold some people, of each release one at most."""
_Left = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SharesOfKinds:
    """The share of worlds in which somebody of each kind has each value.

    Attributes:
        shares: by kinds; those of too many worlds lack.
        exact: the kinds of which all worlds were counted; of others those of their groups alone.
    """

    shares: Mapping[Kind, Mapping[int, Weight]]
    exact: Set[Kind]


def shares_of_kinds(
    people: Mapping[Kind, int],
    shown: Mapping[ShownGroup, Mapping[int, int]],
    wanted: Sequence[Kind],
) -> SharesOfKinds:
    """The share of worlds in which somebody has each value, by kinds; those that are too many lack.

    Args:
        people: how many are of each kind.
        shown: how often each group has each value.
        wanted: the kinds to tell of.
    """
    looks = iter(range(ALL))
    inside = _kinds_of_groups(people)
    found: dict[Kind, dict[int, Weight]] = {}
    for scope in hang_together([*people]):
        if len(scope) > _GROUPS:
            continue
        counted = _counted(scope, people, inside, shown, islice(looks, EACH))
        if counted is not None:
            found.update(counted)
            for group in scope:
                found.update(_left_there(group, people, inside, shown, counted))
    exact = frozenset(found)
    for kind in wanted:
        if kind not in found:
            alone = _counted(kind, people, inside, shown, islice(looks, EACH)) or {}
            found.update({one: of for one, of in alone.items() if one == kind})
    return SharesOfKinds(found, exact)


def _kinds_of_groups(people: Mapping[Kind, int]) -> Mapping[ShownGroup, list[Kind]]:
    inside = defaultdict(list)
    for kind in people:
        for group in kind:
            inside[group].append(kind)
    return inside


def _counted(
    scope: frozenset[ShownGroup],
    people: Mapping[Kind, int],
    inside: Mapping[ShownGroup, Sequence[Kind]],
    shown: Mapping[ShownGroup, Mapping[int, int]],
    looks: Iterator[int],
) -> dict[Kind, dict[int, Weight]] | None:
    """By the worlds of some groups, of each kind that is in several of these; None of too many."""
    groups = sorted(scope)
    place = {group: number for number, group in enumerate(groups)}
    values = sorted({value for group in groups for value in shown[group]})
    kinds = Counter[Kind]()
    for kind in {kind for group in groups for kind in inside[group]}:
        kinds[kind & scope] += people[kind]
    tied = sorted((kind for kind in kinds if len(kind) > 1), key=sorted)
    lists = [tuple(place[group] for group in kind) for kind in tied]
    steps = [partial(_give, of, kinds[kind]) for of, kind in zip(lists, tied, strict=True)]
    start = tuple(tuple(shown[group].get(value, 0) for value in values) for group in groups)
    found = weigh_choices(start, steps, _ways_of_the_rest, looks)
    if found is None:
        return None
    told = zip(tied, found, strict=True)
    return {kind: dict(zip(values, mean_choice(of, kinds[kind]), strict=True)) for kind, of in told}


def _left_there(
    group: ShownGroup,
    people: Mapping[Kind, int],
    inside: Mapping[ShownGroup, Sequence[Kind]],
    shown: Mapping[ShownGroup, Mapping[int, int]],
    counted: Mapping[Kind, Mapping[int, Weight]],
) -> dict[Kind, dict[int, Weight]]:
    """Of people who are in this group alone: what those leave who are in others, too."""
    kind = frozenset({group})
    if kind not in people:
        return {}
    tied = [other for other in inside[group] if other != kind]
    left = {
        value: times - sum(people[other] * counted[other][value] for other in tied)
        for value, times in shown[group].items()
    }
    return {kind: {value: Fraction(times) / people[kind] for value, times in left.items()}}


def _give(lists: Sequence[int], size: int, left: _Left) -> Iterator[tuple[Choice, int, _Left]]:
    """Give so many people values that all their groups have left."""
    most = [min(of) for of in zip(*(left[at] for at in lists), strict=True)]
    for taken in ways_to_take(size, most):
        rest = list(left)
        for at in lists:
            rest[at] = tuple(have - of for have, of in zip(left[at], taken, strict=True))
        yield taken, ways_to_give(taken), tuple(rest)


def _ways_of_the_rest(left: _Left) -> int:
    """Whoever is in one group alone has what is left there, in any order."""
    return prod(map(ways_to_give, left))
