"""The private map of a version: the group of each person, and the values beside them.

A `LIVE` row is about a person. A `VACANT` row is a place of somebody who is not shown now, and
whose values stay in the group. A `WITNESS` only states what a label must still cover. In a map a
vacant row is `LEFT` if its holder has another slot now, because the values changed, and `MOVED` if
that slot has the same value in a group of the same values, because its own group was dissolved. The
file of a map also lists, as `FORMER`, the people who had a slot before somebody else was given it.

A slot is a row of a published version, made once: its group, and the values that the group goes on
to show for it. The person who was given it keeps it for ever, shown or not, unless a newcomer with
the same values was given it since, or the group was dissolved: then the line always knows who had a
slot of that group before. One file per version (Parquet, 0600), never changed but by `forget`, with
a row for each slot that the version's line has:

    key        the name of the slot's holder (16 bytes), null for nobody
    group      of the line, numbered from 0 for ever
    published  the group's id in this version, -1 where it is not shown
    since      the version that made the slot
    kind       LIVE, VACANT or WITNESS, as in a partition, or LEFT or MOVED
    retired    whether the group is shown no more
    =<column>  the value of each published column
    ^<column>  the level to which the group's values are generalized, where the partition says so

Below them, in format 2, is a row of only key, group and kind for each former holder of a slot.

The map is as sensitive as the source: it contains everyone's values.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.sparse import evenly, same_rows
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.microdata.grouping import as_tuples, groups_of
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.private.people.keys import NAME, NAME_BYTES
from sfumato.tasks.schema.formats import require_readable

FORMAT_IN_PARTS = 3
"""The format of maps of releases in parts (see `maps_of_parts`)."""
META = b"sfumato"  # key of the metadata of a file's schema
_GROUP = "/group"


# kinds of rows (see above); numbers that files contain
LIVE, VACANT, WITNESS, LEFT, FORMER, MOVED = 0, 1, 2, 3, 4, 5


# formats: with slots that several people had one after the other, and without
_FORMAT, _OF_ONE_HOLDER = 2, 1


_VALUE, _LEVEL = "=", "^"  # prefixes of column names


@dataclass(frozen=True, eq=False)
class FormerHolders:
    """People who had slots that others have now (parallel); they are never shown again.

    Attributes:
        key: their names (S16; empty for people who were forgotten since).
        group: the line's group in which the slot is (int64).
    """

    key: np.ndarray = field(default_factory=lambda: np.array([], dtype=NAME))
    group: np.ndarray = field(default_factory=lambda: np.array([], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.key)

    def with_others(self, key: np.ndarray, group: np.ndarray) -> "FormerHolders":
        """Return these and others."""
        return FormerHolders(np.append(self.key, key), np.append(self.group, group))


@dataclass(frozen=True, eq=False)
class SlotMap:
    """The slots of a line, as a version leaves them; arrays are parallel.

    Attributes:
        key: the name of each slot's holder (S16; empty for nobody).
        group: the line's number of its group (int64).
        published: the group's id in this version (int64), -1 where it is not shown.
        since: the number of the version that made it (int64).
        kind: LIVE, VACANT, WITNESS, LEFT or MOVED (int8).
        retired: whether its group is shown no more (bool).
        rows: the values of each slot.
        levels: by column, the level of generalization of each slot's group (int64); only columns
            whose labels have levels.
        composed: whether the version was made to be combined with earlier ones.
        targets: the distributions that groups were made to follow, as a document.
        past: the former holders of slots.
    """

    key: np.ndarray
    group: np.ndarray
    published: np.ndarray
    since: np.ndarray
    kind: np.ndarray
    retired: np.ndarray
    rows: Microdata
    levels: Mapping[str, np.ndarray] = field(default_factory=dict)
    composed: bool = False
    targets: Mapping[str, Any] = field(default_factory=dict)
    past: FormerHolders = field(default_factory=FormerHolders)

    def __len__(self) -> int:
        return len(self.key)

    @property
    def shown_rows(self) -> Microdata:
        """The rows of people who are shown."""
        return self.rows.take(np.flatnonzero((self.kind == LIVE) & (self.published >= 0)))

    @property
    def names(self) -> np.ndarray:
        """The names of everyone who has a slot, or had one (S16, sorted, each once)."""
        keys = np.append(self.key, self.past.key)
        return distinct(keys[keys != b""])

    @property
    def is_held(self) -> np.ndarray:
        """Marks the slots that have a holder, including those left for another slot (bool)."""
        return np.asarray(self.key != b"")

    @property
    def own(self) -> np.ndarray:
        """Marks the present slots of holders (bool): those neither left nor moved from."""
        return np.asarray(self.is_held & (self.kind != LEFT) & (self.kind != MOVED))


def as_table(slots: SlotMap) -> pa.Table:
    """Return the map as it is written."""
    columns = {
        "key": column_of_names(slots.key),
        "group": pa.array(slots.group, pa.int32()),
        "published": pa.array(slots.published, pa.int32()),
        "since": pa.array(slots.since, pa.int32()),
        "kind": pa.array(slots.kind, pa.int8()),
        "retired": pa.array(slots.retired, pa.bool_()),
        **{_VALUE + column.name: column.array() for column in slots.rows.columns},
        **{_LEVEL + name: pa.array(level, pa.int8()) for name, level in slots.levels.items()},
    }
    document = {
        "format": _FORMAT if len(slots.past) or (slots.kind == LEFT).any() else _OF_ONE_HOLDER,
        "composed": slots.composed,
        "roles": {column.name: column.role for column in slots.rows.columns},
        "targets": slots.targets,
    }
    table = pa.table(columns)
    if len(slots.past):
        table = pa.concat_tables([table, _rows_of_former(slots.past, table.schema)])
    return table.replace_schema_metadata({META: json.dumps(document).encode()})


def column_of_names(key: np.ndarray) -> pa.Array:
    """Return names (S16) as a column of binaries, null if there is nobody."""
    content = pa.py_buffer(key.astype(NAME).tobytes())
    names = pa.Array.from_buffers(pa.binary(NAME_BYTES), len(key), [None, content])
    nobody = key == b""
    return names.take(pa.array(np.arange(len(names)), mask=nobody)) if nobody.any() else names


def _rows_of_former(past: FormerHolders, schema: pa.Schema) -> pa.Table:
    """Return the rows of former holders, in which all other columns are null."""
    columns = {
        "key": column_of_names(past.key),
        "group": pa.array(past.group, pa.int32()),
        "kind": pa.array(np.full(len(past), FORMER), pa.int8()),
    }
    return pa.table(
        [columns.get(f.name, pa.nulls(len(past), f.type)) for f in schema], schema=schema
    )


def from_table(table: pa.Table, place: object) -> SlotMap:
    """Return the map that `as_table` wrote; `place` is for messages.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where the table is no map.
    """
    try:
        document = json.loads((table.schema.metadata or {})[META])
        require_readable(place, document, FORMAT_IN_PARTS)  # type: ignore[arg-type]
        table, past = _without_former(table)
        columns = [
            encode(name, role, table[_VALUE + name]) for name, role in document["roles"].items()
        ]
        levels = {n[1:]: _numbers(table, n) for n in table.column_names if n[0] == _LEVEL}
        numbers = {n: _numbers(table, n) for n in ("group", "published", "since")}
        return SlotMap(
            key=names_of_column(table["key"].combine_chunks()),
            **numbers,
            kind=_numbers(table, "kind").astype(np.int8),
            retired=table["retired"].to_numpy(),
            rows=Microdata(tuple(columns), table.num_rows),
            levels=levels,
            composed=document["composed"],
            targets=document["targets"],
            past=past,
        )
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException) as error:
        require_machine(error)
        raise PromiseError(
            f"{place}: cannot be read as a map of people. Restore it from a backup: "
            "sfumato line restore SPEC FILE"
        ) from None


def _without_former(table: pa.Table) -> tuple[pa.Table, FormerHolders]:
    """Return the rows of slots, and those of former holders separately."""
    former = table["kind"].to_numpy() == FORMER
    if not former.any():
        return table, FormerHolders()
    below = table.filter(pa.array(former))
    past = FormerHolders(names_of_column(below["key"].combine_chunks()), _numbers(below, "group"))
    return table.filter(pa.array(~former)), past


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy()).astype(np.int64)


def names_of_column(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return the names in a column of binaries (S16), empty for null."""
    filled = column.fill_null(b"\0" * NAME_BYTES)
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    names = np.frombuffer(filled.buffers()[1], dtype=NAME, count=len(filled) + filled.offset)
    return names[filled.offset :].copy()


