"""Spelling of a source's texts: missing values, decimal and thousands marks, formats of dates."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.notation.normal_form import (
    date_formats_of,
    digit_date_formats_of,
    have_decimal_commas,
    thousands_of,
)
from sfumato.tasks.microdata.notation.spelling import THOUSANDS_MARKS
from sfumato.tasks.microdata.readers.cells import CellColumn
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.input_error import FaultsMet, input_error
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.profile.names import sense_of
from sfumato.tasks.profile.unfit import Parts

_NULLS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "--", ".", "?")
_THOUSANDS = r"\A[+-]?[0-9]{1,3}(,[0-9]{3})*\z"
_NUMBER_OR_DATE = r"\A\s*[+-]?[0-9][0-9.,:/'’ T-]*([eE][+-]?[0-9]+)?\s*\z"
_FEW, _RARE = 5, 10  # words beside numbers or dates, and how many different texts there are for one
_ENOUGH = 5  # different texts of eight digits, from which they are dates for sure


def with_spellings(source: Source, columns: Mapping[str, Parts], options: DraftOptions) -> Source:
    """Return a source with the spelling of its texts; settings in `options` are taken as they are.

    Raises:
        InputError: texts may be read in two ways; the error names the option that decides.
    """
    met, nulls = FaultsMet(source.uri), tuple[str, ...]()
    if source.format == "csv":
        nulls = null_texts(all_texts(columns), options)
    texts = {name: texts_of(parts, (*nulls, "")) for name, parts in columns.items()}
    texts = {name: column for name, column in texts.items() if len(column)}
    with met.noting():
        decimal, thousands = _marks(texts, options, source)
        csv = source.csv.model_copy(update={"thousands": thousands})
        source = source.model_copy(update={"decimal": decimal, "csv": csv})
    formats = dict(options.date_formats)
    dates = {**_numbers_of_dates(columns), **texts}
    for name in (name for name in dates if name not in formats):
        with met.noting():
            if format_ := _date_format(name, dates[name], source):
                formats[name] = format_
    met.refuse()
    dialect = source.csv.model_copy(update={"null_values": ("", *nulls)})
    return source.model_copy(update={"csv": dialect, "date_formats": formats})


def _numbers_of_dates(columns: Mapping[str, Parts]) -> dict[str, pa.Array]:
    """Return the different whole numbers, as texts, of columns whose names are those of dates."""
    return {
        name: pc.unique(pa.concat_arrays([_as_texts(part) for part in parts.values()]))
        for name, parts in columns.items()
        if sense_of(name) == "date" and all(map(_is_integer, parts.values()))
    }


def _as_texts(part: pa.ChunkedArray) -> pa.Array:
    return pc.cast(pc.unique(part), pa.string()).drop_null()


def _is_integer(part: Any) -> bool:
    return isinstance(part, pa.ChunkedArray) and pa.types.is_integer(part.type)


def _date_format(name: str, texts: pa.Array, source: Source) -> str | None:
    """Return the format of a column's dates, None if its texts are none, or in ISO 8601.

    Raises:
        InputError: days or months may be first; the error names the option that decides.
    """
    possible = [format_ for format_, _ in date_formats_of(texts)]
    if not possible and (len(texts) >= _ENOUGH or sense_of(name) == "date"):
        possible = digit_date_formats_of(texts)
    if len(possible) > 1:
        ways = " or ".join(f"--date-format '{name}={format_}'" for format_ in possible)
        raise input_error(
            source.uri,
            f"dates can be read with the day or with the month first. Write {ways}",
            column=name,
        )
    return next(iter(possible), None)


def _marks(
    texts: Mapping[str, pa.Array], options: DraftOptions, source: Source
) -> tuple[str, str | None]:
    """Return the decimal mark, and the one between thousands, None if there is none.

    Raises:
        InputError: commas may be either; the error names the options that decide.
    """
    if options.thousands is not None:
        other = "," if options.thousands == "." else "."
        return options.decimal or other, options.thousands
    if options.decimal is not None:
        return options.decimal, _sure_thousands(texts, options.decimal, source)
    commas = [column for column in texts.values() if have_decimal_commas(column)]
    thousands = [column for column in commas if _may_be_thousands(column)]
    decimal = "," if len(thousands) < len(commas) else "."
    for mark in dict.fromkeys((decimal, ",", ".")):
        sure = _sure_thousands(texts, mark, source)
        if sure is not None and decimal in (mark, "."):
            return mark, sure
    if thousands and decimal == ".":
        raise input_error(
            source.uri,
            (
                "commas can be before decimals or between thousands. Write --decimal ',' "
                "or --thousands ','"
            ),
        )
    return decimal, None


def _may_be_thousands(texts: pa.Array) -> bool:
    """Decide whether all commas of numbers stand before groups of three digits."""
    return bool(pc.all(pc.match_substring_regex(texts, _THOUSANDS)).as_py())


def _sure_thousands(texts: Mapping[str, pa.Array], decimal: str, source: Source) -> str | None:
    """Return the mark that surely is between thousands in a column, None if there is none.

    A comma or point is that for sure beside the decimal mark, or twice in one number. A blank or
    an apostrophe is in numbers of different lengths without zeros at the beginning.
    """
    if source.format != "csv":
        return None
    for column in texts.values():
        for mark in thousands_of(column, decimal):
            pattern = THOUSANDS_MARKS[mark]
            sure = rf"{pattern}[0-9]+[{decimal}{mark}]" if mark in ",." else pattern
            lengths = pc.min_max(pc.utf8_length(column)).as_py()
            alike = mark in "' " and lengths["min"] == lengths["max"]
            coded = pc.any(pc.match_substring_regex(column, r"\A[+-]?0[0-9]")).as_py()
            if pc.any(pc.match_substring_regex(column, sure)).as_py() and not (alike or coded):
                return mark
    return None


def null_texts(columns: Mapping[str, pa.Array], options: DraftOptions) -> tuple[str, ...]:
    """Return the texts that mean a missing value, beside the empty one.

    They are those that the steward named, and usual ones of columns whose other texts are numbers
    or dates.

    Args:
        columns: the different texts of each column, by name.
        options: settings that the steward chose.
    """
    candidates, nulls = pa.array(_NULLS), set()
    for texts in columns.values():
        others = _drop_texts(texts, ("", *options.nulls))
        missing = pc.is_in(others, value_set=candidates)
        if pc.any(missing).as_py() and _are_typed(others.filter(pc.invert(missing))):
            nulls |= set(others.filter(missing).to_pylist())
    return tuple(dict.fromkeys((*options.nulls, *(text for text in _NULLS if text in nulls))))


def doubtful_texts(columns: Mapping[str, pa.Array], nulls: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of each text that may mean a missing value, and is not known to.

    Such a text is a usual word for it, or one of few words beside numbers or dates.

    Args:
        columns: the different texts of each column, by name.
        nulls: the texts that are known to mean a missing value.
    """
    doubtful: dict[str, list[str]] = {}
    for name, texts in columns.items():
        others = _drop_texts(texts, ("", *nulls))
        odd = others.filter(pc.invert(pc.match_substring_regex(others, _NUMBER_OR_DATE)))
        is_odd = 0 < len(odd) <= _FEW and len(others) >= _RARE * len(odd)
        usual = others.filter(pc.is_in(others, value_set=pa.array(_NULLS)))
        for text in dict.fromkeys([*usual.to_pylist(), *(odd.to_pylist() if is_odd else ())]):
            doubtful.setdefault(text, []).append(name)
    return doubtful


