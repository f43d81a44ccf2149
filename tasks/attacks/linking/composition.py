"""Composition attack: releases about the same people, each of which limits the values of a person.

The attacker finds a person's group in each release, and takes the values that all these groups
have. A *world* is one way in which all people can have values so that each group has its own; a
value is as likely as the worlds in which the person has it (`same_people`). If there are too many
worlds, the value's shares in all groups are multiplied, which is right for groups that have no
other person in common. Values of people in the first release and not in all others follow from the
values that the others leave (critical absence: Xiao and Tao, m-invariance, SIGMOD 2007).

People who are in the same groups are one *kind*.

Source: Ganta, Kasiviswanathan, Smith, Composition attacks and auxiliary information in data privacy
(KDD 2008).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.attacks.linking.counted import Weight
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.linking.same_people import Kind, ShownGroup, shares_of_kinds
from sfumato.tasks.attacks.shared.attack import SURE, AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare
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
_ROUNDED = 1 - 1e-12  # tolerance for rounding in a share that equals its limit


@dataclass(frozen=True, eq=False)
class PeopleInGroups:
    """The people of one release, with their groups and the groups' values.

    Attributes:
        person: the person of each row (int64, ascending, each once).
        group: the group of each row (int64).
        own: the value of each row (int64, numbered alike in all releases).
        size: the rows of each group (int64).
        place: group times the number of values, plus a value, for each pair that occurs (int64).
        count: the rows of each such pair (int64).
    """

    person: np.ndarray
    group: np.ndarray
    own: np.ndarray
    size: np.ndarray
    place: np.ndarray
    count: np.ndarray

    def groups_of(self, people: np.ndarray) -> np.ndarray:
        """Return the group of each of some people; -1 if not in the release (both int64)."""
        row = np.minimum(np.searchsorted(self.person, people), len(self.person) - 1)
        return np.where(self.person[row] == people, self.group[row], -1)


def compose(targets: Sequence[AttackedRelease]) -> tuple[Score, ...]:
    """Look for the same people in several releases and guess their values from all of them.

    Args:
        targets: the releases, with the same sensitive column. The person of each row comes from
            their people, or from private maps, which also have everyone's group.

    Raises:
        InputError: a person has several rows, or the group of a person is unknown.
    """
    labels = _all_values(targets)
    seen = [_people_in_groups(target, labels) for target in targets]
    common = seen[0].person
    for release in seen[1:]:
        common = np.intersect1d(common, release.person, assume_unique=True)
    smallest = min(len(release.person) for release in seen) / len(seen[0].person)
    there = Score(
        "in all of these releases",
        len(common) / len(seen[0].person),
        {"at most, by how many people each has": min(smallest, 1.0)},
    )
    if not any(np.isin(seen[0].person, release.person).any() for release in seen[1:]):
        return (there,)
    others = np.setdiff1d(seen[0].person, common, assume_unique=True)
    return (
        there,
        *_score_together(seen, common, len(labels), _OF_ALL),
        *_score_together(seen, others, len(labels), _OF_SOME),
    )


def _score_together(
    seen: Sequence[PeopleInGroups], people: np.ndarray, values: int, words: Sequence[str]
) -> Iterator[Score]:
    """Yield scores of some people of the first release, from all releases and from the first."""
    if not len(people):
        return
    alone, (*together, exact) = (_shares_of_hits(seen[:n], people, values) for n in (1, len(seen)))
    for word, share, first in zip(words, together, alone, strict=False):
        yield Score(word, share, {_ALONE: first}, exact=exact)


def successes(target: AttackedRelease) -> SuccessShare:
    """Return the share of people for whom a version and other known versions leave one value.

    Values follow by intersection or by subtraction; a person found in both ways counts twice. The
    share is 0 if no other version is known.
    """
    exposure = target.declared.exposure
    exposures = (
        [] if exposure is None else [c for c in exposure.columns if c.column == target.sensitive]
    )
    if not exposures:
        return SuccessShare(target.people.rows, 0.0)
    (column,) = exposures
    alone = sum(way.one for way in (column.intersection, column.newcomers, column.leavers))
    return SuccessShare(
        column.intersection.people, min(1.0, alone / max(column.intersection.people, 1))
    )


def _all_values(targets: Sequence[AttackedRelease]) -> pa.Array:
    """Return the values of the sensitive column in any of the releases, each once."""
    values = [_people(target)[target.sensitive].values for target in targets]
    if len({column.type for column in values}) > 1:
        raise InputError(
            f"{targets[0].sensitive}: has another type in each release, so they cannot be "
            "compared. Compare releases with the same type"
        )
    return pc.unique(pa.chunked_array(values))


def _people(target: AttackedRelease) -> Microdata:
    return target.people if target.whose is None else target.whose.rows


def _group(target: AttackedRelease) -> np.ndarray | None:
    return group_of_people(target) if target.whose is None else target.whose.group


def _people_in_groups(target: AttackedRelease, labels: pa.Array) -> PeopleInGroups:
    people = _people(target)
    person, group = people.person, _group(target)
    if person is None or len(np.unique(person)) < len(person):
        raise InputError(
            "a person has several rows, so people cannot be followed across releases. Give "
            "releases with one row for each person"
        )
    if group is None:
        raise InputError(
            f"{target.declared.name}: the groups of some people are not known, so the "
            "releases cannot be compared"
        )
    column = people[target.sensitive]
    number = np.append(pc.index_in(column.values, value_set=labels).to_numpy(), len(labels))
    order = np.argsort(person)
    own, group = number.astype(np.int64)[column.codes][order], group[order]
    place, count = np.unique(group * (len(labels) + 1) + own, return_counts=True)
    return PeopleInGroups(person[order], group, own, np.bincount(group), place, count)


def _shares_of_hits(
    seen: Sequence[PeopleInGroups], people: np.ndarray, values: int
) -> tuple[float, ...]:
    """Return four shares of people: guessed, believed with `SURE` or more, certain, and exact.

    People are exact if all of their worlds were counted.

    Args:
        seen: the releases that the attacker has.
        people: the people, all of whom are in the first release (int64).
        values: the number of values.
    """
    rows = np.searchsorted(seen[0].person, people)
    groups = np.stack([release.groups_of(people) for release in seen], axis=1)
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
    totals = guess[own].sum(), sure.sum(), only.sum(), likely.exact[kind].sum()
    return tuple(float(of_all) / len(people) for of_all in totals)


@dataclass(frozen=True, eq=False)
class LikelyValues:
    """Likelihoods of values, by kinds of people who are in the same groups.

    Attributes:
        kind: the kind of each pair of a kind and a value of its first group (int64, ascending).
        value: the value of each pair (int64, ascending in each kind).
        weight: the likelihood of the value for the kind, up to a factor (float64).
        exact: whether all worlds of the kind were counted (bool, one per kind).
    """

    kind: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    exact: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """The first pair of each kind (int64)."""
        return np.flatnonzero(np.diff(self.kind, prepend=-1))


def _likely(seen: Sequence[PeopleInGroups], kinds: np.ndarray, values: int) -> LikelyValues:
    """Weigh each kind's values by the worlds of connected groups, where all worlds are counted.

    Args:
        seen: the releases.
        kinds: the group of each kind in each release, -1 if it is not in the release (int64, kinds
            x releases).
        values: the number of values, null included.

    Raises:
        InputError: there are too many pairs of a kind and a value.
    """
    first = seen[0]
    starts = np.searchsorted(first.place, np.stack([kinds[:, 0], kinds[:, 0] + 1]) * values)
    shown_values = starts[1] - starts[0]
    if int(shown_values.sum()) > _MOST:
        raise InputError("the groups have too many values to compare the releases")
    # one pair for each kind and value of its first group; `entry` is its position in `first.place`
    pair_kind = np.repeat(np.arange(len(kinds)), shown_values)
    entry = (
        np.arange(len(pair_kind)) + (starts[0] - np.cumsum(shown_values) + shown_values)[pair_kind]
    )
    value = first.place[entry] % values
    weight = np.ones(len(pair_kind))
    for release, group in zip(seen, kinds.T, strict=True):
        weight *= np.where(
            group[pair_kind] >= 0, _share_of_value(release, group[pair_kind], value, values), 1.0
        )
    exact = np.full(len(kinds), len(seen) == 1)
    if len(seen) > 1:
        for kind, (shares, exact[kind]) in enumerate(_by_worlds(seen, kinds, values)):
            if shares:
                here = slice(*np.searchsorted(pair_kind, [kind, kind + 1]))
                weight[here] = [float(shares.get(code, 0)) for code in value[here].tolist()]
    return LikelyValues(pair_kind, value, weight, exact)


def _by_worlds(
    seen: Sequence[PeopleInGroups], kinds: np.ndarray, values: int
) -> Iterator[tuple[Mapping[int, Weight] | None, bool]]:
    """Yield, for each kind, the share of worlds with each value and whether these are all worlds.

    The shares are None if there are too many worlds.
    """
    everybody = np.unique(np.concatenate([release.person for release in seen]))
    groups = np.full((len(everybody), len(seen)), -1, dtype=np.int64)
    for number, release in enumerate(seen):
        groups[np.searchsorted(everybody, release.person), number] = release.group
    distinct, people = np.unique(groups, axis=0, return_counts=True)
    distinct_kinds = [_kind(row) for row in distinct.tolist()]
    counts: dict[ShownGroup, dict[int, int]] = {}
    for number, release in enumerate(seen):
        for place, count in zip(release.place.tolist(), release.count.tolist(), strict=True):
            group, value = divmod(place, values)
            counts.setdefault((number, group), {})[value] = count
    queried = [_kind(row) for row in kinds.tolist()]
    result = shares_of_kinds(
        dict(zip(distinct_kinds, people.tolist(), strict=True)), counts, queried
    )
    return ((result.shares.get(kind), kind in result.exact) for kind in queried)


def _kind(groups: Sequence[int]) -> Kind:
    return frozenset((number, group) for number, group in enumerate(groups) if group >= 0)


def _share_of_value(
    release: PeopleInGroups, group: np.ndarray, value: np.ndarray, values: int
) -> np.ndarray:
    """Return the share of each group that has each value (float64)."""
    pair = group * values + value
    entry = np.minimum(np.searchsorted(release.place, pair), len(release.place) - 1)
    return np.where(release.place[entry] == pair, release.count[entry] / release.size[group], 0.0)
