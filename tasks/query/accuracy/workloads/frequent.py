"""The values of a column of the original, and how often each occurs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column


@dataclass(frozen=True, eq=False)
class FrequentValues:
    """Values of a column, ascending, and the rows that have them, those without one first.

    Attributes:
        name: of the column.
        values: None for none, and then those that occur.
        ends: how many rows have one of these values up to each (int64, one per value).
    """

    name: str
    values: Sequence[Any]
    ends: np.ndarray

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.ends[-1])

    def draw(self, randomness: Randomness) -> Any:
        """The value of a random row."""
        row = int(randomness(1)[0] % np.uint64(self.rows))
        return self.values[int(np.searchsorted(self.ends, row, side="right"))]


def frequent_values(name: str, parts: Iterable[Column]) -> FrequentValues:
    """How often each value of a column occurs in all parts of a table."""
    missing, known = 0, pa.array([], pa.null())
    counts = np.zeros(0, dtype=np.int64)
    for column in parts:
        number = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
        missing += int(number[0])
        known, counts = _joined(known, counts, column.values, number[1:])
    return FrequentValues(name, [None, *known.to_pylist()], np.cumsum([missing, *counts]))


def _joined(
    known: pa.Array, counts: np.ndarray, more: pa.Array, numbers: np.ndarray
) -> tuple[pa.Array, np.ndarray]:
    """Values that ascend, each once, and how often they occur in both (int64)."""
    known = known.cast(more.type)
    every = pc.unique(pa.concat_arrays([known, more]))
    every = every.take(pc.sort_indices(every))
    summed = np.zeros(len(every), dtype=np.int64)
    for values, of in ((known, counts), (more, numbers)):
        np.add.at(summed, pc.index_in(values, value_set=every).to_numpy(), of)
    return every, summed
