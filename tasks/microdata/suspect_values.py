"""Values that look wrong: spellings of one value, texts of one person, and codes for missing.

A promise of different values counts two spellings of one illness as two. And if nearly every row
has a text of its own, the text identifies the row, whatever its group.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.exact import is_ordered
from sfumato.tasks.microdata.codings import plain_spelling, rows_of_values
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.schema.columns import ColumnSpec

_MANY = 20  # values; below, texts may differ by chance
_COUNTED = pa.schema([("value", pa.string()), ("rows", pa.int64())])
_PERCENT = 90  # of the values, each with only one row
_ENOUGH = 10  # different values that are needed to call others far


def nearly_all_differ(rows: np.ndarray) -> bool:
    """Return whether nearly every value has only one row, given the rows of each (int64).

    >>> nearly_all_differ(np.array([1] * 18 + [2] * 2)), nearly_all_differ(np.array([1] * 19))
    (True, False)
    """
    alone = int((rows == 1).sum())
    return len(rows) >= _MANY and 100 * alone >= _PERCENT * len(rows)


def spelling_form(texts: pa.Array) -> pa.Array:
    """Return each text (string, one per value) without spaces, case and Unicode form.

    >>> spelling_form(pa.array(["HIV ", "hiv", "E01", "e1"])).to_pylist()
    ['hiv', 'hiv', 'e01', 'e1']
    """
    return pc.replace_substring(plain_spelling(texts), " ", "")


def spellings(values: pa.Array) -> np.ndarray:
    """Return which texts (bool) differ from another only in spaces, case or Unicode form.

    >>> spellings(pa.array(["HIV", "flu", "hiv "])).tolist()
    [True, False, True]
    """
    codes = np.asarray(pc.dictionary_encode(spelling_form(values)).indices)
    alike: np.ndarray = np.bincount(codes)[codes] > 1
    return alike


@dataclass(frozen=True, eq=False)
class TextFault:
    """A fault of a sensitive text.

    Attributes:
        column: its name.
        words: the fault in counts, and the ways to resolve it.
        values: the faulty values (string), only for private pages.
    """

    column: str
    words: str
    values: pa.Array


class SensitiveTexts:
    """Counter of the values of sensitive texts, of a whole table or of batches of rows."""

    def __init__(self, columns: Mapping[str, ColumnSpec]) -> None:
        """Choose the sensitive columns of type string, as a spec declares them."""
        self._columns = {
            name: column
            for name, column in columns.items()
            if column.role == "sensitive" and column.type == "string"
        }
        self._counted = {name: _COUNTED.empty_table() for name in self._columns}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values are counted."""
        return tuple(self._columns)

    def add(self, microdata: Microdata) -> None:
        """Count the values of more rows, as they are published."""
        for name, before in self._counted.items():
            column = microdata[name]
            rows = rows_of_values(column)
            there = column.values.filter(pa.array(rows > 0))
            more = pa.table([there, pa.array(rows[rows > 0])], schema=_COUNTED)
            self._counted[name] = _sum_rows(pa.concat_tables([before, more]))

    def faults(self) -> list[TextFault]:
        """Return the faults of the texts, in the order of the columns."""
        return [
            fault
            for name, table in self._counted.items()
            for fault in _faults(self._columns[name], name, table)
        ]


def _sum_rows(counted: pa.Table) -> pa.Table:
    summed = counted.group_by("value").aggregate([("rows", "sum")])
    return summed.rename_columns(["value", "rows"])


def _faults(column: ColumnSpec, name: str, counted: pa.Table) -> Iterator[TextFault]:
    values = counted["value"].combine_chunks()
    promised = column.unprotected is None
    if promised and column.spelling is None and (alike := spellings(values)).any():
        texts = values.filter(pa.array(alike))
        different = len(pc.unique(spelling_form(texts)))
        words = (
            f"columns.{name}: {len(texts):,} values are spellings of {different:,}: "
            "they differ only in spaces, case or Unicode form. A promise would count "
            "each spelling as its own value. Unite them (unite: spellings), or correct "
            "them in the source. If they are different values, write `spelling: "
            "as-written`"
        )
        yield TextFault(name, words, texts)
    rows = counted["rows"].to_numpy()
    if column.all_different is None and nearly_all_differ(rows):
        alone = int((rows == 1).sum())
        words = (
            f"columns.{name}: {alone:,} of {len(rows):,} values occur in one row only, "
            "as in a column that identifies people. Give it role identifier or drop, "
            "or write why the values identify no person (all-different: REASON)"
        )
        yield TextFault(name, words, values.filter(pa.array(rows == 1)))


def far_values(column: Column) -> np.ndarray:
    """Return which values (bool, one per value) are farther from the rest than the rest spans.

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
    """Return the values as float64, precise enough to compare distances."""
    if not pa.types.is_temporal(values.type):
        return np.asarray(values.cast(pa.float64(), safe=False))
    units = pc.cast(values, pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(units, dtype=np.float64)


def _cut(numbers: np.ndarray, rows: np.ndarray) -> tuple[int, int] | None:
    """Return the range with most rows beside the widest gap, if the gap is wider than the range."""
    if len(numbers) <= _ENOUGH:
        return None
    place = int(np.argmax(np.diff(numbers))) + 1
    gap = numbers[place] - numbers[place - 1]
    below = 2 * rows[:place].sum() >= rows.sum()
    start, stop = (0, place) if below else (place, len(numbers))
    if stop - start < _ENOUGH or gap <= numbers[stop - 1] - numbers[start]:
        return None
    return start, stop
