"""Newcomers who are given the slots of people who left, where labels cover them.

A *slot* is a row of a published version with its group (see `private.people.slots`); it is *free*
if nobody is shown in it now, and it may be given away (see `Refill`). A *cohort* is the newcomers
of one version who are grouped among themselves. A *stratum* is the rows with equal values in the
columns that keep cohorts apart.

If somebody in a group gets other quasi-identifiers, the group's label widens, and keeps covering
what it covered before. A newcomer is given no slot for which a label would have to widen. A label
is taken to cover no more than it certainly does: values between the least and the greatest value of
a group, the values themselves, or values below the lowest node that has them all.

A group keeps showing the same values whoever has its slots, so each of them stays possible for
everyone who was ever in it. Slots are drawn at random. Newcomers without a slot must still be
groupable among themselves: otherwise slots are given back, whole groups at a time, in random order
and each time twice as many.

`paired` uses only groups in which two slots or more, of different values, are given away together:
an attacker who knows one person who left does not thereby know who came. `refill` uses every slot.

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
_AT_ONCE = 1 << 20  # pairs of a newcomer and a slot that are compared at once
FEWEST = 2
"""With `paired`, so many slots of a group, of so many values, are given away together at least."""
GroupTheRest = Callable[[np.ndarray], Cohort]
"""Groups newcomers (positions, int64) among themselves."""


class CoveredPairs:
    """Pairs of newcomers and slots with the same values, where labels cover the newcomer."""

    def __init__(self, line: LineSoFar, shape: Shape) -> None:
        """Sort the slots of the line by their groups."""
        self._line = line
        # slots in the order of their groups; the start of each group; by group, its place there
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
        """Return newcomers (positions) and their slots, each in one pair at most, drawn at random.

        Args:
            new: positions of newcomers (int64).
            of_new: a number for the values of each newcomer (int64).
            free: free slots (int64).
            of_free: a number for the values of each slot (int64); equal numbers are equal values.
            randomness: the source of random keys.
        """
        parts = list(self._candidates(new, of_new, free, of_free, randomness))
        rows, slots = (np.concatenate(part) for part in zip(*parts, strict=True))
        return _match(rows, slots, randomness(len(rows)))

    def _candidates(
        self,
        new: np.ndarray,
        of_new: np.ndarray,
        free: np.ndarray,
        of_free: np.ndarray,
        randomness: Randomness,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield newcomers and slots that fit (parallel), at most `_TRIES` newcomers per slot."""
        # Newcomers of equal values are a run of `order`; slot i fits those from first[i] up to
        # behind[i]. It tries some of them, from a random one on (`shift`).
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
            covered = self._cover(rows, self._line.slots.group[free[slot]])
            yield rows[covered], free[slot[covered]]

    def _cover(self, rows: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Mark the rows that are covered by the labels of their groups (bool; parallel)."""
        covered = np.ones(len(rows), dtype=bool)
        for name in self._columns:
            covered &= self._covers(self._line.table[name], rows, self._place[group])
        return covered

    def _covers(self, column: Column, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Mark the rows whose value the label of a group covers (bool).

        Args:
            column: the column.
            rows: positions of rows in the table (int64).
            place: for each row, the place of the group among groups that have slots (int64).
        """
        codes, size = column.category()
        slot_codes = codes[self._line.rows + self._rows].astype(np.int64)
        if column.ancestors is not None:
            levels = column.levels()
            level = lowest_common(levels, slot_codes, self._starts)
            if column.name in self._line.slots.levels:
                former_level = self._line.slots.levels[column.name][self._rows[self._starts]]
                level = np.maximum(level, former_level)
            nodes = levels[level[place], slot_codes[self._starts][place]]
            return np.asarray(levels[level[place], codes[rows]] == nodes)
        of_group = np.repeat(
            np.arange(len(self._starts)), np.diff([*self._starts, len(slot_codes)])
        )
        inside = np.isin(place * size + codes[rows], of_group * size + slot_codes)
        if column.has_null or not _has_ranges(column):
            return inside
        low, high = (
            extreme.reduceat(slot_codes, self._starts)[place]
            for extreme in (np.minimum, np.maximum)
        )
        return np.asarray(inside | ((low <= codes[rows]) & (codes[rows] <= high)))


def _has_ranges(column: Column) -> bool:
    """Decide whether labels show the least and the greatest value."""
    type_ = column.values.type
    return not (pa.types.is_string(type_) or pa.types.is_boolean(type_))


def _match(rows: np.ndarray, slots: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs in which each row and each slot is once, taken greedily in the order of keys.

    Args:
        rows: the row of each possible pair (int64).
        slots: the slot of each possible pair (int64).
        keys: a random key of each possible pair.
    """
    matches: list[tuple[np.ndarray, np.ndarray]] = []
    order = np.argsort(keys)
    rows, slots = rows[order], slots[order]
    while len(rows):
        # take every pair that is the first of its row and of its slot, and drop pairs with these
        first = np.zeros(len(rows), dtype=bool)
        of_row, of_slot = (np.unique(column, return_index=True)[1] for column in (rows, slots))
        first[of_row] = True
        taken = np.zeros(len(rows), dtype=bool)
        taken[of_slot] = True
        taken &= first
        matches.append((rows[taken], slots[taken]))
        open_ = ~np.isin(rows, rows[taken]) & ~np.isin(slots, slots[taken])
        rows, slots = rows[open_], slots[open_]
    none = np.array([], dtype=np.int64)
    matched_rows, matched_slots = zip(*matches, strict=True) if matches else ((), ())
    return np.concatenate([none, *matched_rows]), np.concatenate([none, *matched_slots])


@dataclass(frozen=True, eq=False)
class Taken:
    """Slots given to newcomers (parallel): positions of rows, and of slots (int64 each)."""

    rows: np.ndarray
    slots: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, which: np.ndarray) -> "Taken":
        """Return the marked entries (bool, one per entry)."""
        return Taken(self.rows[which], self.slots[which])

    def join(self, met: Met) -> Met:
        """Return `met` with each newcomer shown in the slot that the newcomer was given."""
        slot, continued = met.slot.copy(), met.continued.copy()
        slot[self.rows], continued[self.rows] = self.slots, True
        return replace(met, slot=slot, continued=continued)


def no_slot_taken() -> Taken:
    """Return no slots, given to nobody."""
    none = np.array([], dtype=np.int64)
    return Taken(none, none)


@dataclass(frozen=True, eq=False)
class Refill:
    """The assignment of a line's slots to newcomers.

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

    def fill(self, met: Met, retired: np.ndarray, group: GroupTheRest) -> tuple[Taken, Cohort]:
        """Give slots away, and group all other newcomers.

        Args:
            met: the state of each row's person in the line.
            retired: the groups that are shown no more (int64).
            group: groups all other newcomers.

        Returns:
            The slots given away, and the cohort of all other newcomers.
        """
        new = np.flatnonzero(met.new)
        free = self._free(met, retired)
        taken = self._pairs(new, free[self._together(free)])
        taken = taken.keep(self._together(taken.slots))
        line_group = self._groups(taken)
        order = self.randomness(int(line_group.max(initial=-1)) + 1)
        stratum = self._strata_of(new)
        batch = 1
        while True:
            # If the others of a stratum cannot be grouped, slots that its newcomers took are given
            # back, whole groups of the line at a time, until they can be or none is left.
            rest = ~np.isin(new, taken.rows)
            cohort = group(new[rest])
            waiting = np.isin(stratum, stratum[np.isin(new, cohort.waiting)])
            line_group = self._groups(taken)
            blocking = np.unique(line_group[np.isin(taken.rows, new[waiting])])
            if not len(blocking):
                return taken, cohort
            back = blocking[np.argsort(order[blocking])][:batch]
            taken, batch = taken.keep(~np.isin(line_group, back)), 2 * batch

    def _groups(self, taken: Taken) -> np.ndarray:
        """Return the group of the line (int64) of each slot that is given away."""
        return np.asarray(self.line.slots.group[taken.slots])

    def _columns(self, names: Sequence[str], rows: np.ndarray) -> tuple[np.ndarray, int]:
        """Return a number for the values that rows of the table (int64) have together."""
        return key([self.line.table[name].take(rows) for name in names], len(rows))

    def _strata_of(self, new: np.ndarray) -> np.ndarray:
        return self._columns(self.strata, new)[0]

    def _free(self, met: Met, retired: np.ndarray) -> np.ndarray:
        """Return the slots (int64) that may be given away.

        A slot is free if the person who left it is not forgotten: to fill a slot that nobody has
        would reveal whom the line forgot. Somebody else must be left in the group, and nobody in it
        may have moved to another stratum than the others.
        """
        slots = self.line.slots
        groups = int(slots.group.max(initial=-1)) + 1
        occupied = met.slot[met.continued]
        open_ = np.bincount(slots.group[occupied], minlength=groups) > 0
        open_[retired] = False
        open_ &= self._of_one_stratum(groups)
        if self.shape.by_likelihood:
            open_ &= are_even(slots, self.shape.compared)
        free = (slots.kind != WITNESS) & slots.is_held & ~slots.retired
        free[occupied] = False
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
        """Return newcomers and slots of equal values and strata, in random order.

        If groups have labels, these cover the newcomer. O(n log n).
        """
        places = np.append(new, self.line.rows + free)
        values, _ = self._columns([*self.strata, *self.shape.compared], places)
        of_new, of_free = np.split(values, [len(new)])
        if self.shape.covers:
            labels = CoveredPairs(self.line, self.shape)
            return Taken(*labels.pairs(new, of_new, free, of_free, self.randomness))
        rows, row_keys = rank_equals(of_new, self.randomness(len(new)), len(places))
        slots, slot_keys = rank_equals(of_free, self._order_of(free), len(places))
        _, row_place, slot_place = np.intersect1d(row_keys, slot_keys, True, True)
        return Taken(new[rows[row_place]], free[slots[slot_place]])

    def _order_of(self, free: np.ndarray) -> np.ndarray:
        """Return keys by which slots are given away (uint64); pairs take them from groups."""
        if self.vacancies != "paired":
            return self.randomness(len(free))
        group = self.line.slots.group[free]
        return np.asarray(self.randomness(int(group.max(initial=-1)) + 1)[group])

    def _together(self, slots: np.ndarray) -> np.ndarray:
        """Mark the slots that may be given away together (bool).

        With `paired` these are the slots whose groups have `FEWEST` values or more among them;
        otherwise they are all slots.
        """
        if self.vacancies != "paired" or not len(slots):
            return np.ones(len(slots), dtype=bool)
        group, groups = dense(self.line.slots.group[slots])
        value, _ = self._columns(self.shape.compared, self.line.rows + slots)
        values = np.unique(np.stack([group, value]), axis=1)[0]
        return np.asarray(np.bincount(values, minlength=groups)[group] >= FEWEST)
