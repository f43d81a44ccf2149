"""The groups of a line as its map has them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.sparse import evenly, same_rows
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.sorting import distinct
from sfumato.tasks.microdata.grouping import as_tuples, groups_of
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.people.kinds import WITNESS
from sfumato.tasks.private.people.slots import SlotMap

_GROUP = "/group"


def are_even(slots: SlotMap, columns: Sequence[str]) -> np.ndarray:
    """Mark the groups that show all their values equally often (bool, by the line's numbers)."""
    people = slots.group[slots.kind != WITNESS]
    ever = distinct(people)
    even = np.ones(len(ever), dtype=bool)
    for counts in groups_ever(slots, columns).sensitive.values():
        even &= evenly(counts)
    marked = np.zeros(int(slots.group.max(initial=-1)) + 1, dtype=bool)
    marked[ever[even]] = True
    return marked


def are_equal_sets(
    slots: SlotMap, columns: Sequence[str], one: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """Mark the pairs of groups (int64 each) that show the same values, each of them once (bool)."""
    ever = distinct(slots.group[slots.kind != WITNESS])
    a, b = (np.minimum(np.searchsorted(ever, of), len(ever) - 1) for of in (one, other))
    equal = np.asarray((ever[a] == one) & (ever[b] == other))
    for counts in groups_ever(slots, columns).sensitive.values():
        equal &= same_rows(counts, a, counts, b) & (counts.largest[a] == 1)
    return equal


def groups_ever(slots: SlotMap, sensitive: Sequence[str], covered: Sequence[str] = ()) -> Groups:
    """Every group that a line ever published, in the order of its numbers, vacant values and all.

    Args:
        slots: of the line.
        sensitive: the columns whose values are counted.
        covered: the columns of which is told which values each group has.
    """
    people = np.flatnonzero(slots.kind != WITNESS)
    group, number = dense(slots.group[people])
    numbers = Column(_GROUP, "insensitive", pa.array(np.arange(number)), group.astype(np.int32))
    read = {*sensitive, *covered}
    rows = slots.rows.keep(c for c in slots.rows.columns if c.name in read).take(people)
    grouped = Microdata((*rows.columns, numbers), rows.rows)
    return groups_of(grouped, [_GROUP], sensitive, covered)


def with_tuples(slots: SlotMap, name: str, types: pa.Schema) -> SlotMap:
    """The slots with a column of that name that has the values of several, of these types."""
    arrays = [slots.rows[field.name].array().cast(field.type) for field in types]
    rows = slots.rows.keep([*slots.rows.columns, as_tuples(name, arrays)])
    return replace(slots, rows=rows)
