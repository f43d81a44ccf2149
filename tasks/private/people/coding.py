"""Codes of a table by the declared codings of its columns, under a key for each purpose.

    <work>/<line>/handed-over/<purpose>.parquet   pseudonyms, and the columns beside them (0600)

A pseudonym is the HMAC-SHA256 of an identifier's text under the key of its purpose. Sources that
are handed over for the same purpose by the same work directory can be joined by it; no others can.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.codings import code_column, is_free_text
from sfumato.tasks.microdata.hierarchies import hierarchy_of
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import HASH_BYTES, hashes_of, keyed_hashes
from sfumato.tasks.private.people.frozen import (
    ColumnComputation,
    FrozenCodings,
    mark_of_shift,
    require_kept,
    shift_key,
)
from sfumato.tasks.private.people.keys import text_of
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.codings import document_of
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule
from sfumato.tasks.schema.published import Schema

_WORDS = 1 << 64  # different words of a hash
_INSTEAD = "drop the column, or give the reason why it may be published (free-text: REASON)"
_FOLDER = "handed-over"


def offsets_of(unit: Column, secret: bytes, days: int) -> np.ndarray:
    """Return the days of each row (int64), equally likely between `-days` and `days`, 0 included.

    They are a function of only the unit and the key.
    """
    hashes = hashes_of(unit.values, text_of, secret)
    offsets = draw_evenly(hashes, secret, 2 * days + 1).astype(np.int64) - days
    return np.asarray(offsets[unit.codes])


def draw_evenly(hashes: np.ndarray, secret: bytes, size: int) -> np.ndarray:
    """Return an evenly drawn number below `size` for each hash (uint64; hashes uint8, n x 32).

    The number is the first of the hash's four words modulo `size`. A word that is too large, so
    that not all remainders are equally likely, is skipped; if all four are, the hash is hashed
    again.
    """
    words = np.ascontiguousarray(hashes).view("<u8").astype(np.uint64)
    fits = words <= np.uint64(_WORDS - _WORDS % size - 1)
    first = words[np.arange(len(words)), fits.argmax(axis=1)] % np.uint64(size)
    again = np.flatnonzero(~fits.any(axis=1))
    if len(again):
        rehashed = keyed_hashes([digest.tobytes() for digest in hashes[again]], secret)
        first[again] = draw_evenly(rehashed, secret, size)
    return np.asarray(first)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The columns that are published, coded.

    Attributes:
        microdata: only these columns.
        used: the inputs to the codings besides their declaration.
    """

    microdata: Microdata
    used: FrozenCodings


class Coder:
    """Codes rows of one line under the same terms, whole tables or some rows at a time."""

    def __init__(self, columns: Schema, terms: str, unit: str | None, line: Path) -> None:
        """Read the codings that the line keeps; see `code_published`.

        Raises:
            PromiseError: where it has lost the codings of its published versions.
        """
        self._columns, self._unit, self._line = columns, unit, line
        self._coded = {name: c for name, c in columns.items() if c.codings}
        needs_kept = any(c.shift or c.computed_keys for c in self._coded.values())
        self._kept = require_kept(line, terms, self._coded) if needs_kept else FrozenCodings()
        self._shift = next((c.shift for c in self._coded.values() if c.shift), None)

    def code(self, microdata: Microdata) -> CodedRows:
        """Return the published columns of some rows, coded.

        Raises:
            InputError: where a value cannot be coded, a coded one is in no hierarchy, or a column
                holds free text.
        """
        days = self._days(microdata)
        columns, computations = [], []
        for name, declared in self._columns.items():
            parameters = {**self._kept.computed_for(name, declared), **days}
            column, computed = code_column(microdata[name], declared, parameters)
            if computed:
                codings = document_of(declared)
                computations.append(ColumnComputation(column=name, codings=codings, found=computed))
            columns.append(self._fit(column))
        mark = mark_of_shift(self._line) if self._shift else None
        used = FrozenCodings(shift=mark, columns=tuple(computations))
        return CodedRows(microdata.with_columns(columns), used)

    def _days(self, microdata: Microdata) -> Mapping[str, Any]:
        if self._shift is None or self._unit is None:
            return {}
        key = shift_key(self._line)
        return {"shift": offsets_of(microdata[self._unit], key, self._shift.days)}

    def _fit(self, column: Column) -> Column:
        declared = self._columns[column.name]
        if declared.free_text is None and is_free_text(column):
            raise InputError(
                f"columns.{column.name}: has free text, that is, long texts that each "
                f"occur in one row only. Such texts can identify people. {_INSTEAD}"
            )
        if column.name in self._coded and declared.hierarchy is not None:
            _require_coded_leaves(column, declared.hierarchy)
        return column


def code_published(
    microdata: Microdata, columns: Schema, terms: str, unit: str | None, line: Path
) -> CodedRows:
    """Return the published columns of a whole table, coded.

    Args:
        microdata: the represented rows with all columns.
        columns: the columns that are published, as they will be declared.
        terms: the digest of the terms that will be declared.
        unit: the column that identifies the person whom a row is about, None if rows are people.
        line: the line's private directory.

    Raises:
        InputError: where a value cannot be coded, a coded one is in no hierarchy, or a column holds
            free text.
        PromiseError: where the line has lost the codings of its published versions.
    """
    return Coder(columns, terms, unit, line).code(microdata)


def _require_coded_leaves(column: Column, declared: HierarchyRule) -> None:
    hierarchy = hierarchy_of(column, declared)
    texts = pc.cast(column.values, pa.string()).to_pylist()
    if any(text not in hierarchy for text in texts):
        raise InputError(
            f"columns.{column.name}: a coded value is not in the column's hierarchy. "
            "Write the values into the hierarchy as they are after coding"
        )


def pseudonyms_of(identifier: Column, secret: bytes) -> pa.Array:
    """Return the pseudonym of each row, 64 hexadecimal digits; null if it has no identifier.

    Equal numbers have equal pseudonyms, whatever their type.
    """
    hashes = hashes_of(identifier.values, text_of, secret).tobytes()
    places = range(0, len(hashes), HASH_BYTES)
    texts = pa.array([hashes[place : place + HASH_BYTES].hex() for place in places], pa.string())
    return texts.take(pa.array(identifier.codes, mask=identifier.codes < 0))


def pseudonymous_table(
    pseudonyms: Mapping[str, pa.Array], beside: Mapping[str, pa.Array]
) -> pa.Table:
    """Return pseudonyms beside other columns, with rows in the order of the pseudonyms."""
    table = pa.table({**pseudonyms, **beside})
    keys = [(name, "ascending") for name in (*pseudonyms, *beside)]
    return table.sort_by(keys).replace_schema_metadata(None)


def write_handed_over(line: Path, purpose: str, table: pa.Table) -> Path:
    """Write a table for a purpose so that only its owner can read it; return its path."""
    place = private_directory(line / _FOLDER) / f"{purpose}.parquet"
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", store_schema=False)
    write_atomically(place, content.getvalue().to_pybytes())
    return place
