"""Two attacks on versions of the same people that need no proof: intersection and subtraction.

Whoever knows somebody's groups in all versions intersects their values. Whoever knows who came and
who left subtracts the values of groups that share people: what is new belongs to those who came,
what is missing belonged to those who left. Neither assumes that versions were made to be combined;
together they may find less than what versions really tell, never more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.expectations.composition.state import Shown
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.sorting import stable_order

_AT_ONCE = 1 << 22  # values compared
_INFINITE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Faced:
    """How many of some people face one value alone, and how many fewer than were asked for."""

    people: int
    one: int
    few: int


@dataclass(frozen=True)
class CombinedExposure:
    """What versions tell of people by intersection, and of those who came or left by subtraction.

    People are counted who are live; who came or left several times counts each time. Nobody is
    counted whose value changed so that attacks contradict themselves.
    """

    intersection: Faced
    newcomers: Faced
    leavers: Faced


def exposure(versions: Sequence[Shown], name: str, asked: int) -> CombinedExposure:
    """The exposure of people by versions, and lines, in this order.

    n√n values are compared where all groups are large and each version mixes them anew.

    Args:
        versions: all are intersected; each and the next one are subtracted.
        name: the attribute.
        asked: how many different values everybody should face.
    """
    next_ = list(pairwise(versions))
    newcomers = [values_by_subtraction(one, other, name) for one, other in next_]
    leavers = [values_by_subtraction(other, one, name) for one, other in next_]
    return CombinedExposure(
        _faced([values_by_intersection(versions, name)], asked),
        _faced(newcomers, asked),
        _faced(leavers, asked),
    )


def _faced(values: Sequence[np.ndarray], asked: int) -> Faced:
    faced = np.concatenate([np.array([], dtype=np.int64), *values])
    told = faced > 0
    return Faced(len(faced), int((faced == 1).sum()), int((told & (faced < asked)).sum()))


class _Sets:
    """Sets of values, one after the other: `value` (int64, ascending in each), `length` of each."""

    def __init__(self, value: np.ndarray, length: np.ndarray) -> None:
        self.value, self.length = value, length
        self.begin = np.cumsum(length) - length

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values of some sets, and the place in `rows` of each (int64)."""
        length = self.length[rows]
        place = np.repeat(np.arange(len(rows)), length)
        shift = self.begin[rows] - (np.cumsum(length) - length)
        return self.value[shift[place] + np.arange(len(place))], place

    def keys(self, width: int) -> np.ndarray:
        """The set and the value as one number (int64, ascending)."""
        owner = np.repeat(np.arange(len(self.length)), self.length)
        return np.asarray(owner * width + self.value)


def values_by_intersection(versions: Sequence[Shown], name: str) -> np.ndarray:
    """How many values the groups of each live person have in common (int64, one per person)."""
    length = max((int(v.person.max(initial=-1)) + 1 for v in versions), default=0)
    of, sets = np.full(length, -1, dtype=np.int64), _Sets(*np.zeros((2, 0), dtype=np.int64))
    for version in versions:
        counts = version.groups.of(name)
        shown = _Sets(counts.value, counts.distinct)
        person, group = version.person[version.live], version.group[version.live]
        key, number = dense((of[person] + 1) * len(version.groups) + group)
        first = np.zeros(number, dtype=np.int64)
        first[key] = np.arange(len(key))
        others = of >= 0
        others[person] = False
        kept, place = np.unique(of[others], return_inverse=True)
        met = _common(sets, of[person[first]], shown, group[first], counts.values)
        of[others], of[person] = number + place, key
        value = np.concatenate([met.value, sets.take(kept)[0]])
        sets = _Sets(value, np.concatenate([met.length, sets.length[kept]]))
    return np.asarray(sets.length[of[of >= 0]])


