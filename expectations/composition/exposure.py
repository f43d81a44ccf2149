"""Two attacks on versions of the same people that need no proof: intersection and subtraction.

An attacker who knows somebody's groups in all versions intersects their values. An attacker who
knows who came and who left subtracts the values of groups that share people: new values belong to
people who came, missing values belonged to people who left. Neither attack assumes that versions
were made to be combined; together they may find less than versions really reveal, never more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.expectations.composition.state import Shown
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.sorting import stable_order

_AT_ONCE = 1 << 22  # values compared
_INFINITE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Faced:
    """Numbers of people: all, those who face only one value, those who face too few."""

    people: int
    one: int
    few: int


@dataclass(frozen=True)
class CombinedExposure:
    """Exposure of people by intersection, and of people who came or left by subtraction.

    Only live people are counted; people who came or left several times count each time. People
    whose value changed, so that attacks contradict themselves, face no value: they are counted
    among all people, and neither among those who face one value nor among those who face too few.
    """

    intersection: Faced
    newcomers: Faced
    leavers: Faced


def exposure(versions: Sequence[Shown], name: str, required: int) -> CombinedExposure:
    """Return how versions and lines, in this order, expose people.

    For n people, n√n values are compared if all groups are large and each version mixes them anew.

    Args:
        versions: all are intersected; each and the next one are subtracted.
        name: the attribute.
        required: how many different values everybody should face.
    """
    successive = list(pairwise(versions))
    newcomers = [values_by_subtraction(earlier, later, name) for earlier, later in successive]
    leavers = [values_by_subtraction(later, earlier, name) for earlier, later in successive]
    return CombinedExposure(
        _count_faced([values_by_intersection(versions, name)], required),
        _count_faced(newcomers, required),
        _count_faced(leavers, required),
    )


def _count_faced(values: Sequence[np.ndarray], required: int) -> Faced:
    faced = np.concatenate([np.array([], dtype=np.int64), *values])
    counted = faced > 0
    return Faced(len(faced), int((faced == 1).sum()), int((counted & (faced < required)).sum()))


class _Sets:
    """Sets of values, one after the other: `value` (int64, ascending in each), `length` of each."""

    def __init__(self, value: np.ndarray, length: np.ndarray) -> None:
        self.value, self.length = value, length
        self.begin = np.cumsum(length) - length

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of some sets, and the place in `rows` of each (int64)."""
        length = self.length[rows]
        place = np.repeat(np.arange(len(rows)), length)
        shift = self.begin[rows] - (np.cumsum(length) - length)
        return self.value[shift[place] + np.arange(len(place))], place

    def keys(self, width: int) -> np.ndarray:
        """Return the set and the value of each entry as one number (int64, ascending)."""
        owner = np.repeat(np.arange(len(self.length)), self.length)
        return np.asarray(owner * width + self.value)


def values_by_intersection(versions: Sequence[Shown], name: str) -> np.ndarray:
    """Return how many values the groups of each live person have in common (int64)."""
    length = max((int(v.person.max(initial=-1)) + 1 for v in versions), default=0)
    # the set of each person, among the sets of values that are still possible; -1 for all values
    set_of, sets = np.full(length, -1, dtype=np.int64), _Sets(*np.zeros((2, 0), dtype=np.int64))
    for version in versions:
        counts = version.groups.counts_of(name)
        group_sets = _Sets(counts.value, counts.distinct)
        person, group = version.person[version.live], version.group[version.live]
        # people of one set in one group have the same values in common afterwards
        key, number = dense((set_of[person] + 1) * len(version.groups) + group)
        first = np.zeros(number, dtype=np.int64)
        first[key] = np.arange(len(key))
        others = set_of >= 0
        others[person] = False
        # people whom this version does not show keep their sets, which follow the new ones
        other_sets, place = np.unique(set_of[others], return_inverse=True)
        common = _common(sets, set_of[person[first]], group_sets, group[first], counts.values)
        set_of[others], set_of[person] = number + place, key
        value = np.concatenate([common.value, sets.take(other_sets)[0]])
        sets = _Sets(value, np.concatenate([common.length, sets.length[other_sets]]))
    return np.asarray(sets.length[set_of[set_of >= 0]])


