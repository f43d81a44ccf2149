"""Newcomers who are given the slots of people who left, where labels cover them.

A label widens where somebody in the group moves, and covers for ever what it covered once. A
newcomer is given no slot for which it would have to widen. What is said here of a label is never
more than it covers: between the least and the greatest value of a group, or the values themselves,
or below the lowest node that has them all.

A group goes on to show the same values whoever holds its slots, so that each of them stays possible
for everybody who ever was in it. Who is given which slot is drawn at random. Newcomers who are not
given one must still be groupable among themselves: otherwise slots are given back, whole groups at
a time, in random order and each time twice as many.

    paired   only groups in which two slots or more, of different values, are given away together:
             whoever knows one who left does not know by that who came
    refill   every slot

Source: this project's construction; filling the deficit of a bucket with newcomers who have the
missing values is the balancing of m-invariance (Xiao and Tao, SIGMOD 2007).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.arrays.ranks import rank_equals
from sfumato.tasks.continued.cohort import Cohort
from sfumato.tasks.continued.parameters import Vacancies
from sfumato.tasks.continued.survivors import LineSoFar, Met, Shape
from sfumato.tasks.microdata.hierarchies import lowest_common
from sfumato.tasks.microdata.table import Column, Randomness, key
from sfumato.tasks.private.people.slots import WITNESS, are_even

_TRIES = 256  # newcomers who are considered for a slot
_AT_ONCE = 1 << 20  # pairs of a newcomer and a slot
FEWEST = 2
"""Slots of a group, and values of these, that are given away together."""
GroupTheRest = Callable[[np.ndarray], Cohort]
"""Groups newcomers (positions, int64) among themselves."""


class CoveredPairs:
    """Pairs of newcomers and slots with the same values, where labels cover the newcomer."""

    def __init__(self, line: LineSoFar, shape: Shape) -> None:
        """Read what the labels of all groups cover."""
        self._line = line
        rows = stable_order(line.slots.group)
        self._group = line.slots.group[rows]
        self._starts = np.flatnonzero(np.diff(self._group, prepend=-1))
        self._place = np.full(int(self._group.max(initial=-1)) + 1, -1, dtype=np.int64)
        self._place[self._group[self._starts]] = np.arange(len(self._starts))
        names = [c.name for c in line.table.with_roles("quasi-identifier")]
        self._columns = [name for name in names if name not in shape.frozen]
        self._rows = rows

    def pairs(
        self,
        new: np.ndarray,
        of_new: np.ndarray,
        free: np.ndarray,
        of_free: np.ndarray,
        randomness: Randomness,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Newcomers (positions) and slots, each in one pair at most, in random order.

        Args:
            new: positions of newcomers (int64).
            of_new: a number for the values of each (int64).
            free: slots (int64).
            of_free: the same for these.
            randomness: what is drawn from.
        """
        found = list(self._candidates(new, of_new, free, of_free, randomness))
        rows, slots = (np.concatenate(part) for part in zip(*found, strict=True))
        return _matched(rows, slots, randomness(len(rows)))

    def _candidates(
        self,
        new: np.ndarray,
        of_new: np.ndarray,
        free: np.ndarray,
        of_free: np.ndarray,
        randomness: Randomness,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        order = np.lexsort((randomness(len(new)), of_new))
        first, behind = (np.searchsorted(of_new[order], of_free, s) for s in ("left", "right"))
        tries = np.minimum(behind - first, _TRIES)
        shift = (randomness(len(free)) >> np.uint64(1)).astype(np.int64)
        cuts = np.searchsorted(np.cumsum(tries), np.arange(0, int(tries.sum()) + 1, _AT_ONCE))
        for part in np.split(np.arange(len(free)), np.unique(cuts)[1:]):
            slot = np.repeat(part, tries[part])
            turn = np.arange(len(slot)) - np.repeat(
                np.cumsum(tries[part]) - tries[part], tries[part]
            )
            equals = np.maximum(behind - first, 1)[slot]
            rows = new[order[first[slot] + (turn + shift[slot]) % equals]]
            kept = self._cover(rows, self._line.slots.group[free[slot]])
            yield rows[kept], free[slot[kept]]

    def _cover(self, rows: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Which rows of the table the label of a group each covers (bool)."""
        covered = np.ones(len(rows), dtype=bool)
        for name in self._columns:
            covered &= self._covers(self._line.table[name], rows, self._place[group])
        return covered

    def _covers(self, column: Column, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        codes, size = column.category()
        held = codes[self._line.rows + self._rows].astype(np.int64)
        if column.ancestors is not None:
            levels = column.levels()
            level = lowest_common(levels, held, self._starts)
            if column.name in self._line.slots.levels:
                told = self._line.slots.levels[column.name][self._rows[self._starts]]
                level = np.maximum(level, told)
            nodes = levels[level[place], held[self._starts][place]]
            return np.asarray(levels[level[place], codes[rows]] == nodes)
        of_group = np.repeat(np.arange(len(self._starts)), np.diff([*self._starts, len(held)]))
        inside = np.isin(place * size + codes[rows], of_group * size + held)
        if column.has_null or not _has_ranges(column):
            return inside
        low, high = (of.reduceat(held, self._starts)[place] for of in (np.minimum, np.maximum))
        return np.asarray(inside | ((low <= codes[rows]) & (codes[rows] <= high)))


def _has_ranges(column: Column) -> bool:
    """Decide whether labels tell the least and the greatest value."""
    type_ = column.values.type
    return not (pa.types.is_string(type_) or pa.types.is_boolean(type_))


def _matched(
    rows: np.ndarray, slots: np.ndarray, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs in which each row and each slot is once, taken greedily in the order of keys."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    left = np.argsort(keys)
    rows, slots = rows[left], slots[left]
    while len(rows):
        first = np.zeros(len(rows), dtype=bool)
        of_row, of_slot = (np.unique(of, return_index=True)[1] for of in (rows, slots))
        first[of_row] = True
        taken = np.zeros(len(rows), dtype=bool)
        taken[of_slot] = True
        taken &= first
        found.append((rows[taken], slots[taken]))
        open_ = ~np.isin(rows, rows[taken]) & ~np.isin(slots, slots[taken])
        rows, slots = rows[open_], slots[open_]
    none = np.array([], dtype=np.int64)
    one, other = zip(*found, strict=True) if found else ((), ())
    return np.concatenate([none, *one]), np.concatenate([none, *other])


@dataclass(frozen=True, eq=False)
class Taken:
    """Slots given to newcomers (parallel): positions of rows, and of slots (int64 each)."""

    rows: np.ndarray
    slots: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, which: np.ndarray) -> "Taken":
        """Some of them (bool, one each)."""
        return Taken(self.rows[which], self.slots[which])

    def joined(self, met: Met) -> Met:
        """The same people, newcomers in the slots that they were given among those who go on."""
        slot, continued = met.slot.copy(), met.continued.copy()
        slot[self.rows], continued[self.rows] = self.slots, True
        return replace(met, slot=slot, continued=continued)


def no_slot_taken() -> Taken:
    """No slot is given to anybody."""
    none = np.array([], dtype=np.int64)
    return Taken(none, none)


@dataclass(frozen=True, eq=False)
class Refill:
    """How slots of a line are given to newcomers.

    Attributes:
        line: the table and the line's slots.
        shape: what the form shows.
        strata: the columns that keep cohorts apart.
        vacancies: which slots are given away.
        randomness: what is drawn from.
    """

    line: LineSoFar
    shape: Shape
    strata: Sequence[str]
    vacancies: Vacancies
    randomness: Randomness

    def fill(self, met: Met, retired: np.ndarray, group: GroupTheRest) -> tuple[Taken, Cohort]:
        """Give slots away, and group everybody else who came.

        Args:
            met: who has a slot.
            retired: the groups that are shown no more (int64).
            group: groups everybody else.
        """
        new = np.flatnonzero(met.new)
        free = self._free(met, retired)
        taken = self._pairs(new, free[self._together(free)])
        taken = taken.keep(self._together(taken.slots))
        of = self._groups(taken)
        order = self.randomness(int(of.max(initial=-1)) + 1)
        stratum = self._strata_of(new)
        batch = 1
        while True:
            rest = ~np.isin(new, taken.rows)
            cohort = group(new[rest])
            waiting = np.isin(stratum, stratum[np.isin(new, cohort.waiting)])
            of = self._groups(taken)
            blocking = np.unique(of[np.isin(taken.rows, new[waiting])])
            if not len(blocking):
                return taken, cohort
            back = blocking[np.argsort(order[blocking])][:batch]
            taken, batch = taken.keep(~np.isin(of, back)), 2 * batch

    def _groups(self, taken: Taken) -> np.ndarray:
        """The group of the line (int64) of each slot that is given away."""
        return np.asarray(self.line.slots.group[taken.slots])

    def _columns(self, names: Sequence[str], rows: np.ndarray) -> tuple[np.ndarray, int]:
        """A number for the values that rows of the table (int64) have together."""
        return key([self.line.table[name].take(rows) for name in names], len(rows))

    def _strata_of(self, new: np.ndarray) -> np.ndarray:
        return self._columns(self.strata, new)[0]

    def _free(self, met: Met, retired: np.ndarray) -> np.ndarray:
        """The slots (int64) that may be given away.

        Somebody left them who is not forgotten: a slot that nobody holds would tell by whom it is
        filled whom the line forgot. Somebody else is left in the group, and nobody in it has moved
        to another stratum than the others.
        """
        slots = self.line.slots
        groups = int(slots.group.max(initial=-1)) + 1
        held = met.slot[met.continued]
        open_ = np.bincount(slots.group[held], minlength=groups) > 0
        open_[retired] = False
        open_ &= self._of_one_stratum(groups)
        if self.shape.by_likelihood:
            open_ &= are_even(slots, self.shape.compared)
        free = (slots.kind != WITNESS) & slots.held & ~slots.retired
        free[held] = False
        return np.flatnonzero(free & open_[slots.group])

    def _of_one_stratum(self, groups: int) -> np.ndarray:
        """Mark the groups whose people are of one stratum (bool, one per group)."""
        slots = self.line.slots
        people = np.flatnonzero(slots.kind != WITNESS)
        stratum = self._strata_of(self.line.rows + people)
        first = np.zeros(groups, dtype=np.int64)
        first[slots.group[people]] = stratum
        alike = np.ones(groups, dtype=bool)
        alike[slots.group[people[first[slots.group[people]] != stratum]]] = False
        return alike

    def _pairs(self, new: np.ndarray, free: np.ndarray) -> Taken:
        """Newcomers and slots of equal values and strata, in random order.

        Where groups have labels, these cover the newcomer. O(n log n).
        """
        places = np.append(new, self.line.rows + free)
        values, _ = self._columns([*self.strata, *self.shape.compared], places)
        of_new, of_free = np.split(values, [len(new)])
        if self.shape.covers:
            labels = CoveredPairs(self.line, self.shape)
            return Taken(*labels.pairs(new, of_new, free, of_free, self.randomness))
        rows, row_keys = rank_equals(of_new, self.randomness(len(new)), len(places))
        slots, slot_keys = rank_equals(of_free, self._order_of(free), len(places))
        _, one, other = np.intersect1d(row_keys, slot_keys, True, True)
        return Taken(new[rows[one]], free[slots[other]])

    def _order_of(self, free: np.ndarray) -> np.ndarray:
        """Keys by which slots are given away (uint64): of groups, where several go together."""
        if self.vacancies != "paired":
            return self.randomness(len(free))
        group = self.line.slots.group[free]
        return np.asarray(self.randomness(int(group.max(initial=-1)) + 1)[group])

    def _together(self, slots: np.ndarray) -> np.ndarray:
        """Which slots are of groups of which different values are among them, where it is asked."""
        if self.vacancies != "paired" or not len(slots):
            return np.ones(len(slots), dtype=bool)
        group, groups = dense(self.line.slots.group[slots])
        value, _ = self._columns(self.shape.compared, self.line.rows + slots)
        values = np.unique(np.stack([group, value]), axis=1)[0]
        return np.asarray(np.bincount(values, minlength=groups)[group] >= FEWEST)
