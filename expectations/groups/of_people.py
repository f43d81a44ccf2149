"""Groups of people, made of groups of rows: two readings, on which models measure as on rows.

`any_of` counts the people who have a value in any of their rows of a group. `weight_one` gives
everyone the mass 1 in a group, spread evenly over their rows there. If everyone has one row, both
are the groups of rows.

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
    """Return groups of people, with how many have each value of `name` in any row."""
    if name is None:
        return Groups(people.sizes, {})
    values = people.held[name]
    group, value, count = add_up([values.group, values.value], np.ones_like(values.group))
    return Groups(people.sizes, {name: values.counts(group, value, count)})


def weight_one(people: People, name: str, *, alike: bool) -> Groups:
    """Return groups in which everyone has the same mass, spread evenly over their rows there.

    Args:
        people: the people of the groups' rows.
        name: the attribute that is counted.
        alike: whether a person's mass is the same in all groups, so that groups can be compared.

    Returns:
        Groups in whole numbers, Python integers where sums of them would be too large.
    """
    values, mass = people.held[name], _mass(people, alike=alike)
    pair = np.cumsum(
        (np.diff(values.group, prepend=-1) != 0) | (np.diff(values.person, prepend=-1) != 0)
    )
    share = mass[values.group] // people.rows[pair - 1].astype(mass.dtype) * values.rows
    group, value, count = add_up([values.group, values.value], share)
    return Groups(people.sizes * mass, {name: values.counts(group, value, count)})


def surely_known(people: People, name: str) -> np.ndarray:
    """Mark the groups in which somebody surely has some value (bool, one per group).

    An attacker who knows how many rows each person has is sure of a value if more rows have it than
    all other people together could have: one person must have it.
    """
    counts = people.held[name].like
    return np.asarray(counts.largest + people.most_rows > counts.sizes)


def least_range(people: People, name: str) -> np.ndarray:
    """Return the smallest range of each group's values when one person's rows are taken away.

    Only the people with the lowest and the highest value matter: the value stays if another person
    has it, too. A group of one person has no range, 0.

    Returns:
        In units of the attribute's exact numbers (integers, one per group).
    """
    values = people.held[name]
    first = starts(values.group)
    ends = np.append(first[1:], len(values.group))
    by_value = np.lexsort((values.value, values.group))
    units = values.like.numbers.units if values.like.numbers else np.arange(values.like.values)
    ranges = [_range_without(values, by_value[entry], first, units) for entry in (first, ends - 1)]
    return np.asarray(np.minimum(*ranges))


def fewest_alike(people: People) -> np.ndarray:
    """Return, for each group, the fewest people who are alike in all groups (int64, one per group).

    The least is taken over the people of the group, each of whom is counted, too. People are alike
    if they have as many rows in the same groups: an attacker who can link somebody's rows, or the
    members of a household, finds so many. O(n log n) in pairs of a person and a group.
    """
    if not people.groups:
        return people.sizes
    by_person = np.lexsort((people.group, people.person))
    different, pairs = np.unique(
        people.group * (people.rows.max() + 1) + people.rows, return_inverse=True
    )
    first = starts(people.person[by_person])
    number = number_alike(pairs[by_person], first, len(different))
    like = np.bincount(number)[number]
    whose = np.searchsorted(people.person[by_person][first], people.person)
    return np.asarray(np.minimum.reduceat(like[whose], starts(people.group)))


def number_alike(entries: np.ndarray, first: np.ndarray, different: int) -> np.ndarray:
    """Number sequences: equal ones get the same number (int64, from 0, one per sequence).

    The loop compares the first entries of all sequences, then the second, and so on.

    Args:
        entries: the sequences one after another (int64, each below `different`).
        first: where each begins (int64).
        different: how many different entries there are.
    """
    size = np.diff(np.append(first, len(entries)))
    numbers = np.zeros(len(first), dtype=np.int64)
    more, place = np.arange(len(first)), 0
    while len(more):
        longer = numbers[more] * different + entries[first[more] + place]
        numbers[more] = np.unique(longer, return_inverse=True)[1]
        place += 1
        more = more[size[more] > place]
    return np.asarray(np.unique(size * len(first) + numbers, return_inverse=True)[1])


def _range_without(
    values: HeldValues, whose: np.ndarray, first: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """Return the range of each group's values without one person, who has entry `whose`."""
    if not len(first):
        return first
    rows = np.diff(np.append(first, len(values.group)))
    others = values.person != np.repeat(values.person[whose], rows)
    lowest = np.minimum.reduceat(np.where(others, values.value, INT64_MAX), first)
    highest = np.maximum.reduceat(np.where(others, values.value, -1), first)
    lowest = np.where(highest < 0, highest, lowest)
    return np.asarray(units[highest] - units[lowest])


def _mass(people: People, *, alike: bool) -> np.ndarray:
    """Return the mass of a person in each group: a multiple of the rows of every person there.

    So the mass can be spread over these rows in whole numbers. With `alike` it is the same in all
    groups.
    """
    common = lcm(*np.unique(people.rows).tolist())
    if alike or common * len(people.rows) <= _WHOLE:
        return np.full(people.groups, common, dtype=_kind(common * len(people.rows)))
    first = starts(people.group)
    each = [lcm(*set(rows.tolist())) for rows in np.split(people.rows, first[1:])]
    return np.array(each, dtype=_kind(max(each) * int(people.sizes.max())))


def _kind(most: int) -> type:
    return np.int64 if most <= _WHOLE else object
