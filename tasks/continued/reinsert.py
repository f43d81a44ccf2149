"""People whose values changed, among newcomers: in a group that shows none of their former values.

Whoever knows that values mostly stay the same would learn from two groups that overlap which value
it is. Where no group of somebody shows a value that another one shows, it is only told that the
value changed. Where a partition groups somebody otherwise, a newcomer with the same values is put
in that place. Where there is none, the person is not shown, and the others of the group are grouped
anew with those of some other groups.

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
    """Who of a table may be shown among newcomers again.

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
        """Find those who have none of the values that their former groups show."""
        self._line, self._shape, self._strata, self._draw = line, shape, strata, randomness
        changed = np.flatnonzero((met.slot >= 0) & ~met.continued)
        self._items = self._numbered_values()
        former = self._former_values(changed, met.slot[changed])
        new = [former[row].isdisjoint(self._items[row].tolist()) for row in changed.tolist()]
        self.rows = changed[np.array(new, dtype=bool)]
        self._former = {row: former[row] for row in self.rows.tolist()}

    def grouped(self, new: np.ndarray, group: GroupTheRest) -> Cohort:
        """Group newcomers and as many of these people as have a place.

        Args:
            new: the positions of newcomers (int64).
            group: groups rows among themselves.
        """
        rows = self.rows
        cohort = group(np.sort(np.append(new, rows)))
        for _ in range(_ROUNDS_OF_ALL if self._shape.covers else _ROUNDS):
            out = np.intersect1d(rows, cohort.waiting)
            regroup = self._all_anew if len(out) or self._shape.covers else self._some_anew
            if not len(out):
                cohort, out = self._apart(cohort, rows)
            if not len(out):
                return cohort
            rows = np.setdiff1d(rows, out)
            cohort = regroup(cohort, out, group)
        return group(new)

    def _all_anew(self, cohort: Cohort, out: np.ndarray, group: GroupTheRest) -> Cohort:
        """Group all of a cohort again but some people (int64)."""
        return group(np.setdiff1d(np.append(cohort.rows, cohort.waiting), out))

    def _some_anew(self, cohort: Cohort, out: np.ndarray, group: GroupTheRest) -> Cohort:
        """Group whoever is with some people (int64) again without them, and with as many others.

        With more of them where that cannot be.
        """
        assert cohort.partition is not None  # noqa: S101 - these people have groups in it
        of = cohort.partition.group
        groups = int(of.max()) + 1
        broken = np.unique(of[np.isin(cohort.rows, out)])
        others = np.setdiff1d(np.argsort(self._draw(groups)), broken, assume_unique=True)
        more = 2 * len(broken)
        while more < len(others):
            pool = np.isin(of, np.append(broken, others[:more]))
            again = group(np.setdiff1d(cohort.rows[pool], out))
            if not len(again.waiting):
                return _joined(cohort, ~pool, again)
            more *= 2
        return self._all_anew(cohort, out, group)

    def _numbered_values(self) -> np.ndarray:
        """The values of each row of the table by columns (int64, rows x columns), all different."""
        found, first = [], 0
        for name in self._shape.compared:
            codes, size = self._line.table[name].category()
            found.append(first + codes.astype(np.int64))
            first += size
        return np.stack(found, axis=1)

    def _former_values(self, rows: np.ndarray, slots: np.ndarray) -> dict[int, Items]:
        """What the groups that each of some people ever was in show, by row."""
        line = self._line
        left = np.flatnonzero(line.slots.kind == LEFT)
        of_rows, of_left, of_past = person_numbers(
            line.keys[rows], line.slots.key[left], line.slots.past.key
        )
        person = np.concatenate([of_rows, of_left, of_past])
        group = np.concatenate(
            [line.slots.group[slots], line.slots.group[left], line.slots.past.group]
        )
        row_of = dict(zip(of_rows.tolist(), rows.tolist(), strict=True))
        values = self._values_of_groups()
        found: dict[int, Items] = dict.fromkeys(rows.tolist(), frozenset())
        for one, where in zip(person.tolist(), group.tolist(), strict=True):
            if one in row_of:
                found[row_of[one]] |= values(where)
        return found

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

    def _apart(self, cohort: Cohort, rows: np.ndarray) -> tuple[Cohort, np.ndarray]:
        """The cohort with places exchanged, and who has none without a former value (int64)."""
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


def _joined(cohort: Cohort, kept: np.ndarray, again: Cohort) -> Cohort:
    """Some groups of a cohort (bool, one per row), and those of another one, as one cohort."""
    one, other = cohort.partition, again.partition
    assert one is not None  # noqa: S101 - seen by the caller
    assert other is not None  # noqa: S101 - nobody of it waits
    first, number = dense(one.group[kept])
    rows = np.append(cohort.rows[kept], again.rows)
    order = np.argsort(rows)
    group = np.append(first, number + other.group)[order]
    return Cohort(rows[order], replace(one, group=group, recoding={}), cohort.waiting)


class _Places:
    """Who is in which group of a cohort, while places of equal values are exchanged."""

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
        former = self._former.get(int(self._rows[place]))
        return former is None or former.isdisjoint(self._shown[group])

    def settle(self, place: int, others: Sequence[int]) -> bool:
        """Exchange somebody with one of some others where that has to be; True where it fits."""
        mine = int(self.group[place])
        if self._fits(place, mine):
            return True
        for other in others:
            theirs = int(self.group[other])
            if self._fits(place, theirs) and self._fits(other, mine):
                self.group[place], self.group[other] = theirs, mine
                return True
        return False
