"""Groups that few are left in are closed, and their people move to groups of the same values.

Of the groups that show one set of values, as many are needed as the value has people that has most
of them. As many groups as there are more than these are closed, those with the fewest people first,
and each of their people is given a vacant slot of the same value in one that goes on, at random.
Nobody's set of values changes, so that each of them stays as likely as before. Where slots are
given away in pairs, nobody else comes to a group alone: groups are left open again for that, in
random order and each time twice as many.

Source: this project's construction; people of equal signatures who are split among groups again are
m-invariance (Xiao and Tao, SIGMOD 2007), of all groups in every version.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.arrays.ranks import rank_equals
from sfumato.tasks.continued.parameters import Vacancies
from sfumato.tasks.continued.refill import FEWEST, Taken, no_slot_taken
from sfumato.tasks.continued.survivors import LineSoFar, Met, Shape
from sfumato.tasks.microdata.table import Randomness, key
from sfumato.tasks.private.people.slots import WITNESS

_AS_IT_IS = -1


@dataclass(frozen=True, eq=False)
class Consolidation:
    """How people of groups that few are left in are moved.

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

    def settled(self, met: Met, retired: np.ndarray) -> Met:
        """Move people out of as many groups as are not needed. O(n log n).

        Args:
            met: who has a slot, newcomers among them.
            retired: the groups that are shown no more (int64).
        """
        places = _OpenSlots.of(self, met, retired)
        if places is None:
            return met
        groups = self.randomness(len(places.alike))
        given = self._given(places, _to_close(places, met, groups), groups)
        given = self._in_company(given, met, groups)
        old = met.slot[given.rows]
        return replace(given.joined(met), moved=old[~met.new[given.rows]])

    def numbers(self, names: Sequence[str], rows: np.ndarray) -> np.ndarray:
        """A number for the values that rows of the table (int64) have together (int64, each)."""
        found, _ = key([self.line.table[name].take(rows) for name in names], len(rows))
        return dense(found)[0]

    def _given(self, places: "_OpenSlots", closed: np.ndarray, groups: np.ndarray) -> Taken:
        """A slot of a group that goes on for each person of those that are closed (bool).

        Args:
            places: the slots.
            closed: marks groups.
            groups: keys by which groups are ordered where several slots go together (uint64).
        """
        group = places.group
        going, here = closed[group], places.row >= 0
        old, free = np.flatnonzero(going & here), np.flatnonzero(~going & ~here)
        labels, _ = dense(places.labels)
        leaving, given = (self.randomness(len(of)) for of in (old, free))
        if self.vacancies == "paired":
            leaving, given = groups[group[old]], _emptiest_first(group[free], groups)
        people, of_people = rank_equals(labels[old], leaving, len(group))
        slots, of_slots = rank_equals(labels[free], given, len(group))
        _, one, other = np.intersect1d(of_people, of_slots, True, True)
        return Taken(places.row[old[people[one]]], places.slot[free[slots[other]]])

    def _in_company(self, given: Taken, met: Met, order: np.ndarray) -> Taken:
        """Those who come to a group with others, where slots are given away in pairs."""
        slots, batch = self.line.slots, 1
        came = np.flatnonzero(met.new & met.continued)
        while self.vacancies == "paired":
            stay = came[~np.isin(came, given.rows)]
            to = np.append(given.slots, met.slot[stay])
            arrivals = np.bincount(slots.group[to], minlength=len(order))
            source = slots.group[met.slot[given.rows]]
            alone = distinct(source[arrivals[slots.group[given.slots]] < FEWEST])
            if not len(alone):
                break
            back = alone[np.argsort(order[alone])][-batch:]
            given, batch = given.keep(~np.isin(source, back)), 2 * batch
        return given if len(given) else no_slot_taken()


