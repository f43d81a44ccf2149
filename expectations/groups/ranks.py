"""Columns as ranks of their values, and groups of a table from its columns.

Nulls are one value, NaN is one value, -0.0 is 0, and texts are compared as bytes.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import Coded, count, numbers_of, pack, with_labels
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.arrow import as_array, as_numpy, with_wide_decimals
from sfumato.expectations.shared.exact import INT64_MAX, is_ordered

_NEAR = 4  # numbers of a range for each that is ranked: smaller ranges are ranked by a table


def comparable(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column whose values are equal if they mean the same.

    It has no dictionary and no negative zero.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_decimal(column.type):
        return with_wide_decimals(column)
    if pa.types.is_floating(column.type):
        return pc.add(column, pa.scalar(0.0, column.type))  # -0.0 is 0.0
    return column


def rank(array: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values of an array, ascending, and the place of each entry among them.

    Places are int32, -1 for null. Texts are compared as bytes; NaN is one value, the last.

    >>> values, codes = rank(pa.array(["b", None, "a", "b"]))
    >>> values.to_pylist(), codes.tolist()
    (['a', 'b'], [1, -1, 0, 1])
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_integer(array.type) and len(array) and not array.null_count:
        numbers = as_numpy(array)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _NEAR * len(numbers) and high <= INT64_MAX:
            return _rank_near(numbers, low, high, array.type)
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    ascending = pc.sort_indices(encoded.dictionary)  # null comes last
    ascending = ascending.slice(0, len(ascending) - encoded.dictionary.null_count)
    place = np.full(len(encoded.dictionary) + 1, -1, dtype=np.int32)
    place[as_numpy(ascending)] = np.arange(len(ascending), dtype=np.int32)
    indices = encoded.indices
    filled = pc.fill_null(indices, -1) if indices.null_count else indices
    return encoded.dictionary.take(ascending), place[as_numpy(filled)]


def _rank_near(
    numbers: np.ndarray, low: int, high: int, type_: pa.DataType
) -> tuple[pa.Array, np.ndarray]:
    """Rank whole numbers within a small range as `rank` does, by a table of the range."""
    occurs = np.zeros(high - low + 1, dtype=bool)
    offsets = numbers.astype(np.int64) - low
    occurs[offsets] = True
    place = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return as_array(np.flatnonzero(occurs) + low, pa.int64()).cast(type_), place[offsets]


def categories(values: pa.Array, codes: np.ndarray) -> tuple[np.ndarray, int]:
    """Return codes with null as the first category (int32), and the number of codes."""
    if len(codes) and int(codes.min()) < 0:
        return codes + 1, len(values) + 1
    return codes, len(values)


def sensitive_codes(
    values: pa.Array, codes: np.ndarray, name: str, ancestors: np.ndarray | None = None
) -> Coded:
    """Return a column as a sensitive attribute to be counted; nulls become a value.

    That value has no order and no nodes.

    Args:
        values: the distinct values of the column, ascending.
        codes: the place of each row's value among them (int32, -1 for null).
        name: the name of the column in errors.
        ancestors: the node above each value at each level, None if the column has no hierarchy.

    Raises:
        InputError: where a number is not finite, or has too many digits.
    """
    numbered, size = categories(values, codes)
    has_null = size > len(values)
    labels = pa.concat_arrays([pa.nulls(1, values.type), values]) if has_null else values
    numbers = numbers_of(values, has_null, name)
    return Coded(numbered, size, numbers, labels, None if has_null else ancestors)


def has_order(values: pa.Array) -> bool:
    """Return True if distinct values are numbers, dates or moments, all of them finite."""
    if not is_ordered(values.type):
        return False
    return not pa.types.is_floating(values.type) or bool(pc.all(pc.is_finite(values)).as_py())


def groups_of_rows(columns: Mapping[str, pa.Array], sensitive: Mapping[str, pa.Array]) -> Groups:
    """Return the groups of rows with equal values, and with these as their labels.

    Args:
        columns: at least one column, whose values define groups.
        sensitive: the attributes whose values are counted in each group.
    """
    ranked = [rank(comparable(values)) for values in columns.values()]
    codes, sizes = zip(*(categories(*ranks) for ranks in ranked), strict=True)
    key, bound = pack(codes, sizes)
    groups = count(key, bound, _code(sensitive))
    return with_labels(groups, key, dict(zip(columns, codes, strict=True)))


def groups_of_counts(
    group: np.ndarray, rows: np.ndarray, sensitive: Mapping[str, pa.Array]
) -> Groups:
    """Return the groups whose rows were counted, with the values of at most one attribute.

    Args:
        group: the group of each count (int64, from 0).
        rows: how many rows each counts (int64).
        sensitive: the value of the attribute that the rows of each count have.
    """
    return count(group, int(group.max(initial=-1)) + 1, _code(sensitive), rows)


def _code(columns: Mapping[str, pa.Array]) -> dict[str, Coded]:
    return {name: _sensitive(name, comparable(column)) for name, column in columns.items()}


def _sensitive(name: str, column: pa.Array) -> Coded:
    """Return values to be counted; values without an order, such as NaN, get no exact numbers."""
    values, codes = rank(column)
    if has_order(values):
        return sensitive_codes(values, codes, name)
    numbered, size = categories(values, codes)
    labels = pa.concat_arrays([pa.nulls(size - len(values), values.type), values])
    return Coded(numbered, size, None, labels)
