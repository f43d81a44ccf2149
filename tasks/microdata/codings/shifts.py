"""Dates moved by as many days as their row's unit is."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.schema.codings.declared import DateShift

_DAY = 86_400_000_000  # microseconds
_FIRST, _LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970


def code_shift(column: Column, _declared: DateShift, found: np.ndarray) -> Column:
    """Every date or timestamp is moved by its row's days (int64, one per row).

    Raises:
        InputError: where a date leaves the calendar, whose years are 1 to 9999.
    """
    known = column.codes >= 0
    in_days = pa.types.is_date(column.values.type)
    numbers = column.values.cast(pa.int32() if in_days else pa.int64())
    unit = 1 if in_days else _DAY
    moved = np.append(numbers.to_numpy().astype(np.int64), 0)[column.codes] + found * unit
    days = moved[known] // unit
    if len(days) and not (int(days.min()) >= _FIRST and int(days.max()) <= _LAST):
        raise InputError(
            f"column {column.name!r}: shift: a date would leave the years 1 to 9999: write dates "
            "that mean none as missing"
        )
    whole = pa.array(moved.astype(np.int32 if in_days else np.int64), mask=~known)
    return encode(column.name, column.role, pc.cast(whole, column.values.type))
