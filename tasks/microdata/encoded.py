"""Columns from readers, of one or several files, typed and encoded as microdata."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.delimited import delimiter_hint
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.input_error import (
    FaultsMet,
    OtherDialect,
    input_error,
    near_place,
)
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.rows import columns_asked
from sfumato.tasks.microdata.source_files import SourceFiles, folder_column
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.columns import ColumnSpec, Role

Columns = Mapping[str, ColumnSpec]


@dataclass(frozen=True)
class _DeclaredSource:
    """A source with its declared columns.

    Attributes:
        source: the source.
        columns: all declared columns that its files have.
        converted: the columns that are converted to values of their types.
    """

    source: Source
    columns: Columns
    converted: Columns


def encode_columns(
    raw: dict[str, Any],
    source: Source,
    columns: Columns,
    file: str,
    converter: Any = None,
    judged: Collection[str] = (),
) -> Microdata:
    """Return the columns of a reader that a run needs, in the order of the declared ones.

    Columns are typed and encoded. A dropped column is left out, whatever its values are, unless
    `source.where`, a declaration of its own (`nulls`, `values`, `range`) or a judgement needs it.

    Args:
        raw: columns by name, which are taken out one by one.
        source: their source.
        columns: the declared columns.
        file: its name in errors.
        converter: converts them, None for the reader of the source's format.
        judged: the columns that are judged by other rules.

    Raises:
        InputError: if they are not as declared, with row and column.
    """
    declared = _declare(source, columns, judged)
    rows = _rows(raw)
    return _encode_typed(_convert_columns(raw, declared, file, converter), columns, rows)


def encode_files(
    files: SourceFiles, source: Source, columns: Columns, judged: Collection[str] = ()
) -> Microdata:
    """Return all rows of the files of a source, in the order of the files.

    Columns are those of `encode_columns`.

    Raises:
        InputError: if one is not as declared, with row and column.
    """
    declared = _declare(source, columns, judged)
    reader, single = READERS[source.format], len(files.paths) == 1
    typed, rows = dict[str, list[Distinct]](), 0
    for number, path in enumerate(files.paths):
        called = files.name_in_errors(number, source.uri)
        try:
            raw = _read(path, called, files, declared)
        except OtherDialect as error:
            _refuse_with_all_faults(error, path, called, files, declared)
        rows += _rows(raw)
        if reader.IS_TEXT and not single:
            texts = dict(raw)
            _convert_columns(raw, declared, called)  # names the file, and its row, in errors
            raw = {name: text for name, text in texts.items() if name in declared.converted}
        else:
            raw = _convert_columns(raw, declared, called)
        for name, column in raw.items():
            typed.setdefault(name, []).append(column)
    joined = {name: _join_parts(parts) for name, parts in typed.items()}
    if reader.IS_TEXT and not single:
        met = FaultsMet(source.uri)
        joined = _convert(joined, declared, source.uri, met)
        met.refuse()
    return _encode_typed(joined, columns, rows)


def rename_columns(raw: Mapping[str, Any], source: Source, file: str) -> dict[str, Any]:
    """Return the columns of a reader by the names that the spec gives them, in their order.

    Raises:
        InputError: if a name is not in the source, or two columns would have one name.
    """
    for name in source.rename:
        if name not in raw:
            raise input_error(
                file, f"source.rename: the source has no column {name!r}. Correct the name"
            )
    names = [source.rename.get(name, name) for name in raw]
    for name in source.rename.values():
        if names.count(name) > 1:
            raise input_error(
                file,
                (
                    f"source.rename: another column already has the name {name!r}. Choose "
                    "another name"
                ),
            )
    return dict(zip(names, raw.values(), strict=True))


def _declare(source: Source, columns: Columns, judged: Collection[str]) -> _DeclaredSource:
    read = {name: column for name, column in columns.items() if column.generated is None}
    needed = {*judged, *_asked_by_filter(source, columns)}
    converted = {n: c for n, c in read.items() if c.role != "drop" or n in needed or _is_held(c)}
    return _DeclaredSource(source, read, converted)


def _asked_by_filter(source: Source, columns: Columns) -> Collection[str]:
    """Return the columns that the filter names: all of them if it is not allowed."""
    if source.where is None:
        return ()
    try:
        return columns_asked(source.where, {name: column.type for name, column in columns.items()})
    except QueryError:
        return columns


def _is_held(column: ColumnSpec) -> bool:
    """Decide whether a column's own declaration says something of its values."""
    nulls_matter = column.nulls not in (None, "category")
    return nulls_matter or column.values is not None or column.range is not None


