"""The rows of a version that goes on: people, vacant slots, and witnesses of labels."""

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


def of_groups(
    group: np.ndarray, told: np.ndarray, line_group: np.ndarray, first_new: int
) -> np.ndarray:
    """What is told of each group's slots alike, by group (int64), 0 for a new group."""
    by_number = np.zeros(first_new + 1, dtype=np.int64)
    by_number[group] = told
    return np.asarray(by_number[np.minimum(line_group, first_new)])


def levels_of(
    microdata: Microdata,
    group: np.ndarray,
    line_group: np.ndarray,
    slots: SlotMap,
    cohort: Cohort,
    first_new: int,
) -> dict[str, np.ndarray]:
    """The level of each group by column (int64): never lower than before, nor than its rows ask."""
    asked = {} if cohort.partition is None else cohort.partition.recoding
    names = [c.name for c in microdata.columns if c.name in asked or c.name in slots.levels]
    if not names:
        return {}
    order = stable_order(group)
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    found = {}
    for name in names:
        column = microdata[name]
        least = lowest_common(column.levels(), column.category()[0][order], starts)
        if name in slots.levels:
            before = of_groups(slots.group, slots.levels[name], line_group, first_new)
            least = np.maximum(least, before)
        if name in asked:
            new = line_group >= first_new
            least[new] = np.maximum(least[new], asked[name][line_group[new] - first_new])
        found[name] = least
    return found


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Rows by where they come from (parallel): -1 where there is no such place."""

    source: np.ndarray
    slot: np.ndarray
    group: np.ndarray
    kind: np.ndarray


@dataclass(frozen=True, eq=False)
class Drawn:
    """A version's rows and groups, before a form shows them.

    Attributes:
        microdata: its rows, those of vacant slots and witnesses among them.
        partition: the groups of these rows, numbered 0, 1, … in the order of `line_group`.
        line_group: each group's number in the line (int64, one per group).
        first_new: the first number of a new group.
        source: the row of the source that each row shows (int64), -1 for none.
        slots: the line's slots after this version, `published` still to be told.
        aims: the distributions that the partition gives the cohort's groups, where it gives any.
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
        """LIVE, VACANT or WITNESS (int8, one per row)."""
        assert self.partition.continued is not None  # noqa: S101 - made here
        return self.partition.continued.kind

    @property
    def vacant(self) -> int:
        """Number of vacant slots shown."""
        return int((self.kind == VACANT).sum())


def draw(line: LineSoFar, shape: Shape, met: Met, retired: np.ndarray, cohort: Cohort) -> Drawn:
    """The rows of a version: survivors and vacant slots of groups that go on, and the cohort.

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
    chosen = _joined(_of_slots(line, shape, met, gone), _of_cohort(cohort, first_new), slots.group)
    group, number = dense(chosen.group)
    line_group = np.empty(number, dtype=np.int64)
    line_group[group] = chosen.group
    hidden = np.flatnonzero(gone)
    places = {c.name: _places(c.name, line, shape, chosen) for c in line.table.columns}
    microdata = _taken(line.table, places)
    levels = levels_of(microdata, group, line_group, slots, cohort, first_new)
    previous = of_groups(slots.group, slots.published, line_group, first_new)
    continued = Continued(chosen.kind, np.where(line_group < first_new, previous, -1))
    partition = Partition(
        group,
        recoding=levels,
        facts={} if cohort.partition is None else cohort.partition.facts,
        continued=continued,
    )
    kept = SlotMap(
        key=np.concatenate([_names(line, chosen), slots.key[hidden]]),
        group=np.concatenate([chosen.group, slots.group[hidden]]),
        published=np.full(len(chosen.group) + len(hidden), -1),
        since=np.concatenate([_since(slots, chosen), slots.since[hidden]]),
        kind=_kinds(line, met, cohort, chosen, hidden),
        retired=np.arange(len(chosen.group) + len(hidden)) >= len(chosen.group),
        rows=_kept(line, microdata, places, hidden),
        levels={
            name: np.append(
                of[group], slots.levels[name][hidden] if name in slots.levels else 0 * hidden
            )
            for name, of in levels.items()
        },
        composed=True,
        past=slots.past.with_others(*_displaced(line, chosen)),
    )
    aims = None if cohort.partition is None else cohort.partition.target_distributions
    return Drawn(microdata, partition, line_group, first_new, chosen.source, kept, aims)


def _of_slots(
    line: LineSoFar, shape: Shape, met: Met, gone: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Rows of the source, slots and kind of those who stay, of who left, and of witnesses."""
    slots = line.slots
    stay = np.flatnonzero(met.continued)
    stay = stay[~gone[met.slot[stay]]]
    held = met.slot[stay]
    free = ~gone
    free[held] = False
    people = slots.kind != WITNESS
    vacant = np.flatnonzero(free & people)
    found = [(stay, held, LIVE), (_none(vacant), vacant, VACANT)]
    if shape.covers:
        moved = _moved(line, shape, stay, held)
        witnesses = np.append(np.flatnonzero(free & ~people), moved)
        found.append((_none(witnesses), witnesses, WITNESS))
    return found


