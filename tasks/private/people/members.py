"""Matching of two maps: ids of people, and of slots that go on, for judging versions together.

A map is the private file of a version's slots (see `slots`); a *member* of a group is the holder of
one of its slots. A map names the holder of each slot. Holders whom it forgot have no name: they are
distinguished by their groups. A person whose values changed may have left a slot for another one,
and counts as another person in each. If a slot was given to somebody else, both maps state its
group and its values, and the later one names the former holder. A person who was moved, because a
group was dissolved, is the same person.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import dense
from sfumato.tasks.arrays.ranks import rank_equals
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.private.people.slots import LEFT, MOVED, WITNESS, SlotMap, are_equal_sets
from sfumato.tasks.private.people.store import count_of, person_numbers


@dataclass(frozen=True, eq=False)
class Members:
    """The members of groups of a map and of the one before, without witnesses.

    Attributes:
        was: positions in the map before (int64).
        of_was: the id of the holder of each slot of `was` (int64, parallel).
        of_past: the id of each former holder in the map before (int64).
        is_: positions in the map (int64).
        of_is: the id of the holder of each slot of `is_` (int64, parallel).
        slot: for each slot of `is_`, its place in `was`; or for a new slot a number above all
            these places (int64, parallel).
        lost: the number of slots of the map before that are nowhere in this one.
        units: the unit that each id is of (int64, one per id), None if all are different.
    """

    was: np.ndarray
    of_was: np.ndarray
    of_past: np.ndarray
    is_: np.ndarray
    of_is: np.ndarray
    slot: np.ndarray
    lost: int
    units: np.ndarray | None = None


def members_of(before: SlotMap | None, now: SlotMap, columns: Sequence[str]) -> Members:
    """Match the members of two maps of a line.

    Args:
        before: the map before, None if there is none.
        now: the map.
        columns: the columns whose values stay with a slot.
    """
    is_ = np.flatnonzero(now.kind != WITNESS)
    none = np.array([], dtype=np.int64)
    if before is None:
        ids = np.arange(len(is_))
        return Members(none, none, none, is_, ids, ids, 0)
    was = np.flatnonzero(before.kind != WITNESS)
    (of_was, of_past, of_is), units = _ids(before, was, now, is_)
    place = np.full(count_of([of_was, of_past, of_is]), -1, dtype=np.int64)
    place[of_was] = np.arange(len(was))
    slot = _with_moved(before, was, now, is_, place[of_is])
    is_left = np.ones(len(was), dtype=bool)
    is_left[slot[slot >= 0]] = False
    old, new = _handed_over(before, was[is_left], now, is_[slot < 0], columns)
    slot[np.flatnonzero(slot < 0)[new]] = np.flatnonzero(is_left)[old]
    made = np.flatnonzero(slot < 0)  # new slots
    slot[made] = len(was) + np.arange(len(made))
    return Members(was, of_was, of_past, is_, of_is, slot, int(is_left.sum()) - len(old), units)


def _ids(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return an id for each member of both maps and each former holder before (int64).

    Also return the unit of each id, or None if no two ids have the same unit.
    """
    # three lists, one after the other: members before, former holders before, and members now
    keys = [before.key[was], before.past.key, now.key[is_]]
    names = person_numbers(*keys, now.past.key)
    group = np.concatenate([before.group[was], before.past.group, now.group[is_]])
    lengths = [len(keys_of_list) for keys_of_list in keys]
    unit = np.concatenate(names[:3])
    ids = unit.copy()
    width = int(group.max(initial=0)) + 1
    place = unit * width + group
    is_former = np.concatenate(
        [before.kind[was] == LEFT, np.ones(lengths[1], bool), now.kind[is_] == LEFT]
    )
    former = np.append(place[is_former], names[3] * width + now.past.group)
    # A person's stay in a group that they left since has an id of its own.
    episode = np.isin(place, former)
    ids[episode] = ids.max(initial=0) + 1 + dense(place[episode])[0]
    # So has the slot that a person was moved from; the person goes on by the other slot.
    moved = _moved_from(before, was, now, is_)
    ids[moved] = ids.max(initial=0) + 1 + dense(place[moved])[0]
    # Slots without a name are matched in order within their group: the n-th of one list is the
    # n-th of the other.
    nobody = np.flatnonzero(np.concatenate(keys) == b"")
    list_ = np.repeat(np.arange(len(keys)), lengths)
    order = nobody[np.lexsort((list_[nobody], group[nobody]))]
    turn = np.arange(len(order)) - _start_of_run(group[order] * len(keys) + list_[order])
    turn[list_[order] == 1] += len(ids)  # nobody goes on to be a former holder
    ids[order] = ids.max(initial=0) + 1 + dense(group[order] * (2 * len(ids) + 1) + turn)[0]
    ids, number = dense(ids)
    # The unit of each id; nameless slots and those that people were moved from have their own.
    units = np.full(number, -1, dtype=np.int64)
    units[ids] = unit
    for apart in (order, moved):
        units[ids[apart]] = unit.max(initial=0) + 1 + ids[apart]
    return np.split(ids, np.cumsum(lengths)[:-1]), units if episode.any() else None


