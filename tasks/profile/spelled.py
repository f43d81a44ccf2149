"""Spelling of a source's texts: missing values, decimal and thousands marks, formats of dates."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.notation.normal_form import date_formats_of, have_decimal_commas
from sfumato.tasks.microdata.readers.cells import CellColumn
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.input_error import FaultsMet, input_error
from sfumato.tasks.profile.dialect import DraftOptions
from sfumato.tasks.profile.unfit import Parts

_NULLS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "--", ".", "?")
_THOUSANDS = r"\A[+-]?[0-9]{1,3}(,[0-9]{3})+\z"


def with_spellings(source: Source, columns: Mapping[str, Parts], options: DraftOptions) -> Source:
    """Return a source with the spelling of its texts; settings in `options` are taken as they are.

    Raises:
        InputError: texts may be read in two ways; the error names the option that decides.
    """
    met, nulls = FaultsMet(source.uri), _null_texts(columns) if source.format == "csv" else ()
    texts = {name: texts_of(parts, (*nulls, "")) for name, parts in columns.items()}
    commas = [
        name
        for name, column_texts in texts.items()
        if len(column_texts) and have_decimal_commas(column_texts)
    ]
    with met.noting():
        decimal = options.decimal or _decimal(texts, commas, source)
        source = source.model_copy(update={"decimal": decimal})
    formats = dict(options.date_formats)
    for name, column_texts in texts.items():
        if name in formats or not len(column_texts):
            continue
        possible = [format_ for format_, _ in date_formats_of(column_texts)]
        if len(possible) > 1:
            with met.noting():
                ways = " or ".join(f"--date-format '{name}={format_}'" for format_ in possible)
                raise input_error(source.uri, f"are days or months first? {ways}", column=name)
        for format_ in possible[:1]:
            formats[name] = format_
    met.refuse()
    dialect = source.csv.model_copy(update={"null_values": ("", *nulls)})
    return source.model_copy(update={"csv": dialect, "date_formats": formats})


def _decimal(texts: Mapping[str, pa.Array], commas: Sequence[str], source: Source) -> str:
    """Return the decimal mark; a comma before three digits each may also separate thousands."""
    if not commas:
        return "."
    thousands = [pc.match_substring_regex(texts[name], _THOUSANDS) for name in commas]
    whole = [pc.match_substring_regex(texts[name], r"\A[+-]?[0-9]{1,3}\z") for name in commas]
    if all(pc.all(pc.or_(t, w)).as_py() for t, w in zip(thousands, whole, strict=True)):
        raise input_error(
            source.uri, "are commas before decimals? --decimal ',' (or write no thousands marks)"
        )
    return ","


def _null_texts(columns: Mapping[str, Parts]) -> tuple[str, ...]:
    """Return the texts that mean a missing value: all others of a column are numbers or dates."""
    candidates, nulls = pa.array(_NULLS), set()
    for parts in columns.values():
        texts = texts_of(parts, ("",))
        missing = pc.is_in(texts, value_set=candidates)
        if pc.any(missing).as_py() and _are_typed(texts.filter(pc.invert(missing))):
            nulls |= set(texts.filter(missing).to_pylist())
    return tuple(text for text in _NULLS if text in nulls)


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
    return bool(same) or bool(date_formats_of(texts))


def texts_of(parts: Parts, nulls: Sequence[str]) -> pa.Array:
    """Return the different texts of a column without those that mean a missing value.

    The result is empty if values, or files, have types of their own.
    """
    values = [part.values for part in parts.values() if isinstance(part, Distinct | CellColumn)]
    several = [text for column in values for text in _as_list(column)]
    if len(values) < len(parts) or not all(isinstance(text, str) for text in several):
        return pa.array([], pa.string())
    distinct = pc.unique(pa.array(several, pa.string()))
    return distinct.filter(pc.invert(pc.is_in(distinct, value_set=pa.array(nulls, pa.string()))))


def _as_list(values: Any) -> Sequence[Any]:
    listed: Sequence[Any] = values.to_pylist() if isinstance(values, pa.Array) else values
    return listed
