"""Theorems C and S: people who keep one place, and people who are re-mixed among places.

A slot is a place in a group, with one value. The signature of a group is the set of values that it
shows; the signature of a person is that of the person's groups.

Theorem C. Groups consist of slots with fixed values, each held by at most one person at a time, and
each person holds one slot for ever. Then each person of a group may have any of its values, but
nothing is said of how likely each is.

Theorem S. If every group of every version shows every value of its signature equally often, and the
signature of each person never changes, then each person has each value of the signature with the
same posterior.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.composition.atoms import Pairs
from sfumato.expectations.composition.sparse import Columns, columns_of, evenly, same_rows
from sfumato.expectations.composition.state import Atoms, Shown, with_room
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.sorting import distinct


@dataclass(frozen=True, eq=False)
class Mixtures:
    """The groups and atoms that are connected by people to a group that cuts too much.

    Attributes:
        group: the mixture of each group (int64, -1 for none).
        atom: the mixture of each atom (int64, -1 for none).
        first: a group of each mixture (int64).
    """

    group: np.ndarray
    atom: np.ndarray
    first: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def mixtures_of(pairs: Pairs, atoms: int, broken: np.ndarray) -> Mixtures:
    """Return the mixtures around the `broken` groups (bool, one per group).

    Args:
        pairs: the groups with their atoms.
        atoms: the number of atoms.
        broken: marks the groups that cut too much.
    """
    from sfumato.expectations.groups.connected import connected_sides  # where it is needed

    old = pairs.atom >= 0
    of_group, of_atom = connected_sides(pairs.group[old], pairs.atom[old], pairs.groups, atoms)
    mixed = distinct(of_group[broken])
    number = np.full(pairs.groups + atoms, -1, dtype=np.int64)  # of each component
    number[mixed] = np.arange(len(mixed))
    group = number[of_group]
    inside = np.flatnonzero(group >= 0)
    _, first = np.unique(group[inside], return_index=True)
    return Mixtures(group, number[of_atom], inside[first])


def are_sets(before: Atoms, groups: Groups, mixtures: Mixtures) -> np.ndarray:
    """Mark the mixtures whose groups and atoms are all sets of one signature (bool, one each)."""
    return _hold(before, groups, mixtures, sets=True)


def are_alike(before: Atoms, groups: Groups, mixtures: Mixtures) -> np.ndarray:
    """Mark the mixtures whose groups and atoms all have one multiset of values (bool, one each)."""
    return _hold(before, groups, mixtures, sets=False)


def _hold(before: Atoms, groups: Groups, mixtures: Mixtures, *, sets: bool) -> np.ndarray:
    """Mark the mixtures whose groups and atoms agree in their values (bool, one per mixture).

    With `sets` they must have the same values, each equally often; otherwise the same multiset.
    """
    now, past = columns_of(groups), before.groups.sensitive
    broken = np.zeros(len(mixtures), dtype=bool)
    for columns, mixture in ((now, mixtures.group), (past, mixtures.atom)):
        rows = np.flatnonzero(mixture >= 0)
        first = mixtures.first[mixture[rows]]
        broken[mixture[rows[~_agree(columns, rows, now, first, sets)]]] = True
    return ~broken


def _agree(
    columns: Columns, rows: np.ndarray, now: Columns, first: np.ndarray, sets: bool
) -> np.ndarray:
    """Mark the rows of `columns` that agree with the rows `first` of `now` (bool); see `_hold`."""
    fine = np.ones(len(rows), dtype=bool)
    for name, counts in columns.items():
        fine &= same_rows(counts, rows, now[name], first, counted=not sets)
        if sets:
            fine &= evenly(counts)[rows]
    return fine


NONE, TWO = -1, -2  # in place of a person's slot: no slot, and more than one


def with_slots(before: Atoms, version: Shown) -> np.ndarray:
    """Return the slot of each person (int64, one per id), -1 for none and -2 for several."""
    slot = with_room(before.slot, version)
    if version.slot is None:
        return slot
    now, former = version.slot, slot[version.person]
    slot[version.person] = np.where((former == NONE) | (former == now), now, TWO)
    return slot


def have_slots(
    before: Atoms, version: Shown, pairs: Pairs, mixtures: Mixtures, slot: np.ndarray
) -> np.ndarray:
    """Mark the mixtures whose groups and atoms are all the same slots (bool, one per mixture).

    This is so if the people of each group and of each atom that is not mixed have slots of their
    own, and the mixture has no more slots than each of its groups has people.

    Args:
        before: the state.
        version: the version.
        pairs: the groups with their atoms.
        mixtures: the mixtures of groups and atoms.
        slot: the slot of each person (int64, one per id).
    """
    atom_of = with_room(before.atom_of, version)
    placed = np.flatnonzero(atom_of >= 0)
    in_atom = mixtures.atom[atom_of[placed]]
    placed, in_atom = placed[in_atom >= 0], in_atom[in_atom >= 0]
    in_group = mixtures.group[version.group]
    here = np.flatnonzero(in_group >= 0)
    person = np.concatenate([placed, version.person[here]])
    mixture = np.concatenate([in_atom, in_group[here]])
    # everyone has one slot; all together have as many as one group has people
    fine = np.ones(len(mixtures), dtype=bool)
    fine[mixture[slot[person] < 0]] = False
    sizes = np.bincount(version.group, minlength=pairs.groups)
    fine &= _distinct(mixture, slot[person], len(mixtures)) == sizes[mixtures.first]
    # in each group, and in each atom that is not mixed, all slots differ
    groups = np.flatnonzero(mixtures.group >= 0)
    slots = _distinct(version.group[here], slot[version.person[here]], pairs.groups)
    fine[mixtures.group[groups[slots[groups] != sizes[groups]]]] = False
    atoms = np.flatnonzero((mixtures.atom >= 0) & ~before.mixed)
    slots = _distinct(atom_of[placed], slot[placed], len(before))
    fine[mixtures.atom[atoms[slots[atoms] != before.people[atoms]]]] = False
    return fine


def _distinct(owner: np.ndarray, slot: np.ndarray, owners: int) -> np.ndarray:
    """Return the number of different slots of each owner (int64, one per owner)."""
    width = int(slot.max(initial=0)) + 3
    return np.bincount(np.unique(owner * width + slot + 2) // width, minlength=owners)
