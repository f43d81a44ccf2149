"""Values that lie far from all others, as codes for what is missing do: -99, 999, 9999-12-31."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.exact import is_ordered
from sfumato.tasks.microdata.codings.recode import rows_of_values
from sfumato.tasks.microdata.table import Column

_ENOUGH = 10  # different values, from which others can be far


def far_values(column: Column) -> np.ndarray:
    """Mark the values (bool, one per value) that are apart from most by more than these span.

    >>> from sfumato.tasks.microdata.table import encode
    >>> ages = encode("age", "drop", pa.array([*range(18, 91), 997, 999, -99]))
    >>> ages.values.filter(pa.array(far_values(ages))).to_pylist()
    [-99, 997, 999]
    """
    far = np.zeros(len(column.values), dtype=bool)
    if not is_ordered(column.values.type):
        return far
    numbers, rows = _numbers(column.values), rows_of_values(column)
    low, high = 0, len(numbers)  # what is left: values that are not far
    while (cut := _cut(numbers[low:high], rows[low:high])) is not None:
        start, stop = cut
        low, high = low + start, low + stop
    far[:low], far[high:] = True, True
    return far


def _numbers(values: pa.Array) -> np.ndarray:
    """The values as float64: near enough to compare distances."""
    if not pa.types.is_temporal(values.type):
        return np.asarray(values.cast(pa.float64(), safe=False))
    units = pc.cast(values, pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(units, dtype=np.float64)


def _cut(numbers: np.ndarray, rows: np.ndarray) -> tuple[int, int] | None:
    """The place of most rows, on one side of the widest gap, if that is wider than they span."""
    if len(numbers) <= _ENOUGH:
        return None
    place = int(np.argmax(np.diff(numbers))) + 1
    gap = numbers[place] - numbers[place - 1]
    below = 2 * rows[:place].sum() >= rows.sum()
    start, stop = (0, place) if below else (place, len(numbers))
    if stop - start < _ENOUGH or gap <= numbers[stop - 1] - numbers[start]:
        return None
    return start, stop