def _moved(line: LineSoFar, shape: Shape, rows: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The slots whose holders have other quasi-identifiers now: labels still cover the old ones."""
    moved = np.zeros(len(rows), dtype=bool)
    for column in line.table.with_roles("quasi-identifier"):
        if column.name not in shape.frozen:
            moved |= column.codes[rows] != column.codes[line.rows + held]
    return held[moved]


def _of_cohort(cohort: Cohort, first_new: int) -> _Chosen:
    if cohort.partition is None:
        nobody = np.array([], dtype=np.int64)
        return _Chosen(nobody, nobody, nobody, nobody)
    kept = np.flatnonzero(cohort.partition.group >= 0)
    rows = cohort.shown
    group = first_new + cohort.partition.group[kept].astype(np.int64)
    return _Chosen(rows, _none(rows), group, np.full(len(rows), LIVE))


def _joined(
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
    """Where in the table each row's value of a column stands (int64)."""
    frozen = chosen.slot >= 0 if name in shape.frozen else chosen.source < 0
    return np.where(frozen, line.rows + chosen.slot, chosen.source)


def _taken(table: Microdata, places: Mapping[str, np.ndarray]) -> Microdata:
    shown = (column for column in table.columns if column.role != "drop")
    columns = tuple(column.take(places[column.name]) for column in shown)
    return Microdata(columns, len(next(iter(places.values()))))


def _kept(
    line: LineSoFar, shown: Microdata, places: Mapping[str, np.ndarray], hidden: np.ndarray
) -> Microdata:
    """The values of all slots: those that are shown, and those of retired groups."""
    if not len(hidden):
        return shown
    return _taken(line.table, {n: np.append(of, line.rows + hidden) for n, of in places.items()})


def _names(line: LineSoFar, chosen: _Chosen) -> np.ndarray:
    """Who holds each slot: nobody is a witness's holder."""
    names = np.zeros(len(chosen.kind), dtype=NAME)
    of_source, of_slot = chosen.source >= 0, (chosen.source < 0) & (chosen.kind != WITNESS)
    names[of_source] = line.keys[chosen.source[of_source]]
    names[of_slot] = line.slots.key[chosen.slot[of_slot]]
    return names


def _displaced(line: LineSoFar, chosen: _Chosen) -> tuple[np.ndarray, np.ndarray]:
    """Who held slots (S16) that others are given now, and in which groups (int64)."""
    shown = np.flatnonzero((chosen.source >= 0) & (chosen.slot >= 0))
    held = chosen.slot[shown]
    other = line.keys[chosen.source[shown]] != line.slots.key[held]
    return line.slots.key[held[other]], line.slots.group[held[other]]


def _since(slots: SlotMap, chosen: _Chosen) -> np.ndarray:
    """The version that made each slot: a witness of somebody's former place is of now."""
    now = int(slots.since.max(initial=0)) + 1
    since = np.full(len(chosen.slot), now, dtype=np.int64)
    known = chosen.slot >= 0
    since[known] = slots.since[chosen.slot[known]]
    return since


def _kinds(
    line: LineSoFar, met: Met, cohort: Cohort, chosen: _Chosen, hidden: np.ndarray
) -> np.ndarray:
    """What the slots are (int8): nobody is shown in a retired group, or in a slot that was left."""
    left = line.slots.kind == LEFT
    moved = met.slot[cohort.shown]
    left[moved[moved >= 0]] = True
    vacant = np.flatnonzero(chosen.kind == VACANT)
    of_shown = chosen.kind.copy()
    of_shown[vacant[left[chosen.slot[vacant]]]] = LEFT
    of_hidden = line.slots.kind[hidden]
    of_hidden[of_hidden == LIVE] = VACANT
    of_hidden[left[hidden]] = LEFT
    of_hidden[np.isin(hidden, met.moved)] = MOVED
    return np.concatenate([of_shown, of_hidden]).astype(np.int8)
