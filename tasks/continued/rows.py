"""The rows of a version that continues a line: people, vacant slots, and witnesses of labels.

A *slot* is a row of a published version with its group. It is *vacant* if its person is not shown
in it now. A *witness* is about nobody: it states what a group's label must still cover (see
`private.people.slots`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.continued.cohort import Cohort
from sfumato.tasks.continued.survivors import LineSoFar, Met, Shape
from sfumato.tasks.microdata.hierarchies import lowest_common
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Continued, Partition, TargetDistributions
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.slots import LEFT, LIVE, MOVED, VACANT, WITNESS, SlotMap


def values_of_groups(
    group: np.ndarray, values: np.ndarray, line_group: np.ndarray, first_new: int
) -> np.ndarray:
    """Return the value that all slots of a group share, for each group (int64), 0 for a new group.

    Args:
        group: the line's group of each slot (int64).
        values: the value of each slot (int64).
        line_group: the line's numbers of the groups for which values are returned (int64).
        first_new: the first number of a new group.
    """
    by_number = np.zeros(first_new + 1, dtype=np.int64)
    by_number[group] = values
    return np.asarray(by_number[np.minimum(line_group, first_new)])


def levels_of(
    microdata: Microdata,
    group: np.ndarray,
    line_group: np.ndarray,
    slots: SlotMap,
    cohort: Cohort,
    first_new: int,
) -> dict[str, np.ndarray]:
    """Return the level of generalization of each group, by column (int64).

    It is the least level at which the group's rows have one node, that is not below the level of
    the version before, or for a new group the level of its cohort's recoding.

    Args:
        microdata: the rows of the version.
        group: the group of each row (int64; 0, 1, …).
        line_group: the line's number of each group (int64).
        slots: the slots of the line.
        cohort: the newcomers.
        first_new: the first number of a new group.
    """
    recoding = {} if cohort.partition is None else cohort.partition.recoding
    names = [c.name for c in microdata.columns if c.name in recoding or c.name in slots.levels]
    if not names:
        return {}
    order = stable_order(group)
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    levels = {}
    for name in names:
        column = microdata[name]
        least = lowest_common(column.levels(), column.category()[0][order], starts)
        if name in slots.levels:
            before = values_of_groups(slots.group, slots.levels[name], line_group, first_new)
            least = np.maximum(least, before)
        if name in recoding:
            new = line_group >= first_new
            least[new] = np.maximum(least[new], recoding[name][line_group[new] - first_new])
        levels[name] = least
    return levels


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The rows of a version, by the places that they come from (int64, parallel).

    Attributes:
        source: the row of the source, -1 if none is shown.
        slot: the slot of the line, -1 for a new one.
        group: the line's number of its group.
        kind: LIVE, VACANT or WITNESS.
    """

    source: np.ndarray
    slot: np.ndarray
    group: np.ndarray
    kind: np.ndarray


@dataclass(frozen=True, eq=False)
class Drawn:
    """A version's rows and groups, before a form shows them.

    Attributes:
        microdata: its rows, including those of vacant slots and witnesses.
        partition: the groups of these rows, numbered 0, 1, … in the order of `line_group`.
        line_group: each group's number in the line (int64, one per group).
        first_new: the first number of a new group.
        source: the row of the source that each row shows (int64), -1 for none.
        slots: the line's slots after this version, `published` not yet filled in.
        aims: the distributions that the partition gives the cohort's groups, None without any.
    """

    microdata: Microdata
    partition: Partition
    line_group: np.ndarray
    first_new: int
    source: np.ndarray
    slots: SlotMap
    aims: TargetDistributions | None = None

    @property
    def groups(self) -> int:
        """Number of groups shown."""
        return len(self.line_group)

    @property
    def new_groups(self) -> int:
        """Number of groups of newcomers."""
        return int((self.line_group >= self.first_new).sum())

    @property
    def kind(self) -> np.ndarray:
        """The kind of each row: LIVE, VACANT or WITNESS (int8)."""
        assert self.partition.continued is not None  # noqa: S101 - made here
        return self.partition.continued.kind

    @property
    def vacant(self) -> int:
        """Number of vacant slots shown."""
        return int((self.kind == VACANT).sum())


