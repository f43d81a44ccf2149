"""Values of the declared types: parsed from text, or adopted from typed files without loss."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.notation.normal_form import hint_of
from sfumato.tasks.microdata.notation.spelling import AS_ISO, ValueSpelling, iso_texts, rule_of
from sfumato.tasks.microdata.readers.distinct import Distinct, convert_distinct, distinct, refuse
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.schema.columns import ColumnType

Conversion = Callable[[pa.Array], pa.Array]

_DIGITS: Final = 38  # of a SQL DECIMAL
_NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_OFFSET = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_WITH_OFFSET = rf"{_TIME}{_OFFSET}\z"
_MIXED_OFFSETS = (
    "some timestamps have an offset, and others do not. Name the time zone of the "
    "others (source.timezone: Europe/Berlin)"
)
_PATTERNS: Mapping[ColumnType, str] = {
    "integer": r"\A[+-]?[0-9]+\z",
    "decimal": rf"\A[+-]?{_NUMBER}\z",
    "float": rf"\A[+-]?{_NUMBER}([eE][+-]?[0-9]+)?\z",
    "date": rf"\A{_DATE}\z",
    "timestamp": rf"\A{_DATE}([T ]{_TIME}{_OFFSET}?)?\z",
    "boolean": r"(?i)\A(true|false|yes|no|1|0)\z",
}
_RULES: Mapping[ColumnType, str] = {
    "integer": "not an integer of 64 bits",
    "decimal": f"not a decimal, or more than {_DIGITS} digits at the column's decimals",
    "float": "not a float, or not finite",
    "date": "not a date of the years 1 to 9999 (yyyy-mm-dd)",
    "timestamp": "not a timestamp of the years 1 to 9999 with at most microseconds (ISO 8601)",
    "boolean": "not a boolean",
    "string": "not a string in UTF-8",
}
_TARGETS: Mapping[ColumnType, pa.DataType] = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "string": pa.string(),
    "boolean": pa.bool_(),
}
_YEARS: Mapping[ColumnType, tuple[tuple[date, Callable[..., Any]], ...]] = {
    "date": ((date.min, pc.less), (date.max, pc.greater)),
    "timestamp": (
        (datetime.min, pc.less),  # noqa: DTZ901 - naive, as the values are
        (datetime.max, pc.greater),  # noqa: DTZ901
    ),
}
_ADOPTED: Mapping[ColumnType, tuple[Callable[[pa.DataType], bool], ...]] = {
    "integer": (pa.types.is_integer,),
    "decimal": (pa.types.is_decimal, pa.types.is_integer),
    "float": (pa.types.is_floating, pa.types.is_integer),
    "date": (pa.types.is_date,),
    "timestamp": (pa.types.is_timestamp,),
    "string": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "boolean": (pa.types.is_boolean,),
}


def have_mixed_offsets(texts: pa.Array) -> bool:
    """Decide whether texts are timestamps of which some have an offset and some have none.

    >>> have_mixed_offsets(pa.array(["2024-03-01 10:00Z", "2024-03-01 10:00"]))
    True
    """
    if (
        not len(texts)
        or not pc.all(pc.match_substring_regex(texts, _PATTERNS["timestamp"])).as_py()
    ):
        return False
    has_offset = pc.match_substring_regex(texts, _WITH_OFFSET)
    return bool(pc.any(has_offset).as_py()) and not pc.all(has_offset).as_py()


def type_of(values: pa.DataType) -> ColumnType | None:
    """Return the type that text is parsed as to become such values, or None.

    >>> type_of(pa.int64()), type_of(pa.decimal128(38, 2)), type_of(pa.time32("s"))
    ('integer', 'decimal', None)
    """
    if pa.types.is_decimal(values):
        return "decimal"
    return next((type_ for type_, target in _TARGETS.items() if target == values), None)


def parse(
    text: Distinct, type_: ColumnType, file: str, name: str, spelling: ValueSpelling = AS_ISO
) -> Distinct:
    """Return text as values of a type.

    Timestamps with an offset become UTC, or the local time that is declared. Without a declared
    time zone, a column has offsets throughout or not at all. Decimals get as many decimals as the
    longest has.

    Raises:
        InputError: with the first row whose text is no such value.
    """
    if type_ == "string":
        return text
    text = _in_iso(text, type_, file, name, spelling)
    fits = pc.match_substring_regex(text.values, _PATTERNS[type_])
    if not pc.all(fits).as_py():
        rule = _RULES[type_] + hint_of(text.values, type_, spelling, name)
        refuse(text, pc.invert(fits), rule, file, name)
    return _sound(text, _parser(text, type_, file, name, spelling), type_, file, name)


def adopt(
    values: pa.ChunkedArray,
    type_: ColumnType,
    file: str,
    name: str,
    spelling: ValueSpelling = AS_ISO,
) -> Distinct:
    """Return typed values as values of the declared type, if that loses nothing.

    Whole numbers are dates, such as 20240320, in a column that has a declared format of dates.

    Raises:
        InputError: if the types do not fit, or with the first row whose value does not.
    """
    own_type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_integer(own_type) and type_ in _YEARS and name in spelling.date_formats:
        numbers = distinct(values)
        digits = numbers.map_values(pc.cast(numbers.values, pa.string()))
        return parse(digits, type_, file, name, spelling)
    if not pa.types.is_null(own_type) and not any(fits(own_type) for fits in _ADOPTED[type_]):
        rule = f"the file has values of type {own_type}, which cannot be read as type {type_}"
        raise input_error(file, rule, column=name)
    return _sound(distinct(values), _adopter(own_type, type_, spelling), type_, file, name)


def _in_iso(
    text: Distinct, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
) -> Distinct:
    """Return text in ISO spelling, if all of it is spelled as declared."""
    spelled = iso_texts(text.values, type_, name, spelling)
    if spelled is text.values:
        return text
    refuse(text, pc.is_null(spelled), rule_of(type_, name, spelling), file, name)
    return text.map_values(spelled)


def _parser(
    text: Distinct, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
) -> Conversion:
    if type_ == "boolean":
        return lambda values: pc.match_substring_regex(values, r"(?i)\A(true|yes|1)\z")
    if type_ == "timestamp":
        return _timestamps(text, file, name, spelling)
    if type_ == "decimal":
        target = pa.decimal128(_DIGITS, _decimals(text, file, name))
    else:
        target = _TARGETS[type_]
    return lambda values: pc.cast(pc.replace_substring_regex(values, r"\A\+", ""), target)


def _decimals(text: Distinct, file: str, name: str) -> int:
    """Return the most decimals of a column; refuse numbers with too many digits for a decimal."""
    lengths = pc.utf8_length(pc.replace_substring_regex(text.values, r"\A[^.]*\.?", ""))
    refuse(text, pc.greater(lengths, _DIGITS), f"more than {_DIGITS} decimals", file, name)
    decimals = int(pc.max(lengths).as_py() or 0)
    whole = pc.utf8_length(pc.replace_substring_regex(text.values, r"\A[+-]?0*|\..*\z", ""))
    refuse(text, pc.greater(whole, _DIGITS - decimals), _RULES["decimal"], file, name)
    return decimals


def _timestamps(text: Distinct, file: str, name: str, spelling: ValueSpelling) -> Conversion:
    has_offset = pc.match_substring_regex(text.values, _WITH_OFFSET)
    with_offset = bool(len(has_offset)) and has_offset[0].as_py()
    if spelling.timezone is not None:
        return lambda values: _local_times(values, pa.timestamp("us", spelling.timezone))
    differs = pc.not_equal(has_offset, pa.scalar(with_offset))
    refuse(text, differs, _MIXED_OFFSETS, file, name)
    if not with_offset:
        return lambda values: pc.cast(values, pa.timestamp("us"))
    return lambda values: pc.local_timestamp(pc.cast(values, pa.timestamp("us", "UTC")))


def _local_times(texts: pa.Array, zone: pa.DataType) -> pa.Array:
    """Return timestamps in the local time of a zone; those without an offset are local already."""
    has_offset = pc.match_substring_regex(texts, _WITH_OFFSET)
    moved = pc.local_timestamp(pc.cast(pc.if_else(has_offset, texts, None), zone))
    return pc.coalesce(moved, pc.cast(pc.if_else(has_offset, None, texts), pa.timestamp("us")))


def _adopter(own_type: pa.DataType, type_: ColumnType, spelling: ValueSpelling) -> Conversion:
    if type_ == "decimal":
        scale = max(own_type.scale, 0) if pa.types.is_decimal(own_type) else 0
        target = pa.decimal128(_DIGITS, min(scale, _DIGITS))
    else:
        target = _TARGETS[type_]
    if type_ == "string" and not pa.types.is_null(
        own_type
    ):  # text of a file is not known to be UTF-8
        return lambda values: pc.cast(pc.cast(pc.cast(values, pa.binary()), pa.string()), target)
    if pa.types.is_timestamp(own_type) and own_type.tz is not None:
        zone = pa.timestamp(own_type.unit, spelling.timezone or "UTC")
        return lambda values: pc.cast(pc.local_timestamp(pc.cast(values, zone)), target)
    return lambda values: pc.cast(values, target)


def _sound(
    column: Distinct, convert: Conversion, type_: ColumnType, file: str, name: str
) -> Distinct:
    """Return the converted column; refuse infinite values, and years without four digits."""
    rule = _RULES[type_]
    values = convert_distinct(column, convert, rule, file, name)
    if type_ == "float":
        refuse(values, pc.invert(pc.is_finite(values.values)), rule, file, name)
        return values.map_values(pc.add(values.values, 0.0))  # -0.0 is 0.0
    for edge, beyond in _YEARS.get(type_, ()):
        outside = beyond(values.values, pa.scalar(edge, values.values.type))
        refuse(values, outside, rule, file, name)
    return values
