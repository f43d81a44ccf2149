"""Who of two maps is who: ids of people, and of slots that go on, for judging versions together.

A map names whoever holds a slot. Those whom it forgot are told apart by their groups. Somebody
whose values changed may have left a slot for another one, and is another person in each. Of a slot
that was given to somebody else both maps tell the group and the values, and the later one tells who
held it before. Whoever was moved, as a group was dissolved, is the same person.
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
    """The members of groups of a map and of the one before, witnesses apart.

    Attributes:
        was: positions in the map before (int64).
        of_was: the id of whoever holds each (int64, parallel).
        of_past: the ids of those who held slots of it before others (int64).
        is_: positions in the map (int64).
        of_is: the id of whoever holds each (int64, parallel).
        slot: the slot of each of `is_`: its place in `was`, or a number behind all these for a new
            one (int64, parallel).
        lost: how many slots of the map before are nowhere in this one.
        units: the unit that each id is of (int64, one per id), None where all are different.
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
        before: the map before, None where there is none.
        now: the map.
        columns: whose values a slot has.
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
    left = np.ones(len(was), dtype=bool)
    left[slot[slot >= 0]] = False
    old, new = _handed_over(before, was[left], now, is_[slot < 0], columns)
    slot[np.flatnonzero(slot < 0)[new]] = np.flatnonzero(left)[old]
    made = np.flatnonzero(slot < 0)
    slot[made] = len(was) + np.arange(len(made))
    return Members(was, of_was, of_past, is_, of_is, slot, int(left.sum()) - len(old), units)


