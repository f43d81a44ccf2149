"""Composition: releases about the same people, each of which says who could have what.

Source: Ganta, Kasiviswanathan, Smith, Composition attacks and auxiliary information in data privacy
(KDD 2008). The attacker finds a person's group in each release, and takes the values that all of
them have, each as likely as the worlds are in which the person has it (`same_people`). Where these
are too many, the shares of all groups are multiplied, which is right of groups that have nobody
else in common. People who are in the first release and not in all others are told of by what those
leave who are (critical absence: Xiao and Tao, m-invariance, SIGMOD 2007).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.tasks.attacks.attack import SURE, AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare
from sfumato.tasks.attacks.linking.counted import Weight
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.linking.same_people import Kind, ShownGroup, shares_of_kinds
from sfumato.tasks.microdata.table import Microdata

_MOST = 50_000_000  # pairs of a person and a value
_ALONE = "from the first alone"
_OF_ALL = (
    "own value guessed from all of them",
    f"own value believed with {SURE:.0%} or more, by all of them",
    "own value the only one that all of them allow",
)
_OF_SOME = (
    "own value guessed, of those who are not in all of them",
    f"own value believed with {SURE:.0%} or more, of those who are not in all of them",
    "own value the only one that is left, of those who are not in all of them",
)
_ROUNDED = 1 - 1e-12  # of a share that is as large as what it is compared with


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

    def groups_of(self, people: np.ndarray) -> np.ndarray:
        """The group of each of some people; -1 of those who are not there (both int64)."""
        at = np.minimum(np.searchsorted(self.person, people), len(self.person) - 1)
        return np.where(self.person[at] == people, self.group[at], -1)


def compose(targets: Sequence[AttackedRelease]) -> tuple[Score, ...]:
    """Look for the same people in several releases.

    Args:
        targets: the releases, with the same sensitive column; their people say whose rows are, or
            private maps do, which tell everybody's group.

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
    if not any(np.isin(seen[0].person, one.person).any() for one in seen[1:]):
        return (there,)
    left = np.setdiff1d(seen[0].person, known, assume_unique=True)
    return (
        there,
        *_told(seen, known, len(labels), _OF_ALL),
        *_told(seen, left, len(labels), _OF_SOME),
    )


def _told(
    seen: Sequence[PeopleInGroups], people: np.ndarray, values: int, words: Sequence[str]
) -> Iterator[Score]:
    """What all releases tell of some people of the first, beside what that tells alone."""
    if not len(people):
        return
    alone, (*together, exact) = (_scored(seen[:n], people, values) for n in (1, len(seen)))
    for word, share, first in zip(words, together, alone, strict=False):
        yield Score(word, share, {_ALONE: first}, exact=exact)


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
    values = [_people(target)[target.sensitive].values for target in targets]
    if len({of.type for of in values}) > 1:
        raise InputError(f"{targets[0].sensitive}: is of another type in each release")
    return pc.unique(pa.chunked_array(values))


def _people(target: AttackedRelease) -> Microdata:
    return target.people if target.whose is None else target.whose.rows


def _group(target: AttackedRelease) -> np.ndarray | None:
    return group_of_people(target) if target.whose is None else target.whose.group


def _seen(target: AttackedRelease, labels: pa.Array) -> PeopleInGroups:
    people = _people(target)
    person, group = people.person, _group(target)
    if person is None or len(np.unique(person)) < len(person):
        raise InputError("a person has several rows: they cannot be followed")
    if group is None:
        raise InputError(
            f"{target.declared.name}: it is not told of everybody which group they are in"
        )
    column = people[target.sensitive]
    number = np.append(pc.index_in(column.values, value_set=labels).to_numpy(), len(labels))
    order = np.argsort(person)
    own, group = number.astype(np.int64)[column.codes][order], group[order]
    place, count = np.unique(group * (len(labels) + 1) + own, return_counts=True)
    return PeopleInGroups(person[order], group, own, np.bincount(group), place, count)


