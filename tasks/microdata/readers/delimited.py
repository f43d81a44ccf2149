"""Reader of CSV files in any encoding, with PyArrow: columns of text, every field unchanged."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers.distinct import Distinct, convert_distinct, distinct, refuse
from sfumato.tasks.microdata.readers.input_error import (
    NO_ROWS,
    OtherDialect,
    input_error,
    require_distinct_names,
)
from sfumato.tasks.microdata.readers.typed import parse
from sfumato.tasks.schema.files import open_file, read_bytes
from sfumato.tasks.schema.names import CsvDialect

PACKED: Mapping[str, str] = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""The compressions of text files, by the ending of their names."""
ENDINGS: tuple[str, ...] = (".csv", *(f".csv{ending}" for ending in PACKED))
IS_TEXT = True
_QUOTED_LATE = "a quoted value after a blank"
_DELIMITERS = "\t;|,"  # a comma may also be part of numbers
_RECORDS = 500  # that are read to infer a delimiter
_FOREIGN: Mapping[bytes, str] = {
    b"PK\x03\x04": "is a ZIP archive or a workbook. Unpack it (unzip), or write `format: excel`",
    b"\x1f\x8b": "is packed with gzip, and its name must end in .gz. Rename it",
    b"BZh": "is packed with bzip2, and its name must end in .bz2. Rename it",
    b"\x28\xb5\x2f\xfd": "is packed with Zstandard, and its name must end in .zst. Rename it",
    b"PAR1": "is a Parquet file. Write `format: parquet`",
    b"\xd0\xcf\x11\xe0": "is a workbook or another file of Office. Write `format: excel`",
    b"$FL2": "is a file of SPSS. Write `format: spss`",
    b"<stata_dta>": "is a file of Stata. Write `format: stata`",
    b"SQLite format 3": "is a database. Write its address as sqlite:///PATH, and add a query",
    b"%PDF": "is a PDF file. Export the table as a CSV file",
}
"""What files that are no text are, by their first bytes."""
SEPARATOR_LINE = re.compile(r"(?i)sep=.?")
"""The first line of some files for Excel, which names the delimiter."""
convert = parse


