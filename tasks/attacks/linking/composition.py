"""Composition: releases about the same people, each of which says who could have what.

Source: Ganta, Kasiviswanathan, Smith, Composition attacks and auxiliary information in data privacy
(KDD 2008). The attacker finds a person's group in each release, and takes the values that all of
them have, each as likely as the groups together make it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.tasks.attacks.attack import SURE, AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare
from sfumato.tasks.attacks.people_of_groups import group_of_people

_MOST = 50_000_000  # pairs of a person and a value
_ALONE = "from the first alone"


@dataclass(frozen=True, eq=False)
class PeopleInGroups:
    """What one release shows of people.

    Attributes:
        person: of each row (int64, ascending, each once).
        group: of each row (int64).
        own: the value of each row (int64, as all releases number it).
        size: of each group (int64).
        place: group times the number of values, plus a value, for each pair that occurs (int64).
        count: of each such pair (int64).
    """

    person: np.ndarray
    group: np.ndarray
    own: np.ndarray
    size: np.ndarray
    place: np.ndarray
    count: np.ndarray


def compose(targets: Sequence[AttackedRelease]) -> tuple[Score, ...]:
    """Look for the same people in several releases.

    Args:
        targets: the releases, with the same sensitive column; their people say whose rows are.

    Raises:
        InputError: where somebody has several rows, or is in no group alone.
    """
    labels = _all_values(targets)
    seen = [_seen(target, labels) for target in targets]
    known = seen[0].person
    for one in seen[1:]:
        known = np.intersect1d(known, one.person, assume_unique=True)
    smallest = min(len(one.person) for one in seen) / len(seen[0].person)
    there = Score(
        "in all of these releases",
        len(known) / len(seen[0].person),
        {"at most, by how many people each has": min(smallest, 1.0)},
    )
    if not len(known):
        return (there,)
    alone, together = (_scored(seen[:n], known, len(labels)) for n in (1, len(seen)))
    words = (
        "own value guessed from all of them",
        f"own value believed with {SURE:.0%} or more, by all of them",
        "own value the only one that all of them allow",
    )
    both = zip(words, together, alone, strict=True)
    return (there, *(Score(word, share, {_ALONE: first}) for word, share, first in both))


def successes(target: AttackedRelease) -> SuccessShare:
    """Who faces one value alone, by what a version tells together with others that are known.

    By intersection or by subtraction; whoever is told of in both ways counts twice. Nobody does
    where nobody is in another version.
    """
    exposure = target.declared.exposure
    told = [] if exposure is None else [c for c in exposure.columns if c.column == target.sensitive]
    if not told:
        return SuccessShare(target.people.rows, 0.0)
    (of,) = told
    alone = sum(found.one for found in (of.intersection, of.newcomers, of.leavers))
    return SuccessShare(of.intersection.people, min(1.0, alone / max(of.intersection.people, 1)))


def _all_values(targets: Sequence[AttackedRelease]) -> pa.Array:
    """The values of the sensitive column in any of them, each once."""
    values = [target.people[target.sensitive].values for target in targets]
    if len({of.type for of in values}) > 1:
        raise InputError(f"{targets[0].sensitive}: is of another type in each release")
    return pc.unique(pa.chunked_array(values))


def _seen(target: AttackedRelease, labels: pa.Array) -> PeopleInGroups:
    person, group = target.people.person, group_of_people(target)
    if person is None or len(np.unique(person)) < len(person):
        raise InputError("a person has several rows: they cannot be followed")
    if group is None:
        raise InputError(
            f"{target.declared.name}: it is not told of everybody which group they are in"
        )
    column = target.people[target.sensitive]
    number = np.append(pc.index_in(column.values, value_set=labels).to_numpy(), len(labels))
    order = np.argsort(person)
    own, group = number.astype(np.int64)[column.codes][order], group[order]
    place, count = np.unique(group * (len(labels) + 1) + own, return_counts=True)
    return PeopleInGroups(person[order], group, own, np.bincount(group), place, count)


def _scored(seen: Sequence[PeopleInGroups], known: np.ndarray, values: int) -> tuple[float, ...]:
    """Of the people whom all releases have: guessed, as good as known, and known."""
    rows = [np.searchsorted(one.person, known) for one in seen]
    first, group = seen[0], seen[0].group[rows[0]]
    starts = np.searchsorted(first.place, np.stack([group, group + 1]) * (values + 1))
    shown = starts[1] - starts[0]
    if int(shown.sum()) > _MOST:
        raise InputError("the groups have too many values to compare releases")
    of = np.repeat(np.arange(len(known)), shown)
    entry = np.arange(len(of)) + (starts[0] - np.cumsum(shown) + shown)[of]
    value = first.place[entry] % (values + 1)
    likely = first.count[entry] / first.size[group][of]
    for one, row in zip(seen[1:], rows[1:], strict=True):
        likely = likely * _share(one, one.group[row][of], value, values + 1)
    total = np.bincount(of, likely)
    belief = likely / total[of]
    top = np.maximum.reduceat(belief, np.cumsum(shown) - shown)
    is_top = np.isclose(belief, top[of], rtol=1e-12, atol=0)
    own = value == first.own[rows[0]][of]
    possible = np.bincount(of, likely > 0)
    guessed = (is_top / np.bincount(of, is_top)[of])[own].sum()
    found = (guessed, (belief[own] >= SURE).sum(), (possible == 1).sum())
    return tuple(float(of_all) / len(known) for of_all in found)


def _share(one: PeopleInGroups, group: np.ndarray, value: np.ndarray, values: int) -> np.ndarray:
    """Which share of each group has each value (float64)."""
    wanted = group * values + value
    at = np.minimum(np.searchsorted(one.place, wanted), len(one.place) - 1)
    return np.where(one.place[at] == wanted, one.count[at] / one.size[group], 0.0)
