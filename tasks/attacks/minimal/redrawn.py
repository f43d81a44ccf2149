"""Worlds in which a partition comes out as it did, of those that are drawn.

For partitions whose chance cannot be listed. Values are given to people at random, the partition is
run once, and the world is kept where what is published would be the same: those kept are as likely
as the attacker has reason to believe (von Neumann, Various techniques used in connection with
random digits, 1951), who knows the partition and everybody's quasi-identifiers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.attacks.linking.people_of_groups import column_covers, published_codes
from sfumato.tasks.attacks.minimal.rerun import (
    OTHERWISE,
    NotRetracedError,
    Rerun,
    Retold,
)
from sfumato.tasks.attacks.minimal.worlds import WeighedGroup, Worlds
from sfumato.tasks.partitions.partition import Partition, by_stratum, with_strata
from sfumato.tasks.private.failure import steps

Same = Callable[[np.ndarray, Partition], bool]
"""Whether people with these values (int64), in this partition, are shown as they were."""
_VALUES = 100_000_000  # of the people of all drawn worlds together
_TOO_MUCH = "more values of people in all worlds than can be held: draw at most {runs:,} (--runs)"
_BY = "Hoeffding's limits, {kept:,} of {runs:,} drawn worlds"
_MORE = ": draw more (--runs)"
_NEVER = "in {runs:,} runs on the values as they are these groups never came out" + _MORE
_NONE_KEPT = "in none of {runs:,} drawn worlds would the same have been published" + _MORE


def redraw(target: AttackedRelease, group: np.ndarray | None) -> Retold:
    """What is believed of everybody by the worlds that are kept of so many as `runs` says.

    Args:
        target: a release.
        group: of each person (int64; 0, 1, …), within which values are given; None where it is not
            known: then within strata.

    Raises:
        NotRetracedError: where no world is kept, or they would need too much memory.
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
    kept = again.worlds(within, _sameness(target, again, group))
    if not len(kept):
        raise NotRetracedError(_NONE_KEPT.format(runs=target.runs))
    by = _BY.format(kept=len(kept), runs=target.runs)
    return Retold(again.weighed(within, kept), by, are_known=group is not None)


@dataclass(frozen=True, eq=False)
class Redrawn(Rerun):
    """A release whose partition is run again on drawn worlds.

    Attributes:
        runs: how often.
        draw: what is drawn from.
    """

    runs: int
    draw: np.random.Generator

    def worlds(self, within: np.ndarray, same: Same) -> np.ndarray:
        """The worlds that are kept (int64, worlds x people), of so many as there are runs.

        Args:
            within: the numbers of what people exchange their values in (int64, one per person).
            same: what worlds are kept for.
        """
        found = (self._world(within) for _ in steps(self.runs, "drawn worlds"))
        kept = [world for world in found if self._is(world, same)]
        return np.array(kept, dtype=np.int64).reshape(-1, len(within))

    def once(self) -> Partition | None:
        """The partition of what is so, by chance."""
        return self.partition(self.codes, self._keys)

    def weighed(self, within: np.ndarray, worlds: np.ndarray) -> list[WeighedGroup]:
        """What is believed of those who exchange their values, by the worlds that were kept."""
        groups = [np.flatnonzero(within == one) for one in range(int(within.max()) + 1)]
        alike = np.ones(len(worlds), dtype=np.int64)
        return [
            WeighedGroup.of(
                self.codes[rows],
                np.unique(self.vectors[rows], return_inverse=True)[1],
                Worlds(worlds[:, rows], alike, are_all=False),
                alike,
                len(groups),
            )
            for rows in groups
        ]

    def _world(self, within: np.ndarray) -> np.ndarray:
        """The values, given to others at random."""
        world = np.empty_like(self.codes)
        into = np.argsort(within, kind="stable")
        world[into] = self.codes[np.lexsort((self.draw.random(len(within)), within))]
        return world

    def _is(self, world: np.ndarray, same: Same) -> bool:
        found = self.partition(world, self._keys)
        return found is not None and same(world, found)

    def _keys(self, n: int) -> np.ndarray:
        return self.draw.bit_generator.random_raw(n)


def _stratum(target: AttackedRelease) -> np.ndarray:
    """The stratum of each person (int64; 0, 1, …)."""
    stratum = np.empty(target.people.rows, dtype=np.int64)
    for number, rows in enumerate(by_stratum(*with_strata(target.people, target.declared.strata))):
        stratum[rows] = number
    return stratum


def _sameness(target: AttackedRelease, again: Redrawn, group: np.ndarray | None) -> Same:
    """What worlds are kept for: the same groups, as they are shown.

    Raises:
        NotRetracedError: where the groups that are shown never come out.
    """
    if group is None:
        shown = ShownColumns.of(target)
        return lambda world, found: shown.are_those_of(world, found.group)
    for _ in steps(again.runs, "runs on the values as they are"):
        made = again.once()
        if made is not None and again.has_groups(made, group):
            as_it_is = again.shown(made)
            return lambda _, found: again.shown(found) == as_it_is
    raise NotRetracedError(_NEVER.format(runs=again.runs))


@dataclass(frozen=True, eq=False)
class ShownColumns:
    """What groups show that show columns apart, and the same of people's own.

    Attributes:
        shown: of each group, its values of each quasi-identifier and its sensitive ones, sorted.
        columns: people's codes of each quasi-identifier (int64).
        value: the number of each sensitive value, by its code (int64).
    """

    shown: list[tuple[tuple[int, ...], ...]]
    columns: list[np.ndarray]
    value: np.ndarray

    @classmethod
    def of(cls, target: AttackedRelease) -> "ShownColumns":
        """From the tables.

        Raises:
            NotRetracedError: where groups show no columns apart, or not these values.
        """
        groups, covers = column_covers(target)
        counts, people = groups.sensitive[target.sensitive], target.people
        if covers is None or counts.labels is None:
            raise NotRetracedError(OTHERWISE)
        values = np.repeat(counts.value, counts.count), np.repeat(counts.group, counts.count)
        parts = [*((of.value, of.group) for of in covers.covers), values]
        of_group = [
            tuple(tuple(value[group == number].tolist()) for value, group in parts)
            for number in range(len(groups))
        ]
        names = target.declared.named("quasi-identifier")
        codes = published_codes(target, [people[name] for name in names])
        own = people[target.sensitive].values.cast(counts.labels.type)
        value = pc.index_in(own, value_set=counts.labels).to_numpy(zero_copy_only=False)
        return cls(sorted(of_group), codes, value.astype(np.int64))

    def are_those_of(self, world: np.ndarray, group: np.ndarray) -> bool:
        """Whether people with these values (int64), in these groups (int64), are shown the same."""
        if (group < 0).any() or int(group.max()) + 1 != len(self.shown):
            return False
        rows = [np.flatnonzero(group == number) for number in range(len(self.shown))]
        return self.shown == sorted(
            (
                *(tuple(np.unique(of[mine]).tolist()) for of in self.columns),
                tuple(np.sort(self.value[world[mine]]).tolist()),
            )
            for mine in rows
        )
