"""How a CSV file is written, and what a steward says of that beforehand.

DuckDB's sniffer is not asked: it would need access to files, knows no Windows-1252, and takes a
file that it does not understand for one of a single column. What cannot be told is refused, with
the option that says it: a first row taken for a header would stand in the draft.
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

from sfumato.expectations.errors import SpecError
from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.microdata.readers.delimited import content_of, uniform_delimiter
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.profile.names import is_known
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.names import CsvDialect

_RECORDS = 500  # that are looked at
_LOOKED_AT = 1 << 22  # characters in which these surely are
_SAMPLE = 1 << 16  # bytes of words that are not in ASCII
_SCRIPTS = ["cp1251", "cp1253", "cp1255", "cp1256", "koi8_r", "big5", "gb18030", "shift_jis"]
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_USUAL = "windows-1252"
_EVIDENCE = 20  # bytes of another script
_ASCII = 0x80
_RAGGED = "rows have different numbers of fields:"
_TYPED = re.compile(r"\s*([+-]?\d[\d.,:/ T-]*|\S+@\S+)\s*")


@dataclass(frozen=True)
class DraftOptions:
    """What is said of a source; None where the source is to tell.

    Attributes:
        format: of its files.
        sheet: of a workbook.
        query: of a database.
        encoding: of CSV files.
        delimiter: of CSV files.
        header: whether the first line of a CSV file names the columns.
        decimal: what stands before the decimals of numbers.
        date_formats: of columns, by name.
        roles: of columns, by name.
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
    roles: Mapping[str, str], date_formats: Mapping[str, str], **known: Any
) -> DraftOptions:
    """Options as a command line says them.

    Raises:
        SpecError: for a role, format or spelling that there is not.
    """
    for name, role in roles.items():
        if role not in get_args(Role):
            raise SpecError(f"--role {name}: {role!r} is none of {', '.join(get_args(Role))}")
    if known.get("format") not in (None, *READERS):
        raise SpecError(f"--format: {known['format']!r} is none of {', '.join(READERS)}")
    if len(known.get("delimiter") or ",") != 1:
        raise SpecError("--delimiter: is one character")
    try:
        ValueSpelling(date_formats=dict(date_formats))
    except ValidationError as error:
        raise SpecError(f"--{error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
    return DraftOptions(roles=cast(Any, dict(roles)), date_formats=dict(date_formats), **known)


def is_guess(dialect: CsvDialect, options: DraftOptions) -> bool:
    """True where an encoding is only likely: many give texts of any bytes."""
    return options.encoding is None and not dialect.encoding.startswith("utf-")


def sniff_dialect(path: Path, file: str, options: DraftOptions) -> CsvDialect:
    """The dialect of a CSV file; what `options` say is taken as it is.

    Raises:
        InputError: where the file does not tell, with the option that does.
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
        header=None if _has_header(records, file, options) else _numbered(len(records[0])),
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
    """The likeliest encoding of a text; Windows-1252 where most letters are those of ASCII.

    Among encodings of the Latin script nothing tells which it is but words.
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
    """The one that is said, or else by which all records have the same number of fields.

    Raises:
        InputError: where rows have different numbers of fields, with the delimiter by which not.
    """
    found = uniform_delimiter(lambda delimiter: _records(text, delimiter))
    said = options.delimiter
    if said is not None:
        widths = {len(record) for record in islice(_records(text, said), _RECORDS)}
        if len(widths) > 1 and found is not None:
            raise input_error(file, f"{_RAGGED} --delimiter {found!r}?")
        return said
    if found is None and any(delimiter in text.split("\n", 1)[0] for delimiter in "\t;|,"):
        raise input_error(file, f"{_RAGGED} --delimiter ';'?")
    return found or ","


def _has_header(records: Sequence[Sequence[str]], file: str, options: DraftOptions) -> bool:
    """Decide whether the first record names the columns.

    Raises:
        InputError: where nothing tells it from the others.
    """
    if options.header is not None:
        return options.header == "yes"
    first, rest = records[0], records[1:]
    below = [
        {record[place] for record in rest if place < len(record)} - {""}
        for place in range(len(first))
    ]
    typed = [_TYPED.fullmatch(name) is not None for name in first]
    is_value = any(typed) or any(n in of for n, of in zip(first, below, strict=True))
    unlike = any(of and all(map(_TYPED.fullmatch, of)) for of in below)
    known = any(map(is_known, first))
    if is_value != (unlike or known):
        return not is_value
    if is_value and not known:
        return False
    raise input_error(file, "may have no header line: --header yes, or --header no?")


def _numbered(width: int) -> tuple[str, ...]:
    return tuple(f"column-{number}" for number in range(1, width + 1))


def _has_blanks(records: Sequence[Sequence[str]]) -> bool:
    """True where a blank follows every delimiter."""
    later = [field for record in records for field in record[1:]]
    return bool(later) and all(field.startswith(" ") for field in later)
