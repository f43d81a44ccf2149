"""Dialect of a CSV file, sniffed, and the options by which a steward sets it beforehand.

DuckDB's sniffer is not used: it would need access to files, does not know Windows-1252, and reads a
file that it does not understand as a single column. A file whose dialect is uncertain is refused,
with the option that decides it: a first row of data taken for a header would end up in the draft.
"""

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from charset_normalizer import from_bytes
from pydantic import ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.microdata.readers.delimited import content_of, require_text
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.profile.layout import Layout, find_layout, is_typed
from sfumato.tasks.profile.names import is_known
from sfumato.tasks.schema.column_names import distinct_names
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.names import CsvDialect

_LOOKED_AT = 1 << 22  # characters that surely contain these records
_SAMPLE = 1 << 16  # most bytes of words that are not in ASCII
_SCRIPTS = ["cp1251", "cp1253", "cp1255", "cp1256", "koi8_r", "big5", "gb18030", "shift_jis"]
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_USUAL = "windows-1252"
_EVIDENCE = 20  # bytes of another script
_ASCII = 0x80
_RENAMED = (
    "its header has columns with the same name or without a name; a number is added to these names"
)


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
        skip: the number of lines above the header of a CSV file.
        columns: the names of the columns of a CSV file, in place of a header.
        nulls: words of a CSV file that mean a missing value.
        widths: the first character and the length of each of `columns`, for files of fixed width.
        thousands: the mark between thousands of numbers in CSV files.
        timezone: the zone whose local time times without an offset are, beside others with one.
        unit: the column that says whom a row is about.
        decimal: the decimal mark of numbers.
        date_formats: the date formats of columns, by name.
        roles: the roles of columns, by name.
        reasons: the reasons for these roles, by name, if nobody chose them with an option.
        hide: what has to be hidden: which sensitive value is whose, or the row, too.
        about: what readers ask about.
        of_two: whether columns by name may be those of another table, which is drafted with it.
    """

    format: str | None = None
    sheet: str | None = None
    query: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: Literal["yes", "no"] | None = None
    skip: int | None = None
    columns: tuple[str, ...] | None = None
    nulls: tuple[str, ...] = ()
    widths: tuple[tuple[int, int], ...] | None = None
    thousands: Literal[",", ".", "'", " "] | None = None
    timezone: str | None = None
    unit: str | None = None
    decimal: Literal[".", ","] | None = None
    date_formats: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    hide: Literal["rows", "values"] | None = None
    about: Literal["numbers", "categories"] | None = None
    of_two: bool = False

    def of_columns(self, columns: Iterable[str]) -> "DraftOptions":
        """Return the options for a table with these columns: without those of other columns."""
        own = {*columns}
        roles = {name: role for name, role in self.roles.items() if name in own}
        formats = {name: text for name, text in self.date_formats.items() if name in own}
        return replace(self, roles=roles, date_formats=formats)


def read_options(
    roles: Mapping[str, str], date_formats: Mapping[str, str], **settings: Any
) -> DraftOptions:
    """Check options from a command line.

    Raises:
        SpecError: a role, format, delimiter or date format does not exist.
    """
    for name, role in roles.items():
        if role not in get_args(Role):
            raise SpecError(
                f"--role {name}: no role {role!r}; choose from {', '.join(get_args(Role))}"
            )
    if settings.get("format") not in (None, *READERS):
        raise SpecError(
            f"--format: no format {settings['format']!r}; choose from {', '.join(READERS)}"
        )
    if len(settings.get("delimiter") or ",") != 1:
        raise SpecError("--delimiter: must be one character, such as --delimiter ';'")
    columns = settings.get("columns") or ()
    if len(set(columns)) < len(columns):
        raise SpecError("--columns: a name occurs twice. Give each column its own name")
    try:
        ValueSpelling(date_formats=dict(date_formats), timezone=settings.get("timezone"))
    except ValidationError as error:
        raise SpecError(f"--{error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
    return DraftOptions(roles=cast(Any, dict(roles)), date_formats=dict(date_formats), **settings)


def is_guess(dialect: CsvDialect, options: DraftOptions) -> bool:
    """Decide whether an encoding is only likely: many encodings accept any bytes."""
    return options.encoding is None and not dialect.encoding.startswith("utf-")


def sniff_dialect(
    path: Path, file: str, options: DraftOptions
) -> tuple[CsvDialect, tuple[str, ...]]:
    """Return the dialect of a CSV file, and notes on it; settings in `options` are taken as such.

    Raises:
        InputError: the dialect is uncertain; the error names the option that decides it.
    """
    require_text(path, file)
    content = content_of(path, file)
    encoding = options.encoding or _encoding(content)
    try:
        text = content.decode(encoding)
    except (LookupError, UnicodeError):
        raise input_error(
            file,
            (
                f"cannot be decoded as {encoding}. Name the encoding, such as --encoding "
                "windows-1252"
            ),
        ) from None
    if "\0" in text:
        raise input_error(file, "is not a text file. Name its format, such as --format parquet")
    if options.widths is not None:
        return CsvDialect(header=options.columns, widths=options.widths, encoding=encoding), ()
    beginning = text.removeprefix("\ufeff")
    if len(beginning) > _LOOKED_AT:
        beginning = beginning[:_LOOKED_AT].rpartition("\n")[0]
    layout = find_layout(
        beginning, file, delimiter=options.delimiter, skip=options.skip, names=options.columns
    )
    layout = _with_names(layout, file, options)
    dialect = CsvDialect(
        skip=layout.skip,
        header=layout.names,
        delimiter=layout.delimiter,
        skip_initial_space=_has_blanks([record.fields for record in layout.records]),
        encoding=encoding,
    )
    return dialect, layout.notes


def _with_names(layout: Layout, file: str, options: DraftOptions) -> Layout:
    """Return the layout with names, unless its first record names each column otherwise.

    Raises:
        InputError: the first record does not differ from the others.
    """
    if layout.names is not None:
        return layout
    records = [record.fields for record in layout.records]
    if not _has_header(records, file, options):
        return replace(layout, names=options.columns or _number_columns(len(records[0])))
    header, *rows = layout.records
    names = options.columns or distinct_names(header.fields)
    if options.columns is None and (names == header.fields or not rows):
        return layout
    notes = layout.notes if options.columns else (*layout.notes, _RENAMED)
    skip = rows[0].line - 1 if rows else header.last
    return replace(layout, skip=skip, records=tuple(rows), names=names, notes=notes)


def _encoding(content: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    if b"\0" in content[:_SAMPLE]:
        return _two_byte_encoding(content[:_SAMPLE])
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return _single_byte_encoding(content)
    return "utf-8"


def _two_byte_encoding(content: bytes) -> str:
    """Return UTF-16 as most of the zero bytes of a text have it, in the low or the high bytes."""
    return "utf-16-le" if content[1::2].count(0) >= content[::2].count(0) else "utf-16-be"


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
    typed = [is_typed(name) for name in first]
    is_value = any(typed) or any(n in texts for n, texts in zip(first, below, strict=True))
    unlike = any(texts and all(map(is_typed, texts)) for texts in below)
    has_known_name = any(map(is_known, first))
    if is_value != (unlike or has_known_name):
        return not is_value
    if is_value and not has_known_name:
        return False
    raise input_error(
        file,
        (
            "its first line may be a header or a row. Write --header yes if it names the "
            "columns, otherwise --header no"
        ),
    )


def _number_columns(width: int) -> tuple[str, ...]:
    return tuple(f"column-{number}" for number in range(1, width + 1))


def _has_blanks(records: Sequence[Sequence[str]]) -> bool:
    """Decide whether a blank follows every delimiter."""
    later = [field for record in records for field in record[1:]]
    return bool(later) and all(field.startswith(" ") for field in later)
