"""Numbers of vectors of quasi-identifiers that are the same in all parts of a table."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.exact import INT64_MAX
from sfumato.tasks.microdata.table import Column, encode


@dataclass(frozen=True, eq=False)
class VectorKeys:
    """One key for each vector of values, in their order; a missing value comes first.

    Attributes:
        names: of the columns.
        values: of each all values of any part, ascending.
    """

    names: Sequence[str]
    values: Sequence[pa.Array]

    @classmethod
    def of(cls, names: Sequence[str], parts: Iterable[pa.Table]) -> "VectorKeys":
        """The keys of all vectors of the published rows of some parts."""
        seen: list[list[pa.Array]] = [[] for _ in names]
        for rows in parts:
            for of, name in zip(seen, names, strict=True):
                of.append(encode(name, "quasi-identifier", _plain(rows[name])).values)
        return cls(names, [_ascending(of) for of in seen])

    def of_rows(self, rows: pa.Table) -> np.ndarray:
        """The key of each row's vector: int64, or bytes where an integer does not hold it."""
        return self._packed([self._places(rows[name], at) for at, name in enumerate(self.names)])

    def of_original(self, columns: Sequence[Column]) -> np.ndarray:
        """The same of rows of the original; one that is not published has a key of no other row."""
        codes = []
        for column, values in zip(columns, self.values, strict=True):
            known = pc.index_in(column.values.cast(values.type), value_set=values)
            place = np.append(known.fill_null(len(values)).to_numpy() + 1, 0)
            codes.append(place[column.codes])
        return self._packed(codes)

    def _places(self, column: pa.ChunkedArray, at: int) -> np.ndarray:
        found = pc.index_in(_plain(column), value_set=self.values[at])
        return np.asarray(found.combine_chunks().fill_null(-1).to_numpy()) + 1

    def _packed(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Codes of each column, 0 where it is missing, as keys in the order of vectors."""
        sizes = [len(values) + 2 for values in self.values]
        if math.prod(sizes) > INT64_MAX:
            return _as_bytes(codes)
        packed = np.zeros(len(codes[0]), dtype=np.int64)
        for of, size in zip(codes, sizes, strict=True):
            packed = packed * size + of
        return packed


def count_vectors(keys: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys of all parts, ascending, and how often each occurs (int64)."""
    found, counts = np.unique(next(keys), return_counts=True)
    for of_part in keys:
        more, numbers = np.unique(of_part, return_counts=True)
        both, place = np.unique(np.concatenate([found, more]), return_inverse=True)
        summed = np.zeros(len(both), dtype=np.int64)
        np.add.at(summed, place, np.concatenate([counts, numbers]))
        found, counts = both, summed
    return found, counts


def _as_bytes(codes: Sequence[np.ndarray]) -> np.ndarray:
    wide = np.stack([of.astype(">u4") for of in codes], axis=1)
    return np.ascontiguousarray(wide).view(f"S{4 * len(codes)}").ravel()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if dictionary else column


def _ascending(parts: Sequence[pa.Array]) -> pa.Array:
    """The values of all parts, each once."""
    every = pc.unique(pa.concat_arrays(parts))
    return every.take(pc.sort_indices(every))
