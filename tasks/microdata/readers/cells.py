"""Columns of Python values of any types, as workbooks and many databases have them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.notation.spelling import AS_ISO, ValueSpelling, iso_texts, rule_of
from sfumato.tasks.microdata.readers.distinct import Distinct, refuse
from sfumato.tasks.microdata.readers.typed import parse
from sfumato.tasks.schema.columns import ColumnType

_WIDEST = 2**53  # the integers that a float surely is
_MIDNIGHT = time()


@dataclass(frozen=True, eq=False)
class CellColumn:
    """Distinct cells of a column in order of first occurrence, and each row's cell as a code.

    A missing one is -1 among the codes (int32). 1 and 1.0 and "1" are different cells.
    """

    values: Sequence[Any]
    codes: np.ndarray


class CellsMet:
    """Collector of a column's cells, some rows at a time."""

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}
        self._values: list[Any] = []
        self._codes: list[np.ndarray] = []

    def add(self, values: Sequence[Any]) -> None:
        """Add the cells of some more rows; None is a missing one."""
        self._codes.append(np.fromiter(map(self._place, values), np.int32, len(values)))

    def finish(self) -> CellColumn:
        """Return the whole column."""
        return CellColumn(self._values, np.concatenate([np.empty(0, np.int32), *self._codes]))

    def _place(self, value: Any) -> int:
        if value is None:
            return -1
        key = (type(value), value if isinstance(value, Hashable) else id(value))
        place = self._places.setdefault(key, len(self._values))
        if place == len(self._values):
            self._values.append(value)
        return place


def cells(values: Sequence[Any]) -> CellColumn:
    """Return a column of values; None is a missing one."""
    met = CellsMet()
    met.add(values)
    return met.finish()


def convert_cells(
    column: CellColumn, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
) -> Distinct:
    """Convert cells to values of a type, if each of them certainly is one.

    A text is read as in a CSV file. A number is no text: whether it was 7 or 007 is not known.

    Raises:
        InputError: with the first row whose cell is no such value.
    """
    texts = pa.array([_TEXT_OF[type_](value) for value in column.values], pa.string())
    text_column = Distinct(texts, column.codes)
    refuse(text_column, pc.is_null(texts), _rule(type_), file, name)
    written = pa.array([isinstance(value, str) for value in column.values], pa.bool_())
    spelled = iso_texts(texts, type_, name, spelling)
    if spelled is not texts:
        wrong = pc.and_(written, pc.is_null(spelled))
        refuse(text_column, wrong, rule_of(type_, name, spelling), file, name)
        texts = pc.if_else(written, spelled, texts)
    of_cells = AS_ISO.model_copy(update={"timezone": spelling.timezone})
    return parse(text_column.map_values(texts), type_, file, name, of_cells)


def _rule(type_: ColumnType) -> str:
    if type_ == "string":
        return "not a text (a number may have lost zeros: declare its type, or store it as text)"
    return f"a cell of another type than {type_}"


def _whole(value: Any) -> str | None:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _WIDEST else None
    if isinstance(value, Decimal):
        return f"{value:f}" if value == value.to_integral_value() else None
    return _number(value)


def _number(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return str(value) if isinstance(value, int) else f"{Decimal(str(value)):f}"


def _float(value: Any) -> str | None:
    return repr(value) if isinstance(value, float) else _number(value)


def _day(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.timetz() == _MIDNIGHT else None
    return value.isoformat() if isinstance(value, date) else _text(value)


def _moment(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, date) else _text(value)


def _truth(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _whole(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_TEXT_OF: Mapping[ColumnType, Callable[[Any], str | None]] = {
    "integer": _whole,
    "decimal": _number,
    "float": _float,
    "date": _day,
    "timestamp": _moment,
    "boolean": _truth,
    "string": _text,
}
