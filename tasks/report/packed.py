"""Tables as a page holds them: each column's different values, and the code of each row.

Codes are in as few bits as they need, in base64; of ascending ones there is how often each occurs.
"""

import base64
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.sorting import lengths, starts
from sfumato.tasks.microdata.table import Column, encode

MOST_TEXT = 2_000_000
"""The longest text that a page holds, in characters."""
_SAFE = 2**53  # integers below this are numbers in JSON, others are texts
_MOST_BITS = 24  # what the script unpacks at once
Document = dict[str, Any]


def pack_table(table: pa.Table) -> Document:
    """Return a table's columns.

    Raises:
        ValueError: if they alone would be too long a text; then the other columns are not read.
    """
    columns, length = {}, 0
    for name in table.column_names:
        columns[name] = _column(encode(name, "insensitive", table[name]))
        length += len(columns[name]["codes"]) + 2 * len(columns[name]["values"])  # with commas
        if length > MOST_TEXT:
            raise ValueError(length)
    return {"rows": table.num_rows, "columns": columns}


def _column(column: Column) -> Document:
    """Return a column's values and packed codes; of ascending codes, how often each occurs."""
    values = _plain_values(column.values)
    if len(column.codes) and not column.has_null and (np.diff(column.codes) >= 0).all():
        runs = lengths(starts(column.codes), len(column.codes))
        return {"values": values, "runs": True, **_pack(runs)}
    codes = np.where(column.codes < 0, len(values), column.codes)
    nulls = {"nulls": True} if column.has_null else {}
    return {"values": values, **nulls, **_pack(codes)}


def _pack(numbers: np.ndarray) -> Document:
    """Return numbers in as few bits as the largest needs, the lowest bits first, in base64.

    >>> _pack(np.array([1, 0, 3]))
    {'bits': 2, 'codes': 'MQ=='}

    Raises:
        ValueError: if the largest needs too many bits.
    """
    bits = int(numbers.max(initial=0)).bit_length()
    if bits > _MOST_BITS:
        raise ValueError(bits)
    each = (numbers.astype(np.int64)[:, None] >> np.arange(bits)) & 1
    octets = np.packbits(each.astype(np.uint8).ravel(), bitorder="little")
    return {"bits": bits, "codes": base64.b64encode(octets.tobytes()).decode()}


def _plain_values(values: pa.Array) -> list[str | int | float | bool | None]:
    """Return published values as JSON has them.

    Raises:
        ValueError: if one is not finite.
    """
    listed: list[Any] = values.to_pylist()
    if pa.types.is_string(values.type):
        return listed
    if pa.types.is_integer(values.type):
        low, high = pc.min_max(values).values()
        if not len(values) or -_SAFE < low.as_py() <= high.as_py() < _SAFE:
            return listed
    return [plain(value) for value in listed]


def plain(value: Any) -> str | int | float | bool | None:
    """Return a published value as JSON has it; numbers that JSON would round are texts.

    Raises:
        ValueError: if it is not finite.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _SAFE:
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
