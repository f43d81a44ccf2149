"""Columns that no release can show, each with the reason: a draft drops them and goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.profile.dialect import DraftOptions

Parts = Mapping[str, Any]
"""A column in each file of a source, by the name of the file."""
_EMPTY = "it has no value in any row"
_MIXED_OFFSETS = (
    "some of its times have an offset from UTC, and others do not. To publish them, "
    "draft again with the time zone of the others (--timezone Europe/Berlin)"
)
_MIXED = "its cells have several types, or a type that no release can show"
_NOT_FINITE = (
    "some of its numbers are NaN or infinite, and no release can show these. To "
    "publish the others, replace them by missing values (null) in the source"
)
_TOO_FINE = (
    "its times are finer than microseconds, or outside the years 1 to 9999. To publish "
    "them, round or correct them in the source"
)
_LONG_NUMBERS = "its numbers have more than 38 digits, and no release can show these"
_NOT_TEXT = "its texts are not in UTF-8. To publish them, write the source in UTF-8"


@dataclass(frozen=True)
class UnfitColumn:
    """A column that no release can show.

    Attributes:
        name: its name.
        type: the type of its values, in the words of the source.
        reason: the reason in words, without a value.
        rows: the number of rows.
        missing: the number of rows without a value.
    """

    name: str
    type: str
    reason: str
    rows: int
    missing: int


def count_rows(parts: Parts) -> int:
    """Return the number of rows of a column in all files; a folder's name has one."""
    return sum(len(_codes(part)) for part in parts.values())


def count_missing(parts: Parts) -> int:
    """Return the number of rows without a value."""
    return sum(int((_codes(part) < 0).sum()) for part in parts.values())


def has_values(parts: Parts) -> bool:
    """Decide whether some row has a value."""
    return count_missing(parts) < count_rows(parts)


def describe_unfit(name: str, parts: Parts) -> UnfitColumn:
    """Return a column that fits no type, with the reason."""
    types = [_type_of(part) for part in parts.values()]
    reason = _reason(types) if has_values(parts) else _EMPTY
    words = " or ".join(dict.fromkeys(map(str, types)))
    return UnfitColumn(name, words, reason, count_rows(parts), count_missing(parts))


def require_droppable(unfit: Sequence[UnfitColumn], options: DraftOptions) -> None:
    """Make sure that no option gives a column that no release can show another role than drop.

    Raises:
        SpecError: with the reason why the column cannot be shown.
    """
    for column in unfit:
        role = options.roles.get(column.name, "drop")
        if role != "drop":
            raise SpecError(
                f"--role {column.name}={role}: {column.reason}; leave the option out, "
                "so that the draft drops the column"
            )


def _codes(part: Any) -> np.ndarray:
    """Return a number for each row of a part, -1 for a missing value."""
    column = getattr(part, "cells", part)
    if isinstance(column, pa.ChunkedArray):
        valid = pc.is_valid(column).combine_chunks()
        return np.asarray(valid.to_numpy(zero_copy_only=False), dtype=np.int8) - 1
    return np.asarray(column.codes)


def _type_of(part: Any) -> pa.DataType | str:
    if isinstance(part, pa.ChunkedArray):
        return part.type.value_type if pa.types.is_dictionary(part.type) else part.type
    return "text" if isinstance(part, Distinct) else "cells"


def _reason(types: Sequence[pa.DataType | str]) -> str:
    if any(isinstance(type_, str) for type_ in types):
        return _MIXED if "cells" in types else _MIXED_OFFSETS
    for type_ in types:
        for belongs, reason in _REASONS:
            if belongs(type_):
                return reason
    named = " or ".join(dict.fromkeys(map(str, types)))
    return f"no release can show values of type {named}"


_REASONS = (
    (pa.types.is_floating, _NOT_FINITE),
    (pa.types.is_timestamp, _TOO_FINE),
    (pa.types.is_date, _TOO_FINE),
    (pa.types.is_decimal, _LONG_NUMBERS),
    (pa.types.is_string, _NOT_TEXT),
    (pa.types.is_large_string, _NOT_TEXT),
)
