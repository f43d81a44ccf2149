"""Vectors of quasi-identifiers, of published rows and of original rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.table import Column, Microdata, encode, key


def vectors(
    published: pa.Table, columns: Sequence[str], original: Microdata
) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct published vectors 0, 1, …; original ones that are not among them: -1.

    Args:
        published: a published table.
        columns: those of a vector.
        original: the rows before.

    Returns:
        The vector of each published row, and of each original one (both int64).
    """
    rows = published.num_rows
    both = []
    for name in columns:
        original_values = original[name].array().cast(published[name].type)
        values = pa.chunked_array([*published[name].chunks, original_values])
        both.append(encode(name, "quasi-identifier", values))
    keys, _ = key(both, rows + original.rows)
    distinct, vector = np.unique(keys[:rows], return_inverse=True)
    place = np.searchsorted(distinct, keys[rows:])
    is_published = np.append(distinct, -1)[place] == keys[rows:]
    return vector, np.where(is_published, place, -1)


def codes_as_published(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    """Return the codes of a column's rows as forms number the published values; -1 for others.

    Args:
        column: of the rows before, or of other people.
        values: as they are published.

    Returns:
        int64, one per row of the column.
    """
    published = encode(column.name, "quasi-identifier", values)
    place = pc.index_in(column.values.cast(published.values.type), value_set=published.values)
    codes: np.ndarray = np.append(place.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
    if published.has_null:
        codes[codes >= 0] += 1
        codes[column.codes < 0] = 0
    return codes
