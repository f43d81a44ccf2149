"""Top and bottom coding: what lies beyond a threshold becomes the threshold."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.tasks.microdata.codings.recode import (
    recode,
    rows_of_values,
    text_of_scalar,
    with_parameter,
)
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.codings.declared import TailShare, Threshold


def code_top(column: Column, declared: Threshold, found: str | None) -> Column:
    """Every larger value becomes the threshold: the declared one, or the one that was found."""
    return _code(column, declared, found, pc.greater)


def code_bottom(column: Column, declared: Threshold, found: str | None) -> Column:
    """Every smaller value becomes the threshold."""
    return _code(column, declared, found, pc.less)


def _code(
    column: Column,
    declared: Threshold,
    found: str | None,
    is_beyond: Callable[[pa.Array, pa.Scalar], pa.Array],
) -> Column:
    text = declared if isinstance(declared, str) else str(found)
    values, limit = with_parameter(column, text)
    return recode(column, pc.if_else(is_beyond(values, limit), limit, values))


def find_top(column: Column, declared: TailShare) -> str:
    """The largest value that a share of the rows, or more, have or exceed.

    So at least that many rows will stand at the threshold. Rows without a value do not count.

    Raises:
        InputError: where no row has a value.
    """
    return _find(column, declared, "top", -1)


def find_bottom(column: Column, declared: TailShare) -> str:
    """The smallest value that a share of the rows, or more, have or fall short of.

    Raises:
        InputError: where no row has a value.
    """
    return _find(column, declared, "bottom", 1)


def _find(column: Column, declared: TailShare, key: str, step: int) -> str:
    """The value at the end of the share, counted in rows from the outermost value."""
    rows, known = rows_of_values(column), column.values
    if pa.types.is_floating(known.type):
        rows = np.where(np.asarray(pc.is_nan(known)), 0, rows)
    if not rows.sum():
        raise InputError(f"column {column.name!r}: {key}: no row has a value to take a share of")
    wanted = ceil(Fraction(declared.share) * int(rows.sum()))
    place = int(np.argmax(np.cumsum(rows[::step]) >= wanted))
    return text_of_scalar(known[::step][place].as_py())
