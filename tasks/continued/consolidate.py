"""Closing of groups in which few people are left, who move to groups of the same values.

A *slot* is a row of a published version with its group; it is vacant if nobody is shown in it now
(see `private.people.slots`).

Consider the groups that show one set of values. The line needs as many of them as the most frequent
value has people. The others are closed, those with the fewest people first, and each of their
people is given a vacant slot of the same value in a remaining group, at random. Nobody's set of
values changes, so each value stays as likely as before. If slots are given away in pairs, nobody
else comes to a group alone: groups are left open again for that, in random order and each time
twice as many.

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

_AS_IT_IS = -1  # in `_OpenSlots.alike`: a group that takes no part


@dataclass(frozen=True, eq=False)
class Consolidation:
    """The movement of people out of groups in which few are left.

    Attributes:
        line: the table and the line's slots.
        shape: what the form shows.
        strata: the columns that keep cohorts apart.
        vacancies: the rule for giving slots away, `paired` or `refill`.
        randomness: the source of random keys.
    """

    line: LineSoFar
    shape: Shape
    strata: Sequence[str]
    vacancies: Vacancies
    randomness: Randomness

    def settle(self, met: Met, retired: np.ndarray) -> Met:
        """Move people out of as many groups as are not needed. O(n log n).

        Args:
            met: the state of each row's person in the line; newcomers who took slots have these.
            retired: the groups that are shown no more (int64).

        Returns:
            The new state, with the former slots of moved people in `moved`.
        """
        places = _OpenSlots.find(self, met, retired)
        if places is None:
            return met
        groups = self.randomness(len(places.alike))
        moves = self._assign_slots(places, _to_close(places, met, groups), groups)
        moves = self._keep_company(moves, met, groups)
        old = met.slot[moves.rows]
        return replace(moves.join(met), moved=old[~met.new[moves.rows]])

    def numbers(self, names: Sequence[str], rows: np.ndarray) -> np.ndarray:
        """Return a number for the values that rows (int64) have together (int64, one per row)."""
        keys, _ = key([self.line.table[name].take(rows) for name in names], len(rows))
        return dense(keys)[0]

    def _assign_slots(self, places: "_OpenSlots", closed: np.ndarray, groups: np.ndarray) -> Taken:
        """Return a slot in a remaining group for each person of the closed groups (bool).

        Args:
            places: the slots.
            closed: marks the groups to close.
            groups: keys by which groups are ordered where several slots go together (uint64).
        """
        group = places.group
        going, here = closed[group], places.row >= 0
        old, free = np.flatnonzero(going & here), np.flatnonzero(~going & ~here)
        labels, _ = dense(places.labels)
        person_order, slot_order = (self.randomness(len(side)) for side in (old, free))
        if self.vacancies == "paired":
            person_order, slot_order = groups[group[old]], _emptiest_first(group[free], groups)
        people, of_people = rank_equals(labels[old], person_order, len(group))
        slots, of_slots = rank_equals(labels[free], slot_order, len(group))
        _, person, slot = np.intersect1d(of_people, of_slots, True, True)
        return Taken(places.row[old[people[person]]], places.slot[free[slots[slot]]])

    def _keep_company(self, moves: Taken, met: Met, order: np.ndarray) -> Taken:
        """Return the moves of people who come to a group with others, if slots go away in pairs.

        Args:
            moves: the moves.
            met: the state of each row's person in the line.
            order: keys by which groups are left open again (uint64, one per group of the line).
        """
        slots, batch = self.line.slots, 1
        came = np.flatnonzero(met.new & met.continued)
        while self.vacancies == "paired":
            stay = came[~np.isin(came, moves.rows)]
            to = np.append(moves.slots, met.slot[stay])
            arrivals = np.bincount(slots.group[to], minlength=len(order))
            source = slots.group[met.slot[moves.rows]]
            alone = distinct(source[arrivals[slots.group[moves.slots]] < FEWEST])
            if not len(alone):
                break
            back = alone[np.argsort(order[alone])][-batch:]
            moves, batch = moves.keep(~np.isin(source, back)), 2 * batch
        return moves if len(moves) else no_slot_taken()


def _emptiest_first(group: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return keys (int64) that keep slots of a group together, groups of many vacant slots first.

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
    """The slots of groups whose people may move among each other (parallel, except `alike`).

    Attributes:
        slot: the position of the slot in the line's map (int64).
        group: the line's number of its group (int64).
        row: the row of the table that is shown in it (int64), -1 if it is vacant.
        value: a number of the slot's value (int64).
        labels: a number of its value and of the groups that it may be given in (int64).
        alike: by group of the line, a number of its set of values and its stratum (int64), -1 if
            the group stays as it is.
    """

    slot: np.ndarray
    group: np.ndarray
    row: np.ndarray
    value: np.ndarray
    labels: np.ndarray
    alike: np.ndarray

    @classmethod
    def find(
        cls, consolidation: Consolidation, met: Met, retired: np.ndarray
    ) -> "_OpenSlots | None":
        """Return the slots of open groups; None if there are none."""
        slots = consolidation.line.slots
        slot = np.flatnonzero((slots.kind != WITNESS) & ~slots.retired)
        here = np.flatnonzero(met.continued)
        row = np.full(len(slots), -1, dtype=np.int64)
        row[met.slot[here]] = here
        value = consolidation.numbers(consolidation.shape.compared, consolidation.line.rows + slot)
        open_, stratum = _open(consolidation, slot, row[slot], value, retired)
        in_open = open_[slots.group[slot]]
        if not in_open.any():
            return None
        slot, value = slot[in_open], value[in_open]
        sets, _ = _sets(slots.group[slot], value, len(open_))
        pairs = np.where(open_, sets * (int(stratum.max(initial=0)) + 1) + stratum, -1)
        alike = np.full(len(open_), _AS_IT_IS, dtype=np.int64)
        alike[open_] = dense(pairs[open_])[0]
        labels = alike[slots.group[slot]] * (int(value.max()) + 1) + value
        return cls(slot, slots.group[slot], row[slot], value, labels, alike)


def _open(
    consolidation: Consolidation,
    slot: np.ndarray,
    row: np.ndarray,
    value: np.ndarray,
    retired: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Mark the groups that people may move from and to (bool), and the stratum of each (int64).

    A group is open if somebody is in it, all its values differ, all its people are of one stratum,
    that in which they came, and nobody in it was forgotten: a forgotten person's slot could reveal
    who moved.
    """
    slots = consolidation.line.slots
    group, number = slots.group[slot], int(slots.group.max(initial=-1)) + 1
    here = row >= 0
    open_ = np.bincount(group[here], minlength=number) > 0
    open_[retired] = False
    open_[group[~slots.is_held[slot]]] = False
    pairs = distinct(group * (int(value.max(initial=0)) + 1) + value)
    values = np.bincount(pairs // (int(value.max(initial=0)) + 1), minlength=number)
    open_ &= values == np.bincount(group, minlength=number)
    strata = consolidation.numbers(
        consolidation.strata, np.append(consolidation.line.rows + slot, row[here])
    )
    group = np.append(group, group[here])
    stratum = np.zeros(number, dtype=np.int64)
    stratum[group] = strata
    open_[group[stratum[group] != strata]] = False
    return open_, stratum


def _sets(group: np.ndarray, value: np.ndarray, groups: int) -> tuple[np.ndarray, int]:
    """Return a number for each group's set of values (int64, -1: none), and how many sets exist."""
    order = np.lexsort((value, group))
    sizes = np.bincount(group, minlength=groups)
    numbers, sets = np.full(groups, -1, dtype=np.int64), 0
    for size in distinct(sizes[sizes > 0]).tolist():
        rows = value[order[sizes[group[order]] == size]].reshape(-1, size)
        _, which = np.unique(rows, axis=0, return_inverse=True)
        numbers[sizes == size] = sets + which.reshape(-1)
        sets = int(numbers.max()) + 1
    return numbers, sets


def _to_close(places: _OpenSlots, met: Met, order: np.ndarray) -> np.ndarray:
    """Mark the groups that are not needed (bool): those with the fewest people from before.

    Args:
        places: the slots.
        met: the state of each row's person in the line.
        order: keys by which equal groups are ordered (uint64).
    """
    alike = places.alike
    number = int(alike.max()) + 1
    here = places.row >= 0
    needed = np.zeros(number, dtype=np.int64)
    label, people = np.unique(places.labels[here], return_counts=True)
    np.maximum.at(needed, label // (int(places.value.max()) + 1), people)
    stayed = here & ~met.new[places.row]
    remaining = np.bincount(places.group[stayed], minlength=len(alike))
    candidates = np.flatnonzero(alike >= 0)
    ordered = candidates[np.lexsort((order[candidates], remaining[candidates], alike[candidates]))]
    rank = np.arange(len(ordered)) - np.searchsorted(alike[ordered], alike[ordered])
    closed = np.zeros(len(alike), dtype=bool)
    many = np.bincount(alike[ordered], minlength=number)
    closed[ordered[rank < (many - needed)[alike[ordered]]]] = True
    return closed
