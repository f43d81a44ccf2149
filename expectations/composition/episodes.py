"""A unit that came back with another value: its atoms may have no value in common.

Whoever knows that values mostly stay the same would learn from groups that overlap which value it
is. Where the values that are possible before and after are disjoint, nothing is learnt but that the
value changed.
"""

import numpy as np

from sfumato.expectations.composition.sparse import entries_of
from sfumato.expectations.composition.state import Atoms
from sfumato.expectations.sorting import distinct


def overlapping_units(atoms: Atoms, units: np.ndarray) -> int:
    """How many units have two atoms that share a possible value.

    Args:
        atoms: the state.
        units: the unit of each person (int64, one per id): an episode is a person of its own.
    """
    known = np.flatnonzero(atoms.of[: len(units)] >= 0)
    several = np.bincount(units[known])[units[known]] > 1 if len(known) else known
    person = known[several.astype(bool)]
    found = [np.array([], dtype=np.int64)]
    for counts in atoms.groups.sensitive.values():
        entries, place = entries_of(counts, atoms.of[person])
        key = units[person][place] * max(counts.values, 1) + counts.value[entries]
        possible, times = np.unique(key, return_counts=True)
        found.append(possible[times > 1] // max(counts.values, 1))
    return len(distinct(np.concatenate(found)))