def _emptiest_first(group: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Keys (int64) by which slots of a group go together, and groups of many vacant slots first.

    Args:
        group: of each vacant slot (int64).
        order: keys by which equal groups are ordered (uint64).
    """
    vacant = np.bincount(group, minlength=len(order))
    rank = np.empty(len(order), dtype=np.int64)
    rank[np.lexsort((order, -vacant))] = np.arange(len(order))
    return np.asarray(rank[group])


@dataclass(frozen=True, eq=False)
class _OpenSlots:
    """The slots of groups whose people may move among each other (parallel, but `alike`).

    Attributes:
        slot: of the line (int64).
        group: of the line (int64).
        row: of the table that is shown in it (int64), -1 for none.
        value: a number of the slot's value (int64).
        labels: a number of its value and of the groups that it may be given in (int64).
        alike: by group of the line, a number of its set of values and its stratum (int64), -1 where
            it stays as it is.
    """

    slot: np.ndarray
    group: np.ndarray
    row: np.ndarray
    value: np.ndarray
    labels: np.ndarray
    alike: np.ndarray

    @classmethod
    def of(cls, asked: Consolidation, met: Met, retired: np.ndarray) -> "_OpenSlots | None":
        """The slots of open groups; None where there are none."""
        slots = asked.line.slots
        slot = np.flatnonzero((slots.kind != WITNESS) & ~slots.retired)
        here = np.flatnonzero(met.continued)
        row = np.full(len(slots), -1, dtype=np.int64)
        row[met.slot[here]] = here
        value = asked.numbers(asked.shape.compared, asked.line.rows + slot)
        open_, stratum = _open(asked, slot, row[slot], value, retired)
        kept = open_[slots.group[slot]]
        if not kept.any():
            return None
        slot, value = slot[kept], value[kept]
        sets, _ = _sets(slots.group[slot], value, len(open_))
        pairs = np.where(open_, sets * (int(stratum.max(initial=0)) + 1) + stratum, -1)
        alike = np.full(len(open_), _AS_IT_IS, dtype=np.int64)
        alike[open_] = dense(pairs[open_])[0]
        labels = alike[slots.group[slot]] * (int(value.max()) + 1) + value
        return cls(slot, slots.group[slot], row[slot], value, labels, alike)


def _open(
    asked: Consolidation, slot: np.ndarray, row: np.ndarray, value: np.ndarray, retired: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mark the groups that people may move from and to (bool), and the stratum of each (int64).

    Somebody is there, nobody in it was forgotten, by whose slot one could be told who moved, all
    values differ, and all people are of one stratum, in which they came.
    """
    slots = asked.line.slots
    group, number = slots.group[slot], int(slots.group.max(initial=-1)) + 1
    here = row >= 0
    open_ = np.bincount(group[here], minlength=number) > 0
    open_[retired] = False
    open_[group[~slots.held[slot]]] = False
    pairs = distinct(group * (int(value.max(initial=0)) + 1) + value)
    values = np.bincount(pairs // (int(value.max(initial=0)) + 1), minlength=number)
    open_ &= values == np.bincount(group, minlength=number)
    of = asked.numbers(asked.strata, np.append(asked.line.rows + slot, row[here]))
    group = np.append(group, group[here])
    stratum = np.zeros(number, dtype=np.int64)
    stratum[group] = of
    open_[group[stratum[group] != of]] = False
    return open_, stratum


def _sets(group: np.ndarray, value: np.ndarray, groups: int) -> tuple[np.ndarray, int]:
    """A number for the set of values of each group (int64, -1 for none), and how many there are."""
    order = np.lexsort((value, group))
    sizes = np.bincount(group, minlength=groups)
    found, sets = np.full(groups, -1, dtype=np.int64), 0
    for size in distinct(sizes[sizes > 0]).tolist():
        rows = value[order[sizes[group[order]] == size]].reshape(-1, size)
        _, which = np.unique(rows, axis=0, return_inverse=True)
        found[sizes == size] = sets + which.reshape(-1)
        sets = int(found.max()) + 1
    return found, sets


def _to_close(places: _OpenSlots, met: Met, order: np.ndarray) -> np.ndarray:
    """Mark the groups that are not needed (bool): those with the fewest who were there before.

    Args:
        places: the slots.
        met: who has one.
        order: keys by which equal groups are ordered (uint64).
    """
    alike = places.alike
    number = int(alike.max()) + 1
    here = places.row >= 0
    needed = np.zeros(number, dtype=np.int64)
    label, people = np.unique(places.labels[here], return_counts=True)
    np.maximum.at(needed, label // (int(places.value.max()) + 1), people)
    stayed = here & ~met.new[places.row]
    left = np.bincount(places.group[stayed], minlength=len(alike))
    candidates = np.flatnonzero(alike >= 0)
    by = candidates[np.lexsort((order[candidates], left[candidates], alike[candidates]))]
    rank = np.arange(len(by)) - np.searchsorted(alike[by], alike[by])
    closed = np.zeros(len(alike), dtype=bool)
    many = np.bincount(alike[by], minlength=number)
    closed[by[rank < (many - needed)[alike[by]]]] = True
    return closed