def draw(line: LineSoFar, shape: Shape, met: Met, retired: np.ndarray, cohort: Cohort) -> Drawn:
    """Return the rows of a version: survivors and vacant slots of continued groups, and the cohort.

    Args:
        line: the table and the line's slots.
        shape: what the form shows.
        met: who has a slot, and who goes on in it.
        retired: the groups of the line that are shown no more (int64).
        cohort: the newcomers.
    """
    slots = line.slots
    first_new = int(slots.group.max(initial=-1)) + 1
    gone = np.isin(slots.group, retired)
    chosen = _join(_of_slots(line, shape, met, gone), _of_cohort(cohort, first_new), slots.group)
    group, number = dense(chosen.group)
    line_group = np.empty(number, dtype=np.int64)
    line_group[group] = chosen.group
    hidden = np.flatnonzero(gone)  # slots of retired groups: they stay in the map, not shown
    places = {c.name: _places(c.name, line, shape, chosen) for c in line.table.columns}
    microdata = _take(line.table, places)
    levels = levels_of(microdata, group, line_group, slots, cohort, first_new)
    previous = values_of_groups(slots.group, slots.published, line_group, first_new)
    continued = Continued(chosen.kind, np.where(line_group < first_new, previous, -1))
    partition = Partition(
        group,
        recoding=levels,
        facts={} if cohort.partition is None else cohort.partition.facts,
        continued=continued,
    )
    slot_map = SlotMap(
        key=np.concatenate([_names(line, chosen), slots.key[hidden]]),
        group=np.concatenate([chosen.group, slots.group[hidden]]),
        published=np.full(len(chosen.group) + len(hidden), -1),
        since=np.concatenate([_first_versions(slots, chosen), slots.since[hidden]]),
        kind=_kinds(line, met, cohort, chosen, hidden),
        retired=np.arange(len(chosen.group) + len(hidden)) >= len(chosen.group),
        rows=_values_of_slots(line, microdata, places, hidden),
        levels={
            name: np.append(
                level[group], slots.levels[name][hidden] if name in slots.levels else 0 * hidden
            )
            for name, level in levels.items()
        },
        composed=True,
        past=slots.past.with_others(*_former_holders(line, chosen)),
    )
    aims = None if cohort.partition is None else cohort.partition.target_distributions
    return Drawn(microdata, partition, line_group, first_new, chosen.source, slot_map, aims)