def _common(
    sets: _Sets, set_of_pair: np.ndarray, group_sets: _Sets, group_of_pair: np.ndarray, width: int
) -> _Sets:
    """Return the values that pairs of a set (-1: all values) and a group's set share.

    The smaller set of each pair is looked up in the larger one.
    """
    has_set = set_of_pair >= 0
    size = np.full(len(set_of_pair), _INFINITE)
    size[has_set] = sets.length[set_of_pair[has_set]]
    by_group = group_sets.length[group_of_pair] < size
    matches = []
    for few, many, rows, probed, places in (
        (group_sets, None, group_of_pair, group_of_pair, np.flatnonzero(~has_set)),
        (group_sets, sets, group_of_pair, set_of_pair, np.flatnonzero(has_set & by_group)),
        (sets, group_sets, set_of_pair, group_of_pair, np.flatnonzero(has_set & ~by_group)),
    ):
        keys = None if many is None else many.keys(width)
        for part in _parts(few.length[rows[places]]):
            some = places[part]
            value, place = few.take(rows[some])
            if keys is not None:
                inside = _are_in(keys, probed[some][place] * width + value)
                value, place = value[inside], place[inside]
            matches.append((some[place], value))
    pair, value = (np.concatenate(column) for column in zip(*matches, strict=True))
    return _Sets(value[stable_order(pair)], np.bincount(pair, minlength=len(set_of_pair)))


def _parts(lengths: np.ndarray) -> Iterator[slice]:
    """Yield slices of rows that together have at most `_AT_ONCE` values, or one row."""
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


def values_by_subtraction(reference: Shown, version: Shown, name: str) -> np.ndarray:
    """Return how many values each live newcomer of `version` faces (int64, one each).

    Newcomers are people who are not in `reference`. Some values are in groups of `version`, but not
    in the groups of `reference` that share people with them. If these values are as many as the
    newcomers of these groups, they are the newcomers' values.
    """
    faced, _ = _values_of_newcomers(reference, version, name)
    return faced


def people_exposed_by_subtraction(earlier: Shown, later: Shown, name: str) -> int:
    """Count the people who came or left and face fewer values than their group shows."""
    both = (_values_of_newcomers(earlier, later, name), _values_of_newcomers(later, earlier, name))
    return sum(int((faced < visible).sum()) for faced, visible in both)


def _values_of_newcomers(
    reference: Shown, version: Shown, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many values each live newcomer of `version` faces, and how many its group shows.

    Both are int64, one per live newcomer.
    """
    reference_counts, counts = reference.groups.counts_of(name), version.groups.counts_of(name)
    length = max(int(v.person.max(initial=-1)) + 1 for v in (reference, version))
    before = np.full(length, -1, dtype=np.int64)
    before[reference.person] = reference.group
    new = before[version.person] < 0
    ends = before[version.person[~new]], version.group[~new]
    from sfumato.expectations.groups.connected import connected_sides  # where it is needed

    past, now = connected_sides(*ends, len(reference.groups), len(version.groups))
    more, surplus = _surplus(reference_counts, past, counts, now)
    newcomers = np.bincount(now[version.group[new]], minlength=len(surplus))
    # as many new values as newcomers: the newcomers have them; otherwise nothing is concluded
    explained = (surplus == newcomers)[now]
    inside = np.bincount(counts.group[more], minlength=len(version.groups))
    faced = np.where(explained, inside, counts.distinct)
    group = version.group[new & version.live]
    return np.asarray(faced[group]), np.asarray(counts.distinct[group])


def _surplus(
    reference_counts: Counts, past: np.ndarray, counts: Counts, now: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mark the entries of values that occur more often now; count by how much, by set of groups.

    Args:
        reference_counts: the counts of the first version.
        past: the set of each of its groups (int64).
        counts: the counts of the other version.
        now: the set of each of its groups (int64).

    Returns:
        bool, one per entry of `counts`; int64, one per set.
    """
    width = max(reference_counts.values, counts.values)
    before, after = (
        past[reference_counts.group] * width + reference_counts.value,
        now[counts.group] * width + counts.value,
    )
    key, place = np.unique(np.concatenate([before, after]), return_inverse=True)
    more = np.zeros(len(key), dtype=np.int64)
    np.add.at(more, place, np.concatenate([-reference_counts.count, counts.count]))
    surplus = np.zeros(max(past.max(initial=-1), now.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(surplus, key // width, np.maximum(more, 0))
    return more[place[len(before) :]] > 0, surplus
