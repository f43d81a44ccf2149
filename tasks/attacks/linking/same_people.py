"""Shares of worlds in which people have each value, from several releases about the same people.

A world gives each person a value, so that each group of each release shows the values of its
people. All worlds are equally likely. A kind is all people who are in the same groups. If few kinds
are connected by their groups, all worlds are counted. Otherwise only the worlds of each kind's own
groups are counted, which other groups may narrow further. People in one group only have the values
that its other people leave. So the values of people who left before the next release follow from
those of the people who stayed (critical absence).
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
    connected_sets,
    mean_choice,
    ways_to_give,
    ways_to_take,
    weigh_choices,
)

_GROUPS = 100  # connected groups, above which worlds are not counted
ShownGroup = tuple[int, int]
"""Number of a release, and number of a group in it."""
Kind = frozenset[ShownGroup]
"""The groups that contain some people, at most one of each release."""
_Values = tuple[tuple[int, ...], ...]
"""For each group, how often each value is left for people without one."""


@dataclass(frozen=True)
class SharesOfKinds:
    """The share of worlds in which a person of each kind has each value.

    Attributes:
        shares: the shares by kind and value; kinds with too many worlds are missing.
        exact: the kinds whose worlds were all counted; for all others only the worlds of their own
            groups were.
    """

    shares: Mapping[Kind, Mapping[int, Weight]]
    exact: Set[Kind]


def shares_of_kinds(
    people: Mapping[Kind, int],
    counts: Mapping[ShownGroup, Mapping[int, int]],
    kinds: Sequence[Kind],
) -> SharesOfKinds:
    """Return the share of worlds in which a person has each value, by kinds.

    Kinds with too many worlds are missing.

    Args:
        people: the number of people of each kind.
        counts: the count of each value in each group.
        kinds: the kinds whose shares are wanted.
    """
    looks = iter(range(ALL))
    inside = _kinds_of_groups(people)
    shares: dict[Kind, dict[int, Weight]] = {}
    for scope in connected_sets([*people]):
        if len(scope) > _GROUPS:
            continue
        counted = _shares_by_worlds(scope, people, inside, counts, islice(looks, EACH))
        if counted is not None:
            shares.update(counted)
            for group in scope:
                shares.update(_remaining_shares(group, people, inside, counts, counted))
    exact = frozenset(shares)
    for kind in kinds:
        if kind not in shares:
            alone = _shares_by_worlds(kind, people, inside, counts, islice(looks, EACH)) or {}
            shares.update({other: share for other, share in alone.items() if other == kind})
    return SharesOfKinds(shares, exact)


def _kinds_of_groups(people: Mapping[Kind, int]) -> Mapping[ShownGroup, list[Kind]]:
    inside = defaultdict(list)
    for kind in people:
        for group in kind:
            inside[group].append(kind)
    return inside


def _shares_by_worlds(
    scope: frozenset[ShownGroup],
    people: Mapping[Kind, int],
    inside: Mapping[ShownGroup, Sequence[Kind]],
    counts: Mapping[ShownGroup, Mapping[int, int]],
    looks: Iterator[int],
) -> dict[Kind, dict[int, Weight]] | None:
    """Return the shares of each kind that is in several of some groups; None for too many worlds.

    Args:
        scope: the groups; memberships in all others are ignored.
        people: the number of people of each kind.
        inside: the kinds in each group.
        counts: the count of each value in each group.
        looks: an iterator with one item for each choice that may be looked at.
    """
    groups = sorted(scope)
    place = {group: number for number, group in enumerate(groups)}
    values = sorted({value for group in groups for value in counts[group]})
    kinds = Counter[Kind]()
    for kind in {kind for group in groups for kind in inside[group]}:
        kinds[kind & scope] += people[kind]
    tied = sorted((kind for kind in kinds if len(kind) > 1), key=sorted)
    lists = [tuple(place[group] for group in kind) for kind in tied]
    steps = [partial(_give, places, kinds[kind]) for places, kind in zip(lists, tied, strict=True)]
    start = tuple(tuple(counts[group].get(value, 0) for value in values) for group in groups)
    choices = weigh_choices(start, steps, _ways_of_the_rest, looks)
    if choices is None:
        return None
    chosen = zip(tied, choices, strict=True)
    return {
        kind: dict(zip(values, mean_choice(choice, kinds[kind]), strict=True))
        for kind, choice in chosen
    }


def _remaining_shares(
    group: ShownGroup,
    people: Mapping[Kind, int],
    inside: Mapping[ShownGroup, Sequence[Kind]],
    counts: Mapping[ShownGroup, Mapping[int, int]],
    counted: Mapping[Kind, Mapping[int, Weight]],
) -> dict[Kind, dict[int, Weight]]:
    """Return the shares of people who are only in this group: the values that others leave them.

    Returns {} if there are no such people.
    """
    kind = frozenset({group})
    if kind not in people:
        return {}
    tied = [other for other in inside[group] if other != kind]
    remaining = {
        value: times - sum(people[other] * counted[other][value] for other in tied)
        for value, times in counts[group].items()
    }
    return {kind: {value: Fraction(times) / people[kind] for value, times in remaining.items()}}


def _give(lists: Sequence[int], size: int, state: _Values) -> Iterator[tuple[Choice, int, _Values]]:
    """Yield all ways to give people of a kind values that all their groups still have.

    Args:
        lists: the places of their groups in `state`.
        size: the number of people.
        state: by group, how often each value is left.
    """
    most = [min(numbers) for numbers in zip(*(state[position] for position in lists), strict=True)]
    for taken in ways_to_take(size, most):
        rest = list(state)
        for position in lists:
            rest[position] = tuple(
                have - number for have, number in zip(state[position], taken, strict=True)
            )
        yield taken, ways_to_give(taken), tuple(rest)


def _ways_of_the_rest(state: _Values) -> int:
    """Return the number of ways in which people in one group only can have the remaining values."""
    return prod(map(ways_to_give, state))
