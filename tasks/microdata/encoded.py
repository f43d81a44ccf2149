"""Columns from readers, of one or several files, typed and encoded as microdata."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from sfumato.tasks.microdata.source_files import SourceFiles, folder_column
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.columns import ColumnSpec, Role

Columns = Mapping[str, ColumnSpec]


def encode_columns(
    raw: dict[str, Any], source: Source, columns: Columns, file: str, converter: Any = None
) -> Microdata:
    """Return columns of a reader typed and encoded, in the order of the declared ones.

    Args:
        raw: columns by name, which are taken out one by one.
        source: their source.
        columns: the declared columns.
        file: its name in errors.
        converter: converts them, None for the reader of the source's format.

    Raises:
        InputError: if they are not as declared, with row and column.
    """
    return _encode_typed(_convert_columns(raw, source, columns, file, converter), columns)


def encode_files(files: SourceFiles, source: Source, columns: Columns) -> Microdata:
    """Return all rows of the files of a source, in the order of the files.

    Raises:
        InputError: if one is not as declared, with row and column.
    """
    reader, single = READERS[source.format], len(files.paths) == 1
    typed: dict[str, list[Distinct]] = {}
    for number, path in enumerate(files.paths):
        called = files.name_in_errors(number, source.uri)
        try:
            raw = _read(path, called, files, source, columns)
        except OtherDialect as error:
            _refuse_with_all_faults(error, path, called, files, source, columns)
        if reader.IS_TEXT and not single:
            texts = dict(raw)
            _convert_columns(raw, source, columns, called)  # names the file, and its row, in errors
            raw = texts
        else:
            raw = _convert_columns(raw, source, columns, called)
        for name, column in raw.items():
            typed.setdefault(name, []).append(column)
    joined = {name: _join_parts(parts) for name, parts in typed.items()}
    if reader.IS_TEXT and not single:
        joined = _convert_columns(joined, source, columns, source.uri)
    return _encode_typed(joined, columns)


def _read(
    path: Path, called: str, files: SourceFiles, source: Source, columns: Columns
) -> dict[str, Any]:
    """Return the columns of a file, and those that the names of its folders give.

    Raises:
        OtherDialect: if its rows are not written in the declared dialect.
    """
    reader = READERS[source.format]
    raw = reader.read(path, called, source)
    if len(raw) == 1 and (delimiter := _delimiter_of_names(next(iter(raw)), columns)):
        message = input_error(called, f"has one column: {delimiter_hint(delimiter)}")
        raise OtherDialect(str(message), tuple(raw), delimiter)
    for name, text in files.folders(path).items():
        raw[name] = folder_column(text, _rows(raw), name, reader.IS_TEXT, columns, called)
    return raw


def _refuse_with_all_faults(
    error: OtherDialect,
    path: Path,
    called: str,
    files: SourceFiles,
    source: Source,
    columns: Columns,
) -> NoReturn:
    """Refuse a file with all its faults, by the delimiter that it seems to have."""
    met = FaultsMet(called)
    met.note(error)
    if error.delimiter is None:
        names = [*error.names, *files.folders(path)]
        _note_faults_of_names(met, names, _read_columns(columns), source, called)
    else:
        csv = source.csv.model_copy(update={"delimiter": error.delimiter})
        otherwise = source.model_copy(update={"csv": csv})
        with met.noting():
            raw = _read(path, called, files, otherwise, columns)
            _convert_columns(raw, otherwise, columns, called)
    raise met.as_error() from None


def _convert_columns(
    raw: dict[str, Any], source: Source, columns: Columns, file: str, converter: Any = None
) -> dict[str, Distinct]:
    convert = (converter or READERS[source.format]).convert
    read, met, typed = _read_columns(columns), FaultsMet(file), {}
    _note_faults_of_names(met, list(raw), read, source, file)
    for name in [name for name in read if name in raw]:
        with met.noting():
            typed[name] = convert(raw.pop(name), read[name].type, file, name, source)
    met.refuse()
    return typed


def _encode_typed(typed: dict[str, Distinct], columns: Columns) -> Microdata:
    encoded = {n: encode(n, columns[n].shown_as, typed.pop(n).array()) for n in list(typed)}
    rows = len(next(iter(encoded.values())).codes) if encoded else 0
    numbered = [encoded.get(n) or _row_numbers(n, columns[n].shown_as, rows) for n in columns]
    return Microdata(tuple(numbered), rows)


def _row_numbers(name: str, role: Role, rows: int) -> Column:
    """Return the number of each row of a source, from 1."""
    return encode(name, role, pa.array(range(1, rows + 1), pa.int64()))


def _read_columns(columns: Columns) -> Columns:
    return {name: column for name, column in columns.items() if column.generated is None}


def _note_faults_of_names(
    met: FaultsMet, names: Sequence[str], read: Columns, source: Source, file: str
) -> None:
    for fault in _faults_of_names(names, read, source):
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
            unseen = " and was not seen when it was written" if source.seen else ""
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
    first = next(iter(raw.values()))
    return len(first.codes) if hasattr(first, "codes") else len(first)
