"""Columns that the names of folders give, as Hive, Spark and others write them: `region=3/…`."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from sfumato.tasks.microdata.readers.distinct import Distinct, distinct
from sfumato.tasks.microdata.readers.typed import parse
from sfumato.tasks.schema.columns import ColumnSpec

_NULL = "__HIVE_DEFAULT_PARTITION__"


def folder_values(path: Path) -> dict[str, str | None]:
    """The columns that the folders of a file name, below its source, and the text of each."""
    pairs = [folder.partition("=") for folder in path.parts[:-1] if "=" in folder]
    return {unquote(name): None if text == _NULL else unquote(text) for name, _, text in pairs}


def with_folders(rows: pa.Table, folders: Mapping[str, str | None]) -> pa.Table:
    """Rows with a column of text for each name of their folders."""
    for name, text in folders.items():
        found = pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(None if text is None else 0, pa.int32()), rows.num_rows),
            pa.array([] if text is None else [text], pa.string()),
        )
        rows = rows.append_column(name, found)
    return rows


def parse_folder(
    text: pa.ChunkedArray, name: str, columns: Mapping[str, ColumnSpec], called: str
) -> pa.ChunkedArray:
    """A column of folders' names as values of the type that is declared.

    Raises:
        InputError: where a folder's name is no such value.
    """
    if name not in columns or columns[name].type == "string":
        return text
    values = parse(distinct(text), columns[name].type, f"{called}, in a folder's name", name)
    return pa.chunked_array([values.array().dictionary_decode()])


def folder_column(
    text: str | None,
    rows: int,
    name: str,
    is_text: bool,
    columns: Mapping[str, ColumnSpec],
    called: str,
) -> Distinct | pa.ChunkedArray:
    """A folder's name as a column of so many rows, as a reader of text or of typed files has it.

    Raises:
        InputError: where it is no value of the declared type.
    """
    column = with_folders(pa.table({"": pa.nulls(rows)}), {name: text})[name]
    return distinct(column) if is_text else parse_folder(column, name, columns, called)
