"""A toy reader of source files: one JSON object of texts per line."""

import json
from pathlib import Path

import pyarrow as pa

from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.readers.distinct import Distinct, distinct
from sfumato.tasks.microdata.readers.typed import parse
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.csv_dialect import CsvDialect


def read(path: Path, file: str, _dialect: CsvDialect) -> dict[str, Distinct]:
    """Read a file of objects with the same keys; an empty text is a missing value."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError:
        raise input_error(file, "cannot be read as JSON Lines") from None
    columns = {name: [row.get(name) or None for row in rows] for name in (rows or [{}])[0]}
    return {
        name: distinct(pa.chunked_array([pa.array(values, pa.string())]))
        for name, values in columns.items()
    }


def convert(values: Distinct, type_: ColumnType, file: str, name: str) -> Distinct:
    """Parse a column of text as values of a type."""
    return parse(values, type_, file, name)
