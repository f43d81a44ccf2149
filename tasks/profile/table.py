"""A source as it was read: its dialect, its columns, and the types of all their values.

Types are tried with the converters of a release: a type that fits here can be read there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.microdata.encoded import encode_columns, encode_files, rename_columns
from sfumato.tasks.microdata.notation.address import holds_secret, local_path, resolve, scheme_of
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.delimited import content_of
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.excel import only_sheet
from sfumato.tasks.microdata.readers.inferred import format_of
from sfumato.tasks.microdata.readers.input_error import OtherDialect, input_error
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.readers.typed import have_mixed_offsets, parse
from sfumato.tasks.microdata.source_files import SourceFiles, formats_in, source_files
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.profile.dialect import DraftOptions, sniff_dialect
from sfumato.tasks.profile.layout import refuse_uneven
from sfumato.tasks.profile.names import is_postal
from sfumato.tasks.profile.spelled import (
    all_texts,
    doubtful_texts,
    texts_of,
    with_nulls,
    with_spellings,
)
from sfumato.tasks.profile.unfit import (
    Parts,
    UnfitColumn,
    count_rows,
    describe_unfit,
    has_values,
    require_droppable,
)
from sfumato.tasks.schema.column_names import names_for_release
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType

_TYPES: Sequence[ColumnType] = ("integer", "decimal", "float", "date", "timestamp", "boolean")
_OF_DATES: Sequence[ColumnType] = ("date", "timestamp")
_ZEROS = r"\A[+-]?0[0-9]+\z"
_ONLY = "the only one"
_MOST = 5  # columns whose faults are named in one message


@dataclass(frozen=True, eq=False)
class FoundTable:
    """A source that was read by its own signs.

    Attributes:
        source: the source as a spec would declare it, with all columns listed.
        types: the types of the columns.
        microdata: the whole table; columns have no role yet.
        unfit: the columns that no release can show, which are in neither of these two.
        notes: what a steward should know of the way it was read, in words.
    """

    source: Source
    types: Mapping[str, ColumnType]
    microdata: Microdata
    unfit: tuple[UnfitColumn, ...] = ()
    notes: tuple[str, ...] = ()


def read_source(address: str, options: DraftOptions) -> Source:
    """Make a source from its address and the options.

    Raises:
        SpecError: the address contains a password.
    """
    if holds_secret(address):
        raise SpecError(
            "the address contains a password. Write ${NAME} in its place, and set the "
            "environment variable NAME"
        )
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
        source = _with_format(source, options, base, environ)
        files = source_files(source, base, environ, scratch)
        return _of_files(source, files, options)
    from sfumato.tasks.microdata.databases.registry import read_query

    columns, way = read_query(source, environ)
    source = _with_other_names(source, columns)
    columns = rename_columns(columns, source, source.uri)
    parts = {name: {source.uri: column} for name, column in columns.items()}
    source, types, unfit = _detect_spelling(source, parts, way, options)
    whole = encode_columns(dict(columns), source, _columns(source, types), source.uri, way)
    return FoundTable(source, types, whole, unfit, _notes_on_names(source))


def _with_format(
    source: Source, options: DraftOptions, base: Path, environ: Mapping[str, str]
) -> Source:
    """Return a source with the format of its files, if it is a folder of files of one format.

    Raises:
        InputError: the folder has files of several formats; the error names the option.
    """
    if options.format is not None or scheme_of(resolve(source.uri, environ)) == "s3":
        return source
    formats = formats_in(local_path(source.uri, base, environ))
    if len(formats) > 1:
        ways = ", or ".join(f"--format {name}" for name in formats)
        raise input_error(source.uri, f"has files of several formats. Choose one: {ways}")
    if not formats or formats == [source.format]:
        return source
    return read_source(source.uri, replace(options, format=formats[0]))


def _with_notation(
    source: Source, files: SourceFiles, options: DraftOptions
) -> tuple[Source, tuple[str, ...]]:
    """Return a source with what its first file shows, and notes on it.

    A CSV file shows a dialect, a workbook its only sheet.
    """
    path, called = files.paths[0], files.name_in_errors(0, source.uri)
    if source.format == "csv":
        dialect, notes = sniff_dialect(path, called, options)
        return source.model_copy(update={"csv": dialect}), notes
    if source.format == "excel" and options.sheet is None:
        return source.model_copy(update={"sheet": only_sheet(path, called)}), ()
    return source, ()


def _with_other_names(source: Source, names: Iterable[str]) -> Source:
    """Return a source that renames the columns whose names no release can have."""
    return source.model_copy(update={"rename": names_for_release(list(names))})


def _notes_on_names(source: Source) -> tuple[str, ...]:
    if not source.rename:
        return ()
    number = len(source.rename)
    columns = "1 column has" if number == 1 else f"{number} columns have"
    return (
        f"{columns} no name that published files can have. Names were made for them; "
        "change these under source.rename",
    )


def _of_files(source: Source, files: SourceFiles, options: DraftOptions) -> FoundTable:
    source, notes = _with_notation(source, files, options)
    reader = READERS[source.format]
    parts: dict[str, dict[str, Any]] = {}
    for number, path in enumerate(files.paths):
        called = files.name_in_errors(number, source.uri)
        for name, column in _read(path, called, source).items():
            parts.setdefault(name, {})[called] = column
        for name, text in files.folders(path).items():
            parts.setdefault(name, {})[called] = _folder(text)
    source = _with_other_names(source, parts)
    renamed = {source.rename.get(name, name): column for name, column in parts.items()}
    source, types, unfit = _detect_spelling(source, renamed, reader, options)
    whole = encode_files(files, source, _columns(source, types))
    notes = (*notes, *_notes_on_names(source), *_notes_on_words(source, renamed))
    return FoundTable(source, types, whole, unfit, notes)


def _notes_on_words(source: Source, columns: Mapping[str, Parts]) -> tuple[str, ...]:
    """Return a note on columns with words that may mean a missing value; it names no word."""
    if source.format != "csv":
        return ()
    doubtful = doubtful_texts(all_texts(columns), source.csv.null_values).values()
    names = list(dict.fromkeys(name for columns_of_word in doubtful for name in columns_of_word))
    if not names:
        return ()
    listed = ", ".join(map(repr, names[:_MOST])) + (", …" if len(names) > _MOST else "")
    return (
        f"a word may mean a missing value in {listed}. If it does, name it by --null WORD, and "
        "draft again",
    )


def _read(path: Path, called: str, source: Source) -> dict[str, Any]:
    """Read a file; the error for a CSV file with an uneven row names its line."""
    try:
        return READERS[source.format].read(path, called, source)
    except OtherDialect:
        text = content_of(path, called).decode(source.csv.encoding, "replace")
        refuse_uneven(text, called, source.csv)
        raise


def _folder(text: str | None) -> Distinct:
    """Return the name of a folder as a column of one row."""
    texts = pa.array([] if text is None else [text], pa.string())
    return Distinct(texts, np.array([0 if len(texts) else -1], np.int32))


def _columns(source: Source, types: Mapping[str, ColumnType]) -> dict[str, ColumnSpec]:
    """Declare the columns of a source; those without a type are dropped."""
    return {
        name: ColumnSpec(role="insensitive", type=types[name])
        if name in types
        else ColumnSpec(role="drop")
        for name in source.seen
    }


def _detect_spelling(
    source: Source, columns: Mapping[str, Parts], converter: Any, options: DraftOptions
) -> tuple[Source, dict[str, ColumnType], tuple[UnfitColumn, ...]]:
    """Return the source with the spelling of its values, their types, and what has no type.

    Raises:
        SpecError: an option gives a column that no release can show another role than drop.
        InputError: there is no row, or a column may be read in two ways; the error names the
            option that decides.
    """
    options = options.of_columns(columns) if options.of_two else options
    for name in (*options.date_formats, *options.roles, *filter(None, [options.unit])):
        if name not in columns:
            raise InputError(f"the source has no column {name!r}. Correct the name")
    if not any(map(count_rows, columns.values())):
        raise input_error(source.uri, "has no rows")
    seen = {"seen": tuple(columns), "timezone": options.timezone}
    source = source.model_copy(update=seen)
    source = with_spellings(source, columns, options)
    if source.format == "csv":
        columns = {name: with_nulls(parts, source) for name, parts in columns.items()}
    fitting = {name: _type_of(name, parts, converter, source) for name, parts in columns.items()}
    types = {name: type_ for name, type_ in fitting.items() if type_ is not None}
    unfit = tuple(describe_unfit(name, columns[name]) for name in columns if name not in types)
    require_droppable(unfit, options)
    if not types:
        reasons = "; ".join(f"column {column.name!r}: {column.reason}" for column in unfit[:_MOST])
        raise input_error(source.uri, f"no release can show any of its columns: {reasons}")
    return source, types, unfit


def _type_of(name: str, parts: Parts, converter: Any, source: Source) -> ColumnType | None:
    """Return the first type that all values of a column fit; codes with labels are strings.

    Returns None if no release can show the column.
    """
    if not has_values(parts):
        return None
    labelled = any(getattr(part, "labels", None) for part in parts.values())
    if labelled and _fits("string", name, parts, converter, source):
        return "string"
    texts = texts_of(parts, source.csv.null_values)
    if source.timezone is None and have_mixed_offsets(texts):
        return None
    types: Sequence[ColumnType] = (*_TYPES, "string")
    if name in source.date_formats:  # digits alone may be a date
        types = (*_OF_DATES, *types)
    elif len(texts) and (is_postal(name) or _have_leading_zeros(texts)):
        return "string"
    return next((t for t in types if _fits(t, name, parts, converter, source)), None)


def _have_leading_zeros(texts: pa.Array) -> bool:
    """Decide whether numbers would lose zeros: then texts are codes."""
    return bool(pc.any(pc.match_substring_regex(texts, _ZEROS)).as_py())


def _fits(type_: ColumnType, name: str, parts: Parts, converter: Any, source: Source) -> bool:
    """Decide whether a release reads all values of a column as values of a type."""
    try:
        for file, part in parts.items():
            # names of folders are texts beside columns of every kind
            convert = parse if isinstance(part, Distinct) else converter.convert
            convert(part, type_, file, name, source)
    except InputError:
        return False
    return True
