"""The rows of a source by keyed hashes, so that lines whose rows are people can be compared.

<line>/rows/<version>   the represented rows of a version whose line knows nobody (Parquet, 0600)

A column of 8-byte hashes for each published column, in an order that is the hashes' own: rows are
compared over the columns that two lines have in common, whichever these are. Whoever has the file
and the key of the work directory can test whether a row was among them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.durable import copy_atomically, write_atomically
from sfumato.tasks.private.keys import hashes_of, keyed_hashes
from sfumato.tasks.private.people.keys import text_of
from sfumato.tasks.private.workdir import private_directory

ROWS = "rows"
_BYTES, _NULL = 8, b"\0null"
_ODD, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def hashed_rows(rows: Microdata, secret: bytes) -> pa.Table:
    """The keyed hash of each value (uint64), row by row in an order that tells nothing."""
    columns = {column.name: _hashed(column, secret) for column in rows.columns}
    hashes = {name: values[codes] for name, (values, codes) in columns.items()}
    order = np.argsort(_combined(list(hashes.values()), rows.rows))  # equal hashes are equal rows
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.array(codes[order], pa.int32()), pa.array(values, pa.uint64())
            )
            for name, (values, codes) in columns.items()
        }
    )


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
        return int(pq.read_metadata(self.path).num_rows)

    @cached_property
    def column_names(self) -> list[str]:
        """The columns whose values are hashed."""
        return list(pq.read_schema(self.path).names)

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The rows with some columns, so many at a time."""
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(columns=list(names)):
                yield pa.Table.from_batches([batch])


def write_rows(line: Path, version: str, rows: pa.Table | RowsInFile) -> None:
    """Keep the rows of a version."""
    place = private_directory(line / ROWS) / version
    if isinstance(rows, RowsInFile):
        copy_atomically(rows.path, place)
        return
    content = pa.BufferOutputStream()
    pq.write_table(rows, content, compression="zstd")
    write_atomically(place, content.getvalue().to_pybytes())


def read_rows(line: Path, version: str) -> RowsInFile | None:
    """The rows of a version, None where they were not kept.

    Raises:
        PromiseError: where they cannot be read.
    """
    rows = RowsInFile(line / ROWS / version)
    try:
        return rows if rows.num_rows >= 0 else None
    except FileNotFoundError:
        return None
    except pa.ArrowException:
        raise PromiseError(f"{rows.path}: cannot be read as rows of a source") from None


def rows_in_common(one: pa.Table | RowsInFile, other: pa.Table | RowsInFile) -> int:
    """How many rows two tables share, as multisets over the columns of both; 0 where none is."""
    names = sorted(set(one.column_names) & set(other.column_names))
    if not names:
        return 0
    (of_one, times), (of_other, others) = (
        np.unique(_hashes(rows, names), return_counts=True) for rows in (one, other)
    )
    _, left, right = np.intersect1d(of_one, of_other, assume_unique=True, return_indices=True)
    return int(np.minimum(times[left], others[right]).sum())


def _hashes(rows: pa.Table | RowsInFile, names: Sequence[str]) -> np.ndarray:
    """One hash of each row (uint64) over these columns."""
    batches = [rows] if isinstance(rows, pa.Table) else rows.batches(names)
    found = (_combined([_values(of[n]) for n in names], of.num_rows) for of in batches)
    return np.concatenate([np.array([], dtype=np.uint64), *found])


def _hashed(column: Column, secret: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of a column's values (uint64), a null's last, and the place there of each row."""
    of_values = hashes_of(column.values, text_of, secret)
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