def _read(path: Path, called: str, files: SourceFiles, declared: _DeclaredSource) -> dict[str, Any]:
    """Return the columns of a file, and those that the names of its folders give.

    Raises:
        OtherDialect: if its rows are not written in the declared dialect.
    """
    source, columns = declared.source, declared.columns
    reader = READERS[source.format]
    raw = reader.read(path, called, source)
    if len(raw) == 1 and (delimiter := _delimiter_of_names(next(iter(raw)), columns)):
        message = input_error(called, f"has one column: {delimiter_hint(delimiter)}")
        raise OtherDialect(str(message), tuple(raw), delimiter)
    for name, text in files.folders(path).items():
        column = source.rename.get(name, name)
        is_text, converted = reader.IS_TEXT, declared.converted
        raw[name] = folder_column(text, _rows(raw), column, is_text, converted, called, source)
    return rename_columns(raw, source, called)


def _refuse_with_all_faults(
    error: OtherDialect, path: Path, called: str, files: SourceFiles, declared: _DeclaredSource
) -> NoReturn:
    """Refuse a file with all its faults, by the delimiter that it seems to have."""
    met = FaultsMet(called)
    met.note(error)
    if error.delimiter is None:
        names = [*error.names, *files.folders(path)]
        renamed = [declared.source.rename.get(name, name) for name in names]
        _note_faults_of_names(met, renamed, declared, called)
    else:
        source = declared.source
        csv = source.csv.model_copy(update={"delimiter": error.delimiter})
        otherwise = replace(declared, source=source.model_copy(update={"csv": csv}))
        with met.noting():
            raw = _read(path, called, files, otherwise)
            _convert_columns(raw, otherwise, called)
    raise met.as_error() from None


def _convert_columns(
    raw: dict[str, Any], declared: _DeclaredSource, file: str, converter: Any = None
) -> dict[str, Distinct]:
    """Return the columns of a file that are converted; refuse it with all its faults."""
    met = FaultsMet(file)
    _note_faults_of_names(met, list(raw), declared, file)
    typed = _convert(raw, declared, file, met, converter)
    met.refuse()
    return typed


def _convert(
    raw: dict[str, Any], declared: _DeclaredSource, file: str, met: FaultsMet, converter: Any = None
) -> dict[str, Distinct]:
    """Convert the columns that are to be converted, and note their faults in `met`."""
    source, typed = declared.source, dict[str, Distinct]()
    convert = (converter or READERS[source.format]).convert
    for name in [name for name in declared.converted if name in raw]:
        with met.noting():
            typed[name] = convert(raw.pop(name), declared.converted[name].type, file, name, source)
    return typed


def _encode_typed(typed: dict[str, Distinct], columns: Columns, rows: int) -> Microdata:
    encoded = {n: encode(n, columns[n].shown_as, typed.pop(n).array()) for n in list(typed)}
    made = [name for name, column in columns.items() if column.generated is not None]
    encoded |= {name: _row_numbers(name, columns[name].shown_as, rows) for name in made}
    return Microdata(tuple(encoded[name] for name in columns if name in encoded), rows)


def _row_numbers(name: str, role: Role, rows: int) -> Column:
    """Return the number of each row of a source, from 1."""
    return encode(name, role, pa.array(range(1, rows + 1), pa.int64()))


def _note_faults_of_names(
    met: FaultsMet, names: Sequence[str], declared: _DeclaredSource, file: str
) -> None:
    for fault in _faults_of_names(names, declared.columns, declared.source):
        with met.noting():
            raise input_error(file, fault)


def _faults_of_names(names: Sequence[str], read: Columns, source: Source) -> Iterator[str]:
    """Yield the faults of the columns' names; a name may be a value without a header."""
    for name in (name for name in read if name not in names):
        place = near_place(name, names)
        unlike = place is None or names[place] in read
        near = "" if unlike else f" (column {(place or 0) + 1} has nearly its name)"
        yield f"column {name!r}: is missing{near}"
    for number, name in enumerate(names, start=1):
        if name not in read and name not in source.seen:
            unseen = " and is not in source.seen" if source.seen else ""
            yield f"column {number} of {len(names)} is not in the spec{unseen}"


def _delimiter_of_names(header: str, columns: Columns) -> str | None:
    """Return what separates declared names in the only header, None if nothing does."""
    return next((d for d in ",;\t|" if not columns.keys().isdisjoint(header.split(d)[1:])), None)


def _join_parts(parts: Sequence[Distinct]) -> Distinct:
    """Return the rows of several columns one after the other, with the most decimals of any."""
    if len(parts) == 1:
        return parts[0]
    types = [part.values.type for part in parts]
    widest = max(types, key=lambda type_: getattr(type_, "scale", 0))
    values = pa.concat_arrays([pc.cast(part.values, widest) for part in parts])
    starts = np.cumsum([0, *(len(part.values) for part in parts)])
    codes = [
        np.where(part.codes < 0, part.codes, part.codes + start).astype(np.int32)
        for part, start in zip(parts, starts[:-1], strict=True)
    ]
    return Distinct(values, np.concatenate(codes)).met_again(values)


def _rows(raw: Mapping[str, Any]) -> int:
    """Return the number of rows of columns, however their reader represents them; 0 without any."""
    first = next(iter(raw.values()), ())
    column = getattr(first, "cells", first)
    return len(column.codes) if hasattr(column, "codes") else len(column)
