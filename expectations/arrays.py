"""Arrow arrays as NumPy's, without pandas, which PyArrow's own conversion would import."""

import numpy as np
import pyarrow as pa


def as_numpy(array: pa.Array) -> np.ndarray:
    """The numbers of an array without nulls, as they lie in memory (read-only)."""
    return np.from_dlpack(array)
