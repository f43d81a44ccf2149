"""Lines of fixed width: each column has its characters in every line.

Statistical offices write such files, and describe them in metadata of their own (tau-Argus, SPSS
syntax, code books). A column is cut out of each line, and blanks around its value are no part of
it; a value of blanks only is the empty text, which `null_values` may name.
"""

from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.schema.files import open_file
from sfumato.tasks.schema.names import CsvDialect

_NO_DELIMITER = "\x1f"  # a character that separates units, and is in no text
_COLUMN = "line"


def columns_of_lines(
    content: Path | bytes, file: str, dialect: CsvDialect
) -> list[pa.ChunkedArray]:
    """Return the columns of a file of fixed width, in the order of `header`.

    Args:
        content: the file, or its content, in UTF-8.
        file: its name in errors.
        dialect: its dialect, with widths.

    Returns:
        texts in UTF-8 as binary columns; blank lines are no rows.

    Raises:
        InputError: if the file has no line, is not text, or a line ends before its last column.
    """
    lines = _lines(content, file, dialect)
    places = [(start - 1, start - 1 + length) for start, length in dialect.widths or ()]
    _require_whole(lines, max(start for start, _ in places), file)
    return [_column(lines, start, stop) for start, stop in places]


def _lines(content: Path | bytes, file: str, dialect: CsvDialect) -> pa.ChunkedArray:
    """Return the lines that are not empty (strings).

    Raises:
        InputError: if there is none, or they are not in the declared encoding.
    """
    reading = pa.csv.ReadOptions(column_names=[_COLUMN], skip_rows=dialect.skip)
    parsing = pa.csv.ParseOptions(delimiter=_NO_DELIMITER, quote_char=False)
    converting = pa.csv.ConvertOptions(column_types={_COLUMN: pa.binary()})
    try:
        with open_file(content) if isinstance(content, Path) else BytesIO(content) as stream:
            table = pa.csv.read_csv(stream, reading, parsing, converting)
    except pa.ArrowInvalid:
        rule = "has no lines of fixed width: it is empty, or contains a separator of units"
        raise input_error(file, rule) from None
    try:
        return table.column(0).cast(pa.string())
    except pa.ArrowInvalid:
        raise input_error(
            file, f"is not {dialect.encoding}. Name its encoding under source.csv.encoding"
        ) from None


def _require_whole(lines: pa.ChunkedArray, last: int, file: str) -> None:
    """Refuse a line that ends before its last column begins.

    Raises:
        InputError: with the first such row.
    """
    short = pc.index(pc.less_equal(pc.utf8_length(lines), last), True).as_py()
    if short >= 0:
        raise input_error(
            file,
            f"the line ends before its last column begins (character {last + 1:,}). Correct "
            "source.csv.widths, or the file",
            row=short,
        )


def _column(lines: pa.ChunkedArray, start: int, stop: int) -> pa.ChunkedArray:
    texts = pc.utf8_trim_whitespace(pc.utf8_slice_codeunits(lines, start, stop))
    return pc.cast(texts, pa.binary()).dictionary_encode()
