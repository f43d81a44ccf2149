"""A source as it was found: how it is written, its columns, and the types of all their values.

Types are tried with the converters by which a release reads: what fits here is read there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError, SpecError
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.notation.address import holds_secret
from sfumato.tasks.microdata.places.encoded import encode_columns, encode_files
from sfumato.tasks.microdata.places.files import SourceFiles, source_files
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.excel import only_sheet
from sfumato.tasks.microdata.readers.inferred import format_of
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.profile.found.dialect import sniff_dialect
from sfumato.tasks.profile.found.spelling import Parts, texts_of, with_nulls, with_spellings
from sfumato.tasks.profile.names import is_postal
from sfumato.tasks.profile.options import DraftOptions
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType

_TYPES: Sequence[ColumnType] = ("integer", "decimal", "float", "date", "timestamp", "boolean")
_ZEROS = r"\A[+-]?0[0-9]+\z"

_ONLY = "the only one"


@dataclass(frozen=True, eq=False)
class FoundTable:
    """A source that was read as it seems to be written.

    Attributes:
        source: as a spec would declare it, all its columns seen.
        types: of the columns.
        microdata: the whole table; columns have no role yet.
    """

    source: Source
    types: Mapping[str, ColumnType]
    microdata: Microdata


def read_source(address: str, options: DraftOptions) -> Source:
    """A source as far as its address and what is known beforehand tell it.

    Raises:
        SpecError: where a password stands in the address.
    """
    if holds_secret(address):
        raise SpecError("the address holds a password: write ${NAME} in its place, and set NAME")
    if options.query is not None:
        return Source(uri=address, query=options.query)
    format_ = options.format or format_of(address)
    given = {"sheet": options.sheet or _ONLY} if format_ == "excel" else {}
    return Source(uri=address, format=format_, **given)


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
        options: what is known of it beforehand.
        base: the directory that paths are relative to.
        environ: what `${NAME}` in the address stands for, and a store's keys.
        scratch: a private directory, where what a store holds is fetched to.

    Raises:
        SpecError: where the address is none.
        InputError: where it cannot be read, or does not tell how it is written.
        TransientFault: where a database or a store cannot be reached.
    """
    if source.query is None:
        files = source_files(source, base, environ, scratch)
        return _of_files(_with_notation(source, files, options), files, options)
    from sfumato.tasks.microdata.databases.registry import read_query

    found, way = read_query(source, environ)
    parts = {name: {source.uri: column} for name, column in found.items()}
    source, types = _spelled(source, parts, way, options)
    whole = encode_columns(dict(found), source, _columns(types), source.uri, way)
    return FoundTable(source, types, whole)


def _with_notation(source: Source, files: SourceFiles, options: DraftOptions) -> Source:
    """A source with what its first file tells of itself: a dialect, or its only sheet."""
    path, called = files.paths[0], files.called(0, source.uri)
    if source.format == "csv":
        return source.model_copy(update={"csv": sniff_dialect(path, called, options)})
    if source.format == "excel" and options.sheet is None:
        return source.model_copy(update={"sheet": only_sheet(path, called)})
    return source


def _of_files(source: Source, files: SourceFiles, options: DraftOptions) -> FoundTable:
    reader = READERS[source.format]
    parts: dict[str, dict[str, Any]] = {}
    for number, path in enumerate(files.paths):
        called = files.called(number, source.uri)
        for name, column in reader.read(path, called, source).items():
            parts.setdefault(name, {})[called] = column
        for name, text in files.folders(path).items():
            folder = Distinct(pa.array([text], pa.string()), pc.cast([0], pa.int32()).to_numpy())
            parts.setdefault(name, {})[called] = folder
    if unnamed := [name for name in parts if not name.strip()]:
        raise input_error(source.uri, f"{len(unnamed)} columns have no name: name them in the file")
    source, types = _spelled(source, parts, reader, options)
    return FoundTable(source, types, encode_files(files, source, _columns(types)))


def _columns(types: Mapping[str, ColumnType]) -> dict[str, ColumnSpec]:
    return {name: ColumnSpec(role="drop", type=type_) for name, type_ in types.items()}


def _spelled(
    source: Source, columns: Mapping[str, Parts], converter: Any, options: DraftOptions
) -> tuple[Source, dict[str, ColumnType]]:
    """How values are spelled, and their types.

    Raises:
        InputError: where a column may be read in two ways, with the option that says which.
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
    """The first type that all values of a column fit; codes with labels are these."""
    labelled = any(getattr(part, "labels", None) for part in parts.values())
    if labelled and _fits("string", name, parts, converter, source):
        return "string"
    texts = texts_of(parts, source.csv.null_values)
    if len(texts) and (is_postal(name) or _have_leading_zeros(texts)):
        return "string"
    fitting = (type_ for type_ in _TYPES if _fits(type_, name, parts, converter, source))
    return next(fitting, "string")


def _have_leading_zeros(texts: pa.Array) -> bool:
    """True where a number would lose zeros: it is a code."""
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
