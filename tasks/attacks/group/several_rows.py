"""People of several rows: an attacker who knows which rows are one person's.

Each row of a person takes a value of its group, and no two rows take the same one: whoever has r of
the n rows of a group, c of which have a value, lacks it in all of them with the chance
C(n - c, r) / C(n, r), and in several groups with the product of these. That is more often believed,
and rightly, than of one row alone.

Source: Wang, Fung, Anonymizing sequential releases (KDD 2006), whose (X,Y)-privacy counts people
and not rows; the chance is the hypergeometric distribution's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
from scipy.special import gammaln

from sfumato.expectations.groups.counting import count_people
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, HeldValues, People
from sfumato.expectations.sorting import distinct, starts
from sfumato.tasks.attacks.attack import SURE, AttackedRelease, Score, skipped_attack
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs, top_in_group
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.microdata.table import Microdata

_UNKNOWN = "quasi-identifiers do not tell which groups everybody's rows are in"
_TOO_MANY = "more than 400,000,000 pairs of a person and a value of a group of theirs"
_AT_ONCE, _MOST = 4_000_000, 400_000_000  # pairs of a person and a value of a group of theirs


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess for each person the value that one of their rows most likely has."""
    known, by_row = beliefs(target), homogeneity.beliefs(target)
    if by_row is None or _standing(target)[0].person is None:
        return ()
    if known is None:
        unknown = people_of(target) is None
        return skipped_attack("several-rows", _UNKNOWN if unknown else _TOO_MANY)
    told = (
        ("guessed, by who knows all their rows", known.hits(), by_row.hits()),
        (f"believed {SURE:.0%} or more", known.believed(SURE), by_row.believed(SURE)),
        ("certain", known.believed(1.0), by_row.believed(1.0)),
    )
    return tuple(
        Score(f"a value of their own {words}", share, {"of one row, from the group alone": alone})
        for words, share, alone in told
    )


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """What is believed of each person; None where people have one row each.

    None, too, where rows do not tell their groups, or there are too many pairs of a person and a
    value to look at.
    """
    people = people_of(target)
    return None if people is None else beliefs_about(people, target.sensitive)


def people_of(target: AttackedRelease) -> People | None:
    """Whose the rows of the groups are, and with which values; None where it cannot be told."""
    rows, group = _standing(target)
    counts = target.groups()
    if group is None or rows.person is None or counts is None or counts.labels is None:
        return None
    value = rows[target.sensitive].array().cast(counts.labels.type)
    codes = pc.index_in(value, value_set=counts.labels).to_numpy(zero_copy_only=False)
    groups = Groups(counts.sizes, {target.sensitive: counts})
    return count_people(group, rows.person, groups, {target.sensitive: codes})


def _standing(target: AttackedRelease) -> tuple[Microdata, np.ndarray | None]:
    """The rows with whose they are, and the group of each (int64)."""
    if target.whose is not None:
        return target.whose.rows, target.whose.group
    people = target.people
    return people, None if people.person is None else group_of_people(target)


def beliefs_about(people: People, sensitive: str) -> OwnValueBeliefs | None:
    """Beliefs in that value of each person's own which is believed most.

    `alone` is the chance that one of their rows, whichever, is guessed from its group.

    Args:
        people: their rows in each group, and their values of the attribute.
        sensitive: the attribute.

    Returns:
        Of each person, in their order; None where there are more than 4·10^8 pairs of a person and
        a value of a group of theirs.
    """
    held = people.held[sensitive]
    if int(held.like.distinct[people.group].sum()) > _MOST:
        return None
    own = distinct(held.person * held.like.values + held.value)
    found = [_of_some(pairs, held.like, own) for pairs in _in_parts(people, held.like)]
    belief, guessed = (np.concatenate(of) for of in zip(*found, strict=True))
    return OwnValueBeliefs(np.ones(len(belief), dtype=np.int64), belief, guessed, _alone(held))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Some people and their groups (int64, parallel, by person), and their rows there."""

    person: np.ndarray
    group: np.ndarray
    rows: np.ndarray


def _in_parts(people: People, counts: Counts) -> Iterator[_Pairs]:
    """All pairs of a person and a group, so many people at once as memory is meant for."""
    order = np.lexsort((people.group, people.person))
    person, group, rows = (of[order] for of in (people.person, people.group, people.rows))
    begins = starts(person)
    before = np.cumsum(counts.distinct[group]) - counts.distinct[group]
    part = before[begins] // _AT_ONCE
    cuts = [*begins[starts(part)].tolist(), len(person)]
    for part_ in (slice(*both) for both in pairwise(cuts)):
        yield _Pairs(person[part_], group[part_], rows[part_])


def _of_some(pairs: _Pairs, counts: Counts, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The belief in their own values, and whether one of these is guessed (float64, per person)."""
    number = counts.distinct[pairs.group]
    pair = np.repeat(np.arange(len(number)), number)
    entry = np.arange(len(pair)) - np.repeat(np.cumsum(number) - number, number)
    entry += counts.starts[pairs.group][pair]
    missed = chance_of_none(counts.sizes[pairs.group][pair], counts.count[entry], pairs.rows[pair])
    place = pairs.person[pair] * counts.values + counts.value[entry]
    order = np.argsort(place, kind="stable")
    first = starts(place[order])
    belief = _believed(np.multiply.reduceat(missed[order], first))
    place = place[order][first]
    is_own = own[np.minimum(np.searchsorted(own, place), len(own) - 1)] == place
    begins = starts(place // counts.values)
    best = np.maximum.reduceat(belief, begins)
    top = belief == np.repeat(best, np.diff(np.append(begins, len(belief))))
    right = np.add.reduceat(top & is_own, begins, dtype=np.int64)
    in_own = np.maximum.reduceat(np.where(is_own, belief, 0.0), begins)
    return in_own, right / np.add.reduceat(top, begins, dtype=np.int64)


def chance_of_none(size: np.ndarray, count: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The chance that none of some rows of a group has a value (float64).

    Args:
        size: the rows of the group (int64).
        count: those with the value (int64).
        rows: the rows that are looked at (int64), at least one.
    """
    left = size - count
    is_open = left >= rows
    some, all_, drawn = (of[is_open].astype(np.float64) for of in (left, size, rows))
    chance = np.zeros(len(size))
    logarithm = gammaln(some + 1) - gammaln(some - drawn + 1)
    logarithm += gammaln(all_ - drawn + 1) - gammaln(all_ + 1)
    chance[is_open] = np.where(drawn == 1, some / all_, np.exp(logarithm))
    return chance


def _believed(missed: np.ndarray) -> np.ndarray:
    """Beliefs to nine digits, so that equal ones are; one only where nothing else is possible."""
    belief = np.round(1 - missed, 9)
    return np.where(missed > 0, np.minimum(belief, np.nextafter(1.0, 0.0)), 1.0)


def _alone(held: HeldValues) -> np.ndarray:
    """The chance that a row of each person is guessed right from its group (float64)."""
    counts = held.like
    entry = np.searchsorted(
        counts.group * counts.values + counts.value, held.group * counts.values + held.value
    )
    right = np.bincount(held.person, held.rows * top_in_group(counts)[entry])
    rows = np.bincount(held.person, held.rows)
    present = rows > 0
    return np.asarray(right[present] / rows[present])