def _common(sets: _Sets, one: np.ndarray, shown: _Sets, other: np.ndarray, width: int) -> _Sets:
    """What pairs of a set (-1: of all values) and a shown one have in common, by the smaller."""
    known = one >= 0
    size = np.full(len(one), _INFINITE)
    size[known] = sets.length[one[known]]
    by_shown = shown.length[other] < size
    found = []
    for few, many, rows, probed, places in (
        (shown, None, other, other, np.flatnonzero(~known)),
        (shown, sets, other, one, np.flatnonzero(known & by_shown)),
        (sets, shown, one, other, np.flatnonzero(known & ~by_shown)),
    ):
        keys = None if many is None else many.keys(width)
        for part in _parts(few.length[rows[places]]):
            some = places[part]
            value, place = few.take(rows[some])
            if keys is not None:
                inside = _are_in(keys, probed[some][place] * width + value)
                value, place = value[inside], place[inside]
            found.append((some[place], value))
    pair, value = (np.concatenate(column) for column in zip(*found, strict=True))
    return _Sets(value[stable_order(pair)], np.bincount(pair, minlength=len(one)))


def _parts(lengths: np.ndarray) -> Iterator[slice]:
    """Slices of rows that have not too many values together."""
    ends = np.cumsum(lengths)
    begin = 0
    while True:
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + _AT_ONCE, side="right")), begin + 1)
        yield slice(begin, end)
        if end >= len(lengths):
            return
        begin = end


def _are_in(ascending: np.ndarray, keys: np.ndarray) -> np.ndarray:
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)


def values_by_subtraction(one: Shown, other: Shown, name: str) -> np.ndarray:
    """How many values each live person of `other` faces who is not in `one` (int64, one each).

    Where the values that groups of `other` have and those of `one` that share people with them have
    not are as many as the newcomers of these groups, they are the newcomers' values.
    """
    faced, _ = _of_newcomers(one, other, name)
    return faced


def told_by_subtraction(one: Shown, other: Shown, name: str) -> int:
    """How many who came or left face fewer values by subtraction than their group shows."""
    both = (_of_newcomers(one, other, name), _of_newcomers(other, one, name))
    return sum(int((faced < shown).sum()) for faced, shown in both)


def _of_newcomers(one: Shown, other: Shown, name: str) -> tuple[np.ndarray, np.ndarray]:
    """How many values each live newcomer of `other` faces, and how many the group shows (int64)."""
    held, shown = one.groups.of(name), other.groups.of(name)
    length = max(int(v.person.max(initial=-1)) + 1 for v in (one, other))
    before = np.full(length, -1, dtype=np.int64)
    before[one.person] = one.group
    new = before[other.person] < 0
    ends = before[other.person[~new]], other.group[~new]
    past, now = _shared(ends, len(one.groups), len(other.groups))
    more, surplus = _surplus(held, past, shown, now)
    newcomers = np.bincount(now[other.group[new]], minlength=len(surplus))
    told = (surplus == newcomers)[now]
    inside = np.bincount(shown.group[more], minlength=len(other.groups))
    faced = np.where(told, inside, shown.distinct)
    group = other.group[new & other.live]
    return np.asarray(faced[group]), np.asarray(shown.distinct[group])


def _shared(
    ends: tuple[np.ndarray, np.ndarray], groups: int, others: int
) -> tuple[np.ndarray, np.ndarray]:
    """The set of groups of both versions, connected by people, that each group is part of.

    Args:
        ends: the groups of each person whom both versions show (int64, one per person).
        groups: how many groups the first version has.
        others: how many the other has.
    """
    nodes = groups + others
    links = ends[0], groups + ends[1]
    edges = coo_array((np.ones(len(ends[0]), np.int8), links), shape=(nodes, nodes))
    _, label = connected_components(edges, directed=False)
    return label[:groups], label[groups:]


def _surplus(
    held: Counts, past: np.ndarray, shown: Counts, now: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mark the entries of values that occur more often now; how much more, by set of groups."""
    width = max(held.values, shown.values)
    before, after = past[held.group] * width + held.value, now[shown.group] * width + shown.value
    key, place = np.unique(np.concatenate([before, after]), return_inverse=True)
    more = np.zeros(len(key), dtype=np.int64)
    np.add.at(more, place, np.concatenate([-held.count, shown.count]))
    surplus = np.zeros(max(past.max(initial=-1), now.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(surplus, key // width, np.maximum(more, 0))
    return more[place[len(before) :]] > 0, surplus