def are_even(slots: SlotMap, columns: Sequence[str]) -> np.ndarray:
    """Mark the groups that show all their values equally often (bool, one per group of the line).

    Args:
        slots: the slots of the line.
        columns: the columns whose values are counted; each must be even.
    """
    people = slots.group[slots.kind != WITNESS]
    ever = distinct(people)
    even = np.ones(len(ever), dtype=bool)
    for counts in groups_ever(slots, columns).sensitive.values():
        even &= evenly(counts)
    marked = np.zeros(int(slots.group.max(initial=-1)) + 1, dtype=bool)
    marked[ever[even]] = True
    return marked


def are_equal_sets(
    slots: SlotMap, columns: Sequence[str], first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Mark the pairs of groups that show the same values, each of them once (bool).

    Args:
        slots: the slots of the line.
        columns: the columns whose values are compared.
        first: the first group of each pair, by its number in the line (int64).
        second: the second group of each pair (int64).
    """
    ever = distinct(slots.group[slots.kind != WITNESS])
    a, b = (np.minimum(np.searchsorted(ever, groups), len(ever) - 1) for groups in (first, second))
    equal = np.asarray((ever[a] == first) & (ever[b] == second))
    for counts in groups_ever(slots, columns).sensitive.values():
        equal &= same_rows(counts, a, counts, b) & (counts.largest[a] == 1)
    return equal


def groups_ever(slots: SlotMap, sensitive: Sequence[str], covered: Sequence[str] = ()) -> Groups:
    """Return every group that a line ever published, in order of its numbers, with vacant values.

    Args:
        slots: the slots of the line.
        sensitive: the columns whose values are counted.
        covered: the columns whose values in each group are listed.
    """
    people = np.flatnonzero(slots.kind != WITNESS)
    group, number = dense(slots.group[people])
    numbers = Column(_GROUP, "insensitive", pa.array(np.arange(number)), group.astype(np.int32))
    read = {*sensitive, *covered}
    rows = slots.rows.keep(c for c in slots.rows.columns if c.name in read).take(people)
    grouped = Microdata((*rows.columns, numbers), rows.rows)
    return groups_of(grouped, [_GROUP], sensitive, covered)


def groups_ever_covered(slots: SlotMap, promise: PrivacyModel) -> Groups:
    """Return the groups of `groups_ever` with all that a promise about presence reads."""
    return groups_ever(slots, [str(promise.sensitive)], promise.quasi_identifiers or ())


def presence_ever(slots: SlotMap, promise: PrivacyModel) -> Fraction:
    """Return the largest presence of anybody by all groups that a line ever published.

    It is 0 without groups, and 1 if a smaller one cannot be proven.
    """
    if not len(slots):
        return Fraction(0)
    alpha = promise.worst(groups_ever_covered(slots, promise))[0]["alpha"]
    return Fraction(1 if alpha is None else alpha)


def with_tuples(slots: SlotMap, name: str, types: pa.Schema) -> SlotMap:
    """Return the slots with a new column that combines the values of several, of these types."""
    arrays = [slots.rows[field.name].array().cast(field.type) for field in types]
    rows = slots.rows.keep([*slots.rows.columns, as_tuples(name, arrays)])
    return replace(slots, rows=rows)
