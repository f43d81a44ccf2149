"""Vectors of quasi-identifiers: those that are published, and those of the original's rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.table import Column, Microdata, encode, key


def vectors(
    shown: pa.Table, columns: Sequence[str], original: Microdata
) -> tuple[np.ndarray, np.ndarray]:
    """Each row's vector, published and original, as the same numbers 0, 1, …; -1: not published.

    Args:
        shown: a published table.
        columns: those of a vector.
        original: the rows before.

    Returns:
        The vector of each published row, and of each original one (both int64).
    """
    rows = shown.num_rows
    both = []
    for name in columns:
        known = original[name].array().cast(shown[name].type)
        values = pa.chunked_array([*shown[name].chunks, known])
        both.append(encode(name, "quasi-identifier", values))
    keys, _ = key(both, rows + original.rows)
    distinct, vector = np.unique(keys[:rows], return_inverse=True)
    place = np.searchsorted(distinct, keys[rows:])
    found = np.append(distinct, -1)[place] == keys[rows:]
    return vector, np.where(found, place, -1)


def codes_as_published(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    """The codes of a column's rows as forms number the published values; -1 for another value.

    Args:
        column: of the rows before, or of other people.
        values: as they are published.

    Returns:
        int64, one per row of the column.
    """
    shown = encode(column.name, "quasi-identifier", values)
    place = pc.index_in(column.values.cast(shown.values.type), value_set=shown.values)
    known: np.ndarray = np.append(place.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
    if shown.has_null:
        known[known >= 0] += 1
        known[column.codes < 0] = 0
    return known
