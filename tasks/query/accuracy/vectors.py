"""Vectors of quasi-identifiers, of published rows and of original rows."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.arrow import distinct_values
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.query.accuracy.together import RowsTogether


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
    return RowsTogether(published, original, columns).vectors


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


@dataclass(frozen=True, eq=False)
class VectorKeys:
    """One key for each vector of values, in the order of vectors; a missing value comes first.

    Attributes:
        names: of the columns.
        values: all values of each column in any part, ascending.
    """

    names: Sequence[str]
    values: Sequence[pa.Array]

    @classmethod
    def for_parts(cls, names: Sequence[str], parts: Iterable[pa.Table]) -> "VectorKeys":
        """Return the keys of all vectors of the published rows of some parts."""
        seen: list[list[pa.Array]] = [[] for _ in names]
        for rows in parts:
            for arrays, name in zip(seen, names, strict=True):
                arrays.append(encode(name, "quasi-identifier", _plain(rows[name])).values)
        return cls(names, [distinct_values(arrays) for arrays in seen])

    def of_rows(self, rows: pa.Table) -> np.ndarray:
        """Return the key of each published row's vector: int64, or bytes if int64 is too short."""
        return self._pack(
            [self._places(rows[name], number) for number, name in enumerate(self.names)]
        )

    def of_original(self, columns: Sequence[Column]) -> np.ndarray:
        """Return the key of each original row's vector.

        A vector that is not published has a key that no published row has.
        """
        codes = []
        for column, values in zip(columns, self.values, strict=True):
            index = pc.index_in(column.values.cast(values.type), value_set=values)
            place = np.append(index.fill_null(len(values)).to_numpy() + 1, 0)
            codes.append(place[column.codes])
        return self._pack(codes)

    def _places(self, column: pa.ChunkedArray, number: int) -> np.ndarray:
        index = pc.index_in(_plain(column), value_set=self.values[number])
        return np.asarray(index.combine_chunks().fill_null(-1).to_numpy()) + 1

    def _pack(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Combine the codes of all columns (0: missing value) into keys in the order of vectors."""
        sizes = [len(values) + 2 for values in self.values]
        if math.prod(sizes) > INT64_MAX:
            return _as_bytes(codes)
        packed = np.zeros(len(codes[0]), dtype=np.int64)
        for column_codes, size in zip(codes, sizes, strict=True):
            packed = packed * size + column_codes
        return packed


def count_vectors(keys: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of all parts, ascending, and the number of rows of each (int64)."""
    distinct, counts = np.unique(next(keys), return_counts=True)
    for part_keys in keys:
        more, numbers = np.unique(part_keys, return_counts=True)
        both, place = np.unique(np.concatenate([distinct, more]), return_inverse=True)
        summed = np.zeros(len(both), dtype=np.int64)
        np.add.at(summed, place, np.concatenate([counts, numbers]))
        distinct, counts = both, summed
    return distinct, counts


def _as_bytes(codes: Sequence[np.ndarray]) -> np.ndarray:
    wide = np.stack([column_codes.astype(">u4") for column_codes in codes], axis=1)
    return np.ascontiguousarray(wide).view(f"S{4 * len(codes)}").ravel()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if dictionary else column
