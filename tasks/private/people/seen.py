"""What versions of several lines show of people, as their maps have it.

Whoever a map no longer names is nobody here: a member of a group, and not counted.
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

_DIGITS = 38  # of a decimal


@dataclass(frozen=True, eq=False)
class MapOfLine:
    """The map of a version.

    Attributes:
        line: a number that tells its line from others.
        slots: the map.
        groups: a number that tells whose its groups are, None where they are the line's own.
        called: what columns are called in it, where they are called otherwise.
    """

    line: int
    slots: SlotMap
    groups: int | None = None
    called: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, name: str) -> str | None:
        """What a column is called in it, None where it has none."""
        called = self.called.get(name, name)
        return called if self.slots.rows.has(called) else None


def take_slots(slots: SlotMap, rows: np.ndarray) -> SlotMap:
    """Some slots of a map (int64)."""
    return replace(
        slots,
        key=slots.key[rows],
        group=slots.group[rows],
        published=slots.published[rows],
        since=slots.since[rows],
        kind=slots.kind[rows],
        retired=slots.retired[rows],
        rows=slots.rows.take(rows),
        levels={name: of[rows] for name, of in slots.levels.items()},
    )


def published_slots(slots: SlotMap) -> SlotMap:
    """The slots that a composed version shows."""
    return take_slots(slots, np.flatnonzero(slots.published >= 0))


class SeenPeople:
    """People of several versions, by one number each in all of them."""

    def __init__(self, maps: Sequence[MapOfLine]) -> None:
        """Number everybody who ever was in a group of these maps, vacant slots and all.

        Whoever was moved is in the other group: the slot that was left is nobody's.
        """
        kept = [np.flatnonzero(one.slots.kind != WITNESS) for one in maps]
        self._maps = [
            replace(one, slots=_without_moved(take_slots(one.slots, rows)))
            for one, rows in zip(maps, kept, strict=True)
        ]
        self._person = _persons(self._maps)

    def shown(self, name: str) -> list[Shown]:
        """What the versions that have a column show of it, in their order.

        Where it is not sensitive it stands for everybody to read: everybody is a group.
        """
        having = [at for at, one in enumerate(self._maps) if one.slots.rows.has(name)]
        codes, like = _coded([self._maps[at].slots.rows[name].array() for at in having])
        return [
            self._version(at, name, like._replace(codes=of))
            for at, of in zip(having, codes, strict=True)
        ]

    def everybody(self, groups: Sequence[Groups]) -> list[Shown]:
        """The versions as whoever ever was in their groups sees them, nobody less there for it.

        Args:
            groups: of each version, all that its map has, in the order of their numbers.
        """
        return [
            Shown(person, dense(one.slots.group)[0], of, np.ones(len(person), dtype=bool))
            for person, one, of in zip(self._person, self._maps, groups, strict=True)
        ]

    def _version(self, at: int, name: str, values: Coded) -> Shown:
        slots = self._maps[at].slots
        group, number = np.arange(len(slots)), len(slots)
        if slots.rows[name].role == "sensitive":
            group, number = dense(slots.group)
        groups = count(group, max(number, 1), {name: values})
        return Shown(self._person[at], group, groups, (slots.kind == LIVE) & slots.held)


def _without_moved(slots: SlotMap) -> SlotMap:
    key = slots.key.copy()
    key[slots.kind == MOVED] = b""
    return replace(slots, key=key)


def _persons(maps: Sequence[MapOfLine]) -> list[np.ndarray]:
    """The number of each slot's holder (int64), by map; nobody is somebody else in each line."""
    keys = np.concatenate([one.slots.key for one in maps])
    ends = np.cumsum([0, *(len(one.slots) for one in maps)])
    held = keys != b""
    person = np.full(len(keys), -1, dtype=np.int64)
    names, person[held] = np.unique(keys[held], return_inverse=True)
    nobody = np.flatnonzero(~held)
    if len(nobody):
        places = np.concatenate([_places(one, at) for at, one in enumerate(maps)], axis=1)
        _, ghost = np.unique(places[:, nobody], axis=1, return_inverse=True)
        person[nobody] = len(names) + ghost.reshape(-1)
    former = _former_places(maps, keys, np.where(held, person, -1), ends)
    if len(former):
        person[former[0]] = person.max() + 1 + dense(former[1])[0]
    return [person[begin:end] for begin, end in pairwise(ends.tolist())]


def _former_places(
    maps: Sequence[MapOfLine], keys: np.ndarray, person: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Slots whose holders have other ones since their values changed, of all maps of a line.

    Whoever is in two of them is another person in each.

    Returns:
        their places (int64), and a number for each place of somebody in a line's group (int64);
        nothing where there are none.
    """
    left = np.concatenate([one.slots.kind == LEFT for one in maps]) & (keys != b"")
    again = [_held_again(one.slots) for one in maps]
    if not left.any() and not any((of != b"").any() for of in again):
        return ()
    line = np.repeat([one.line for one in maps], np.diff(ends))
    group = np.concatenate([one.slots.group for one in maps])
    width = int(group.max()) + 1
    place = (line * (int(person.max()) + 1) + person) * width + group
    former = [place[left]]
    named = distinct(keys[keys != b""])
    for one, of in zip(maps, again, strict=True):
        known = np.isin(one.slots.past.key, of[of != b""])
        who = np.searchsorted(named, one.slots.past.key[known])
        in_line = one.line * (int(person.max()) + 1) + who
        former.append(in_line * width + one.slots.past.group[known])
    which = np.flatnonzero((person >= 0) & np.isin(place, np.concatenate(former)))
    return which, place[which]


def _held_again(slots: SlotMap) -> np.ndarray:
    """Who held a slot before others, and holds one now (S16)."""
    former = slots.past.key
    return former[np.isin(former, slots.key)] if len(former) else former  # all keys are sorted


def _places(one: MapOfLine, at: int) -> np.ndarray:
    """Line, version, group, and place in it of those whom nobody knows (int64, 4 x slots).

    Groups of composed versions are the line's, and so are the places in them.
    """
    slots = one.slots
    nobody = np.flatnonzero(~slots.held)
    order = nobody[stable_order(slots.group[nobody])]
    found = np.zeros((4, len(slots)), dtype=np.int64)
    found[0] = one.line if one.groups is None else one.groups
    found[1], found[2] = -1 if slots.composed else at, slots.group
    runs = slots.group[order]
    found[3, order] = np.arange(len(order)) - np.searchsorted(runs, runs)
    return found


def _coded(arrays: Sequence[pa.Array]) -> tuple[list[np.ndarray], Coded]:
    """The values of several versions by one dictionary (int64, by version), and that dictionary."""
    type_ = _common_type([array.type for array in arrays])
    coded = encode("value", "sensitive", pa.concat_arrays([a.cast(type_) for a in arrays])).coded()
    ends = np.cumsum([0, *map(len, arrays)]).tolist()
    codes = coded.codes.astype(np.int64)
    parts = [codes[begin:end] for begin, end in pairwise(ends)]
    return parts, Coded(parts[0], coded.values, None, coded.labels)


def _common_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """A type in which values of all these are compared: numbers as numbers, others as texts."""
    if len(set(types)) == 1:
        return types[0]
    if all(pa.types.is_integer(one) or pa.types.is_decimal(one) for one in types):
        return pa.decimal128(_DIGITS, max(getattr(one, "scale", 0) for one in types))
    return pa.string()