def _scored(seen: Sequence[PeopleInGroups], known: np.ndarray, values: int) -> tuple[float, ...]:
    """Of some people of the first release: guessed, as good as known, known; counted exactly."""
    rows = np.searchsorted(seen[0].person, known)
    groups = np.stack([one.groups_of(known) for one in seen], axis=1)
    kinds, kind = np.unique(groups, axis=0, return_inverse=True)
    likely = _likely(seen, kinds, values + 1)
    belief = likely.weight / np.add.reduceat(likely.weight, likely.starts)[likely.kind]
    top = np.maximum.reduceat(belief, likely.starts)
    is_top = np.isclose(belief, top[likely.kind], rtol=1e-12, atol=0)
    guess = is_top / np.add.reduceat(is_top.astype(np.int64), likely.starts)[likely.kind]
    possible = np.add.reduceat((likely.weight > 0).astype(np.int64), likely.starts)
    place = likely.kind * (values + 1) + likely.value
    own = np.searchsorted(place, kind * (values + 1) + seen[0].own[rows])
    sure, only = belief[own] >= SURE * _ROUNDED, possible[kind] == 1
    found = guess[own].sum(), sure.sum(), only.sum(), likely.exact[kind].sum()
    return tuple(float(of_all) / len(known) for of_all in found)


@dataclass(frozen=True, eq=False)
class LikelyValues:
    """How likely values are, by kinds of people who are in the same groups.

    Attributes:
        kind: of each pair of a kind and a value that its first group has (int64, ascending).
        value: of each pair (int64, ascending in each kind).
        weight: in proportion to how likely the value is for the kind (float64).
        exact: the kinds of which all worlds were counted (bool, one per kind).
    """

    kind: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    exact: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Where the pairs of each kind start (int64)."""
        return np.flatnonzero(np.diff(self.kind, prepend=-1))


def _likely(seen: Sequence[PeopleInGroups], kinds: np.ndarray, values: int) -> LikelyValues:
    """By the worlds of groups that hang together, where all of these are counted.

    Args:
        seen: the releases.
        kinds: the group in each, -1 in those that do not have them (int64, kinds x releases).
        values: how many there are.
    """
    first = seen[0]
    starts = np.searchsorted(first.place, np.stack([kinds[:, 0], kinds[:, 0] + 1]) * values)
    shown = starts[1] - starts[0]
    if int(shown.sum()) > _MOST:
        raise InputError("the groups have too many values to compare releases")
    of = np.repeat(np.arange(len(kinds)), shown)
    entry = np.arange(len(of)) + (starts[0] - np.cumsum(shown) + shown)[of]
    value = first.place[entry] % values
    weight = np.ones(len(of))
    for one, group in zip(seen, kinds.T, strict=True):
        weight *= np.where(group[of] >= 0, _share(one, group[of], value, values), 1.0)
    exact = np.full(len(kinds), len(seen) == 1)
    if len(seen) > 1:
        for kind, (shares, exact[kind]) in enumerate(_by_worlds(seen, kinds, values)):
            if shares:
                here = slice(*np.searchsorted(of, [kind, kind + 1]))
                weight[here] = [float(shares.get(one, 0)) for one in value[here].tolist()]
    return LikelyValues(of, value, weight, exact)


def _by_worlds(
    seen: Sequence[PeopleInGroups], kinds: np.ndarray, values: int
) -> Iterator[tuple[Mapping[int, Weight] | None, bool]]:
    """The share of worlds with each value, of each kind; none where worlds are too many.

    And whether they are all worlds that there are.
    """
    everybody = np.unique(np.concatenate([one.person for one in seen]))
    groups = np.full((len(everybody), len(seen)), -1, dtype=np.int64)
    for number, one in enumerate(seen):
        groups[np.searchsorted(everybody, one.person), number] = one.group
    distinct, people = np.unique(groups, axis=0, return_counts=True)
    named = [_kind(row) for row in distinct.tolist()]
    shown: dict[ShownGroup, dict[int, int]] = {}
    for number, one in enumerate(seen):
        for place, count in zip(one.place.tolist(), one.count.tolist(), strict=True):
            group, value = divmod(place, values)
            shown.setdefault((number, group), {})[value] = count
    wanted = [_kind(row) for row in kinds.tolist()]
    found = shares_of_kinds(dict(zip(named, people.tolist(), strict=True)), shown, wanted)
    return ((found.shares.get(kind), kind in found.exact) for kind in wanted)


def _kind(groups: Sequence[int]) -> Kind:
    return frozenset((number, group) for number, group in enumerate(groups) if group >= 0)


def _share(one: PeopleInGroups, group: np.ndarray, value: np.ndarray, values: int) -> np.ndarray:
    """Which share of each group has each value (float64)."""
    wanted = group * values + value
    at = np.minimum(np.searchsorted(one.place, wanted), len(one.place) - 1)
    return np.where(one.place[at] == wanted, one.count[at] / one.size[group], 0.0)
