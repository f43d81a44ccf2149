"""The rows of a source by keyed hashes, so that versions and lines can be compared by them.

<line>/rows-normal/<version>   the represented rows of a version (Parquet, 0600), unless its line is
                               to remember units alone: 8-byte hashes of the normal form of each
                               published column's values, and of whose row it is
<line>/rows/<version>          the same of what was written, of versions before state format 3 whose
                               line knew nobody

Rows are in an order that is the hashes' own, and are compared over the columns that two tables have
in common, whichever these are. Whoever has the file and the key of the work directory can test
whether a row was among them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.microdata.notation.normal_form import normal_form
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.durable import copy_atomically, write_atomically
from sfumato.tasks.private.keys import hashes_of, keyed_hashes
from sfumato.tasks.private.people.keys import text_of, values_as_texts
from sfumato.tasks.private.people.spelled import half_of
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import regular

ROWS, ROWS_NORMAL = "rows", "rows-normal"
WHOSE = "/unit"
"""The column that tells rows of one person (see `half_of`); 0 is nobody's."""
_BYTES, _NULL = 8, b"\0null"
_ODD, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def normal_rows(rows: Microdata, secret: bytes, names: np.ndarray | None = None) -> pa.Table:
    """The keyed hash of each value's normal form (uint64), row by row in an order of the hashes'.

    Args:
        rows: the columns that are published, as they were read.
        secret: of the work directory.
        names: of each row's person (S16), None where rows are people.
    """
    found = {column.name: _normal(column, secret) for column in rows.columns}
    if names is None:
        return _as_table(found, rows.rows)
    whose, codes = np.unique(half_of(names), return_inverse=True)
    return _as_table({**found, WHOSE: (whose, codes)}, rows.rows)


def _as_table(columns: Mapping[str, tuple[np.ndarray, np.ndarray]], rows: int) -> pa.Table:
    """Hashed columns (hashes, and the place there of each row) in an order that tells nothing."""
    hashes = [values[codes] for values, codes in columns.values()]
    order = np.argsort(_combined(hashes, rows))  # equal hashes are equal rows
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.array(codes[order], pa.int32()), pa.array(values, pa.uint64())
            )
            for name, (values, codes) in columns.items()
        }
    )


def hashed_rows(rows: Microdata, secret: bytes) -> pa.Table:
    """The same of each value as it was written: versions before state format 3 have no other."""
    return _as_table({column.name: _hashed(column, secret) for column in rows.columns}, rows.rows)


def row_hashes(rows: Microdata, secret: bytes) -> np.ndarray:
    """One keyed hash of each row (uint64), in the order of the rows."""
    hashed = (_hashed(column, secret) for column in rows.columns)
    return _combined((values[codes] for values, codes in hashed), rows.rows)


@dataclass(frozen=True)
class RowsInFile:
    """The hashed rows of a source in a file, too many to be read at once."""

    path: Path

    @cached_property
    def num_rows(self) -> int:
        """How many there are."""
        return int(pq.read_metadata(regular(self.path)).num_rows)

    @cached_property
    def column_names(self) -> list[str]:
        """The columns whose values are hashed."""
        return list(pq.read_schema(regular(self.path)).names)

    def column(self, name: str) -> pa.ChunkedArray:
        """The hashes of a column, as they are encoded."""
        with pq.ParquetFile(regular(self.path)) as file:
            return file.read([name])[name]


Rows: TypeAlias = pa.Table | RowsInFile
"""Hashed rows, read or in a file."""


def write_rows(line: Path, version: str, rows: Rows, folder: str = ROWS_NORMAL) -> None:
    """Keep the rows of a version (see `normal_rows`)."""
    place = private_directory(line / folder) / version
    if isinstance(rows, RowsInFile):
        copy_atomically(rows.path, place)
        return
    write_atomically(place, _written(rows))


def read_rows(line: Path, version: str, folder: str = ROWS_NORMAL) -> RowsInFile | None:
    """The rows of a version, None where they were not kept.

    Raises:
        PromiseError: where they cannot be read.
    """
    rows = RowsInFile(line / folder / version)
    try:
        return rows if rows.num_rows >= 0 else None
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException):
        raise PromiseError(f"{rows.path}: cannot be read as rows of a source") from None


def with_other_units(content: bytes, units: Mapping[int, int | None]) -> bytes:
    """The bytes of a file of rows in which units have other names (halves), or None: no rows."""
    table = pq.read_table(pa.BufferReader(content))
    if WHOSE not in table.column_names or not units:
        return content
    known = np.array(sorted(units), dtype=np.uint64)
    gone = np.array([units[unit] is None for unit in known.tolist()])
    renamed = np.array([units[unit] or 0 for unit in known.tolist()], dtype=np.uint64)
    whose = _values(table[WHOSE])
    place = np.minimum(np.searchsorted(known, whose), len(known) - 1)
    met = known[place] == whose
    stays = ~(met & gone[place])
    changed = pa.array(np.where(met, renamed[place], whose)[stays], pa.uint64())
    at = table.column_names.index(WHOSE)
    table = table.filter(pa.array(stays))
    return _written(table.set_column(at, WHOSE, changed.dictionary_encode()))


def _written(rows: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    pq.write_table(rows, content, compression="zstd")
    return bytes(content.getvalue().to_pybytes())


def _hashed(column: Column, secret: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of a column's values (uint64), a null's last, and the place there of each row."""
    return _with_null(hashes_of(column.values, text_of, secret), column, secret)


def _normal(column: Column, secret: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The same of the normal forms of the column's values."""
    texts = normal_form(values_as_texts(column.values))
    return _with_null(hashes_of(texts, str, secret), column, secret)


def _with_null(
    of_values: np.ndarray, column: Column, secret: bytes
) -> tuple[np.ndarray, np.ndarray]:
    whole = np.concatenate([of_values, keyed_hashes([_NULL], secret)])
    hashes = np.ascontiguousarray(whole[:, :_BYTES]).view("<u8").ravel()
    codes = np.where(column.codes < 0, len(column.values), column.codes)
    return hashes.astype(np.uint64), codes


def _combined(columns: Iterable[np.ndarray], rows: int) -> np.ndarray:
    """One hash of each row (uint64) from those of its columns, in their order."""
    return reduce(_mixed, columns, np.zeros(rows, dtype=np.uint64))


def _mixed(so_far: np.ndarray, more: np.ndarray) -> np.ndarray:
    product = (so_far ^ more) * _ODD
    return np.asarray(product ^ (product >> _HALF))


def _values(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.cast(pa.uint64()).to_numpy())