def _ids(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """An id for each member of both maps, and for each former holder of the one before (int64).

    And the unit of each id, where several ids are of one.
    """
    keys = [before.key[was], before.past.key, now.key[is_]]
    names = person_numbers(*keys, now.past.key)
    group = np.concatenate([before.group[was], before.past.group, now.group[is_]])
    lengths = [len(one) for one in keys]
    unit = np.concatenate(names[:3])
    ids = unit.copy()
    width = int(group.max(initial=0)) + 1
    place = unit * width + group
    left = np.concatenate(
        [before.kind[was] == LEFT, np.ones(lengths[1], bool), now.kind[is_] == LEFT]
    )
    former = np.append(place[left], names[3] * width + now.past.group)
    episode = np.isin(place, former)
    ids[episode] = ids.max(initial=0) + 1 + dense(place[episode])[0]
    moved = _moved_from(before, was, now, is_)
    ids[moved] = ids.max(initial=0) + 1 + dense(place[moved])[0]
    nobody = np.flatnonzero(np.concatenate(keys) == b"")
    list_ = np.repeat(np.arange(len(keys)), lengths)
    order = nobody[np.lexsort((list_[nobody], group[nobody]))]
    turn = np.arange(len(order)) - _start_of_run(group[order] * len(keys) + list_[order])
    turn[list_[order] == 1] += len(ids)  # nobody goes on to be a former holder
    ids[order] = ids.max(initial=0) + 1 + dense(group[order] * (2 * len(ids) + 1) + turn)[0]
    ids, number = dense(ids)
    units = np.full(number, -1, dtype=np.int64)
    units[ids] = unit
    for apart in (order, moved):
        units[ids[apart]] = unit.max(initial=0) + 1 + ids[apart]
    return np.split(ids, np.cumsum(lengths)[:-1]), units if episode.any() else None


def _moved_from(before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray) -> np.ndarray:
    """The slots that people were moved from (int64), who are themselves in other ones."""
    none = np.zeros(len(before.past), dtype=bool)
    moved = [before.kind[was] == MOVED, none, now.kind[is_] == MOVED]
    held = [before.held[was], none, now.held[is_]]
    return np.flatnonzero(np.concatenate(moved) & np.concatenate(held))


def _with_moved(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray, slot: np.ndarray
) -> np.ndarray:
    """The slot of each member (int64), where some were moved, and hold other ones now.

    Args:
        before: the map before.
        was: positions in it (int64).
        now: the map.
        is_: positions in it (int64).
        slot: of the same person (int64, a place in `was`), -1 for none.
    """
    moved = np.flatnonzero((now.kind[is_] == MOVED) & (slot < 0))
    here = np.full(len(was), -1, dtype=np.int64)
    _, old, new = np.intersect1d(
        *_places(before, was, now, is_[moved]), assume_unique=True, return_indices=True
    )
    here[old] = moved[new]
    found = slot.copy()
    found[np.isin(found, old)] = -1
    found[here[old]] = old
    return found


def _places(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A number for person and group of slots of two maps (int64); nobody has none in common."""
    numbers = person_numbers(before.key[was], now.key[is_])
    width = 1 + max(int(one.group.max(initial=0)) for one in (before, now))
    of_was, of_is = numbers[0] * width + before.group[was], numbers[1] * width + now.group[is_]
    of_was[~before.held[was]] = -1 - np.flatnonzero(~before.held[was])
    return of_was, of_is


def count_strays(
    before: SlotMap,
    now: SlotMap,
    members: Members,
    previous: np.ndarray,
    movable: Sequence[str] = (),
) -> int:
    """How many people are shown in other groups than those that go on from theirs.

    Args:
        before: the map before.
        now: the map.
        members: of both.
        previous: the group of the version before that each of this one goes on from (int64).
        movable: the columns whose values a group has, where groups may be dissolved and the map
            tells who was moved to one of an equal set of values; empty where nobody may be.
    """
    if not before.composed:
        return 0
    place = np.full(count_of([members.of_was, members.of_is]), -1, dtype=np.int64)
    place[members.of_was] = members.was
    was, is_ = place[members.of_is], members.is_
    shown = (was >= 0) & (before.published[was] >= 0) & (now.published[is_] >= 0)
    was, is_ = was[shown], is_[shown]
    strays = previous[now.published[is_]] != before.published[was]
    if movable and strays.any():
        alike = are_equal_sets(before, movable, before.group[was], now.group[is_])
        strays &= ~(alike & _are_moved(before, was, now))
    return int(strays.sum())


def _are_moved(before: SlotMap, was: np.ndarray, now: SlotMap) -> np.ndarray:
    """Mark slots of a map (positions, int64) whose holders were moved by the next one (bool)."""
    moved = np.flatnonzero((now.kind == MOVED) & now.held)
    return np.isin(*_places(before, was, now, moved))


def _start_of_run(keys: np.ndarray) -> np.ndarray:
    """Where the run of equal keys that each is in starts (int64)."""
    if not len(keys):
        return keys
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.repeat(starts, np.diff(np.append(starts, len(keys))))


def _handed_over(
    before: SlotMap, was: np.ndarray, now: SlotMap, is_: np.ndarray, columns: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Slots that others hold now: places in `was` and in `is_` (int64 each) of the same ones.

    Of equal values in one group any may be the same slot. Nobody can be given the slot of somebody
    whom the map does not name as its former holder.
    """
    numbers = person_numbers(before.key[was], now.past.key)
    width = count_of(numbers)
    of_was = before.group[was] * width + numbers[0]
    named = np.isin(of_was, now.past.group * width + numbers[1]) & before.held[was]
    old = np.flatnonzero(named)
    keys = [np.append(before.group[was[old]], now.group[is_])]
    keys += [
        _coded(before.rows[n].take(was[old]).array(), now.rows[n].take(is_).array())
        for n in columns
    ]
    place = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1)
    _, one, other = np.intersect1d(
        _ranked(place[: len(old)], len(place)),
        _ranked(place[len(old) :], len(place)),
        assume_unique=True,
        return_indices=True,
    )
    return old[one], other


def _ranked(value: np.ndarray, bound: int) -> np.ndarray:
    """A number for each value and its place among equal ones (int64)."""
    order, numbers = rank_equals(value, np.arange(len(value)), bound)
    ranked = np.empty(len(value), dtype=np.int64)
    ranked[order] = numbers
    return ranked


def _coded(one: pa.Array, other: pa.Array) -> np.ndarray:
    """The values of two arrays by one dictionary (int64), the first of another scale perhaps."""
    both = pa.concat_arrays([one.cast(other.type), other])
    return encode("value", "sensitive", both).codes.astype(np.int64)