def _drop_texts(texts: pa.Array, nulls: Sequence[str]) -> pa.Array:
    return texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(nulls, pa.string()))))


def with_nulls(parts: Parts, source: Source) -> Parts:
    """Return a column of text in which texts that mean a missing value are missing."""
    missing = pa.array(source.csv.null_values, pa.string())
    return {
        file: part.map_values(
            pc.if_else(pc.is_in(part.values, value_set=missing), None, part.values)
        )
        for file, part in parts.items()
    }


def _are_typed(texts: pa.Array) -> bool:
    """Decide whether texts are numbers or dates, in any spelling."""
    if not len(texts):
        return False
    number = pc.match_substring_regex(texts, r"\A[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?\z")
    day = pc.match_substring_regex(texts, r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?\z")
    same = pc.all(number).as_py() or pc.all(day).as_py()
    is_grouped = any(thousands_of(texts, decimal) for decimal in ".,")
    return bool(same) or is_grouped or bool(date_formats_of(texts))


def all_texts(columns: Mapping[str, Parts]) -> dict[str, pa.Array]:
    """Return the different texts of each column, by name; those of a missing value, too."""
    return {name: texts_of(parts, ()) for name, parts in columns.items()}


def texts_of(parts: Parts, nulls: Sequence[str]) -> pa.Array:
    """Return the different texts of a column without those that mean a missing value.

    The result is empty if values, or files, have types of their own.
    """
    values = [part.values for part in parts.values() if isinstance(part, Distinct | CellColumn)]
    several = [text for column in values for text in _as_list(column)]
    if len(values) < len(parts) or not all(isinstance(text, str) for text in several):
        return pa.array([], pa.string())
    return _drop_texts(pc.unique(pa.array(several, pa.string())), nulls)


def _as_list(values: Any) -> Sequence[Any]:
    listed: Sequence[Any] = values.to_pylist() if isinstance(values, pa.Array) else values
    return listed
