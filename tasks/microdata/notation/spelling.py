"""Spelling of numbers, dates and times in a source, and the dialect of its files."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self
from zoneinfo import available_timezones

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.tasks.schema.columns import NUMBERS, ColumnType
from sfumato.tasks.schema.names import CsvDialect

# the parts of a date format, and the pattern of each
_TOKENS: Mapping[str, str] = {
    "%Y": "(?P<Y>[0-9]{4})",
    "%m": "(?P<m>[0-9]{1,2})",
    "%d": "(?P<d>[0-9]{1,2})",
    "%H": "(?P<H>[0-9]{1,2})",
    "%M": "(?P<M>[0-9]{1,2})",
    "%S": "(?P<S>[0-9]{1,2})",
}


THOUSANDS_MARKS: Mapping[str, str] = {
    ",": ",",
    ".": r"\.",
    "'": "['\u2019]",
    " ": "[ \u00a0\u2009\u202f]",
}
"""The pattern of each mark between thousands: blanks and apostrophes have several forms."""
_OF_DATE, _OF_TIME = ("Y", "m", "d"), ("H", "M", "S")


class ValueSpelling(BaseModel):
    """Spelling of the texts of a source. No part of it is guessed."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    date_formats: Annotated[
        dict[str, str],
        Field(
            alias="date-formats",
            description=(
                "the format of dates that are not written yyyy-mm-dd, by column, such as "
                "%d.%m.%Y or %d/%m/%Y %H:%M"
            ),
        ),
    ] = {}
    decimal: Annotated[Literal[".", ","], Field(description="the mark before decimals")] = "."
    timezone: Annotated[
        str | None,
        Field(
            description=(
                "a time zone. Timestamps with an offset become its local time (by "
                "default UTC); timestamps without an offset beside them are read as "
                "its local time"
            )
        ),
    ] = None

    @model_validator(mode="after")
    def _formats_are_whole(self) -> Self:
        for name, written in self.date_formats.items():
            if fault := _fault_of(written):
                raise ValueError(f"date-formats.{name}: {fault}")
        if self.timezone is not None and self.timezone not in available_timezones():
            raise ValueError(
                "timezone: must be a time zone of the IANA database, such as Europe/Berlin"
            )
        return self

    @property
    def thousands_mark(self) -> str | None:
        """The mark between thousands of numbers; None if they have none."""
        return None


AS_ISO = ValueSpelling()  # no date formats, decimal points, UTC


def has_time(written: str) -> bool:
    """Return whether a format of dates has a time of day.

    >>> has_time("%d.%m.%Y %H:%M"), has_time("%d.%m.%Y")
    (True, False)
    """
    return any(f"%{part}" in written for part in _OF_TIME)


def iso_texts(texts: pa.Array, type_: ColumnType, name: str, spelling: ValueSpelling) -> pa.Array:
    """Return the texts of a column in ISO 8601 and with decimal points; null if not as declared.

    Only decimal commas, marks between thousands and declared date formats are converted and
    checked. All other texts are returned as they are.

    >>> comma = ValueSpelling(decimal=",")
    >>> iso_texts(pa.array(["1,5", "1.5"]), "decimal", "wage", comma).to_pylist()
    ['1.5', None]
    """
    if spelling.thousands_mark is not None and type_ in NUMBERS:
        texts = without_thousands(texts, spelling.thousands_mark, spelling.decimal)
    if spelling.decimal == "," and type_ in ("decimal", "float"):
        points = pc.match_substring(texts, ".")
        return pc.if_else(points, None, pc.replace_substring(texts, ",", "."))
    if name in spelling.date_formats and type_ in ("date", "timestamp"):
        return _moments(texts, spelling.date_formats[name])
    return texts


def rule_of(type_: ColumnType, name: str, spelling: ValueSpelling) -> str:
    """Return the rule that a text breaks if `iso_texts` has no value for it, for a message.

    A date or timestamp must be in a column that has a declared format.
    """
    if type_ in ("date", "timestamp"):
        return f"not a {type_} as source.date-formats declares it ({spelling.date_formats[name]})"
    if spelling.thousands_mark is not None:
        return "not a number as source.csv.thousands and source.decimal declare it"
    return "not a number with a decimal comma, as source.decimal declares it"


