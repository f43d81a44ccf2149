"""Columns as readers give them, of one file or of several, typed and encoded as microdata."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.places.files import SourceFiles
from sfumato.tasks.microdata.places.folders import folder_column
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.columns import ColumnSpec, Role

Columns = Mapping[str, ColumnSpec]


def encode_columns(
    found: dict[str, Any], source: Source, columns: Columns, file: str, converter: Any = None
) -> Microdata:
    """Columns as a reader gives them, typed and encoded, in the order of the declared ones.

    Args:
        found: by name, taken out one by one.
        source: what they are of.
        columns: as declared.
        file: what to call it in errors.
        converter: what converts them, where it is not the reader of the source's format.

    Raises:
        InputError: where they are not as declared, with row and column.
    """
    return _encoded(_typed(found, source, columns, file, converter), columns)


def encode_files(files: SourceFiles, source: Source, columns: Columns) -> Microdata:
    """All rows of the files of a source, in the order of the files.

    Raises:
        InputError: where one is not as declared, with row and column.
    """
    reader, single = READERS[source.format], len(files.paths) == 1
    typed: dict[str, list[Distinct]] = {}
    for number, path in enumerate(files.paths):
        called = files.called(number, source.uri)
        found = reader.read(path, called, source)
        for name, text in files.folders(path).items():
            found[name] = folder_column(text, _rows(found), name, reader.IS_TEXT, columns, called)
        if reader.IS_TEXT and not single:
            texts = dict(found)
            _typed(found, source, columns, called)  # says in which file, and in which of its rows
            found = texts
        else:
            found = _typed(found, source, columns, called)
        for name, column in found.items():
            typed.setdefault(name, []).append(column)
    joined = {name: _joined(parts) for name, parts in typed.items()}
    if reader.IS_TEXT and not single:
        joined = _typed(joined, source, columns, source.uri)
    return _encoded(joined, columns)


def _typed(
    found: dict[str, Any], source: Source, columns: Columns, file: str, converter: Any = None
) -> dict[str, Distinct]:
    convert = (converter or READERS[source.format]).convert
    read = {name: column for name, column in columns.items() if column.generated is None}
    _require_columns(list(found), read, file)
    return {n: convert(found.pop(n), column.type, file, n, source) for n, column in read.items()}


def _encoded(typed: dict[str, Distinct], columns: Columns) -> Microdata:
    encoded = {n: encode(n, columns[n].role, typed.pop(n).array()) for n in list(typed)}
    rows = len(next(iter(encoded.values())).codes) if encoded else 0
    numbered = [encoded.get(n) or _row_numbers(n, columns[n].role, rows) for n in columns]
    return Microdata(tuple(numbered), rows)


def _row_numbers(name: str, role: Role, rows: int) -> Column:
    """The number of each row of a source, from 1."""
    return encode(name, role, pa.array(range(1, rows + 1), pa.int64()))


def _require_columns(found: Sequence[str], read: Columns, file: str) -> None:
    for name in read:
        if name not in found:
            raise input_error(file, "is missing", column=name)
    for number, name in enumerate(found, start=1):
        if name not in read:  # the name may be a value, where a header line is missing
            raise input_error(file, f"column {number} of {len(found)} is not in the spec")


def _joined(parts: Sequence[Distinct]) -> Distinct:
    """The rows of several columns behind one another, decimals with as many as any has."""
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
    return Distinct(values, np.concatenate(codes)).mapped(values)


def _rows(found: Mapping[str, Any]) -> int:
    first = next(iter(found.values()))
    return len(first.codes) if hasattr(first, "codes") else len(first)
