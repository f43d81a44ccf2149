"""Dialect of a CSV file, sniffed, and the options by which a steward sets it beforehand.

DuckDB's sniffer is not used: it would need access to files, does not know Windows-1252, and reads a
file that it does not understand as a single column. A file whose dialect is uncertain is refused,
with the option that decides it: a first row of data taken for a header would end up in the draft.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast, get_args

from charset_normalizer import from_bytes
from pydantic import ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.microdata.readers.delimited import content_of, uniform_delimiter
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.profile.names import is_known
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.names import CsvDialect

_RECORDS = 500  # most records to look at
_LOOKED_AT = 1 << 22  # characters that surely contain these records
_SAMPLE = 1 << 16  # most bytes of words that are not in ASCII
_SCRIPTS = ["cp1251", "cp1253", "cp1255", "cp1256", "koi8_r", "big5", "gb18030", "shift_jis"]
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_USUAL = "windows-1252"
_EVIDENCE = 20  # bytes of another script
_ASCII = 0x80
_RAGGED = "rows have different numbers of fields:"
_TYPED = re.compile(r"\s*([+-]?\d[\d.,:/ T-]*|\S+@\S+)\s*")


@dataclass(frozen=True)
class DraftOptions:
    """Options for reading a source; None where the source itself decides.

    Attributes:
        format: the format of its files.
        sheet: the sheet of a workbook.
        query: the query to a database.
        encoding: the encoding of CSV files.
        delimiter: the delimiter of CSV files.
        header: whether the first line of a CSV file names the columns.
        decimal: the decimal mark of numbers.
        date_formats: the date formats of columns, by name.
        roles: the roles of columns, by name.
    """

    format: str | None = None
    sheet: str | None = None
    query: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: Literal["yes", "no"] | None = None
    decimal: Literal[".", ","] | None = None
    date_formats: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)


def read_options(
    roles: Mapping[str, str], date_formats: Mapping[str, str], **settings: Any
) -> DraftOptions:
    """Check options from a command line.

    Raises:
        SpecError: a role, format, delimiter or date format does not exist.
    """
    for name, role in roles.items():
        if role not in get_args(Role):
            raise SpecError(f"--role {name}: {role!r} is none of {', '.join(get_args(Role))}")
    if settings.get("format") not in (None, *READERS):
        raise SpecError(f"--format: {settings['format']!r} is none of {', '.join(READERS)}")
    if len(settings.get("delimiter") or ",") != 1:
        raise SpecError("--delimiter: is one character")
    try:
        ValueSpelling(date_formats=dict(date_formats))
    except ValidationError as error:
        raise SpecError(f"--{error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
    return DraftOptions(roles=cast(Any, dict(roles)), date_formats=dict(date_formats), **settings)


def is_guess(dialect: CsvDialect, options: DraftOptions) -> bool:
    """Decide whether an encoding is only likely: many encodings accept any bytes."""
    return options.encoding is None and not dialect.encoding.startswith("utf-")


def sniff_dialect(path: Path, file: str, options: DraftOptions) -> CsvDialect:
    """Return the dialect of a CSV file; settings in `options` are taken as they are.

    Raises:
        InputError: the dialect is uncertain; the error names the option that decides it.
    """
    content = content_of(path, file)
    encoding = options.encoding or _encoding(content)
    try:
        text = content.decode(encoding)
    except (LookupError, UnicodeError):
        raise input_error(file, f"cannot be decoded as {encoding} (--encoding)") from None
    beginning = text.removeprefix("\ufeff")
    if len(beginning) > _LOOKED_AT:
        beginning = beginning[:_LOOKED_AT].rpartition("\n")[0]
    delimiter = _delimiter(beginning, file, options)
    records = list(islice(_records(beginning, delimiter), _RECORDS))
    if not records:
        raise input_error(file, "is empty")
    return CsvDialect(
        header=None if _has_header(records, file, options) else _number_columns(len(records[0])),
        delimiter=delimiter,
        skip_initial_space=_has_blanks(records),
        encoding=encoding,
    )


def _encoding(content: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return _single_byte_encoding(content)
    return "utf-8"


def _single_byte_encoding(content: bytes) -> str:
    """Return the likeliest encoding of a text; Windows-1252 if most letters are in ASCII.

    Encodings of the Latin script differ only in which words they make of the bytes.
    """
    letters = re.findall(rb"[A-Za-z\x80-\xff]{3,}", content)
    words = b" ".join(word for word in letters if not word.isascii())
    foreign = sum(byte >= _ASCII for byte in words[:_SAMPLE])
    if foreign < _EVIDENCE or 2 * foreign < len(words[:_SAMPLE]):
        return _USUAL
    best = from_bytes(words[:_SAMPLE], cp_isolation=_SCRIPTS).best()
    return _USUAL if best is None else best.encoding.replace("_", "-")


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        yield from (record for record in reader if record)
    except csv.Error:
        return


def _delimiter(text: str, file: str, options: DraftOptions) -> str:
    """Return the chosen delimiter, or the one that gives all records the same number of fields.

    Raises:
        InputError: rows have different numbers of fields; the error names a delimiter that fits.
    """
    uniform = uniform_delimiter(lambda delimiter: _records(text, delimiter))
    chosen = options.delimiter
    if chosen is not None:
        widths = {len(record) for record in islice(_records(text, chosen), _RECORDS)}
        if len(widths) > 1 and uniform is not None:
            raise input_error(file, f"{_RAGGED} --delimiter {uniform!r}?")
        return chosen
    if uniform is None and any(delimiter in text.split("\n", 1)[0] for delimiter in "\t;|,"):
        raise input_error(file, f"{_RAGGED} --delimiter ';'?")
    return uniform or ","


def _has_header(records: Sequence[Sequence[str]], file: str, options: DraftOptions) -> bool:
    """Decide whether the first record names the columns.

    Raises:
        InputError: the first record does not differ from the others.
    """
    if options.header is not None:
        return options.header == "yes"
    first, rest = records[0], records[1:]
    below = [
        {record[place] for record in rest if place < len(record)} - {""}
        for place in range(len(first))
    ]
    typed = [_TYPED.fullmatch(name) is not None for name in first]
    is_value = any(typed) or any(n in texts for n, texts in zip(first, below, strict=True))
    unlike = any(texts and all(map(_TYPED.fullmatch, texts)) for texts in below)
    has_known_name = any(map(is_known, first))
    if is_value != (unlike or has_known_name):
        return not is_value
    if is_value and not has_known_name:
        return False
    raise input_error(file, "may have no header line: --header yes, or --header no?")


def _number_columns(width: int) -> tuple[str, ...]:
    return tuple(f"column-{number}" for number in range(1, width + 1))


def _has_blanks(records: Sequence[Sequence[str]]) -> bool:
    """Decide whether a blank follows every delimiter."""
    later = [field for record in records for field in record[1:]]
    return bool(later) and all(field.startswith(" ") for field in later)