def _of_slots(
    line: LineSoFar, shape: Shape, met: Met, gone: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Return source rows, slots and their kind: of people who stay, vacant slots, and witnesses."""
    slots = line.slots
    stay = np.flatnonzero(met.continued)
    stay = stay[~gone[met.slot[stay]]]
    occupied = met.slot[stay]
    free = ~gone
    free[occupied] = False
    people = slots.kind != WITNESS
    vacant = np.flatnonzero(free & people)
    parts = [(stay, occupied, LIVE), (_none(vacant), vacant, VACANT)]
    if shape.covers:
        moved = _slots_of_moved(line, shape, stay, occupied)
        witnesses = np.append(np.flatnonzero(free & ~people), moved)
        parts.append((_none(witnesses), witnesses, WITNESS))
    return parts


def _slots_of_moved(
    line: LineSoFar, shape: Shape, rows: np.ndarray, occupied: np.ndarray
) -> np.ndarray:
    """Return the slots of people with new quasi-identifiers: labels still cover the old ones."""
    moved = np.zeros(len(rows), dtype=bool)
    for column in line.table.with_roles("quasi-identifier"):
        if column.name not in shape.frozen:
            moved |= column.codes[rows] != column.codes[line.rows + occupied]
    return occupied[moved]


def _of_cohort(cohort: Cohort, first_new: int) -> _Chosen:
    if cohort.partition is None:
        nobody = np.array([], dtype=np.int64)
        return _Chosen(nobody, nobody, nobody, nobody)
    members = np.flatnonzero(cohort.partition.group >= 0)
    rows = cohort.grouped_rows
    group = first_new + cohort.partition.group[members].astype(np.int64)
    return _Chosen(rows, _none(rows), group, np.full(len(rows), LIVE))


def _join(
    of_slots: list[tuple[np.ndarray, np.ndarray, int]], of_cohort: _Chosen, groups: np.ndarray
) -> _Chosen:
    parts = [
        *(
            _Chosen(source, slot, groups[slot], np.full(len(slot), kind))
            for source, slot, kind in of_slots
        ),
        of_cohort,
    ]
    return _Chosen(
        source=np.concatenate([part.source for part in parts]),
        slot=np.concatenate([part.slot for part in parts]),
        group=np.concatenate([part.group for part in parts]),
        kind=np.concatenate([part.kind for part in parts]).astype(np.int8),
    )


def _none(like: np.ndarray) -> np.ndarray:
    return np.full(len(like), -1, dtype=np.int64)


def _places(name: str, line: LineSoFar, shape: Shape, chosen: _Chosen) -> np.ndarray:
    """Return the row of the table that has each row's value of a column (int64).

    Below the rows of the source the table has those of the slots.
    """
    frozen = chosen.slot >= 0 if name in shape.frozen else chosen.source < 0
    return np.where(frozen, line.rows + chosen.slot, chosen.source)


def _take(table: Microdata, places: Mapping[str, np.ndarray]) -> Microdata:
    published = (column for column in table.columns if column.role != "drop")
    columns = tuple(column.take(places[column.name]) for column in published)
    return Microdata(columns, len(next(iter(places.values()))))


def _values_of_slots(
    line: LineSoFar, published: Microdata, places: Mapping[str, np.ndarray], hidden: np.ndarray
) -> Microdata:
    """Return the values of all slots: those that are shown, and those of retired groups."""
    if not len(hidden):
        return published
    return _take(
        line.table, {n: np.append(positions, line.rows + hidden) for n, positions in places.items()}
    )


def _names(line: LineSoFar, chosen: _Chosen) -> np.ndarray:
    """Return the name of each slot's holder (S16), empty for witnesses."""
    names = np.zeros(len(chosen.kind), dtype=NAME)
    of_source, of_slot = chosen.source >= 0, (chosen.source < 0) & (chosen.kind != WITNESS)
    names[of_source] = line.keys[chosen.source[of_source]]
    names[of_slot] = line.slots.key[chosen.slot[of_slot]]
    return names


def _former_holders(line: LineSoFar, chosen: _Chosen) -> tuple[np.ndarray, np.ndarray]:
    """Return the holders of slots (S16) that others are given now, and the groups (int64)."""
    refilled = np.flatnonzero((chosen.source >= 0) & (chosen.slot >= 0))
    taken = chosen.slot[refilled]
    other = line.keys[chosen.source[refilled]] != line.slots.key[taken]
    return line.slots.key[taken[other]], line.slots.group[taken[other]]


def _first_versions(slots: SlotMap, chosen: _Chosen) -> np.ndarray:
    """Return the number of the version that made each slot (int64): this one if it is new."""
    now = int(slots.since.max(initial=0)) + 1
    since = np.full(len(chosen.slot), now, dtype=np.int64)
    former = chosen.slot >= 0
    since[former] = slots.since[chosen.slot[former]]
    return since


def _kinds(
    line: LineSoFar, met: Met, cohort: Cohort, chosen: _Chosen, hidden: np.ndarray
) -> np.ndarray:
    """Return the kinds of slots for the map (int8): of those that are shown, and then of hidden.

    A vacant slot is LEFT if its person was shown again in a new group, and a hidden one MOVED if
    its person was moved to another group.
    """
    was_left = line.slots.kind == LEFT
    moved = met.slot[cohort.grouped_rows]
    was_left[moved[moved >= 0]] = True
    vacant = np.flatnonzero(chosen.kind == VACANT)
    of_shown = chosen.kind.copy()
    of_shown[vacant[was_left[chosen.slot[vacant]]]] = LEFT
    of_hidden = line.slots.kind[hidden]
    of_hidden[of_hidden == LIVE] = VACANT
    of_hidden[was_left[hidden]] = LEFT
    of_hidden[np.isin(hidden, met.moved)] = MOVED
    return np.concatenate([of_shown, of_hidden]).astype(np.int8)
