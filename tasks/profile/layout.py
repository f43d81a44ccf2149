"""Layout of a CSV file: its delimiter, the lines above its header, and names in place of it.

A layout is taken where all rows have the same number of fields by it. Otherwise the file is refused
with the line that differs, and what to do: a wrong guess would end up in the draft.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NoReturn

from sfumato.tasks.microdata.readers.delimited import SEPARATOR_LINE
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.schema.column_names import ROW_NAMES
from sfumato.tasks.schema.names import CsvDialect

_DELIMITERS = "\t;|,"  # a comma may also be part of numbers
_RECORDS = 500  # most records to look at
_TITLES = 20  # most records above a header
_LINE_END = re.compile(r"\r\n|\r|\n")
_TYPED = re.compile(r"\s*([+-]?\d[\d.,:/ T-]*|\S+@\S+)\s*")


@dataclass(frozen=True)
class CsvRecord:
    """A record of a CSV file.

    Attributes:
        line: the line in which it begins, from 1.
        last: the line in which it ends.
        fields: its fields.
    """

    line: int
    last: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """The layout of a CSV file.

    Attributes:
        delimiter: what separates fields.
        skip: the number of lines above `records`.
        records: the first records, which have equally many fields; the first may be a header.
        names: names of the columns in place of a header, which is above `records`.
        notes: what a steward should know of it, in words.
    """

    delimiter: str
    skip: int
    records: tuple[CsvRecord, ...]
    names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


def find_layout(
    text: str,
    file: str,
    *,
    delimiter: str | None = None,
    skip: int | None = None,
    names: Sequence[str] | None = None,
) -> Layout:
    """Return the layout of a CSV file's text.

    Args:
        text: the text, or its beginning, up to the end of a line.
        file: its name in errors.
        delimiter: the delimiter; None to find it.
        skip: the number of lines above the header; None to find it.
        names: the names of the columns, if the file does not name them.

    Raises:
        InputError: if rows have different numbers of fields; with the line, and what to do.
    """
    of_excel = _delimiter_for_excel(text) if skip is None else None
    above = skip or int(of_excel is not None)
    chosen = delimiter or of_excel
    layouts = [
        Layout(each, above, tuple(_records(_text_below(text, above), each, above)))
        for each in (chosen or _DELIMITERS)
    ]
    layouts = [layout for layout in layouts if layout.records]
    if not layouts:
        raise input_error(file, f"is empty after its first {above} lines" if above else "is empty")
    ways = _WAYS if skip is None else _WAYS_BELOW
    if names is not None:
        ways = (lambda layout: _of_width(layout, len(names)),)
    fitting = (fit for way in ways for layout in layouts if (fit := way(layout)))
    result = next(fitting, None)
    if result is None and names is None:
        result = _one_column(layouts)
    if result is None:
        _refuse(layouts, file, None if chosen is None else _even_otherwise(text, above))
    note = (f"its first line names the delimiter for Excel: {of_excel!r}",) if of_excel else ()
    return replace(result, notes=(*note, *result.notes))


def refuse_uneven(text: str, file: str, dialect: CsvDialect) -> None:
    """Refuse a whole text of which a later row has another number of fields.

    Raises:
        InputError: with the line, and what to do.
    """
    below = _text_below(text.removeprefix("\ufeff"), dialect.skip)
    records = tuple(_records(below, dialect.delimiter, dialect.skip, None))
    if dialect.header is not None:
        above = CsvRecord(0, 0, dialect.header)
        records = (above, *records)
    if len({len(record.fields) for record in records}) > 1:
        _refuse([Layout(dialect.delimiter, dialect.skip, records)], file, None)


def is_typed(field: str) -> bool:
    """Decide whether a field looks like a number, a date or an address of e-mail."""
    return _TYPED.fullmatch(field) is not None


def _delimiter_for_excel(text: str) -> str | None:
    """Return the delimiter that the line `sep=;` at the beginning names, None without it."""
    first = _LINE_END.split(text, maxsplit=1)[0].strip('"')
    return first[4:] or None if SEPARATOR_LINE.fullmatch(first) else None


def _text_below(text: str, lines: int) -> str:
    """Return the text below its first lines."""
    for _ in range(lines):
        end = _LINE_END.search(text)
        text = "" if end is None else text[end.end() :]
    return text


def _records(
    text: str, delimiter: str, above: int, most: int | None = _RECORDS
) -> Iterator[CsvRecord]:
    """Yield the first records, without blank lines; one that is too long to be read has no fields.

    `most` is the number of records, None for all; `above` is the number of lines above the text.
    """
    reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), above + 1
    try:
        for record in islice(filter(None, reader), most):
            last = above + reader.line_num
            yield CsvRecord(max(line, last - _lines_within(record)), last, tuple(record))
            line = last + 1
    except csv.Error:
        yield CsvRecord(line, above + reader.line_num, ())


def _lines_within(record: Sequence[str]) -> int:
    """Return the number of line ends within the fields of a record."""
    return sum(len(_LINE_END.findall(field)) for field in record)


def _even(layout: Layout) -> Layout | None:
    """Return the layout if all records have equally many fields; titles padded with delimiters go.

    One column alone is no layout.
    """
    widths = {len(record.fields) for record in layout.records}
    if len(widths) != 1 or widths <= {0, 1}:
        return None
    titles = 0
    while titles < min(_TITLES, len(layout.records) - 2) and _is_padded(layout.records[titles]):
        titles += 1
    full = all(layout.records[titles].fields)
    return _without_first(layout, titles) if titles and full else layout


def _is_padded(record: CsvRecord) -> bool:
    """Decide whether a record has at most one text, and delimiters for the other columns."""
    return len(record.fields) > 2 and not any(record.fields[1:])


def _without_titles(layout: Layout) -> Layout | None:
    """Return the layout below lines of a title, which have at most half of the fields."""
    records = layout.records
    width = len(records[-1].fields)
    titles = next(
        (place for place, record in enumerate(records) if len(record.fields) == width), None
    )
    if not titles or titles > _TITLES or width < 2 or len(records) < titles + 2:
        return None
    even = all(len(record.fields) == width for record in records[titles:])
    above = max(sum(map(bool, record.fields)) for record in records[:titles])
    is_header = not any(map(is_typed, records[titles].fields))
    return _without_first(layout, titles) if even and 2 * above <= width and is_header else None


def _with_row_names(layout: Layout) -> Layout | None:
    """Return the layout of R's tables: the header does not name the column of the rows' names."""
    header, *rows = layout.records
    width = len(header.fields) + 1
    first = [row.fields[0] for row in rows if len(row.fields) == width]
    if width < 2 or not rows or len(first) < len(rows) or len(set(first)) < len(first):
        return None
    if not any(map(is_typed, rows[0].fields)) or any(map(is_typed, header.fields)):
        return None
    note = (
        "its header has one name less than its rows have fields; the first column is named "
        f"{ROW_NAMES!r}"
    )
    names = (ROW_NAMES, *header.fields)
    skip = rows[0].line - 1
    return replace(layout, skip=skip, records=tuple(rows), names=names, notes=(note,))


def _one_column(layouts: Sequence[Layout]) -> Layout | None:
    """Return the layout of a file of one column, in which no delimiter separates most records."""
    if any(_evenness(layout)[0] for layout in layouts):
        return None
    widths = {len(record.fields) for record in layouts[-1].records}
    return layouts[-1] if widths == {1} else None


def _of_width(layout: Layout, width: int) -> Layout | None:
    """Return the layout from the first record on that has so many fields, as all after it."""
    wide = [len(record.fields) == width for record in layout.records]
    place = wide.index(True) if True in wide else len(wide)
    if place > _TITLES or not all(wide[place:]) or place == len(wide):
        return None
    return _without_first(layout, place) if place else layout


def _without_first(layout: Layout, records: int) -> Layout:
    """Return the layout without some first records."""
    skip = layout.records[records].line - 1
    lines = "its first line is" if skip == 1 else f"its first {skip} lines are"
    note = f"{lines} above the header and not read (csv.skip: {skip})"
    return replace(layout, skip=skip, records=layout.records[records:], notes=(note,))


_Way = Callable[[Layout], Layout | None]
_WAYS: Sequence[_Way] = (_even, _without_titles, _with_row_names)
_WAYS_BELOW: Sequence[_Way] = (_even, _with_row_names)


def _even_otherwise(text: str, above: int) -> str | None:
    """Return a delimiter that gives all records equally many fields, None if there is none."""
    for delimiter in _DELIMITERS:
        records = tuple(_records(_text_below(text, above), delimiter, above))
        if records and _even(Layout(delimiter, above, records)):
            return delimiter
    return None


def _refuse(layouts: Sequence[Layout], file: str, other: str | None) -> NoReturn:
    """Refuse a file by the delimiter by which most of its records have equally many fields."""
    if other is not None:
        raise input_error(file, f"rows have different numbers of fields. Try --delimiter {other!r}")
    layout = max(layouts, key=_evenness)
    header, *rows = layout.records
    width = len(header.fields)
    differing = next((row for row in rows if len(row.fields) != width), header)
    if differing.last > differing.line or not differing.fields:
        raise input_error(file, _words_on_quote(differing, header))
    here = f"line {differing.line} has {_fields(len(differing.fields))}"
    raise input_error(file, f"{here}, but {_words_on(header)}. To read the file, {_advice(layout)}")


def _evenness(layout: Layout) -> tuple[bool, float, int]:
    """Return how likely a delimiter is: the share of records of the most frequent width."""
    ((width, records), *_) = Counter(len(r.fields) for r in layout.records).most_common(1)
    return width > 1, records / len(layout.records), width


def _words_on_quote(record: CsvRecord, header: CsvRecord) -> str:
    way_out = 'delete the quote, or double it ("") within a quoted value'
    if not record.fields:
        return (
            f"a quote opens in line {record.line} and does not close. To read the file, {way_out}"
        )
    return (
        f"a quote opens in line {record.line} and does not close before line "
        f"{record.last}. So these lines are one row of {_fields(len(record.fields))}, "
        f"but {_words_on(header)}. To read the file, {way_out}"
    )


def _words_on(header: CsvRecord) -> str:
    """Return how many columns the header has; names that a spec gives are above all lines."""
    if not header.line:
        return f"there are names for {len(header.fields)} columns"
    return f"the header (line {header.line}) has {len(header.fields)}"


def _fields(number: int) -> str:
    return "1 field" if number == 1 else f"{number} fields"


def _advice(layout: Layout) -> str:
    """Return what to do about records with different numbers of fields."""
    header, *rows = layout.records
    width, widths = len(header.fields), {len(row.fields) for row in rows}
    mark = {"\t": "tab"}.get(layout.delimiter, repr(layout.delimiter))
    if len(widths) == 1:
        letters = ",".join(chr(ord("A") + n) for n in range(min(widths.pop(), 26)))
        spare = width > 1 and not header.fields[-1].strip()
        first = f"delete the {mark} at the end of the header, or " if spare else ""
        return f"{first}name the columns yourself (--columns {letters})"
    differing = next(row for row in rows if len(row.fields) != width)
    if len(differing.fields) > width:
        return f'put values that contain {mark} in quotes ("…")'
    return "complete the line, or delete it if it is no row, such as a total"
