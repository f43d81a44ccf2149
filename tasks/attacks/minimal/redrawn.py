"""Drawn worlds in which a partition gives the same result as in the release.

This is for partitions whose chance cannot be listed. Values are given to people at random, the
partition is run once, and the world is kept if the published tables would be the same. Kept worlds
are as likely as they are to an attacker who knows the partition and everyone's quasi-identifiers
(rejection: von Neumann, Various techniques used in connection with random digits, 1951).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from sfumato.tasks.attacks.linking.people_of_groups import column_covers, published_codes
from sfumato.tasks.attacks.minimal.rerun import (
    OTHERWISE,
    NotRetracedError,
    Rerun,
    RerunBeliefs,
)
from sfumato.tasks.attacks.minimal.worlds import WeighedGroup, Worlds
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.partitions.partition import Partition, by_stratum, with_strata
from sfumato.tasks.private.failure import steps

Same = Callable[[np.ndarray, Partition], bool]
"""Test that people with these values (int64), in this partition, look as in the release."""
_VALUES = 100_000_000  # most values of people, over all drawn worlds
_TOO_MUCH = (
    "the drawn worlds would have too many values for the memory. Draw at most {runs:,} (--runs)"
)
_BY = "Hoeffding's limits, {kept:,} of {runs:,} drawn worlds"
_MORE = ". Draw more (--runs)"
_NEVER = "{runs:,} runs on the true values never gave these groups" + _MORE
_NONE_KEPT = "{runs:,} worlds were drawn, but not one would have given the same release" + _MORE


def redraw(target: AttackedRelease, group: np.ndarray | None) -> RerunBeliefs:
    """Return the beliefs about everyone by those of `runs` drawn worlds that are kept.

    Args:
        target: a release.
        group: the group of each person (int64; 0, 1, …), within which values are exchanged; None if
            unknown: then values are exchanged within strata.

    Raises:
        NotRetracedError: no world is kept, or the worlds would need too much memory.
    """
    if target.runs * target.people.rows > _VALUES:
        most = _VALUES // target.people.rows
        raise NotRetracedError(_TOO_MUCH.format(runs=most))
    again = Redrawn(
        target.declared,
        target.people,
        target.sensitive,
        target.runs,
        target.drawing("minimality, redrawn"),
    )
    within = _stratum(target) if group is None else group
    worlds = again.worlds(within, _sameness(target, again, group))
    if not len(worlds):
        raise NotRetracedError(_NONE_KEPT.format(runs=target.runs))
    method = _BY.format(kept=len(worlds), runs=target.runs)
    return RerunBeliefs(again.weighed_groups(within, worlds), method, are_known=group is not None)


@dataclass(frozen=True, eq=False)
class Redrawn(Rerun):
    """A release whose partition is run again on drawn worlds.

    Attributes:
        runs: the number of worlds.
        draw: the source of randomness.
    """

    runs: int
    draw: np.random.Generator

    def worlds(self, within: np.ndarray, same: Same) -> np.ndarray:
        """Draw `runs` worlds and return those that are kept (int64, worlds x people).

        Args:
            within: the group or stratum within which each person exchanges values (int64).
            same: the test of worlds to keep.
        """
        candidates = (self._world(within) for _ in steps(self.runs, "drawn worlds"))
        worlds = [world for world in candidates if self._is_same(world, same)]
        return np.array(worlds, dtype=np.int64).reshape(-1, len(within))

    def once(self) -> Partition | None:
        """Return the partition of the actual values, by chance."""
        return self.partition(self.codes, self._keys)

    def weighed_groups(self, within: np.ndarray, worlds: np.ndarray) -> list[WeighedGroup]:
        """Return the beliefs about people who exchange their values, by the kept worlds."""
        groups = [np.flatnonzero(within == number) for number in range(int(within.max()) + 1)]
        alike = np.ones(len(worlds), dtype=np.int64)
        return [
            WeighedGroup.from_worlds(
                self.codes[rows],
                np.unique(self.vectors[rows], return_inverse=True)[1],
                Worlds(worlds[:, rows], alike, are_all=False),
                alike,
                len(groups),
            )
            for rows in groups
        ]

    def _world(self, within: np.ndarray) -> np.ndarray:
        """Return the values, exchanged at random."""
        world = np.empty_like(self.codes)
        into = np.argsort(within, kind="stable")
        world[into] = self.codes[np.lexsort((self.draw.random(len(within)), within))]
        return world

    def _is_same(self, world: np.ndarray, same: Same) -> bool:
        partition = self.partition(world, self._keys)
        return partition is not None and same(world, partition)

    def _keys(self, n: int) -> np.ndarray:
        return self.draw.bit_generator.random_raw(n)


def _stratum(target: AttackedRelease) -> np.ndarray:
    """Return the stratum of each person (int64; 0, 1, …)."""
    stratum = np.empty(target.people.rows, dtype=np.int64)
    for number, rows in enumerate(by_stratum(*with_strata(target.people, target.declared.strata))):
        stratum[rows] = number
    return stratum


def _sameness(target: AttackedRelease, again: Redrawn, group: np.ndarray | None) -> Same:
    """Return the test of worlds: the same groups with the same published values.

    Raises:
        NotRetracedError: no run gives the published groups.
    """
    if group is None:
        columns = ShownColumns.from_tables(target)
        return lambda world, partition: columns.are_those_of(world, partition.group)
    for _ in steps(again.runs, "runs on the values as they are"):
        made = again.once()
        if made is not None and again.has_groups(made, group):
            as_it_is = again.appearances(made)
            return lambda _, partition: again.appearances(partition) == as_it_is
    raise NotRetracedError(_NEVER.format(runs=again.runs))


@dataclass(frozen=True, eq=False)
class ShownColumns:
    """Values that groups show, each column apart, with people's own values in the same codes.

    Attributes:
        shown: the values of each group, of each quasi-identifier and the sensitive column, sorted.
        columns: people's codes of each quasi-identifier (int64).
        value: the number of each sensitive value, by its code (int64).
    """

    shown: list[tuple[tuple[int, ...], ...]]
    columns: list[np.ndarray]
    value: np.ndarray

    @classmethod
    def from_tables(cls, target: AttackedRelease) -> "ShownColumns":
        """Read the tables of a release.

        Raises:
            NotRetracedError: groups show no columns apart, or not the sensitive values.
        """
        groups, covers = column_covers(target)
        counts, people = groups.sensitive[target.sensitive], target.people
        if covers is None or counts.labels is None:
            raise NotRetracedError(OTHERWISE)
        values = np.repeat(counts.value, counts.count), np.repeat(counts.group, counts.count)
        parts = [*((cover.value, cover.group) for cover in covers.covers), values]
        of_group = [
            tuple(tuple(value[group == number].tolist()) for value, group in parts)
            for number in range(len(groups))
        ]
        names = target.declared.names_with_roles("quasi-identifier")
        codes = published_codes(target, [people[name] for name in names])
        own = people[target.sensitive].values.cast(counts.labels.type)
        value = pc.index_in(own, value_set=counts.labels).to_numpy(zero_copy_only=False)
        return cls(sorted(of_group), codes, value.astype(np.int64))

    def are_those_of(self, world: np.ndarray, group: np.ndarray) -> bool:
        """Decide whether people with these values, in these groups (int64), look the same."""
        if (group < 0).any() or int(group.max()) + 1 != len(self.shown):
            return False
        rows = [np.flatnonzero(group == number) for number in range(len(self.shown))]
        return self.shown == sorted(
            (
                *(tuple(np.unique(codes[mine]).tolist()) for codes in self.columns),
                tuple(np.sort(self.value[world[mine]]).tolist()),
            )
            for mine in rows
        )
