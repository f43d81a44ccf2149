"""Derived files made by other software: whether they say the same, in other bytes.

Versions of the writing packages lay out the same tables, queries and pages differently. So tables
are compared as tables, SQL as trees, documents as documents, and of pages their numbers. A file
whose makers have the versions that run here must have the same bytes.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import sqlglot

from sfumato.tasks.declaration.parquet import read_parquet
from sfumato.tasks.declaration.software import LAYOUT
from sfumato.tasks.schema.files import read_bytes, read_json, read_text, regular

_NUMBER = re.compile(r"\d+(?:[.,\u202f]\d+)*")
_UNREAD = ("style", "script", "svg", "head", "code", "pre", "footer")


def equivalent(found: Path, made: Path, other: Collection[str]) -> bool:
    """True where a file says what the one made here says.

    Args:
        found: the published file.
        made: the file made here.
        other: names of the packages of which other versions run here.
    """
    if read_bytes(found) == read_bytes(made):
        return True
    makers, compare = _COMPARED[found.suffix]
    try:
        return not makers.isdisjoint(other) and compare(found, made)
    except (OSError, ValueError, RecursionError, pa.ArrowException, sqlglot.ParseError):
        return False


def _same_parquet(found: Path, made: Path) -> bool:
    tables = [read_parquet(path) for path in (found, made)]
    return tables[0].schema.metadata is None and tables[0].equals(tables[1])


def _same_csv(found: Path, made: Path) -> bool:
    """Compare cells as texts; a missing one is not an empty one."""
    rows = [_cells(path) for path in (found, made)]
    return bool(rows[0].equals(rows[1]))


def _cells(path: Path) -> pa.Table:
    names = pa.csv.open_csv(regular(path), parse_options=_AS_WRITTEN).schema.names
    return pa.csv.read_csv(
        regular(path),
        parse_options=_AS_WRITTEN,
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


_AS_WRITTEN = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)


def _same_sql(found: Path, made: Path) -> bool:
    trees = [sqlglot.parse(read_text(path), "duckdb") for path in (found, made)]
    return trees[0] == trees[1]


def _same_json(found: Path, made: Path) -> bool:
    documents = [read_json(path, None) for path in (found, made)]
    return bool(documents[0] == documents[1])


def _same_numbers(found: Path, made: Path) -> bool:
    numbers = [_numbers(read_text(path)) for path in (found, made)]
    return numbers[0] == numbers[1]


def _numbers(page: str) -> Counter[str]:
    """Every number that a page shows, with how often."""
    text = _ShownText()
    text.feed(page)
    return Counter(_NUMBER.findall(" ".join(text.shown)))


class _ShownText(HTMLParser):
    """The text of a page outside of plots, styles, code and the line about the software."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as it is called
        """Read no further where the tag is one of those that are not read."""
        self._unread += tag in _UNREAD

    def handle_endtag(self, tag: str) -> None:
        """Read on after it."""
        self._unread -= tag in _UNREAD

    def handle_data(self, data: str) -> None:
        """Keep what is shown."""
        if not self._unread:
            self.shown.append(data)


_COMPARED: Mapping[str, tuple[frozenset[str], Callable[[Path, Path], bool]]] = {
    ".parquet": (frozenset({"pyarrow"}), _same_parquet),
    ".csv": (frozenset({"pyarrow"}), _same_csv),
    ".sql": (frozenset({"sqlglot", "sfumato"}), _same_sql),
    ".json": (frozenset({"sfumato"}), _same_json),
    ".html": (frozenset({"sfumato", LAYOUT}), _same_numbers),
}
"""By the ending of files: the packages that lay them out, and how two layouts are compared."""
