"""The page of a table before its draft: how it is read, its first rows, and words for no value.

What the steward chooses is kept in memory by table, so that no address contains it.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.choice.first_spec import line_of_source
from sfumato.flows.inputs.policies import policy_names
from sfumato.flows.workbench.desk import PROJECT_ENDINGS
from sfumato.flows.workbench.visit import Bench, Sent
from sfumato.tasks.microdata.readers.delimited import content_of
from sfumato.tasks.microdata.readers.inferred import format_of
from sfumato.tasks.profile.dialect import DraftOptions, read_options, sniff_dialect
from sfumato.tasks.profile.spelled import doubtful_texts, null_texts
from sfumato.tasks.schema.names import CsvDialect

_PREVIEWED = 12  # rows, or lines of a file that cannot be read yet
_LOOKED_AT = 1 << 20  # characters of a file
_LONGEST_LINE = 300
_BYTES_OF_CHARACTER = 4
_TAB = "tab"
_FIELDS: Mapping[str, str] = {
    "delimiter": "delimiter",
    "encoding": "encoding",
    "header": "first line names the columns",
    "skip": "lines above the header",
    "decimal": "mark before decimals",
    "thousands": "mark between thousands",
    "date-format": "formats of dates",
    "columns": "names of the columns",
    "null": "words that mean a missing value",
    "timezone": "time zone",
    "unit": "column that identifies people",
    "sheet": "sheet",
    "out": "name of the new spec",
}
"""The names of fields by the options of `sfumato init` that they stand for."""
_ANSWERS = ("hide", "about", "unit", "policy")
_ONE_WORD = ("delimiter", "encoding", "header", "skip", "columns", "thousands", "decimal", "sheet")
_OPTION = re.compile(r"--([a-z][a-z-]*)(?: ('[^']*'|[^\s,;]+))?")


def table_view(bench: Bench, name: str) -> dict[str, Any]:
    """Return what the page of a table shows: how it is read, its first rows, and questions.

    Raises:
        InputError: where the folder has no such file.
    """
    path, sent = bench.desk.path(name), bench.readings.get(name, Sent())
    view: dict[str, Any] = {"header": [], "rows": [], "notes": (), "dialect": None, "lines": []}
    problem = ""
    try:
        if _is_text(name):
            view |= _first_rows(path, name, read_options({}, {}, **settings_of(sent)))
    except SfumatoError as error:
        problem = in_fields(str(error))
        view["lines"] = list(_first_lines(path, name, sent.get("encoding").strip()))
    return {
        "file": name,
        "fields": _FIELDS,
        "settings": {key: sent.get(key) for key in _FIELDS},
        "answers": {key: sent.get(key) for key in _ANSWERS},
        "nulls": _nulls(sent),
        "is_text": _is_text(name),
        "policies": policy_names(),
        "spec_name": sent.get("spec") or _free_name(bench, Path(name).stem),
        "projects": bench.desk.files(PROJECT_ENDINGS),
        "problem": problem,
        **view,
    }


def read_again(bench: Bench, sent: Sent) -> str:
    """Keep how a table is to be read; return the address of its page.

    Raises:
        InputError: where the folder has no such file.
    """
    name = sent.get("file")
    bench.desk.path(name)
    bench.readings[name] = without_header(sent)
    return address_of(bench, name)


def without_header(sent: Sent) -> Sent:
    """Return fields in which names of the columns also say that the file has no header."""
    if sent.get("columns").strip() and not sent.get("header"):
        return Sent((*sent.pairs, ("header", "no")))
    return sent


def address_of(bench: Bench, name: str) -> str:
    """Return the address of the page of a table."""
    return f"{bench.place}/table?{urlencode({'file': name})}"


def in_fields(text: str) -> str:
    """Return a message about options of a command, with the fields of the page in their place.

    >>> in_fields("Write --header yes, or --skip 3")
    'Write “first line names the columns: yes”, or “lines above the header: 3”'
    """

    def field(match: re.Match[str]) -> str:
        words = _FIELDS.get(match[1])
        if words is None:
            return match[0]
        value = (match[2] or "").strip("'")
        return f"“{words}: {value}”" if value else f"“{words}”"

    return _OPTION.sub(field, text)


def options_of(sent: Sent) -> Iterator[str]:
    """Yield the options of `sfumato init` for how a table is read, and what its draft needs."""
    for key in (*_ONE_WORD, *_ANSWERS):
        value = sent.get(key).strip()
        if value:
            is_tab = key == "delimiter" and value == _TAB
            yield "--delimiter=\t" if is_tab else f"--{key}={value}"
    for key, values in (("date-format", _words(sent, "date-format")), ("null", _nulls(sent))):
        yield from (f"--{key}={value}" for value in values)


def settings_of(sent: Sent) -> dict[str, Any]:
    """Return how a table is to be read, as the options of a draft take it.

    Raises:
        SpecError: where a number is none.
    """
    settings: dict[str, Any] = {
        key: sent.get(key).strip() for key in _ONE_WORD if sent.get(key).strip()
    }
    if settings.get("delimiter") == _TAB:
        settings["delimiter"] = "\t"
    if "skip" in settings:
        settings["skip"] = sent.number("skip")
    if "columns" in settings:
        settings["columns"] = tuple(_words(sent, "columns"))
    return {**settings, "nulls": tuple(_nulls(sent))}


def _words(sent: Sent, field: str) -> list[str]:
    """Return the words of a field that separates them by commas."""
    return [word for part in sent.get(field).split(",") if (word := part.strip())]


def _nulls(sent: Sent) -> list[str]:
    """Return the words that mean a missing value: proposed ones that were marked, and others."""
    return list(dict.fromkeys([*sent.all("marked-null"), *_words(sent, "null")]))


def _is_text(name: str) -> bool:
    try:
        return format_of(name) == "csv"
    except SfumatoError:
        return False


def _first_rows(path: Path, name: str, options: DraftOptions) -> Mapping[str, Any]:
    dialect, notes = sniff_dialect(path, name, options)
    text = _beginning(path, name).decode(dialect.encoding, "replace")[:_LOOKED_AT]
    records = list(_records(text, dialect))
    header: Sequence[str] = dialect.header or (records[0] if records else ())
    rows = records if dialect.header else records[1:]
    texts = {
        column: pa.array(sorted(set(values) - {""}), pa.string())
        for column, values in zip(header, zip_longest(*rows, fillvalue=""), strict=False)
    }
    nulls = null_texts(texts, options)
    described = {
        "encoding": dialect.encoding,
        "delimiter": {"\t": _TAB}.get(dialect.delimiter, dialect.delimiter),
        "names of the columns": "made here" if dialect.header else "from the first line",
        "lines above the header": str(dialect.skip),
        "missing values": ", ".join(("(empty)", *nulls)),
    }
    if options.columns:
        described["names of the columns"] = "as written here"
    return {
        "header": header,
        "rows": rows[:_PREVIEWED],
        "notes": notes,
        "dialect": described,
        "doubtful": doubtful_texts(texts, nulls),
    }


def _beginning(path: Path, name: str) -> bytes:
    return content_of(path, name)[: _BYTES_OF_CHARACTER * _LOOKED_AT]


def _first_lines(path: Path, name: str, encoding: str) -> Iterator[str]:
    """Yield the first lines of a file that cannot be read yet; none of a file that is no text."""
    try:
        content = _beginning(path, name)
        text = content.decode(encoding or "utf-8")
    except (SfumatoError, LookupError):
        return
    except UnicodeDecodeError:
        text = content.decode("windows-1252", "replace")
    if "\0" not in text:
        yield from (line[:_LONGEST_LINE] for line in text.splitlines()[:_PREVIEWED])


def _records(text: str, dialect: CsvDialect) -> Iterator[list[str]]:
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    for _ in range(dialect.skip):
        lines.readline()
    blanks = dialect.skip_initial_space
    reader = csv.reader(lines, delimiter=dialect.delimiter, skipinitialspace=blanks)
    return islice(filter(None, reader), _LOOKED_AT)


def _free_name(bench: Bench, stem: str) -> str:
    """Return a name for a spec that no file of the folder has."""
    names = (f"{line_of_source(stem)}.yaml", *(f"{stem}-{number}.yaml" for number in range(2, 100)))
    return next((name for name in names if not (bench.desk.folder / name).exists()), names[0])
