"""Several-rows attack: an attacker who knows which rows belong to one person.

Each row of a person takes one of its group's rows of values, and no two rows take the same. A
person with r of the n rows of a group, c of which have a value, lacks the value in all r rows with
the chance C(n - c, r) / C(n, r), and in several groups with the product of these chances. So values
are believed more strongly, and rightly, than from one row only.

Source: Wang, Fung, Anonymizing sequential releases (KDD 2006), whose (X,Y)-privacy counts people
and not rows; the chance is the hypergeometric distribution's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import count_people
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, HeldValues, People
from sfumato.expectations.shared.sorting import distinct, starts
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.shared.attack import SURE, AttackedRelease, Score, skipped_attack
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs, top_in_group
from sfumato.tasks.microdata.table import Microdata

_UNKNOWN = "the quasi-identifiers do not show the groups of all people's rows"
_TOO_MANY = "more than 400,000,000 pairs of a person and a value in one of that person's groups"
_AT_ONCE, _MOST = 4_000_000, 400_000_000  # pairs of a person and a value of a group of theirs


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess for each person the value that one of their rows most likely has."""
    by_person, by_row = beliefs(target), homogeneity.beliefs(target)
    if by_row is None or _rows_and_groups(target)[0].person is None:
        return ()
    if by_person is None:
        unknown = people_of(target) is None
        return skipped_attack("several-rows", _UNKNOWN if unknown else _TOO_MANY)
    figures = (
        ("guessed, by who knows all their rows", by_person.hits(), by_row.hits()),
        (f"believed {SURE:.0%} or more", by_person.share_above(SURE), by_row.share_above(SURE)),
        ("certain", by_person.share_above(1.0), by_row.share_above(1.0)),
    )
    return tuple(
        Score(f"a value of their own {words}", share, {"of one row, from the group alone": alone})
        for words, share, alone in figures
    )


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """Return the beliefs in each person's own values, or None if people have one row each.

    Returns None also if the groups of rows are unknown, or there are too many pairs of a person and
    a value to look at.
    """
    people = people_of(target)
    return None if people is None else beliefs_about(people, target.sensitive)


def people_of(target: AttackedRelease) -> People | None:
    """Return the people of the groups with their values, or None if rows' groups are unknown."""
    rows, group = _rows_and_groups(target)
    counts = target.groups()
    if group is None or rows.person is None or counts is None or counts.labels is None:
        return None
    value = rows[target.sensitive].array().cast(counts.labels.type)
    codes = pc.index_in(value, value_set=counts.labels).to_numpy(zero_copy_only=False)
    groups = Groups(counts.sizes, {target.sensitive: counts})
    return count_people(group, rows.person, groups, {target.sensitive: codes})


def _rows_and_groups(target: AttackedRelease) -> tuple[Microdata, np.ndarray | None]:
    """Return the rows with their people, and the group of each row (int64; None if unknown)."""
    if target.whose is not None:
        return target.whose.rows, target.whose.group
    people = target.people
    return people, None if people.person is None else group_of_people(target)


