"""Files of any registered format, with types that are given or inferred from their values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.microdata.notation.spelling import AS_USUAL
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.microdata.readers.reader import Reader
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.schema.columns import ColumnType

_NARROWEST_FIRST: Sequence[ColumnType] = (
    "integer",
    "decimal",
    "float",
    "date",
    "timestamp",
    "boolean",
    "string",
)


def format_of(file: str) -> str:
    """Return the format of a file by the ending of its name; other endings mean CSV.

    >>> format_of("a/part-0.parquet"), format_of("people.data")
    ('parquet', 'csv')
    """
    return next((name for name, reader in READERS.items() if file.endswith(reader.ENDINGS)), "csv")


def read_files(
    reader: Reader, files: Sequence[str], names: Sequence[str], types: Mapping[str, ColumnType]
) -> pa.Table:
    """Return some columns of files as one table.

    Args:
        reader: the reader of the files' format.
        files: the files, in order.
        names: the columns.
        types: the types of columns; others get the first type that all values of the column fit.

    Raises:
        InputError: if a file is none of the format, lacks a column, or a value does not fit.
    """
    whole = {file: reader.read(Path(file), file, AS_USUAL) for file in files}
    for file, columns in whole.items():
        for name in names:
            if name not in columns:
                raise input_error(file, "is missing", column=name)
    columns = {}
    for name in names:
        parts = {file: columns_of[name] for file, columns_of in whole.items()}
        columns[name] = _column(reader, name, parts, types.get(name))
    return pa.table(columns)


def _column(
    reader: Reader, name: str, parts: Mapping[str, Any], type_: ColumnType | None
) -> pa.ChunkedArray:
    if type_ is not None:
        return _convert_parts(reader, name, parts, type_)
    for narrow in _NARROWEST_FIRST[:-1]:
        try:
            return _convert_parts(reader, name, parts, narrow)
        except InputError:
            continue
    return _convert_parts(reader, name, parts, _NARROWEST_FIRST[-1])


def _convert_parts(
    reader: Reader, name: str, parts: Mapping[str, Any], type_: ColumnType
) -> pa.ChunkedArray:
    """Return the parts of a column as values of a type, with the most decimals of any part."""
    arrays = [
        reader.convert(part, type_, file, name, AS_USUAL).array() for file, part in parts.items()
    ]
    tables = [pa.table({name: part.cast(part.type.value_type)}) for part in arrays]
    return pa.concat_tables(tables, promote_options="permissive")[name]