def _moved_from(before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray) -> np.ndarray:
    """Return the slots that people were moved from (int64), who have other slots now."""
    none = np.zeros(len(before.past), dtype=bool)
    moved = [before.kind[was] == MOVED, none, now.kind[is_] == MOVED]
    is_held = [before.is_held[was], none, now.is_held[is_]]
    return np.flatnonzero(np.concatenate(moved) & np.concatenate(is_held))


def _with_moved(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray, slot: np.ndarray
) -> np.ndarray:
    """Return the slot of each member (int64), considering that some were moved to other slots.

    Args:
        before: the map before.
        was: positions in it (int64).
        now: the map.
        is_: positions in it (int64).
        slot: for each member, the place in `was` of the same person's slot (int64), -1 for none.
    """
    moved = np.flatnonzero((now.kind[is_] == MOVED) & (slot < 0))
    here = np.full(len(was), -1, dtype=np.int64)
    _, old, new = np.intersect1d(
        *_places(before, was, now, is_[moved]), assume_unique=True, return_indices=True
    )
    here[old] = moved[new]
    slots = slot.copy()
    slots[np.isin(slots, old)] = -1
    slots[here[old]] = old
    return slots


def _places(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for person and group of each slot of two maps (int64).

    Slots of the map before without a holder have numbers below 0, each another one.
    """
    numbers = person_numbers(before.key[was], now.key[is_])
    width = 1 + max(int(slots.group.max(initial=0)) for slots in (before, now))
    of_was, of_is = numbers[0] * width + before.group[was], numbers[1] * width + now.group[is_]
    of_was[~before.is_held[was]] = -1 - np.flatnonzero(~before.is_held[was])
    return of_was, of_is


def count_strays(
    before: SlotMap,
    now: SlotMap,
    members: Members,
    previous: np.ndarray,
    movable: Sequence[str] = (),
) -> int:
    """Return how many people are shown in other groups than those that go on from theirs.

    Args:
        before: the map before.
        now: the map.
        members: of both.
        previous: by group of this version, the group of the version before from which it goes on
            (int64), -1 if it is new.
        movable: the columns whose values a group has, if groups may be dissolved and the map shows
            who was moved to one of an equal set of values; empty if nobody may be moved.
    """
    if not before.composed:
        return 0
    place = np.full(count_of([members.of_was, members.of_is]), -1, dtype=np.int64)
    place[members.of_was] = members.was
    was, is_ = place[members.of_is], members.is_
    in_both = (was >= 0) & (before.published[was] >= 0) & (now.published[is_] >= 0)
    was, is_ = was[in_both], is_[in_both]
    strays = previous[now.published[is_]] != before.published[was]
    if movable and strays.any():
        alike = are_equal_sets(before, movable, before.group[was], now.group[is_])
        strays &= ~(alike & _are_moved(before, was, now))
    return int(strays.sum())


def _are_moved(before: SlotMap, was: np.ndarray, now: SlotMap) -> np.ndarray:
    """Mark slots of a map (positions, int64) whose holders were moved by the next one (bool)."""
    moved = np.flatnonzero((now.kind == MOVED) & now.is_held)
    return np.isin(*_places(before, was, now, moved))


def _start_of_run(keys: np.ndarray) -> np.ndarray:
    """Return, for each entry, the start of the run of equal keys that it is in (int64)."""
    if not len(keys):
        return keys
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.repeat(starts, np.diff(np.append(starts, len(keys))))


def _handed_over(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray, columns: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return slots that somebody else has now: their places in `was` and in `is_` (int64 each).

    Equal values in one group are interchangeable as slots. A slot can only have been handed over if
    the later map names its former holder.
    """
    numbers = person_numbers(before.key[was], now.past.key)
    width = count_of(numbers)
    of_was = before.group[was] * width + numbers[0]
    named = np.isin(of_was, now.past.group * width + numbers[1]) & before.is_held[was]
    old = np.flatnonzero(named)
    keys = [np.append(before.group[was[old]], now.group[is_])]
    keys += [
        _code_together(before.rows[n].take(was[old]).array(), now.rows[n].take(is_).array())
        for n in columns
    ]
    place = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1)
    _, earlier, later = np.intersect1d(
        _rank_values(place[: len(old)], len(place)),
        _rank_values(place[len(old) :], len(place)),
        assume_unique=True,
        return_indices=True,
    )
    return old[earlier], later


def _rank_values(value: np.ndarray, bound: int) -> np.ndarray:
    """Return a number for each value and its rank among equal values (int64): all differ."""
    order, numbers = rank_equals(value, np.arange(len(value)), bound)
    ranked = np.empty(len(value), dtype=np.int64)
    ranked[order] = numbers
    return ranked


def _code_together(first: pa.Array, second: pa.Array) -> np.ndarray:
    """Return two arrays' values by one dictionary (int64); scales of the first may differ."""
    both = pa.concat_arrays([first.cast(second.type), second])
    return encode("value", "sensitive", both).codes.astype(np.int64)
