"""Codings of columns: each a function of a column's values, or of its rows and their units.

Nulls pass. What is computed of rows is found apart from being used, so that it can be kept.
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
"""A coded column, from the column, what is declared of it, and what was found, if anything is."""
FINDERS: Mapping[str, Callable[[Column, Any], Any]] = Entries(
    "sfumato.tasks.microdata",
    {
        "bottom": "codings:find_bottom",
        "top": "codings:find_top",
        "fold": "codings:find_fold",
    },
)
"""What is computed of a column's rows once, as JSON has it."""
_MODES: Mapping[str, str] = {
    "even": "half_to_even",
    "up": "half_up",
    "down": "half_down",
}
_DAY = 86_400_000_000  # microseconds
_ROWS_PER_TEXT = 10


def code_column(
    column: Column, declared: CodedColumn, known: Mapping[str, Any]
) -> tuple[Column, dict[str, Any]]:
    """A column as it is declared to be coded, and what was computed of its rows for that.

    Args:
        column: as it was read.
        declared: its codings.
        known: what was computed before, by the keys of codings; the days of each row under `shift`.

    Raises:
        InputError: where a value cannot be coded.
    """
    found: dict[str, Any] = {}
    for key, wish in declared.codings.items():
        if key in declared.computed:
            found[key] = known[key] if key in known else FINDERS[key](column, wish)
        column = CODINGS[key](column, wish, found.get(key, known.get(key)))
    return column, found


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


_INVISIBLE, _SPACES = r"\p{Cf}+", r"[\s\p{Z}\p{Cc}]+"


def code_unite(column: Column, _declared: str, _found: None = None) -> Column:
    """Every text becomes its plain spelling, which others of the same text have, too."""
    return recode(column, plain_spelling(column.values))


def plain_spelling(texts: pa.Array) -> pa.Array:
    """Return each text (string) in lower case and NFKC, with single spaces inside alone.

    >>> plain_spelling(pa.array(["HIV ", "hiv", "Heart  attack"])).to_pylist()
    ['hiv', 'hiv', 'heart attack']
    """
    lower = pc.ascii_lower(_spaced(texts))
    other = pc.invert(pc.string_is_ascii(lower))
    folded = pa.array([_folded(text) for text in lower.filter(other).to_pylist()], pa.string())
    return _spaced(pc.replace_with_mask(lower, other, folded))


def _spaced(texts: pa.Array) -> pa.Array:
    visible = pc.replace_substring_regex(texts, _INVISIBLE, "")
    return pc.ascii_trim_whitespace(pc.replace_substring_regex(visible, _SPACES, " "))


def _folded(text: str) -> str:
    """The text without case; folding may undo the Unicode form, and that form bring back case."""
    while (folded := unicodedata.normalize("NFKC", text).casefold()) != text:
        text = folded
    return text


def code_prefix(column: Column, declared: int, _found: None = None) -> Column:
    """Every text becomes its first characters (code points, never bytes)."""
    return recode(column, pc.utf8_slice_codeunits(column.values, 0, declared))


def code_fold(column: Column, declared: RareFold, found: Sequence[str]) -> Column:
    """Every value that is not among those that were found to be frequent becomes another."""
    kept = pc.is_in(column.values, value_set=pa.array(list(found), column.values.type))
    into = pa.scalar(declared.into, column.values.type)
    return recode(column, pc.if_else(kept, column.values, into))


def find_fold(column: Column, declared: RareFold) -> list[str]:
    """The values that enough rows have, ascending."""
    enough = rows_of_values(column) >= declared.below
    frequent: list[str] = column.values.filter(pa.array(np.asarray(enough))).to_pylist()
    return frequent


_WORD, _WORDS, _CHARACTERS = r"[^\s\pZ]+", 5, 60


def is_free_text(column: Column) -> bool:
    """True where more than one row in ten has a long text that no other row has.

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