def without_thousands(texts: pa.Array, mark: str, decimal: str) -> pa.Array:
    """Return numbers without the marks between their thousands; null if they are not so written.

    >>> without_thousands(pa.array(["1,200.5", "12,34", "7"]), ",", ".").to_pylist()
    ['1200.5', None, '7']
    """
    marks = THOUSANDS_MARKS[mark]
    whole = rf"[+-]?([0-9]{{1,3}}({marks}[0-9]{{3}})+|[0-9]+)"
    pattern = rf"\A{whole}({re.escape(decimal)}[0-9]*)?([eE][+-]?[0-9]+)?\z"
    fits = pc.match_substring_regex(texts, pattern)
    return pc.if_else(fits, pc.replace_substring_regex(texts, marks, ""), None)


def _moments(texts: pa.Array, written: str) -> pa.Array:
    """Return dates, or dates and times, in ISO 8601; null for a text that the format does not fit.

    Minutes and seconds that the format lacks are 00.
    """
    extracted = pc.extract_regex(texts, _pattern(written))
    parts = {field.name: extracted.field(field.name) for field in extracted.type}
    two = {name: pc.utf8_lpad(part, 2, "0") for name, part in parts.items() if name != "Y"}
    day = pc.binary_join_element_wise(parts["Y"], two["m"], two["d"], "-")
    if "H" in two:
        clock = [two.get(part, pa.scalar("00")) for part in _OF_TIME]
        day = pc.binary_join_element_wise(day, pc.binary_join_element_wise(*clock, ":"), " ")
    return pc.if_else(pc.is_null(extracted), None, day)


def _pattern(written: str) -> str:
    """Return the pattern of texts in a date format, with a named group for each part."""
    pieces = [piece for piece in re.split(r"(%[A-Za-z])", written) if piece]
    parts = [_TOKENS.get(piece) or re.escape(piece) for piece in pieces]
    for place, (piece, other) in enumerate(pairwise(pieces)):
        if piece in _TOKENS and other in _TOKENS:  # digits alone: each part has all of its own
            for number in (place, place + 1):
                parts[number] = parts[number].replace("{1,2}", "{2}")
    return rf"\A{''.join(parts)}\z"


def _fault_of(written: str) -> str | None:
    """Return why a format of dates does not determine the day, or None if it does."""
    used = re.findall(r"%(.?)", written)
    unknown = [token for token in used if f"%{token}" not in _TOKENS]
    if unknown:
        return f"uses %{unknown[0]}. Use only %Y, %m, %d, %H, %M and %S"
    if any(used.count(part) != 1 for part in _OF_DATE):
        return "must name %Y, %m and %d, each once"
    clock = [part for part in _OF_TIME if part in used]
    if len(clock) < len([part for part in used if part in _OF_TIME]):
        return "names a part of the time twice. Name each once"
    if clock != list(_OF_TIME[: len(clock)]):
        return (
            "names a part of the time without the larger one. Write %H before %M, and %M before %S"
        )
    return None


class FileDialect(ValueSpelling):
    """Dialect of a file that it does not state itself: that of CSV, the sheet of a workbook."""

    csv: CsvDialect = CsvDialect()
    sheet: Annotated[
        str | None, Field(min_length=1, description="the sheet of a workbook, by its name")
    ] = None

    @model_validator(mode="after")
    def _marks_differ(self) -> Self:
        if self.csv.thousands == self.decimal:
            raise ValueError(
                f"csv.thousands: {self.decimal!r} is also the decimal mark. Write "
                "another mark under source.decimal"
            )
        return self

    @property
    def thousands_mark(self) -> str | None:
        """The mark between thousands of numbers; None if they have none."""
        return self.csv.thousands


AS_USUAL = FileDialect()