def beliefs_about(people: People, sensitive: str) -> OwnValueBeliefs | None:
    """Return the beliefs in the one of each person's own values that is believed most.

    `alone` is the chance that the value of one of their rows is guessed from its group only.

    Args:
        people: their rows in each group, and their values of the sensitive column.
        sensitive: the sensitive column.

    Returns:
        The beliefs by person, in their order; None if there are more than 4·10^8 pairs of a person
        and a value of one of their groups.
    """
    person_values = people.held[sensitive]
    if int(person_values.like.distinct[people.group].sum()) > _MOST:
        return None
    own = distinct(person_values.person * person_values.like.values + person_values.value)
    results = [
        _own_beliefs(pairs, person_values.like, own)
        for pairs in _pairs_in_parts(people, person_values.like)
    ]
    belief, guessed = (np.concatenate(arrays) for arrays in zip(*results, strict=True))
    return OwnValueBeliefs(
        np.ones(len(belief), dtype=np.int64), belief, guessed, _guessed_by_row(person_values)
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a person and a group (int64, parallel, ordered by person).

    Attributes:
        person: the person of each pair.
        group: the group of each pair.
        rows: how many of the person's rows are in the group.
    """

    person: np.ndarray
    group: np.ndarray
    rows: np.ndarray


def _pairs_in_parts(people: People, counts: Counts) -> Iterator[_Pairs]:
    """Yield all pairs of a person and a group, in parts that fit in memory."""
    order = np.lexsort((people.group, people.person))
    person, group, rows = (array[order] for array in (people.person, people.group, people.rows))
    begins = starts(person)
    before = np.cumsum(counts.distinct[group]) - counts.distinct[group]
    part = before[begins] // _AT_ONCE
    cuts = [*begins[starts(part)].tolist(), len(person)]
    for part_ in (slice(*both) for both in pairwise(cuts)):
        yield _Pairs(person[part_], group[part_], rows[part_])


def _own_beliefs(pairs: _Pairs, counts: Counts, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the belief in own values and the chance that one is guessed (float64, per person)."""
    # `pair` and `entry`: every value of every group of a person, by pair of person and group
    number = counts.distinct[pairs.group]
    pair = np.repeat(np.arange(len(number)), number)
    entry = np.arange(len(pair)) - np.repeat(np.cumsum(number) - number, number)
    entry += counts.starts[pairs.group][pair]
    missed = chance_of_none(counts.sizes[pairs.group][pair], counts.count[entry], pairs.rows[pair])
    place = pairs.person[pair] * counts.values + counts.value[entry]
    # multiply the chances of each value over the groups of a person
    order = np.argsort(place, kind="stable")
    first = starts(place[order])
    belief = _round_beliefs(np.multiply.reduceat(missed[order], first))
    place = place[order][first]
    is_own = own[np.minimum(np.searchsorted(own, place), len(own) - 1)] == place
    # find each person's top guesses, and the belief in their own values
    begins = starts(place // counts.values)
    best = np.maximum.reduceat(belief, begins)
    top = belief == np.repeat(best, np.diff(np.append(begins, len(belief))))
    right = np.add.reduceat(top & is_own, begins, dtype=np.int64)
    in_own = np.maximum.reduceat(np.where(is_own, belief, 0.0), begins)
    return in_own, right / np.add.reduceat(top, begins, dtype=np.int64)


def chance_of_none(size: np.ndarray, count: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the chance that none of some rows of a group has a value (float64).

    Args:
        size: the number of rows of the group (int64).
        count: the number of rows with the value (int64).
        rows: the number of rows that are looked at (int64), at least one.
    """
    from scipy.special import gammaln  # imported where it is needed

    others = size - count
    is_open = others >= rows  # otherwise one of the rows must have the value
    some, all_, taken = (array[is_open].astype(np.float64) for array in (others, size, rows))
    chance = np.zeros(len(size))
    logarithm = gammaln(some + 1) - gammaln(some - taken + 1)
    logarithm += gammaln(all_ - taken + 1) - gammaln(all_ + 1)
    chance[is_open] = np.where(taken == 1, some / all_, np.exp(logarithm))
    return chance


def _round_beliefs(missed: np.ndarray) -> np.ndarray:
    """Round beliefs to nine digits, so that equal ones are equal; only certainty becomes 1."""
    belief = np.round(1 - missed, 9)
    return np.where(missed > 0, np.minimum(belief, np.nextafter(1.0, 0.0)), 1.0)


def _guessed_by_row(person_values: HeldValues) -> np.ndarray:
    """Return the chance to guess the value of one row of each person (float64)."""
    counts = person_values.like
    entry = np.searchsorted(
        counts.group * counts.values + counts.value,
        person_values.group * counts.values + person_values.value,
    )
    right = np.bincount(person_values.person, person_values.rows * top_in_group(counts)[entry])
    rows = np.bincount(person_values.person, person_values.rows)
    present = rows > 0
    return np.asarray(right[present] / rows[present])
