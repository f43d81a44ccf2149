"""Codings of columns: functions of a column's values, or of its rows and their units.

Nulls stay nulls. What is computed of rows is computed apart from its use, so that it can be stored.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.ranks import rank
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.microdata.table import Column, encode
from sfumato.tasks.schema.codings import (
    CodedColumn,
    DateShift,
    RareFold,
    Rounding,
    TailShare,
    Threshold,
)

CODINGS: Mapping[str, Callable[[Column, Any, Any], Column]] = Entries(
    "sfumato.tasks.microdata",
    {
        "shift": "codings:code_shift",
        "bottom": "codings:code_bottom",
        "top": "codings:code_top",
        "round": "codings:code_round",
        "unite": "codings:code_unite",
        "prefix": "codings:code_prefix",
        "fold": "codings:code_fold",
    },
)
"""Functions that code a column by its declaration and, if any, by what was computed of its rows."""
FINDERS: Mapping[str, Callable[[Column, Any], Any]] = Entries(
    "sfumato.tasks.microdata",
    {
        "bottom": "codings:find_bottom",
        "top": "codings:find_top",
        "fold": "codings:find_fold",
    },
)
"""Functions that compute a coding's data of a column's rows once, for JSON."""
_MODES: Mapping[str, str] = {
    "even": "half_to_even",
    "up": "half_up",
    "down": "half_down",
}
_DAY = 86_400_000_000  # microseconds
_ROWS_PER_TEXT = 10


def code_column(
    column: Column, declared: CodedColumn, earlier: Mapping[str, Any]
) -> tuple[Column, dict[str, Any]]:
    """Return a column coded as declared, and what was computed of its rows for that.

    Args:
        column: the column as read.
        declared: its codings.
        earlier: earlier results by the keys of codings; `shift` has the days of each row.

    Raises:
        InputError: if a value cannot be coded.
    """
    computed: dict[str, Any] = {}
    for key, wish in declared.codings.items():
        if key in declared.computed_keys:
            computed[key] = earlier[key] if key in earlier else FINDERS[key](column, wish)
        column = CODINGS[key](column, wish, computed.get(key, earlier.get(key)))
    return column, computed


def recode(column: Column, values: pa.Array) -> Column:
    """Return the column with `values`, one for each of its own, some of which may be equal."""
    distinct_values, place = rank(values)
    codes = np.append(place, -1).astype(np.int32)[column.codes]
    return replace(column, values=distinct_values, codes=codes)


def rows_of_values(column: Column) -> np.ndarray:
    """Return the number of rows of each value (int64)."""
    return np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))


def scalar_of(text: str, type_: pa.DataType) -> pa.Scalar:
    """Return the value that a text means in a column of an ordered type.

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
    """Return a value as a text that `scalar_of` reads back unchanged."""
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def with_parameter(column: Column, text: str) -> tuple[pa.Array, pa.Scalar]:
    """Return the column's values, and a parameter among them.

    Decimals get as many digits behind the point as the parameter has.

    Raises:
        InputError: if the column's type cannot hold both.
    """
    try:
        values = _with_digits(column.values, text)
        return values, scalar_of(text, values.type)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError(
            f"column {column.name!r}: the threshold or step has too many digits for "
            "this column. Write one with fewer digits"
        ) from None


def _with_digits(values: pa.Array, text: str) -> pa.Array:
    if not pa.types.is_decimal(values.type):
        return values
    digits = max(-int(Decimal(text).normalize().as_tuple().exponent), values.type.scale)
    return values.cast(pa.decimal128(values.type.precision, digits))


def code_top(column: Column, declared: Threshold, threshold: str | None) -> Column:
    """Replace every larger value by the threshold: the declared or the computed one."""
    return _code(column, declared, threshold, pc.greater)


def code_bottom(column: Column, declared: Threshold, threshold: str | None) -> Column:
    """Replace every smaller value by the threshold."""
    return _code(column, declared, threshold, pc.less)


def _code(
    column: Column,
    declared: Threshold,
    threshold: str | None,
    is_beyond: Callable[[pa.Array, pa.Scalar], pa.Array],
) -> Column:
    text = declared if isinstance(declared, str) else str(threshold)
    values, limit = with_parameter(column, text)
    return recode(column, pc.if_else(is_beyond(values, limit), limit, values))


def find_top(column: Column, declared: TailShare) -> str:
    """Return the largest value that a share of the rows, or more, have or exceed.

    So at least that many rows will have the threshold. Rows without a value do not count.

    Raises:
        InputError: if no row has a value.
    """
    return _find(column, declared, "top", -1)


def find_bottom(column: Column, declared: TailShare) -> str:
    """Return the smallest value that a share of the rows, or more, have or fall below.

    Raises:
        InputError: if no row has a value.
    """
    return _find(column, declared, "bottom", 1)


