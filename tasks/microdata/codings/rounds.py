"""Rounding of integers and decimals to multiples, exactly: no number becomes a float."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.tasks.microdata.codings.recode import recode, with_parameter
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.schema.codings.declared import Rounding

_MODES: Mapping[str, str] = {
    "even": "half_to_even",
    "up": "half_up",
    "down": "half_down",
}


def code_round(column: Column, declared: Rounding, _found: None = None) -> Column:
    """Every number becomes the nearest multiple.

    Raises:
        InputError: where that is larger than the column's type holds.
    """
    values, step = with_parameter(column, declared.to)
    try:
        rounded = pc.round_to_multiple(values, multiple=step, round_mode=_MODES[declared.ties])
    except pa.ArrowInvalid:
        raise InputError(
            f"column {column.name!r}: round: a number has no multiple of round.to beside it that "
            "its type holds: declare a top or bottom"
        ) from None
    return recode(column, rounded.cast(values.type))
