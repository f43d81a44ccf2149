"""Arrow arrays as NumPy's, without pandas, which PyArrow's own conversion would import."""

import numpy as np
import pyarrow as pa


def as_numpy(array: pa.Array) -> np.ndarray:
    """The whole numbers of an array without nulls, as they lie in memory (read-only)."""
    kind = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    dtype = np.dtype(f"{kind}{array.type.bit_width // 8}")
    if not len(array):
        return np.zeros(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