def _find(column: Column, declared: TailShare, key: str, step: int) -> str:
    """Return the value at the end of the share, counted in rows from the outermost value."""
    rows, values = rows_of_values(column), column.values
    if pa.types.is_floating(values.type):
        rows = np.where(np.asarray(pc.is_nan(values)), 0, rows)
    if not rows.sum():
        raise InputError(
            f"column {column.name!r}: {key}: no row has a value, so no share of the rows "
            "can be computed. Write a value in place of the share"
        )
    least_rows = ceil(Fraction(declared.share) * int(rows.sum()))
    place = int(np.argmax(np.cumsum(rows[::step]) >= least_rows))
    return text_of_scalar(values[::step][place].as_py())


def code_round(column: Column, declared: Rounding, _computed: None = None) -> Column:
    """Replace every number by the nearest multiple.

    Raises:
        InputError: if that is larger than the column's type holds.
    """
    values, step = with_parameter(column, declared.to)
    try:
        rounded = pc.round_to_multiple(values, multiple=step, round_mode=_MODES[declared.ties])
    except pa.ArrowInvalid:
        raise InputError(
            f"column {column.name!r}: round: rounding would give a number that is too "
            "large for the column's type. Write a top or bottom"
        ) from None
    return recode(column, rounded.cast(values.type))


_FIRST, _LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970


def code_shift(column: Column, _declared: DateShift, row_days: np.ndarray) -> Column:
    """Move every date or timestamp by its row's days (int64, one per row).

    Raises:
        InputError: if a date leaves the calendar, whose years are 1 to 9999.
    """
    has_value = column.codes >= 0
    in_days = pa.types.is_date(column.values.type)
    numbers = column.values.cast(pa.int32() if in_days else pa.int64())
    unit = 1 if in_days else _DAY
    moved = np.append(numbers.to_numpy().astype(np.int64), 0)[column.codes] + row_days * unit
    days = moved[has_value] // unit
    if len(days) and not (int(days.min()) >= _FIRST and int(days.max()) <= _LAST):
        raise InputError(
            f"column {column.name!r}: shift: a moved date would be outside the years 1 "
            "to 9999. If such dates mean that the date is unknown, replace them by "
            "missing values"
        )
    whole = pa.array(moved.astype(np.int32 if in_days else np.int64), mask=~has_value)
    return encode(column.name, column.role, pc.cast(whole, column.values.type))


_INVISIBLE, _SPACES = r"\p{Cf}+", r"[\s\p{Z}\p{Cc}]+"


def code_unite(column: Column, _declared: str, _computed: None = None) -> Column:
    """Replace every text by its plain spelling, which other spellings of the text share."""
    return recode(column, plain_spelling(column.values))


def plain_spelling(texts: pa.Array) -> pa.Array:
    """Return each text (string) in lower case and NFKC, with only single spaces inside.

    >>> plain_spelling(pa.array(["HIV ", "hiv", "Heart  attack"])).to_pylist()
    ['hiv', 'hiv', 'heart attack']
    """
    lower = pc.ascii_lower(_with_single_spaces(texts))
    other = pc.invert(pc.string_is_ascii(lower))
    folded = pa.array(
        [_without_case(text) for text in lower.filter(other).to_pylist()], pa.string()
    )
    return _with_single_spaces(pc.replace_with_mask(lower, other, folded))


def _with_single_spaces(texts: pa.Array) -> pa.Array:
    visible = pc.replace_substring_regex(texts, _INVISIBLE, "")
    return pc.ascii_trim_whitespace(pc.replace_substring_regex(visible, _SPACES, " "))


def _without_case(text: str) -> str:
    """Return the text without case, folded until neither case nor Unicode form changes it."""
    while (folded := unicodedata.normalize("NFKC", text).casefold()) != text:
        text = folded
    return text


def code_prefix(column: Column, declared: int, _computed: None = None) -> Column:
    """Cut every text to its first characters (code points, never bytes)."""
    return recode(column, pc.utf8_slice_codeunits(column.values, 0, declared))


def code_fold(column: Column, declared: RareFold, frequent: Sequence[str]) -> Column:
    """Replace every value that is not frequent by another."""
    is_frequent = pc.is_in(column.values, value_set=pa.array(list(frequent), column.values.type))
    into = pa.scalar(declared.into, column.values.type)
    return recode(column, pc.if_else(is_frequent, column.values, into))


def find_fold(column: Column, declared: RareFold) -> list[str]:
    """Return the values that enough rows have, ascending."""
    enough = rows_of_values(column) >= declared.below
    frequent: list[str] = column.values.filter(pa.array(np.asarray(enough))).to_pylist()
    return frequent


_WORD, _WORDS, _CHARACTERS = r"[^\s\pZ]+", 5, 60


def is_free_text(column: Column) -> bool:
    """Return True if more than one row in ten has a long text that no other row has.

    Long is a text of five words, of sixty characters, or of two lines. Labels may be long, but rows
    share them; names and codes may be each row's own, but they are short.
    """
    if not pa.types.is_string(column.values.type):
        return False
    rows, texts = rows_of_values(column), column.values
    words = pc.greater_equal(pc.count_substring_regex(texts, _WORD), _WORDS)
    size = pc.greater_equal(pc.utf8_length(texts), _CHARACTERS)
    lines = pc.match_substring(texts, "\n")
    long = np.asarray(pc.or_(pc.or_(words, size), lines))
    return int((long & (rows == 1)).sum()) * _ROWS_PER_TEXT > int(rows.sum())
