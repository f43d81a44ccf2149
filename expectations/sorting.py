"""Orders of large arrays, by the sorts that are fast: of bare integers, not of positions.

`np.sort` of int64 takes a tenth of the time of a stable `np.argsort`, and a hundredth of that in
which `np.unique` hashes a million different values.
"""

import numpy as np

_BITS = 63  # of a non-negative int64


def stable_order(keys: np.ndarray) -> np.ndarray:
    """Positions (int64) that sort keys of one dimension; equal keys keep their order.

    Signed integers are packed with their positions where both fit into an int64.

    >>> stable_order(np.array([3, 1, 3, 0]))
    array([3, 1, 0, 2])
    """
    if not len(keys) or keys.dtype.kind != "i":
        return np.argsort(keys, kind="stable")
    low, high, bits = int(keys.min()), int(keys.max()), (len(keys) - 1).bit_length()
    if (high - low).bit_length() + bits > _BITS:
        return np.argsort(keys, kind="stable")
    packed = keys.astype(np.int64) - low
    packed <<= bits
    packed |= np.arange(len(keys))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values of an array in ascending order; no value may be NaN.

    >>> distinct(np.array([3, 1, 3, 0]))
    array([0, 1, 3])
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(ordered[first])
