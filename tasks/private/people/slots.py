"""The private map of a version: who stands in which group, beside which values.

A slot is a row of a published version, made once and never given to anybody else: its group, and
the values that the group goes on to show for it. The person who was given it holds it for ever,
shown or not. One file per version (Parquet, 0600), never changed but by `forget`, with a row for
each slot that the version's line has:

    key        the name of who holds the slot (16 bytes), null for nobody
    group      of the line, numbered from 0 for ever
    published  the group's id in this version, -1 where it is not shown
    since      the version that made the slot
    kind       LIVE, VACANT or WITNESS, as in a partition
    retired    whether the group is shown no more
    =<column>  the value of each published column
    ^<column>  the level to which the group's values are generalized, where the partition says so

The map is as sensitive as the source: it tells everybody's values.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import Fault
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people.keys import NAME, NAME_BYTES
from sfumato.tasks.schema.formats import require_readable

_FORMAT = 1
_META = b"sfumato"
_VALUE, _LEVEL = "=", "^"


@dataclass(frozen=True, eq=False)
class SlotMap:
    """The slots of a line, as a version leaves them; arrays are parallel.

    Attributes:
        key: who holds each (S16; empty for nobody).
        group: of the line (int64).
        published: the group's id in this version (int64), -1 where it is not shown.
        since: the number of the version that made it (int64).
        kind: LIVE, VACANT or WITNESS (int8).
        retired: whether its group is shown no more (bool).
        rows: the values.
        levels: the level of each slot's group by column (int64), where labels have some.
        composed: whether the version was made to be combined with earlier ones.
        targets: the distributions that groups were made to follow (see `frozen_targets`).
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

    def __len__(self) -> int:
        return len(self.key)

    @property
    def held(self) -> np.ndarray:
        """Which slots somebody holds (bool)."""
        return np.asarray(self.key != b"")


def as_table(slots: SlotMap) -> pa.Table:
    """The map as it is written."""
    names = pa.Array.from_buffers(
        pa.binary(NAME_BYTES), len(slots), [None, pa.py_buffer(slots.key.astype(NAME).tobytes())]
    )
    columns = {
        "key": _with_nulls(names, ~slots.held),
        "group": pa.array(slots.group, pa.int32()),
        "published": pa.array(slots.published, pa.int32()),
        "since": pa.array(slots.since, pa.int32()),
        "kind": pa.array(slots.kind, pa.int8()),
        "retired": pa.array(slots.retired, pa.bool_()),
        **{_VALUE + column.name: column.array() for column in slots.rows.columns},
        **{_LEVEL + name: pa.array(of, pa.int8()) for name, of in slots.levels.items()},
    }
    told = {
        "format": _FORMAT,
        "composed": slots.composed,
        "roles": {column.name: column.role for column in slots.rows.columns},
        "targets": slots.targets,
    }
    return pa.table(columns).replace_schema_metadata({_META: json.dumps(told).encode()})


def _with_nulls(names: pa.Array, nobody: np.ndarray) -> pa.Array:
    """The names, null where there is nobody."""
    taken = np.arange(len(names))
    return names.take(pa.array(taken, mask=nobody))


def from_table(table: pa.Table, place: object) -> SlotMap:
    """The map that `as_table` wrote; `place` is for messages.

    Raises:
        InputError: where newer software wrote it.
        Fault: where it is none.
    """
    try:
        told = json.loads((table.schema.metadata or {})[_META])
        require_readable(place, told, _FORMAT)  # type: ignore[arg-type]
        columns = [encode(name, role, table[_VALUE + name]) for name, role in told["roles"].items()]
        levels = {n[1:]: _numbers(table, n) for n in table.column_names if n[0] == _LEVEL}
        numbers = {n: _numbers(table, n) for n in ("group", "published", "since")}
        return SlotMap(
            key=_names(table["key"].combine_chunks()),
            **numbers,
            kind=_numbers(table, "kind").astype(np.int8),
            retired=table["retired"].to_numpy(),
            rows=Microdata(tuple(columns), table.num_rows),
            levels=levels,
            composed=told["composed"],
            targets=told["targets"],
        )
    except (KeyError, ValueError, TypeError, AttributeError, pa.ArrowException):
        raise Fault(f"{place}: cannot be read as a map of people") from None


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy()).astype(np.int64)


def _names(column: pa.Array) -> np.ndarray:
    filled = column.fill_null(b"\0" * NAME_BYTES)
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    found = np.frombuffer(filled.buffers()[1], dtype=NAME, count=len(filled) + filled.offset)
    return found[filled.offset :].copy()
