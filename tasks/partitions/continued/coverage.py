"""What the labels of a line's groups cover, for newcomers who could be given a slot there.

A label widens where somebody in the group moves, and covers for ever what it covered once. A
newcomer is given no slot for which it would have to widen. What is said here of a label is never
more than it covers: between the least and the greatest value of a group, or the values themselves,
or below the lowest node that has them all.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.microdata.hierarchies import lowest_common
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.partitions.continued.line import LineSoFar, Shape

_TRIES = 256  # newcomers who are considered for a slot
_AT_ONCE = 1 << 20  # pairs of a newcomer and a slot


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
