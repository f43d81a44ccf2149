"""Groups of people, made of groups of rows: two readings, on which models measure as on rows.

`any_of` counts the people who have a value in any of their rows of a group. `weight_one` gives
everybody the mass 1 in a group, spread evenly over their rows there. Where everybody has one row,
both are the groups of rows.

Source: Wang, Fung, Anonymizing sequential releases (KDD 2006): (X,Y)-privacy counts the distinct
people behind rows. The readings are this project's own.
"""

from math import lcm

import numpy as np

from sfumato.expectations.groups.counting import add_up
from sfumato.expectations.groups.groups import Groups, HeldValues, People
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import starts

_WHOLE = 2**53  # sums of whole numbers below it are exact as floats, too


def any_of(people: People, name: str | None) -> Groups:
    """Groups of people; where an attribute is named, with how many have each value in any row."""
    if name is None:
        return Groups(people.sizes, {})
    held = people.held[name]
    group, value, count = add_up([held.group, held.value], np.ones_like(held.group))
    return Groups(people.sizes, {name: held.counts(group, value, count)})


def weight_one(people: People, name: str, *, alike: bool) -> Groups:
    """Groups in which everybody has the same mass, spread evenly over their rows there.

    Args:
        people: whose the rows of the groups are.
        name: the attribute that is counted.
        alike: whether a person's mass is the same in all groups, so that these can be compared.

    Returns:
        Groups in whole numbers, Python integers where sums of them would be too large.
    """
    held, mass = people.held[name], _mass(people, alike=alike)
    pair = np.cumsum(
        (np.diff(held.group, prepend=-1) != 0) | (np.diff(held.person, prepend=-1) != 0)
    )
    share = mass[held.group] // people.rows[pair - 1].astype(mass.dtype) * held.rows
    group, value, count = add_up([held.group, held.value], share)
    return Groups(people.sizes * mass, {name: held.counts(group, value, count)})


def surely_known(people: People, name: str) -> np.ndarray:
    """Mark the groups in which somebody surely has some value (bool, one per group).

    Sure is who knows how many rows each person has: a value that more rows have than all but one
    person's is that person's, whoever has the others.
    """
    counts = people.held[name].like
    return np.asarray(counts.largest + people.most_rows > counts.sizes)


def least_range(people: People, name: str) -> np.ndarray:
    """The smallest range of each group's values when one person's rows are taken away.

    Only who has the lowest value matters, and who has the highest: it stays where another person
    has it, too. A group of one person has no range, 0.

    Returns:
        In units of the attribute's exact numbers (integers, one per group).
    """
    held = people.held[name]
    first = starts(held.group)
    ends = np.append(first[1:], len(held.group))
    by_value = np.lexsort((held.value, held.group))
    units = held.like.numbers.units if held.like.numbers else np.arange(held.like.values)
    ranges = [_range_without(held, by_value[at], first, units) for at in (first, ends - 1)]
    return np.asarray(np.minimum(*ranges))


def fewest_alike(people: People) -> np.ndarray:
    """The fewest people who are like anybody of each group in all groups (int64, one per group).

    Alike are people who have as many rows in the same groups: whoever can link somebody's rows, or
    the members of a household, finds so many. O(n log n) in pairs of a person and a group.
    """
    if not people.groups:
        return people.sizes
    by_person = np.lexsort((people.group, people.person))
    held, pairs = np.unique(
        people.group * (people.rows.max() + 1) + people.rows, return_inverse=True
    )
    first = starts(people.person[by_person])
    number = number_alike(pairs[by_person], first, len(held))
    like = np.bincount(number)[number]
    whose = np.searchsorted(people.person[by_person][first], people.person)
    return np.asarray(np.minimum.reduceat(like[whose], starts(people.group)))


def number_alike(told: np.ndarray, first: np.ndarray, different: int) -> np.ndarray:
    """Number sequences: equal ones get the same number (int64, from 0, one per sequence).

    They are gone through entry by entry, the first of all sequences, then the second, and so on.

    Args:
        told: the sequences one after another (int64, each below `different`).
        first: where each begins (int64).
        different: how many different entries there are.
    """
    size = np.diff(np.append(first, len(told)))
    found = np.zeros(len(first), dtype=np.int64)
    more, place = np.arange(len(first)), 0
    while len(more):
        longer = found[more] * different + told[first[more] + place]
        found[more] = np.unique(longer, return_inverse=True)[1]
        place += 1
        more = more[size[more] > place]
    return np.asarray(np.unique(size * len(first) + found, return_inverse=True)[1])


def _range_without(
    held: HeldValues, whose: np.ndarray, first: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """The range of each group's values but those of one person, who has the entry `whose`."""
    if not len(first):
        return first
    rows = np.diff(np.append(first, len(held.group)))
    left = held.person != np.repeat(held.person[whose], rows)
    lowest = np.minimum.reduceat(np.where(left, held.value, INT64_MAX), first)
    highest = np.maximum.reduceat(np.where(left, held.value, -1), first)
    lowest = np.where(highest < 0, highest, lowest)
    return np.asarray(units[highest] - units[lowest])


def _mass(people: People, *, alike: bool) -> np.ndarray:
    """The mass of a person in each group: a multiple of the rows of everybody there."""
    one = lcm(*np.unique(people.rows).tolist())
    if alike or one * len(people.rows) <= _WHOLE:
        return np.full(people.groups, one, dtype=_kind(one * len(people.rows)))
    first = starts(people.group)
    each = [lcm(*set(rows.tolist())) for rows in np.split(people.rows, first[1:])]
    return np.array(each, dtype=_kind(max(each) * int(people.sizes.max())))


def _kind(most: int) -> type:
    return np.int64 if most <= _WHOLE else object
