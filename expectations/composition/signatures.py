"""Theorem S: people who are re-mixed among groups that are sets of the same values stay uniform.

If every group of every version shows every value of its signature equally often, and each person's
signature never changes, everybody has each value of the signature with the same posterior.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.expectations.composition.pairs import Pairs
from sfumato.expectations.composition.sparse import Columns, columns_of, evenly, same_rows
from sfumato.expectations.composition.state import Atoms
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.sorting import distinct


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
    """The mixtures around the `broken` groups (bool, one per group).

    Args:
        pairs: which groups have which atoms.
        atoms: how many atoms there are.
        broken: marks the groups that cut too much.
    """
    label = np.full(pairs.groups + atoms, -1, dtype=np.int64)
    if broken.any():
        old = pairs.atom >= 0
        ends = pairs.group[old], pairs.groups + pairs.atom[old]
        edges = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(len(label), len(label)))
        _, component = connected_components(edges, directed=False)
        mixed = distinct(component[: pairs.groups][broken])
        number = np.full(int(component.max()) + 1, -1, dtype=np.int64)
        number[mixed] = np.arange(len(mixed))
        label = number[component]
    group = label[: pairs.groups]
    inside = np.flatnonzero(group >= 0)
    _, first = np.unique(group[inside], return_index=True)
    return Mixtures(group, label[pairs.groups :], inside[first])


def are_sets(before: Atoms, groups: Groups, mixtures: Mixtures) -> np.ndarray:
    """Mark the mixtures whose groups and atoms all are sets of one signature (bool, one each)."""
    return _hold(before, groups, mixtures, sets=True)


def are_alike(before: Atoms, groups: Groups, mixtures: Mixtures) -> np.ndarray:
    """Mark the mixtures whose groups and atoms all have one multiset of values (bool, one each)."""
    return _hold(before, groups, mixtures, sets=False)


def _hold(before: Atoms, groups: Groups, mixtures: Mixtures, *, sets: bool) -> np.ndarray:
    now, past = columns_of(groups), before.groups.sensitive
    broken = np.zeros(len(mixtures), dtype=bool)
    for columns, of in ((now, mixtures.group), (past, mixtures.atom)):
        rows = np.flatnonzero(of >= 0)
        first = mixtures.first[of[rows]]
        broken[of[rows[~_agree(columns, rows, now, first, sets)]]] = True
    return ~broken


def _agree(
    columns: Columns, rows: np.ndarray, now: Columns, first: np.ndarray, sets: bool
) -> np.ndarray:
    fine = np.ones(len(rows), dtype=bool)
    for name, counts in columns.items():
        fine &= same_rows(counts, rows, now[name], first, counted=not sets)
        if sets:
            fine &= evenly(counts)[rows]
    return fine
