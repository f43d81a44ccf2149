"""Arrow arrays as NumPy's and back, without pandas, which PyArrow's own conversions import."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def as_numpy(array: pa.Array) -> np.ndarray:
    """The whole numbers of an array without nulls, in its own integer type; a read-only view."""
    kind = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    dtype = np.dtype(f"{kind}{array.type.bit_width // 8}")
    if not len(array):
        return np.zeros(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def as_codes(indices: pa.Array) -> np.ndarray:
    """Positions in a dictionary as codes (int32, one per position), nulls as -1.

    >>> as_codes(pa.array([1, None, 0])).tolist()
    [1, -1, 0]
    """
    codes = as_numpy(indices).astype(np.int32)
    if indices.null_count:
        codes[as_numpy(pc.indices_nonzero(pc.is_null(indices)))] = -1
    return codes


def as_indices(codes: np.ndarray) -> pa.Array:
    """Codes (int32) as an Arrow array, negative ones as nulls.

    >>> as_indices(np.array([1, -1, 0], dtype=np.int32)).to_pylist()
    [1, None, 0]
    """
    known = np.packbits(codes >= 0, bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.Array.from_buffers(pa.int32(), len(codes), buffers)


def as_array(numbers: np.ndarray, type_: pa.DataType) -> pa.Array:
    """Numbers as an Arrow array of a type that is as wide as theirs.

    >>> as_array(np.array([1, 2]), pa.int64()).to_pylist()
    [1, 2]
    """
    buffers = [None, pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(type_, len(numbers), buffers)
