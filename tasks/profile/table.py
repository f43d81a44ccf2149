"""A source as it was read: its dialect, its columns, and the types of all their values.

Types are tried with the converters of a release: a type that fits here can be read there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.microdata.encoded import encode_columns, encode_files
from sfumato.tasks.microdata.notation.address import holds_secret
from sfumato.tasks.microdata.notation.normal_form import date_formats_of, have_decimal_commas
from sfumato.tasks.microdata.readers.cells import CellColumn
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.excel import only_sheet
from sfumato.tasks.microdata.readers.inferred import format_of
from sfumato.tasks.microdata.readers.input_error import FaultsMet, input_error
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.source_files import SourceFiles, source_files
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.profile.dialect import DraftOptions, sniff_dialect
from sfumato.tasks.profile.names import is_postal
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType

_NULLS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "-", "--", ".", "?")
_THOUSANDS = r"\A[+-]?[0-9]{1,3}(,[0-9]{3})+\z"
Parts = Mapping[str, Any]
"""A column in each file of a source, by the name of the file."""
_TYPES: Sequence[ColumnType] = ("integer", "decimal", "float", "date", "timestamp", "boolean")
_ZEROS = r"\A[+-]?0[0-9]+\z"
_ONLY = "the only one"


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


@dataclass(frozen=True, eq=False)
class FoundTable:
    """A source that was read by its own signs.

    Attributes:
        source: the source as a spec would declare it, with all columns listed.
        types: the types of the columns.
        microdata: the whole table; columns have no role yet.
    """

    source: Source
    types: Mapping[str, ColumnType]
    microdata: Microdata


def read_source(address: str, options: DraftOptions) -> Source:
    """Make a source from its address and the options.

    Raises:
        SpecError: the address contains a password.
    """
    if holds_secret(address):
        raise SpecError("the address holds a password: write ${NAME} in its place, and set NAME")
    if options.query is not None:
        return Source(uri=address, query=options.query)
    format_ = options.format or format_of(address)
    settings = {"sheet": options.sheet or _ONLY} if format_ == "excel" else {}
    return Source(uri=address, format=format_, **settings)


def find_table(
    source: Source,
    options: DraftOptions,
    base: Path,
    environ: Mapping[str, str],
    scratch: Path,
) -> FoundTable:
    """Read a source that nobody has declared.

    Args:
        source: its address, relative to `base`, and its format or query.
        options: settings of the source that the steward chose.
        base: the directory that paths are relative to.
        environ: the environment, with values of `${NAME}` in the address and a store's keys.
        scratch: a private directory, for files from a store.

    Raises:
        SpecError: the address is invalid.
        InputError: the source cannot be read, or its dialect is uncertain.
        TransientFault: a database or a store cannot be reached.
    """
    if source.query is None:
        files = source_files(source, base, environ, scratch)
        return _of_files(_with_notation(source, files, options), files, options)
    from sfumato.tasks.microdata.databases.registry import read_query

    columns, way = read_query(source, environ)
    parts = {name: {source.uri: column} for name, column in columns.items()}
    source, types = _detect_spelling(source, parts, way, options)
    whole = encode_columns(dict(columns), source, _columns(types), source.uri, way)
    return FoundTable(source, types, whole)


def _with_notation(source: Source, files: SourceFiles, options: DraftOptions) -> Source:
    """Return a source with what its first file shows: a dialect, or its only sheet."""
    path, called = files.paths[0], files.name_in_errors(0, source.uri)
    if source.format == "csv":
        return source.model_copy(update={"csv": sniff_dialect(path, called, options)})
    if source.format == "excel" and options.sheet is None:
        return source.model_copy(update={"sheet": only_sheet(path, called)})
    return source


def _of_files(source: Source, files: SourceFiles, options: DraftOptions) -> FoundTable:
    reader = READERS[source.format]
    parts: dict[str, dict[str, Any]] = {}
    for number, path in enumerate(files.paths):
        called = files.name_in_errors(number, source.uri)
        for name, column in reader.read(path, called, source).items():
            parts.setdefault(name, {})[called] = column
        for name, text in files.folders(path).items():
            folder = Distinct(pa.array([text], pa.string()), pc.cast([0], pa.int32()).to_numpy())
            parts.setdefault(name, {})[called] = folder
    if unnamed := [name for name in parts if not name.strip()]:
        raise input_error(source.uri, f"{len(unnamed)} columns have no name: name them in the file")
    source, types = _detect_spelling(source, parts, reader, options)
    return FoundTable(source, types, encode_files(files, source, _columns(types)))


def _columns(types: Mapping[str, ColumnType]) -> dict[str, ColumnSpec]:
    return {name: ColumnSpec(role="drop", type=type_) for name, type_ in types.items()}


def _detect_spelling(
    source: Source, columns: Mapping[str, Parts], converter: Any, options: DraftOptions
) -> tuple[Source, dict[str, ColumnType]]:
    """Return the source with the spelling of its values, and their types.

    Raises:
        InputError: a column may be read in two ways; the error names the option that decides.
    """
    for name in (*options.date_formats, *options.roles):
        if name not in columns:
            raise InputError(f"{name!r}: the source has no such column")
    seen = {"seen": tuple(columns), "date_formats": dict(options.date_formats)}
    source = source.model_copy(update={**seen, "decimal": options.decimal or "."})
    source = with_spellings(source, columns, options)
    if source.format == "csv":
        columns = {name: with_nulls(parts, source) for name, parts in columns.items()}
    types = {name: _type_of(name, parts, converter, source) for name, parts in columns.items()}
    return source, types


def _type_of(name: str, parts: Parts, converter: Any, source: Source) -> ColumnType:
    """Return the first type that all values of a column fit; codes with labels are strings."""
    labelled = any(getattr(part, "labels", None) for part in parts.values())
    if labelled and _fits("string", name, parts, converter, source):
        return "string"
    texts = texts_of(parts, source.csv.null_values)
    if len(texts) and (is_postal(name) or _have_leading_zeros(texts)):
        return "string"
    fitting = (type_ for type_ in _TYPES if _fits(type_, name, parts, converter, source))
    return next(fitting, "string")


def _have_leading_zeros(texts: pa.Array) -> bool:
    """Decide whether numbers would lose zeros: then texts are codes."""
    return bool(pc.any(pc.match_substring_regex(texts, _ZEROS)).as_py())


def _fits(type_: ColumnType, name: str, parts: Parts, converter: Any, source: Source) -> bool:
    try:
        for file, part in parts.items():
            converter.convert(part, type_, file, name, source)
    except InputError:
        return False
    return any(_has_values(part) for part in parts.values())


def _has_values(part: Any) -> bool:
    values = getattr(getattr(part, "cells", part), "values", part)
    return len(values) > 0 and getattr(values, "null_count", 0) < len(values)