def _as_surrogate(error: UnicodeError) -> tuple[str, int]:
    """Return a character that no text has and UTF-8 does not encode, for undecodable bytes."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udc80", error.end


codecs.register_error("sfumato-surrogate", _as_surrogate)


def in_utf8(path: Path, encoding: str, file: str) -> Path | bytes:
    """Return the file itself if it is plain UTF-8, otherwise its content in UTF-8.

    Raises:
        SpecError: if the encoding is not known.
        InputError: if it is packed and cannot be unpacked to its end.
    """
    packed = PACKED.get(path.suffix.lower())
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding).close()
        plain = codecs.lookup(encoding).name == "utf-8"
        if plain and packed is None:
            return path
        content = content_of(path, file)
        text = content if plain else content.decode(encoding, "sfumato-surrogate")
    except (LookupError, ValueError):
        raise SpecError(
            f"source.csv.encoding: no encoding {encoding!r}. Write a name such as utf-8 or "
            "windows-1252"
        ) from None
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")


def content_of(path: Path, file: str) -> bytes:
    """Return the bytes of a text file, unpacked if it is packed.

    Raises:
        InputError: if it is packed and cannot be unpacked to its end.
    """
    packed = PACKED.get(path.suffix.lower())
    return read_bytes(path) if packed is None else _unpack(path, packed, file)


def require_text(path: Path, file: str) -> None:
    """Refuse a file that is known to be no text by its first bytes.

    Raises:
        InputError: with what the file is, and how to read it.
    """
    if path.suffix.lower() in PACKED:
        return
    with open_file(path) as stream:
        beginning = stream.read(max(map(len, _FOREIGN)))
    for mark, words in _FOREIGN.items():
        if beginning.startswith(mark):
            raise input_error(file, words)


def _unpack(path: Path, codec: str, file: str) -> bytes:
    try:
        with pa.input_stream(str(path), compression=codec) as stream:
            content: bytes = stream.read()
    except (pa.ArrowException, OSError) as error:
        require_machine(error)
        raise input_error(
            file,
            (
                f"cannot be unpacked as {codec} to its end. The file may be incomplete; copy "
                "it again"
            ),
        ) from None
    return content


def read(path: Path, file: str, written: FileDialect) -> dict[str, Distinct]:
    """Read a CSV file as text. Blank lines are no rows.

    Args:
        path: the file; one whose name ends in `.gz`, `.bz2` or `.zst` is unpacked in memory.
        file: its name in errors.
        written: its dialect.

    Raises:
        SpecError: if the dialect is impossible.
        InputError: if it is empty, wrongly encoded, no text or no CSV.
        OtherDialect: if it is ragged.
    """
    dialect = written.csv
    if not dialect.delimiter.isascii() or dialect.delimiter in '"\r\n':
        raise SpecError("source.csv.delimiter: must be an ASCII character other than a quote")
    if path.stat().st_size == 0:
        raise input_error(file, "is empty")
    require_text(path, file)
    content = in_utf8(path, dialect.encoding, file)
    if content == b"":
        raise input_error(file, "is empty")
    names, skipped = _header(content, file, dialect)
    require_distinct_names(names, file)
    if dialect.widths is not None:
        from sfumato.tasks.microdata.readers.fixed_width import columns_of_lines  # rarely used

        cut = [distinct(column) for column in columns_of_lines(content, file, dialect)]
        return {n: _text(f, file, n, dialect) for n, f in zip(names, cut, strict=True)}
    fields = [distinct(column) for column in _fields(content, file, dialect, names, skipped)]
    if any(pc.any(pc.match_substring_regex(f.values, r"[\r\n]")).as_py() for f in fields):
        _require_closed_quotes(content, file, dialect)
    return {
        name: _text(field, file, name, dialect) for name, field in zip(names, fields, strict=True)
    }


def uniform_delimiter(records: Callable[[str], Iterable[Sequence[str]]]) -> str | None:
    """Return the first delimiter that gives the first records equally many fields, at least 2.

    Args:
        records: the records by a delimiter.

    >>> lines = ["age;wage", "30;1,5", "31;2,5"]
    >>> uniform_delimiter(lambda delimiter: [line.split(delimiter) for line in lines])
    ';'
    """
    for delimiter in _DELIMITERS:
        widths = {len(record) for record in islice(records(delimiter), _RECORDS)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    return None


def _open_stream(content: Path | bytes) -> pa.NativeFile:
    return pa.OSFile(str(content)) if isinstance(content, Path) else pa.BufferReader(content)


def _records(content: Path | bytes, dialect: CsvDialect, *, strict: bool) -> Iterator[list[str]]:
    """Yield the records as Python reads them, slowly; a blank line is an empty record."""
    stream = open_file(content) if isinstance(content, Path) else io.BytesIO(content)
    with io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="") as lines:
        for _ in islice(lines, dialect.skip):
            pass
        yield from csv.reader(lines, delimiter=dialect.delimiter, strict=strict)


def _header(content: Path | bytes, file: str, dialect: CsvDialect) -> tuple[Sequence[str], int]:
    """Return the names of the columns, and the number of lines to skip before the first row."""
    if dialect.header is not None:
        return dialect.header, 0
    try:
        for skipped, record in enumerate(_records(content, dialect, strict=False), start=1):
            if record:
                _require_no_line_of_excel(record, file)
                "".join(record).encode()
                return [_without_blanks(name, dialect) for name in record], skipped
    except (UnicodeError, csv.Error):
        rule = f"the header cannot be read as {dialect.encoding} CSV{_encoding_hint(dialect)}"
        raise input_error(file, rule) from None
    place = f" after the {dialect.skip} lines of source.csv.skip" if dialect.skip else ""
    raise input_error(file, f"is empty{place}")


def _require_no_line_of_excel(record: Sequence[str], file: str) -> None:
    """Refuse the line `sep=;`, by which Excel learns a delimiter, as a header.

    Raises:
        InputError: with the keys that skip the line.
    """
    if SEPARATOR_LINE.fullmatch(record[0]) and len(record) <= 2 and not any(record[1:]):
        raise input_error(
            file,
            (
                "its first line names the delimiter for Excel (sep=…) and no columns. "
                "Write `source.csv: {skip: 1, delimiter: …}`"
            ),
        )


def _without_blanks(name: str, dialect: CsvDialect) -> str:
    return name.lstrip(" ") if dialect.skip_initial_space else name


def _fields(
    content: Path | bytes, file: str, dialect: CsvDialect, names: Sequence[str], skipped: int
) -> list[pa.ChunkedArray]:
    """Return the fields as binary columns; refuse rows with another number of fields."""
    try:
        return list(_parse(_open_stream(content), dialect, len(names), skipped).columns)
    except pa.ArrowInvalid:
        ragged = _first_ragged(content, dialect, len(names), skipped)
    if ragged is None:
        raise input_error(file, _unparsable(content, dialect, skipped))
    other = _other_delimiter(content, dialect)
    rule = _rule_of(ragged, dialect, other)
    place = input_error(file, rule, row=ragged.number - 1 - skipped - dialect.skip)
    raise OtherDialect(str(place), names, other)


def _rule_of(ragged: pa.csv.InvalidRow, dialect: CsvDialect, other: str | None) -> str:
    """Return the fault of a row, with a hint at its cause."""
    fields, columns = ragged.actual_columns, ragged.expected_columns
    if dialect.skip_initial_space and re.search(rf'{re.escape(dialect.delimiter)} +"', ragged.text):
        return _QUOTED_LATE
    if other is not None:
        hint = delimiter_hint(other)
    elif '"' in ragged.text and re.search(r"[\r\n]", ragged.text.strip()):
        hint = "it may have a quote that does not close"
    elif fields > columns:
        hint = f"a value with {dialect.delimiter!r} may have no quotes around it"
    else:
        hint = "a value with a line break may have no quotes around it"
    return f"{fields} fields, {columns} columns: {hint}"


def delimiter_hint(other: str) -> str:
    """Return the question whether another delimiter than the declared one is meant."""
    return f"it may be separated by {other!r} (source.csv.delimiter)"


def _other_delimiter(content: Path | bytes, dialect: CsvDialect) -> str | None:
    """Return the delimiter by which a file begins as a table, None if it is the declared one."""

    def records(delimiter: str) -> Iterator[list[str]]:
        otherwise = dialect.model_copy(update={"delimiter": delimiter})
        return filter(None, _records(content, otherwise, strict=False))

    with suppress(csv.Error):
        uniform = uniform_delimiter(records)
        return None if uniform == dialect.delimiter else uniform
    return None


def _first_ragged(
    content: Path | bytes, dialect: CsvDialect, width: int, skipped: int
) -> pa.csv.InvalidRow | None:
    """Return the first row with another number of fields; only a slower reader numbers it.

    PyArrow hands over such rows as text, and fails where they are not in UTF-8. Here each byte is a
    character: delimiters, quotes and line ends are in ASCII, and so at the same places.
    """
    ragged_rows: list[pa.csv.InvalidRow] = []

    def skip(row: pa.csv.InvalidRow) -> str:
        ragged_rows.append(row)
        return "skip"

    stream = _open_stream(content)
    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    with suppress(pa.ArrowInvalid):
        each_byte = pa.transcoding_input_stream(stream, "latin-1", "utf-8")
        _parse(each_byte, dialect, width, skipped, skip)
    return ragged_rows[0] if ragged_rows else None


def _parse(
    stream: pa.NativeFile,
    dialect: CsvDialect,
    width: int,
    skipped: int,
    ragged: Callable[[pa.csv.InvalidRow], str] | None = None,
) -> pa.Table:
    """Return the rows as binary columns; `ragged` handles those with another number of fields."""
    names = [str(i) for i in range(width)]
    binary = pa.dictionary(pa.int32(), pa.binary())
    reading = pa.csv.ReadOptions(
        column_names=names,
        skip_rows=dialect.skip,
        skip_rows_after_names=skipped,
        use_threads=ragged is None,
    )
    parsing = pa.csv.ParseOptions(
        delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=ragged
    )
    converting = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, binary))
    return pa.csv.read_csv(stream, reading, parsing, converting)


def _unparsable(content: Path | bytes, dialect: CsvDialect, skipped: int) -> str:
    """Return why PyArrow makes no table of a file: no line end follows the header, or worse."""
    with suppress(csv.Error):
        if not any(islice(_records(content, dialect, strict=False), skipped, None)):
            return NO_ROWS
    return "cannot be parsed as CSV; a quote may not close"


def _require_closed_quotes(content: Path | bytes, file: str, dialect: CsvDialect) -> None:
    """Refuse rows that a stray quote joined into one value, which PyArrow does not report."""
    row = -1 if dialect.header is None else 0
    try:
        for record in _records(content, dialect, strict=True):
            row += bool(record)
    except csv.Error:
        raise input_error(
            file, "a quote does not close, or text follows a closing quote", row=row
        ) from None


def _encoding_hint(dialect: CsvDialect) -> str:
    return " (try source.csv.encoding: windows-1252)" if dialect.encoding == "utf-8" else ""


def _text(field: Distinct, file: str, name: str, dialect: CsvDialect) -> Distinct:
    rule = f"not {dialect.encoding}{_encoding_hint(dialect)}"
    text = convert_distinct(field, lambda values: pc.cast(values, pa.string()), rule, file, name)
    values = text.values
    if dialect.skip_initial_space:
        values = pc.utf8_ltrim(values, characters=" ")
        quoted = pc.and_(pc.starts_with(text.values, " "), pc.starts_with(values, '"'))
        refuse(text, quoted, _QUOTED_LATE, file, name)
    missing = pc.is_in(values, value_set=pa.array(dialect.null_values, pa.string()))
    return text.map_values(pc.if_else(missing, pa.scalar(None, pa.string()), values))
