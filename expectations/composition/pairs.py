"""Which atoms the groups of a version are made of, and which of them they cut."""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.composition.state import Atoms, Shown
from sfumato.expectations.sorting import stable_order

MOST_CUTS = 1  # with two, a group does not tell what each part has


@dataclass(frozen=True, eq=False)
class Pairs:
    """Each group with each atom that its members come from, once; parallel, ascending by group.

    Attributes:
        group: the group (int64).
        atom: the atom, -1 for all newcomers of the group (int64).
        people: the members of the group who come from there (int64).
        whole: marks pairs where that is the whole atom (bool).
        of_member: the pair of each member (int64).
        groups: how many groups there are.
    """

    group: np.ndarray
    atom: np.ndarray
    people: np.ndarray
    whole: np.ndarray
    of_member: np.ndarray
    groups: int

    @property
    def cuts(self) -> np.ndarray:
        """How many atoms, newcomers among them, each group cuts (int64, one per group)."""
        return np.bincount(self.group[~self.whole], minlength=self.groups)


def pairs_of(before: Atoms, of: np.ndarray, shown: Shown) -> Pairs:
    """The pairs of the groups and atoms that have members in common; linear where no group mixes.

    Args:
        before: the state.
        of: the atom of each person (int64, one per id, -1 for newcomers).
        shown: the version.
    """
    atom, groups = of[shown.person], len(shown.groups)
    first = np.full(groups, -1, dtype=np.int64)
    first[shown.group] = atom
    mixes = np.zeros(groups, dtype=bool)
    mixes[shown.group[atom != first[shown.group]]] = True
    width = len(before) + 1
    pure = np.flatnonzero(~mixes)
    inside = np.flatnonzero(mixes[shown.group])
    key, number, people = np.unique(
        shown.group[inside] * width + atom[inside] + 1, return_inverse=True, return_counts=True
    )
    group = np.concatenate([pure, key // width])
    order = stable_order(group)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    of_group = np.zeros(groups, dtype=np.int64)
    of_group[pure] = place[: len(pure)]
    of_member = of_group[shown.group]
    of_member[inside] = place[len(pure) + number]
    sizes = np.bincount(shown.group, minlength=groups)
    people = np.concatenate([sizes[pure], people])[order]
    atoms = np.concatenate([first[pure], key % width - 1])[order]
    whole = atoms >= 0
    whole[whole] = people[whole] == before.people[atoms[whole]]
    return Pairs(group[order], atoms, people, whole, of_member, groups)
