"""The people of a table who have a slot or continue in it, and why others are not shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.private.people.store import count_of, person_numbers
from sfumato.tasks.schema.columns import Role

Unchanged = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Decides which rows have the values of the slot beside them (two int64 arrays; bool)."""


@dataclass(frozen=True, eq=False)
class Met:
    """The state of each row of a table in its line (parallel, one per row).

    Attributes:
        slot: the slot of its person (int64), -1 for none.
        continued: whether it is shown in that slot.
        new: whether its person was never shown.
        moved: the slots (int64) of people who are shown in other ones of equal values.
    """

    slot: np.ndarray
    continued: np.ndarray
    new: np.ndarray
    moved: np.ndarray = field(default_factory=lambda: np.array([], dtype=np.int64))


def stack(rows: Microdata, slots: Microdata) -> Microdata:
    """Return the rows of a table and below them those of its line's slots, in common codes.

    Raises:
        PromiseError: where the slots lack a column, or hold values of another type.
    """
    columns = []
    for column in rows.columns:
        if not slots.has(column.name):
            raise _not_the_same(column.name, "was not published before")
        if slots.rows and slots[column.name].role != column.role:
            raise _not_the_same(column.name, f"was {slots[column.name].role} before")
        try:
            columns.append(_stack_column(column.name, column.role, [column, slots[column.name]]))
        except (ValueError, TypeError, NotImplementedError):
            raise _not_the_same(column.name, "has another type than before") from None
    return Microdata(tuple(columns), rows.rows + slots.rows)


def _stack_column(name: str, role: Role, parts: Sequence[Column]) -> Column:
    arrays = [part.array() for part in parts]
    types = {array.type for array in arrays}
    if len(types) > 1:
        arrays = [array.cast(_common(types)) for array in arrays]
    return encode(name, role, pa.concat_arrays(arrays))


def _common(types: set[pa.DataType]) -> pa.DataType:
    """Return the type of the longest scale of some decimals; no other types are compared."""
    if not all(pa.types.is_decimal128(type_) for type_ in types):
        raise TypeError
    return pa.decimal128(38, max(type_.scale for type_ in types))


def _not_the_same(name: str, why: str) -> PromiseError:
    return PromiseError(
        f"versions: composed: column {name!r} {why}, so the groups of the last version "
        "cannot continue. Keep the columns as they were, or publish them as a line "
        "with another name about other people"
    )


def meet(keys: np.ndarray, slots: SlotMap, out: np.ndarray, unchanged: Unchanged) -> Met:
    """Find the people of a table among those who have slots.

    Args:
        keys: the name of each row's person (S16, one per row).
        slots: the slots of the line.
        out: the names of people who stay out for ever (S16, sorted).
        unchanged: decides by positions of rows and of slots (two int64 arrays) which rows have the
            values of the slot.

    Raises:
        PromiseError: where a person has two rows.
    """
    of_rows, of_slots, of_out = numbers = person_numbers(keys, slots.key, out)
    # by person: whether the person is in the table, and whether the person stays out
    met = np.zeros((2, count_of(numbers)), dtype=bool)
    met[0, of_rows] = True
    if met[0].sum() < len(keys):
        raise PromiseError(
            "versions: composed is broken: a unit has two rows. Keep one row for each unit"
        )
    place = np.full(met.shape[1], -1, dtype=np.int64)
    own = slots.own
    place[of_slots[own]] = np.flatnonzero(own)
    met[1, of_out] = True
    slot = place[of_rows]
    has_slot = slot >= 0
    continued = has_slot.copy()
    continued[has_slot] = unchanged(np.flatnonzero(has_slot), slot[has_slot])
    return Met(slot, continued, ~has_slot & ~met[1, of_rows])


@dataclass(frozen=True, eq=False)
class LineSoFar:
    """A line as its next version finds it.

    Attributes:
        table: the rows of the source, and below them those of the slots, in common codes.
        rows: the number of rows of the source: the slots' rows begin there.
        keys: the name of the person of each row of the source (S16).
        slots: the slots of the line.
        out: the names of people who stay out for ever (S16, sorted): their slots were forgotten, or
            others hold them now.
    """

    table: Microdata
    rows: int
    keys: np.ndarray
    slots: SlotMap
    out: np.ndarray


@dataclass(frozen=True)
class Shape:
    """The parts of a form that matter for groups that continue.

    Attributes:
        frozen: the columns that are shown as they were when the person came.
        compared: the columns whose values a slot has.
        covers: whether labels still cover everything that they once covered.
        by_likelihood: whether promises ask how likely each value of a group is.
    """

    frozen: frozenset[str]
    compared: tuple[str, ...]
    covers: bool
    by_likelihood: bool = False


class Absence(IntEnum):
    """Reasons why a row is not shown.

    The partition left it out (`SUPPRESSED`); it is new and newcomers wait (`WAITING`); its values
    are not those of its slot (`CHANGED`); its group is shown no more (`RETIRED`); or it is never
    shown again (`OUT`): it was forgotten, or somebody else has its slot.
    """

    NONE, SUPPRESSED, WAITING, CHANGED, RETIRED, OUT = range(6)


def absences(met: Met, published: np.ndarray, suppressed: np.ndarray) -> np.ndarray:
    """Return why each row of a table is not shown (int8), `Absence.NONE` if it is shown.

    Args:
        met: what became of each row's person.
        published: marks the rows that are in the release (bool).
        suppressed: marks the rows that the partition left out (bool).
    """
    has_slot = met.slot >= 0
    why = np.where(met.new, Absence.WAITING, Absence.OUT)
    why[has_slot] = np.where(met.continued[has_slot], Absence.RETIRED, Absence.CHANGED)
    why[suppressed] = Absence.SUPPRESSED
    why[published] = Absence.NONE
    return why.astype(np.int8)
