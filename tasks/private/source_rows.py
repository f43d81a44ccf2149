"""The rows of a source by keyed hashes, so that lines whose rows are people can be compared.

<line>/rows/<version>   the represented rows of a version whose line knows nobody (Parquet, 0600)

A column of 8-byte hashes for each published column, in an order that is the hashes' own: rows are
compared over the columns that two lines have in common, whichever these are. Whoever has the file
and the key of the work directory can test whether a row was among them.
"""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.errors import Fault
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import keyed_hashes, texts_of
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


def write_rows(line: Path, version: str, rows: pa.Table) -> None:
    """Keep the rows of a version."""
    content = pa.BufferOutputStream()
    pq.write_table(rows, content, compression="zstd")
    write_atomically(private_directory(line / ROWS) / version, content.getvalue().to_pybytes())


def read_rows(line: Path, version: str) -> pa.Table | None:
    """The rows of a version, None where they were not kept.

    Raises:
        Fault: where they cannot be read.
    """
    place = line / ROWS / version
    try:
        return pq.read_table(pa.BufferReader(place.read_bytes()))
    except FileNotFoundError:
        return None
    except pa.ArrowException:
        raise Fault(f"{place}: cannot be read as rows of a source") from None


def rows_in_common(one: pa.Table, other: pa.Table) -> int:
    """How many rows two tables share, as multisets over the columns of both; 0 where none is."""
    names = sorted(set(one.column_names) & set(other.column_names))
    if not names:
        return 0
    (of_one, times), (of_other, others) = (
        np.unique(_combined([_values(table[n]) for n in names], table.num_rows), return_counts=True)
        for table in (one, other)
    )
    _, left, right = np.intersect1d(of_one, of_other, assume_unique=True, return_indices=True)
    return int(np.minimum(times[left], others[right]).sum())


def _hashed(column: Column, secret: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of a column's values (uint64), a null's last, and the place there of each row."""
    texts = [*texts_of(column.values, text_of), _NULL]
    hashes = np.ascontiguousarray(keyed_hashes(texts, secret)[:, :_BYTES]).view("<u8").ravel()
    codes = np.where(column.codes < 0, len(texts) - 1, column.codes)
    return hashes.astype(np.uint64), codes


def _combined(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """One hash of each row (uint64) from those of its columns, in their order."""
    return reduce(_mixed, columns, np.zeros(rows, dtype=np.uint64))


def _mixed(so_far: np.ndarray, more: np.ndarray) -> np.ndarray:
    product = (so_far ^ more) * _ODD
    return np.asarray(product ^ (product >> _HALF))


def _values(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.cast(pa.uint64()).to_numpy())
