"""All worlds in which a partition gives the same result as in the release, by running it on each.

This is for partitions whose tries are unknown. All ways to give the values of the groups to their
people are enumerated, with all orders in which chance could have put them. So it works only for
small releases, and gives the reason for others. If requested, worlds are drawn instead (`redrawn`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import numpy as np

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.attacks.linking.people_of_groups import group_of_people
from sfumato.tasks.attacks.minimal.orders import TooManyOrdersError, all_orders
from sfumato.tasks.attacks.minimal.redrawn import redraw
from sfumato.tasks.attacks.minimal.rerun import (
    OTHERWISE,
    Hashables,
    NotRetracedError,
    Rerun,
    RerunBeliefs,
)
from sfumato.tasks.attacks.minimal.worlds import WeighedGroup, Worlds, arrangements
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.terms.terms import Declared

_PEOPLE, _RUNS = 24, 1_500  # most people, and most runs of the partition
_BY_ROWS = ("mondrian", "full-domain", "forest", "factors")
"""Partitions that look at values only for promises, where chance decides at most about orders."""
_BY_VECTORS = ("stratum", "exact-qi")
_BY_NOBODY = (
    "the partition and its promises do not look at anyone's values, so nothing more is revealed"
)
_BY_VALUES = (
    "groups depend on the values only, not on the people who have them, so nothing more is revealed"
)
_SUPPRESSED = "rows were suppressed, and their values in a possible world are not known"
_SEVERAL = "not only this column's values decided about the groups, or people have several rows"
_UNKNOWN = "the quasi-identifiers do not show the groups of all people"
_HINT = "`sfumato attack --runs 10000` runs the partition on randomly drawn worlds"
_NOT_LISTED = f"chance decides in too many ways to list them all ({_HINT})"
_BY_NUMBERS = f"chance decides about groups in too many ways to try them all ({_HINT})"
_TOO_MANY = (
    f"more than {_PEOPLE} people, or {_RUNS:,} worlds, are too many to run the "
    f"partition on each ({_HINT})"
)


@dataclass(frozen=True, eq=False)
class Retraced(Rerun):
    """A release whose partition is run again on all worlds.

    Attributes:
        group: the group of each of its people (int64; 0, 1, …).
    """

    group: np.ndarray

    def weighed_groups(self) -> list[WeighedGroup]:
        """Return the beliefs about everyone, by groups.

        Raises:
            NotRetracedError: there are too many worlds, or no run gives these groups.
        """
        worlds = list(self._worlds())
        weights = np.array([float(weight) for _, weight in worlds])
        values = np.array([world for world, _ in worlds])
        groups = [
            np.flatnonzero(self.group == number) for number in range(int(self.group.max()) + 1)
        ]
        return [self._of_group(rows, values, weights) for rows in groups]

    def _of_group(self, rows: np.ndarray, values: np.ndarray, weights: np.ndarray) -> WeighedGroup:
        kind = np.unique(self.vectors[rows], return_inverse=True)[1]
        worlds = Worlds(values[:, rows], np.ones(len(weights), dtype=np.int64))
        return WeighedGroup.from_worlds(self.codes[rows], kind, worlds, weights)

    def _worlds(self) -> Iterator[tuple[np.ndarray, Fraction]]:
        """Yield the worlds with these groups, and the chance of these groups in each world."""
        appearances = self._own_appearances()
        runs_left = _RUNS
        for world in worlds_within(self.codes, self.group):
            likely = Fraction(0)
            for partition, chance in self._partitions(world, runs_left):
                runs_left -= 1
                if partition is not None and self.appearances(partition) == appearances:
                    likely += chance
            if likely:
                yield world, likely

    def _own_appearances(self) -> Hashables:
        """Return the appearances of the people in a run that gives the published groups.

        Raises:
            NotRetracedError: no order gives the published groups.
        """
        for partition, _ in self._partitions(self.codes, _RUNS):
            if partition is not None and self.has_groups(partition, self.group):
                return self.appearances(partition) or ()
        raise NotRetracedError(OTHERWISE)

    def _partitions(
        self, codes: np.ndarray, most: int
    ) -> Iterator[tuple[Partition | None, Fraction]]:
        try:
            yield from all_orders(partial(self.partition, codes), most)
        except TooManyOrdersError:
            raise NotRetracedError(_BY_NUMBERS) from None


def retrace(target: AttackedRelease) -> RerunBeliefs:
    """Return the beliefs of an attacker who runs a release's partition on all or drawn worlds.

    Raises:
        NotRetracedError: there are too many worlds, or the partition cannot be retraced.
    """
    if reason := _reason_against(target):
        raise NotRetracedError(reason)
    numbers = group_of_people(target)
    if numbers is None and target.declared.form.shows != "columns":
        raise NotRetracedError(_UNKNOWN)
    group = None if numbers is None else np.unique(numbers, return_inverse=True)[1]
    try:
        people = with_hierarchies(target.people, target.declared.hierarchies)
        return _rerun(replace(target, people=people), group)
    except SfumatoError:
        raise NotRetracedError(OTHERWISE) from None


def _rerun(target: AttackedRelease, group: np.ndarray | None) -> RerunBeliefs:
    """Run the partition on all worlds if they can be listed, otherwise on drawn worlds, if any."""
    try:
        return RerunBeliefs(_with_all_worlds(target, group).weighed_groups())
    except NotRetracedError:
        if not target.runs:
            raise
    return redraw(target, group)


def _with_all_worlds(target: AttackedRelease, group: np.ndarray | None) -> Retraced:
    """Return the release with all its worlds to enumerate.

    Raises:
        NotRetracedError: the worlds cannot be enumerated.
    """
    if group is None or target.declared.partition.method not in _BY_ROWS:
        raise NotRetracedError(_NOT_LISTED)
    if target.people.rows > _PEOPLE or _number_of_worlds(target, group) > _RUNS:
        raise NotRetracedError(_TOO_MANY)
    return Retraced(target.declared, target.people, target.sensitive, group)


def _number_of_worlds(target: AttackedRelease, group: np.ndarray) -> int:
    codes = target.people[target.sensitive].codes
    return prod(arrangements(_counts(codes[group == number])) for number in set(group.tolist()))


def _reason_against(target: AttackedRelease) -> str:
    """Return the reason why a release cannot be retraced at all; empty if it may be."""
    declared = target.declared
    about = {promise.sensitive for promise in declared.promises} - {None}
    method = declared.partition.method
    reasons = (
        (method in _BY_VECTORS or (method in _BY_ROWS and not about), _BY_NOBODY),
        (bool(about - {target.sensitive}) or target.people.person is not None, _SEVERAL),
        (_is_by_values(declared), _BY_VALUES),
        (declared.rows.suppressed > 0, _SUPPRESSED),
        (target.people.rows > _PEOPLE and not target.runs, _TOO_MANY),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _is_by_values(declared: Declared) -> bool:
    """Decide whether groups are drawn only by their values, so that their people are alike."""
    partition = declared.partition
    alike = isinstance(partition, AnatomyParameters) and partition.alike is not None
    return partition.method in ("ke", "anatomy", "hybrid", "contiguous") and not alike


def worlds_within(codes: np.ndarray, group: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all ways to give the values of each group to its rows (int64, one per row), each once.

    Args:
        codes: the value of each row (int64).
        group: the group of each row (int64; 0, 1, …).
    """
    rows = [np.flatnonzero(group == number) for number in range(int(group.max()) + 1)]
    for ways in product(
        *(list(different_orders(codes[group_rows].tolist())) for group_rows in rows)
    ):
        world = np.empty(len(codes), dtype=np.int64)
        for group_rows, way in zip(rows, ways, strict=True):
            world[group_rows] = way
        yield world


def different_orders(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the different orders of some values.

    >>> list(different_orders([1, 2, 1]))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not values:
        yield ()
    for first in sorted(set(values)):
        rest = list(values)
        rest.remove(first)
        yield from ((first, *others) for others in different_orders(rest))


def _counts(codes: np.ndarray) -> list[int]:
    return [int(n) for n in np.unique(codes, return_counts=True)[1]]
