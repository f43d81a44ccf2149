"""Theorem C: who holds one place among the same places for ever may have the value of any of them.

Groups consist of slots with fixed values, each held by at most one person at a time, and each
person holds one slot for ever. Then whoever is in a group may have any of its values, but nothing
is said of how likely each is.
"""

import numpy as np

from sfumato.expectations.composition.pairs import Pairs
from sfumato.expectations.composition.signatures import Mixtures
from sfumato.expectations.composition.state import Atoms, Shown, with_room

NONE, TWO = -1, -2


def with_slots(before: Atoms, shown: Shown) -> np.ndarray:
    """The slot of each person (int64, one per id), -1 for none and -2 for who had more than one."""
    slot = with_room(before.slot, shown)
    if shown.slot is None:
        return slot
    given, had = shown.slot, slot[shown.person]
    slot[shown.person] = np.where((had == NONE) | (had == given), given, TWO)
    return slot


def have_slots(
    before: Atoms, shown: Shown, pairs: Pairs, mixtures: Mixtures, slot: np.ndarray
) -> np.ndarray:
    """Mark the mixtures whose groups and atoms all are the same slots (bool, one per mixture).

    That is so where the people of each group and of each atom that is not mixed hold slots of their
    own, and the mixture has no more slots than each of its groups has people.

    Args:
        before: the state.
        shown: the version.
        pairs: which groups have which atoms.
        mixtures: which of them are connected.
        slot: the slot of each person (int64, one per id).
    """
    of = with_room(before.of, shown)
    known = np.flatnonzero(of >= 0)
    in_atom = mixtures.atom[of[known]]
    known, in_atom = known[in_atom >= 0], in_atom[in_atom >= 0]
    in_group = mixtures.group[shown.group]
    here = np.flatnonzero(in_group >= 0)
    person = np.concatenate([known, shown.person[here]])
    mixture = np.concatenate([in_atom, in_group[here]])
    fine = np.ones(len(mixtures), dtype=bool)
    fine[mixture[slot[person] < 0]] = False
    sizes = np.bincount(shown.group, minlength=pairs.groups)
    fine &= _distinct(mixture, slot[person], len(mixtures)) == sizes[mixtures.first]
    groups = np.flatnonzero(mixtures.group >= 0)
    held = _distinct(shown.group[here], slot[shown.person[here]], pairs.groups)
    fine[mixtures.group[groups[held[groups] != sizes[groups]]]] = False
    atoms = np.flatnonzero((mixtures.atom >= 0) & ~before.mixed)
    held = _distinct(of[known], slot[known], len(before))
    fine[mixtures.atom[atoms[held[atoms] != before.people[atoms]]]] = False
    return fine


def _distinct(owner: np.ndarray, slot: np.ndarray, owners: int) -> np.ndarray:
    """How many different slots each owner has (int64, one per owner)."""
    width = int(slot.max(initial=0)) + 3
    return np.bincount(np.unique(owner * width + slot + 2) // width, minlength=owners)
