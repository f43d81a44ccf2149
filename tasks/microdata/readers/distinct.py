"""Columns while they are read: every conversion is done once for each distinct value."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.arrow import as_codes, as_indices, as_numpy, with_wide_decimals
from sfumato.tasks.microdata.readers.input_error import input_error


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct values of a column in order of first occurrence, and each row's value as a code.

    A null is -1 among the codes (int32), and is not among the values.
    """

    values: pa.Array
    codes: np.ndarray

    def first_row(self, marked: pa.Array) -> int | None:
        """Return the first row whose value is marked (one flag per value), or None."""
        flags = np.zeros(len(self.values) + 1, dtype=bool)
        flags[as_numpy(pc.indices_nonzero(marked))] = True
        return int(np.argmax(flags[self.codes])) if flags.any() else None

    def map_values(self, values: pa.Array) -> "Distinct":
        """Return the same rows with another value for each; values may become equal, or null."""
        if self._returns_from(values):
            return Distinct(values, self.codes)
        return self.met_again(values)

    def met_again(self, values: pa.Array) -> "Distinct":
        """Return the same rows with values of which some may be equal, or null."""
        encoded = pc.dictionary_encode(values)
        if len(encoded.dictionary) == len(self.values):
            return Distinct(values, self.codes)
        codes = np.append(as_codes(encoded.indices), np.int32(-1))
        return Distinct(encoded.dictionary, codes[self.codes])

    def _returns_from(self, values: pa.Array) -> bool:
        """Return whether mapped values determine the original ones, so that no two became equal.

        Returns False for floats: Arrow takes both zeros for equal.
        """
        if pa.types.is_floating(values.type) or pa.types.is_floating(self.values.type):
            return False
        try:
            return bool(values.cast(self.values.type).equals(self.values))
        except pa.ArrowException:
            return False

    def array(self) -> pa.DictionaryArray:
        """Return the column as an Arrow array."""
        return pa.DictionaryArray.from_arrays(as_indices(self.codes), self.values)


def distinct(column: pa.ChunkedArray) -> Distinct:
    """Return a column by its distinct values."""
    whole = _as_one_array(column)
    codes = as_codes(whole.indices)
    first = np.full(len(whole.dictionary) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    met = np.argsort(first[:-1], kind="stable")[: int((first[:-1] < len(codes)).sum())]
    if np.array_equal(met, np.arange(len(whole.dictionary))):
        return Distinct(whole.dictionary, codes)
    renumbered = np.full(len(first), -1, dtype=np.int32)
    renumbered[met] = np.arange(len(met), dtype=np.int32)
    return Distinct(whole.dictionary.take(pa.array(met)), renumbered[codes])


def _as_one_array(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column as one array; Arrow cannot join dictionaries of nulls or of no rows."""
    encoded = pa.types.is_dictionary(column.type)
    value_type = column.type.value_type if encoded else column.type
    if pa.types.is_null(value_type) or not len(column):
        return pa.DictionaryArray.from_arrays(
            pa.nulls(len(column), pa.int32()), pa.array([], value_type)
        )
    if encoded:
        return column.unify_dictionaries().combine_chunks()
    chunks = pc.dictionary_encode(with_wide_decimals(column)).chunks
    # They share one dictionary; to unify it takes as long for each chunk as for all rows.
    indices = pa.chunked_array([chunk.indices for chunk in chunks]).combine_chunks()
    return pa.DictionaryArray.from_arrays(indices, chunks[-1].dictionary)


def convert_distinct(
    column: Distinct, convert: Callable[[pa.Array], pa.Array], rule: str, file: str, name: str
) -> Distinct:
    """Return a column with its values converted.

    Raises:
        InputError: with `rule` and the first row whose value cannot be converted.
    """
    try:
        values = convert(column.values)
    except pa.ArrowException as error:
        require_machine(error)
        failing = np.arange(len(column.values)) == _first_failure(column.values, convert)
        row = column.first_row(pa.array(failing))
        raise input_error(file, rule, row=row, column=name) from None
    return column.map_values(values)


def refuse(column: Distinct, marked: pa.Array, rule: str, file: str, name: str) -> None:
    """Refuse marked values.

    Raises:
        InputError: with `rule` and the first row whose value is marked.
    """
    row = column.first_row(marked)
    if row is not None:
        raise input_error(file, rule, row=row, column=name)


def _first_failure(values: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> int:
    """Return the position of the first value that cannot be converted, by bisection."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(values.slice(low, middle - low))
        except pa.ArrowException:
            high = middle
        else:
            low = middle
    return low
