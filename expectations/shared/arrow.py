"""Arrow arrays as NumPy's and back, and values as the texts by which a spec names them."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, WithJsonSchema

NUMBERS = ("integer", "decimal", "float")
ORDERED = frozenset(
    {*NUMBERS, "date", "timestamp"}
)  # the types of columns whose values have ranges
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive, as the values are


def as_numpy(array: pa.Array) -> np.ndarray:
    """Return the whole numbers of an array without nulls as a read-only view, with their dtype."""
    kind = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    dtype = np.dtype(f"{kind}{array.type.bit_width // 8}")
    if not len(array):
        return np.zeros(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def as_integers(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of whole numbers without nulls (int64), whatever type they have.

    >>> as_integers(pa.chunked_array([[1], [2]])).tolist()
    [1, 2]
    """
    return as_numpy(pc.cast(column.combine_chunks(), pa.int64()))


def with_wide_decimals(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return decimals of 32 and 64 bits with 128 bits, which Arrow can compare; others unchanged.

    >>> with_wide_decimals(pa.array([1], pa.decimal64(9, 2))).type
    Decimal128Type(decimal128(9, 2))
    """
    type_ = column.type
    if pa.types.is_decimal32(type_) or pa.types.is_decimal64(type_):
        return column.cast(pa.decimal128(type_.precision, type_.scale))
    return column


def as_truths(values: pa.Array) -> np.ndarray:
    """Return truth values without nulls (bool, one per value).

    >>> as_truths(pa.array([True, False])).tolist()
    [True, False]
    """
    return as_numpy(pc.cast(values, pa.uint8())).astype(bool)


def distinct_values(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the values of arrays of one type, ascending, each once; a null comes last.

    >>> distinct_values([pa.array([2, 1]), pa.array([3, 1])]).to_pylist()
    [1, 2, 3]
    """
    every = pc.unique(pa.concat_arrays(arrays))
    return every.take(pc.sort_indices(every))


def places_among(values: pa.Array, among: pa.Array) -> np.ndarray:
    """Return the places of values among others that include all of them (int64).

    >>> places_among(pa.array(["b", "a"]), pa.array(["a", "b", "c"])).tolist()
    [1, 0]
    """
    indices = pc.index_in(values, value_set=among)
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def add_counts(
    counted: Sequence[tuple[pa.Array, np.ndarray]],
) -> tuple[pa.Array, np.ndarray]:
    """Return every value of several sets, ascending, and the sums of its counts (int64).

    Values get the type of the last set.

    >>> first, second = (pa.array([1, 2]), np.array([5, 1])), (pa.array([2]), np.array([3]))
    >>> values, counts = add_counts([first, second])
    >>> values.to_pylist(), counts.tolist()
    ([1, 2], [5, 4])
    """
    type_ = counted[-1][0].type
    sets = [values.cast(type_) for values, _ in counted]
    every = distinct_values(sets)
    summed = np.zeros(len(every), dtype=np.int64)
    for values, (_, counts) in zip(sets, counted, strict=True):
        np.add.at(summed, places_among(values, every), counts)
    return every, summed


def as_places(chosen: np.ndarray) -> pa.Array:
    """Return the places at which an array (bool) is true, for Arrow to take.

    >>> as_places(np.array([True, False, True])).to_pylist()
    [0, 2]
    """
    return as_array(np.flatnonzero(chosen).astype(np.int64), pa.int64())


def as_codes(indices: pa.Array) -> np.ndarray:
    """Return positions in a dictionary as codes (int32, one per position), nulls as -1.

    >>> as_codes(pa.array([1, None, 0])).tolist()
    [1, -1, 0]
    """
    codes = as_numpy(indices).astype(np.int32)
    if indices.null_count:
        codes[as_numpy(pc.indices_nonzero(pc.is_null(indices)))] = -1
    return codes


def as_indices(codes: np.ndarray) -> pa.Array:
    """Return codes (int32) as an Arrow array, negative ones as nulls.

    >>> as_indices(np.array([1, -1, 0], dtype=np.int32)).to_pylist()
    [1, None, 0]
    """
    valid = np.packbits(codes >= 0, bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(np.ascontiguousarray(codes))]
    return pa.Array.from_buffers(pa.int32(), len(codes), buffers)


def as_array(numbers: np.ndarray, type_: pa.DataType) -> pa.Array:
    """Return numbers as an Arrow array of a type that is as wide as theirs.

    >>> as_array(np.array([1, 2]), pa.int64()).to_pylist()
    [1, 2]
    """
    buffers = [None, pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(type_, len(numbers), buffers)


def as_text(value: Any) -> Any:
    """Return a scalar of YAML as the text that a CSV file has for it; anything else as it is.

    >>> [as_text(value) for value in (True, 3, "3", date(2020, 1, 31))]
    ['true', '3', '3', '2020-01-31']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float | Decimal) else value


Value = Annotated[
    str,
    BeforeValidator(as_text),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


def as_number(text: str, kind: str) -> Decimal:
    """Return the number that a text stands for in a column of an ordered type (`kind`).

    Dates are counted in days and timestamps in seconds since 1970; offsets of timestamps are
    ignored.

    Raises:
        ValueError: if the text is not a value of that type, or the number is not finite.
    """
    if kind == "date":
        return Decimal((date.fromisoformat(text) - _EPOCH.date()).days)
    if kind == "timestamp":
        since = datetime.fromisoformat(text).replace(tzinfo=None) - _EPOCH
        return since.days * Decimal(86400) + since.seconds + Decimal(since.microseconds) / 10**6
    try:
        number = Decimal(text)
    except ArithmeticError:
        raise ValueError("not a number") from None
    if not number.is_finite() or (kind == "integer" and number != number.to_integral_value()):
        raise ValueError("not a finite number of the column's type")
    return number


def ordinal(rank: int) -> str:
    """Return the ordinal number of a rank in figures.

    >>> [ordinal(rank) for rank in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{rank}{'th' if rank % 100 in (11, 12, 13) else endings.get(rank % 10, 'th')}"
