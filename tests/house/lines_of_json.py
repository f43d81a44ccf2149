"""A toy reader of source files: one JSON object of texts per line."""

import json
from pathlib import Path

import pyarrow as pa

from sfumato.tasks.microdata.notation.spelling import FileDialect, ValueSpelling
from sfumato.tasks.microdata.readers.distinct import Distinct, distinct
from sfumato.tasks.microdata.readers.input_error import input_error, require_distinct_names
from sfumato.tasks.microdata.readers.typed import parse
from sfumato.tasks.schema.columns import ColumnType

ENDINGS: tuple[str, ...] = (".jsonl",)
IS_TEXT = True
_Pairs = list[tuple[str, str]]


def read(path: Path, file: str, _dialect: FileDialect) -> dict[str, Distinct]:
    """Read a file of objects with the same keys; an empty text is a missing value."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line, object_pairs_hook=_Object) for line in lines]
    except ValueError:
        raise input_error(file, "cannot be read as JSON Lines") from None
    if not rows:
        raise input_error(file, "is empty")
    for number, row in enumerate(rows):
        _require_texts(row, rows[0], file, number)
    columns = {name: [row.texts[place] or None for row in rows] for place, name in rows[0].places}
    return {
        name: distinct(pa.chunked_array([pa.array(values, pa.string())]))
        for name, values in columns.items()
    }


class _Object:
    """A line's names and texts, in order."""

    def __init__(self, pairs: _Pairs) -> None:
        self.names = [name for name, _ in pairs]
        self.texts = [text for _, text in pairs]
        self.places = list(enumerate(self.names))


def _require_texts(row: object, first: object, file: str, number: int) -> None:
    if not isinstance(row, _Object) or not isinstance(first, _Object):
        raise input_error(file, "is no object", row=number)
    require_distinct_names(row.names, file)
    if row.names != first.names:
        raise input_error(file, "has other names than the first", row=number)
    if not all(isinstance(text, str) for text in row.texts):
        raise input_error(file, "has a value that is no text", row=number)


def convert(
    values: Distinct, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
) -> Distinct:
    """Parse a column of text as values of a type."""
    return parse(values, type_, file, name, spelling)
