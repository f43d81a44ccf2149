"""People in the versions of several lines, by the maps of these versions.

A map is the private file of a version's slots: the holder, group and values of each (see `slots`).
A slot whose holder a map no longer names is that of an unknown member of a group, who is not
counted among people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.state import Shown
from sfumato.expectations.groups.counting import Coded, count, dense
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.sorting import distinct, stable_order
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.private.people.slots import LEFT, LIVE, MOVED, WITNESS, SlotMap

_DIGITS = 38  # most digits of a decimal128


@dataclass(frozen=True, eq=False)
class MapOfLine:
    """The map of a version.

    Attributes:
        line: a number for its line.
        slots: the map.
        groups: a number for the owner of its groups, None if they are the line's own.
        called: by the name of a column elsewhere, its name in this map, where the two differ.
    """

    line: int
    slots: SlotMap
    groups: int | None = None
    called: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, name: str) -> str | None:
        """Return the name of a column in this map, or None if it has none."""
        called = self.called.get(name, name)
        return called if self.slots.rows.has(called) else None


def take_slots(slots: SlotMap, rows: np.ndarray) -> SlotMap:
    """Return some slots of a map (int64)."""
    return replace(
        slots,
        key=slots.key[rows],
        group=slots.group[rows],
        published=slots.published[rows],
        since=slots.since[rows],
        kind=slots.kind[rows],
        retired=slots.retired[rows],
        rows=slots.rows.take(rows),
        levels={name: level[rows] for name, level in slots.levels.items()},
    )


def published_slots(slots: SlotMap) -> SlotMap:
    """Return the slots that a composed version shows."""
    return take_slots(slots, np.flatnonzero(slots.published >= 0))


class SeenPeople:
    """People of several versions, each by one number in all of them."""

    def __init__(self, maps: Sequence[MapOfLine]) -> None:
        """Number everyone who ever was in a group of these maps, vacant slots included.

        A person who was moved is in the other group: the slot that was left belongs to nobody.
        """
        rows_kept = [np.flatnonzero(seen_map.slots.kind != WITNESS) for seen_map in maps]
        self._maps = [
            replace(seen_map, slots=_without_moved(take_slots(seen_map.slots, rows)))
            for seen_map, rows in zip(maps, rows_kept, strict=True)
        ]
        self._person = _persons(self._maps)

    def versions_showing(self, name: str) -> list[Shown]:
        """Return the versions that have a column, in order, with the values that they show of it.

        If the column is not sensitive in a version, its values are public there: each person is a
        group.
        """
        having = [
            place for place, seen_map in enumerate(self._maps) if seen_map.slots.rows.has(name)
        ]
        codes, like = _code_together(
            [self._maps[place].slots.rows[name].array() for place in having]
        )
        return [
            self._version(place, name, like._replace(codes=codes_here))
            for place, codes_here in zip(having, codes, strict=True)
        ]

    def everybody(self, groups: Sequence[Groups]) -> list[Shown]:
        """Return the versions as seen by someone who knows all who were ever in their groups.

        Args:
            groups: for each version all groups of its map, in the order of their numbers.
        """
        return [
            Shown(
                person,
                dense(seen_map.slots.group)[0],
                groups_here,
                np.ones(len(person), dtype=bool),
            )
            for person, seen_map, groups_here in zip(self._person, self._maps, groups, strict=True)
        ]

    def _version(self, place: int, name: str, values: Coded) -> Shown:
        slots = self._maps[place].slots
        group, number = np.arange(len(slots)), len(slots)
        if slots.rows[name].role == "sensitive":
            group, number = dense(slots.group)
        groups = count(group, max(number, 1), {name: values})
        return Shown(self._person[place], group, groups, (slots.kind == LIVE) & slots.is_held)


def _without_moved(slots: SlotMap) -> SlotMap:
    key = slots.key.copy()
    key[slots.kind == MOVED] = b""
    return replace(slots, key=key)


def _persons(maps: Sequence[MapOfLine]) -> list[np.ndarray]:
    """Return the number of each slot's holder (int64), by map.

    Slots without a holder have numbers of their own: in composed versions of a line, the n-th such
    slot of a group has the same number in all of them.
    """
    keys = np.concatenate([seen_map.slots.key for seen_map in maps])
    ends = np.cumsum([0, *(len(seen_map.slots) for seen_map in maps)])
    is_held = keys != b""
    person = np.full(len(keys), -1, dtype=np.int64)
    names, person[is_held] = np.unique(keys[is_held], return_inverse=True)
    nobody = np.flatnonzero(~is_held)
    if len(nobody):
        places = np.concatenate(
            [_places(seen_map, version) for version, seen_map in enumerate(maps)], axis=1
        )
        _, ghost = np.unique(places[:, nobody], axis=1, return_inverse=True)
        person[nobody] = len(names) + ghost.reshape(-1)
    former = _former_places(maps, keys, np.where(is_held, person, -1), ends)
    if len(former):
        person[former[0]] = person.max() + 1 + dense(former[1])[0]
    return [person[begin:end] for begin, end in pairwise(ends.tolist())]


def _former_places(
    maps: Sequence[MapOfLine], keys: np.ndarray, person: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the slots that people left for another one, because their values changed.

    These are found in all maps of a line: a person counts as another person in each of the groups.

    Args:
        maps: the maps.
        keys: the name of each slot's holder (S16), map after map.
        person: the number of each holder (int64), -1 for nobody.
        ends: the first position of each map, and the end of the last (int64).

    Returns:
        The positions of these slots (int64), and a number for line, person and group of each
        (int64); an empty tuple if nobody left a slot.
    """
    is_left = np.concatenate([seen_map.slots.kind == LEFT for seen_map in maps]) & (keys != b"")
    again = [_held_again(seen_map.slots) for seen_map in maps]
    if not is_left.any() and not any((names != b"").any() for names in again):
        return ()
    line = np.repeat([seen_map.line for seen_map in maps], np.diff(ends))
    group = np.concatenate([seen_map.slots.group for seen_map in maps])
    width = int(group.max()) + 1
    place = (line * (int(person.max()) + 1) + person) * width + group
    former = [place[is_left]]
    named = distinct(keys[keys != b""])
    for seen_map, names in zip(maps, again, strict=True):
        is_again = np.isin(seen_map.slots.past.key, names[names != b""])
        who = np.searchsorted(named, seen_map.slots.past.key[is_again])
        in_line = seen_map.line * (int(person.max()) + 1) + who
        former.append(in_line * width + seen_map.slots.past.group[is_again])
    which = np.flatnonzero((person >= 0) & np.isin(place, np.concatenate(former)))
    return which, place[which]


