"""People whose values changed, among newcomers: in a group that shows none of their former values.

A person's former values are all those that the person's former groups show.

An attacker who knows that values mostly stay the same would learn a value from two groups of a
person that overlap. If no group of a person shows a value that another one shows, only the change
is revealed. If a partition groups a person otherwise, the person changes places with a newcomer
with the same values. If there is none, the person is not shown, and the others of the group are
grouped anew with those of some other groups.

Source: this project's construction; signatures that are equal or disjoint are those of tau-safety
(Anjum and Raschia), after m-invariance (Xiao and Tao, SIGMOD 2007).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.continued.cohort import Cohort
from sfumato.tasks.continued.survivors import LineSoFar, Met, Shape
from sfumato.tasks.microdata.table import Randomness, key
from sfumato.tasks.private.people.slots import LEFT, WITNESS
from sfumato.tasks.private.people.store import person_numbers

_ROUNDS = 32  # of grouping some newcomers anew
_ROUNDS_OF_ALL = 4  # of grouping all of them anew
_TRIES = 256  # of places for a person
GroupTheRest = Callable[[np.ndarray], Cohort]
Items = frozenset[int]
"""Values of all columns, as numbers."""


class Reinsertion:
    """The people of a table who may be shown among newcomers again.

    Attributes:
        rows: their positions (int64).
    """

    def __init__(
        self,
        line: LineSoFar,
        shape: Shape,
        strata: Sequence[str],
        met: Met,
        randomness: Randomness,
    ) -> None:
        """Find the people whose new values are none of those that their former groups show."""
        self._line, self._shape, self._strata, self._draw = line, shape, strata, randomness
        changed = np.flatnonzero((met.slot >= 0) & ~met.continued)
        self._items = self._numbered_values()
        former = self._former_values(changed, met.slot[changed])
        new = [former[row].isdisjoint(self._items[row].tolist()) for row in changed.tolist()]
        self.rows = changed[np.array(new, dtype=bool)]
        self._former = {row: former[row] for row in self.rows.tolist()}

    def group_people(self, new: np.ndarray, group: GroupTheRest) -> Cohort:
        """Group newcomers and as many of these people as have a place.

        Args:
            new: the positions of newcomers (int64).
            group: groups rows among themselves.

        Returns:
            The cohort of newcomers and of these people; of newcomers only, if no try succeeds.
        """
        rows = self.rows
        cohort = group(np.sort(np.append(new, rows)))
        for _ in range(_ROUNDS_OF_ALL if self._shape.covers else _ROUNDS):
            out = np.intersect1d(rows, cohort.waiting)
            regroup = self._all_anew if len(out) or self._shape.covers else self._some_anew
            if not len(out):
                cohort, out = self._exchange_places(cohort, rows)
            if not len(out):
                return cohort
            rows = np.setdiff1d(rows, out)
            cohort = regroup(cohort, out, group)
        return group(new)

    def _all_anew(self, cohort: Cohort, out: np.ndarray, group: GroupTheRest) -> Cohort:
        """Group all people of a cohort again, except those of `out` (positions, int64)."""
        return group(np.setdiff1d(np.append(cohort.rows, cohort.waiting), out))

    def _some_anew(self, cohort: Cohort, out: np.ndarray, group: GroupTheRest) -> Cohort:
        """Group the others in the groups of some people again, with those of twice as many groups.

        If that fails, twice as many groups are added, and so on. If groups run out, all people of
        the cohort are grouped again.

        Args:
            cohort: the cohort.
            out: the positions of people who have no place in it (int64).
            group: groups rows among themselves.
        """
        assert cohort.partition is not None  # noqa: S101 - these people have groups in it
        group_of = cohort.partition.group
        groups = int(group_of.max()) + 1
        broken = np.unique(group_of[np.isin(cohort.rows, out)])
        others = np.setdiff1d(np.argsort(self._draw(groups)), broken, assume_unique=True)
        more = 2 * len(broken)
        while more < len(others):
            pool = np.isin(group_of, np.append(broken, others[:more]))
            again = group(np.setdiff1d(cohort.rows[pool], out))
            if not len(again.waiting):
                return _join(cohort, ~pool, again)
            more *= 2
        return self._all_anew(cohort, out, group)

    def _numbered_values(self) -> np.ndarray:
        """Return values of rows by columns (int64, rows x columns), different between columns."""
        columns, first = [], 0
        for name in self._shape.compared:
            codes, size = self._line.table[name].category()
            columns.append(first + codes.astype(np.int64))
            first += size
        return np.stack(columns, axis=1)

    def _former_values(self, rows: np.ndarray, slots: np.ndarray) -> dict[int, Items]:
        """Return the values that all former groups of some people show, by row."""
        line = self._line
        left_slots = np.flatnonzero(line.slots.kind == LEFT)
        of_rows, of_left, of_past = person_numbers(
            line.keys[rows], line.slots.key[left_slots], line.slots.past.key
        )
        person = np.concatenate([of_rows, of_left, of_past])
        group = np.concatenate(
            [line.slots.group[slots], line.slots.group[left_slots], line.slots.past.group]
        )
        row_of = dict(zip(of_rows.tolist(), rows.tolist(), strict=True))
        values = self._values_of_groups()
        former: dict[int, Items] = dict.fromkeys(rows.tolist(), frozenset())
        for number, where in zip(person.tolist(), group.tolist(), strict=True):
            if number in row_of:
                former[row_of[number]] |= values(where)
        return former

    def _values_of_groups(self) -> Callable[[int], Items]:
        slots = self._line.slots
        people = np.flatnonzero(slots.kind != WITNESS)
        order = people[stable_order(slots.group[people])]
        ordered = slots.group[order]

        def values(group: int) -> Items:
            first, behind = np.searchsorted(ordered, [group, group + 1])
            rows = self._line.rows + order[first:behind]
            return frozenset(self._items[rows].ravel().tolist())

        return values

    def _exchange_places(self, cohort: Cohort, rows: np.ndarray) -> tuple[Cohort, np.ndarray]:
        """Return the cohort with places exchanged, and the people without a place (int64).

        Newcomers of the same stratum and values exchange places with the people of `rows`; nobody
        does if labels cover quasi-identifiers.
        """
        if cohort.partition is None or not len(rows):
            return cohort, rows
        places = _Places(cohort, self._items, self._former)
        equals, _ = key(
            [
                self._line.table[name].take(cohort.rows)
                for name in (*self._strata, *self._shape.compared)
            ],
            len(cohort.rows),
        )
        order = np.lexsort((self._draw(len(equals)), equals))
        ordered = equals[order]
        out = []
        for place in np.flatnonzero(np.isin(cohort.rows, rows)).tolist():
            first, behind = np.searchsorted(ordered, [equals[place], equals[place] + 1])
            others = order[first:behind][:_TRIES] if not self._shape.covers else order[:0]
            if not places.settle(place, others.tolist()):
                out.append(int(cohort.rows[place]))
        moved = replace(cohort, partition=replace(cohort.partition, group=places.group))
        return moved, np.array(out, dtype=np.int64)


def _join(cohort: Cohort, unchanged: np.ndarray, again: Cohort) -> Cohort:
    """Return a cohort of some groups of a cohort, and all groups of another one.

    Args:
        cohort: the cohort.
        unchanged: marks its rows whose groups are kept (bool).
        again: the other cohort.
    """
    partition, new_partition = cohort.partition, again.partition
    assert partition is not None  # noqa: S101 - seen by the caller
    assert new_partition is not None  # noqa: S101 - nobody of it waits
    first, number = dense(partition.group[unchanged])
    rows = np.append(cohort.rows[unchanged], again.rows)
    order = np.argsort(rows)
    group = np.append(first, number + new_partition.group)[order]
    return Cohort(rows[order], replace(partition, group=group, recoding={}), cohort.waiting)


class _Places:
    """The people in the groups of a cohort, while places of equal values are exchanged."""

    def __init__(self, cohort: Cohort, items: np.ndarray, former: dict[int, Items]) -> None:
        assert cohort.partition is not None  # noqa: S101 - seen by the caller
        self.group = cohort.partition.group.copy()
        self._rows, self._former = cohort.rows, former
        order = stable_order(self.group)
        ends = np.flatnonzero(np.diff(self.group[order])) + 1
        self._shown = [
            frozenset(items[cohort.rows[members]].ravel().tolist())
            for members in np.split(order, ends)
        ]

    def _fits(self, place: int, group: int) -> bool:
        """Decide whether a group shows none of the former values of the person at a place."""
        former = self._former.get(int(self._rows[place]))
        return former is None or former.isdisjoint(self._shown[group])

    def settle(self, place: int, others: Sequence[int]) -> bool:
        """Exchange a person with one of some others if needed; return whether the place fits."""
        mine = int(self.group[place])
        if self._fits(place, mine):
            return True
        for other in others:
            theirs = int(self.group[other])
            if self._fits(place, theirs) and self._fits(other, mine):
                self.group[place], self.group[other] = theirs, mine
                return True
        return False
