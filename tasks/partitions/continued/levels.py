"""What is told of groups that go on by all of their slots alike: their ids, and labels' levels."""

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.microdata.hierarchies import lowest_common
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.continued.cohort import Cohort
from sfumato.tasks.private.people.slots import SlotMap


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