def _held_again(slots: SlotMap) -> np.ndarray:
    """Return the names of former holders of slots who have another slot now (S16)."""
    former = slots.past.key
    return former[np.isin(former, slots.key)] if len(former) else former  # all keys are sorted


def _places(seen_map: MapOfLine, version: int) -> np.ndarray:
    """Return line, version, group, and rank in the group of each slot without a holder.

    Groups of composed versions belong to the line: their version is -1.

    Returns:
        int64, 4 x slots; the rank is 0 for slots that have a holder.
    """
    slots = seen_map.slots
    nobody = np.flatnonzero(~slots.is_held)
    order = nobody[stable_order(slots.group[nobody])]
    places = np.zeros((4, len(slots)), dtype=np.int64)
    places[0] = seen_map.line if seen_map.groups is None else seen_map.groups
    places[1], places[2] = -1 if slots.composed else version, slots.group
    runs = slots.group[order]
    places[3, order] = np.arange(len(order)) - np.searchsorted(runs, runs)
    return places


def _code_together(arrays: Sequence[pa.Array]) -> tuple[list[np.ndarray], Coded]:
    """Return the values of several versions by one dictionary (int64 each), and the dictionary."""
    type_ = _common_type([array.type for array in arrays])
    coded = encode(
        "value", "sensitive", pa.concat_arrays([a.cast(type_) for a in arrays])
    ).counted_codes()
    ends = np.cumsum([0, *map(len, arrays)]).tolist()
    codes = coded.codes.astype(np.int64)
    parts = [codes[begin:end] for begin, end in pairwise(ends)]
    return parts, Coded(parts[0], coded.values, None, coded.labels)


def _common_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return a type for comparing values of all these: numbers as numbers, others as texts."""
    if len(set(types)) == 1:
        return types[0]
    if all(pa.types.is_integer(type_) or pa.types.is_decimal(type_) for type_ in types):
        return pa.decimal128(_DIGITS, max(getattr(type_, "scale", 0) for type_ in types))
    return pa.string()
