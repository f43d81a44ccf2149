"""Vectors of quasi-identifiers: those that are published, and those of the original's rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.table import Microdata, encode, key


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
