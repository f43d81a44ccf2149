"""Columns with other values in the places of their own, and values as Arrow's scalars."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import InputError
from sfumato.expectations.groups.ranks import rank
from sfumato.tasks.microdata.table import Column


def recode(column: Column, values: pa.Array) -> Column:
    """The column with `values`, one for each of its own, some of which may be equal."""
    known, place = rank(values)
    codes = np.append(place, -1).astype(np.int32)[column.codes]
    return replace(column, values=known, codes=codes)


def rows_of_values(column: Column) -> np.ndarray:
    """How many rows have each value (int64)."""
    return np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))


def scalar_of(text: str, type_: pa.DataType) -> pa.Scalar:
    """The value that a text means in a column of an ordered type.

    >>> scalar_of("90.0", pa.int64()).as_py(), scalar_of("2.5", pa.decimal128(38, 2)).as_py()
    (90, Decimal('2.50'))
    """
    if pa.types.is_date(type_):
        return pa.scalar(date.fromisoformat(text), type_)
    if pa.types.is_timestamp(type_):
        return pa.scalar(datetime.fromisoformat(text).replace(tzinfo=None), type_)
    if pa.types.is_integer(type_):
        return pa.scalar(int(Decimal(text)), type_)
    number: Any = Decimal(text) if pa.types.is_decimal(type_) else float(text)
    return pa.scalar(number, type_)


def text_of_scalar(value: Any) -> str:
    """A value as a text that `scalar_of` reads back as it was."""
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def with_parameter(column: Column, text: str) -> tuple[pa.Array, pa.Scalar]:
    """The column's values, and a parameter among them.

    Decimals get as many digits behind the point as the parameter has.

    Raises:
        InputError: where the column's type cannot hold both.
    """
    try:
        values = _with_digits(column.values, text)
        return values, scalar_of(text, values.type)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError(
            f"column {column.name!r}: has too many digits for those of a threshold or step: "
            "declare one with fewer"
        ) from None


def _with_digits(values: pa.Array, text: str) -> pa.Array:
    if not pa.types.is_decimal(values.type):
        return values
    digits = max(-int(Decimal(text).normalize().as_tuple().exponent), values.type.scale)
    return values.cast(pa.decimal128(values.type.precision, digits))
