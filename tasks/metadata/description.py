"""A release as metadata describe it: its manifest, its line's record, and its publisher's words.

Every standard projects the same description. Nothing is read from the tables, and nothing is
invented: a word of the publisher comes from `line.json` beside the release, otherwise from the
manifest; times and version numbers come from `releases.json`. What neither states stays out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from sfumato.tasks.forms.related.parameters import GROUPS
from sfumato.tasks.report.line_entries import LineEntry, VersionEntry, urn_of
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.opened import PAGE, Release
from sfumato.tasks.terms.terms import Declared

_KEY_OF_GROUPS = (GROUPS, GROUP_ID)
_WHOLE_TABLES = ("microdata", "qit")  # the tables with one row for each published row
ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that act on a terminal; metadata write them in numbers."""
DESCRIBE = ("publisher", "contact", "licence")
"""The words that `sfumato describe` can state of a line."""


@dataclass(frozen=True)
class Missing:
    """A field that a standard requires and nothing states.

    Attributes:
        field: its name in the standard.
        source: the word of `sfumato describe` or the file that would state it; empty if nothing
            that belongs to a release can.
    """

    field: str
    source: str = ""


@dataclass(frozen=True)
class Document:
    """The metadata of a release in one standard.

    Attributes:
        text: the content of the file, with a line feed at its end.
        missing: what the standard requires and the release does not state.
    """

    text: str
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True)
class ReleasedField:
    """A column of a published file.

    Attributes:
        name: its name.
        type: its type in the file, as Data Packages name it; labels are `string`.
        required: whether the file has a value in every row.
        description: the publisher's words about it, or how a fact of people was computed.
        categories: the codes with their labels, if the manifest has them.
        column: its declaration; None for columns such as `group_id`.
    """

    name: str
    type: str
    required: bool
    description: str | None
    categories: tuple[tuple[str | int, str], ...]
    column: DeclaredColumn | None


@dataclass(frozen=True)
class ReleasedFile:
    """A file of a release.

    Attributes:
        path: its path in the release.
        mediatype: its media type.
        bytes: its size.
        sha256: its SHA-256 in hexadecimal digits.
        fields: its columns if it is a table in `data/`; otherwise empty.
    """

    path: str
    mediatype: str
    bytes: int
    sha256: str
    fields: tuple[ReleasedField, ...] = ()

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.path).name

    @property
    def table(self) -> str:
        """The name of the table: `microdata`, or `parts/north/microdata` in a release in parts."""
        path = PurePosixPath(self.path)
        return (path.parent.parent / path.stem).as_posix()


@dataclass(frozen=True)
class ReleaseDescription:
    """All that metadata say of a release.

    Attributes:
        release: the release.
        place: the address of its directory with a slash at the end, from where metadata stand.
        line: its line with all versions, if a record beside it lists it.
    """

    release: Release
    place: str
    line: LineEntry | None = None

    @property
    def declaration(self) -> Declared:
        """The declaration of the release."""
        return self.release.declared

    @property
    def digest(self) -> str:
        """The digest of the release."""
        return str(self.release.manifest["sfumato"]["digest"])

    @property
    def urn(self) -> str:
        """The name of the version, as in `dcat.jsonld`."""
        return urn_of(self.digest)

    @cached_property
    def version(self) -> VersionEntry | None:
        """The entry of the version in the line's record."""
        versions = self.line.versions if self.line else ()
        return next((entry for entry in versions if entry.digest == self.digest), None)

    @property
    def title(self) -> str:
        """The title of the line."""
        return self.line.title if self.line else self.declaration.title

    @property
    def description(self) -> str | None:
        """The publisher's description of the line."""
        return self._word("description")

    @property
    def publisher(self) -> str | None:
        """The publisher's name."""
        return self._word("publisher")

    @property
    def contact(self) -> str | None:
        """The publisher's contact: a name, a mail address, or an address on the web."""
        return self._word("contact")

    @property
    def licence(self) -> str | None:
        """The licence: its short name, or its address on the web."""
        return self._word("licence")

    @property
    def page(self) -> str:
        """The address of the release's page."""
        return self.address(PAGE)

    def address(self, path: str) -> str:
        """Return the address of a file of the release."""
        return f"{self.place}{quote(path)}"

    @cached_property
    def files(self) -> tuple[ReleasedFile, ...]:
        """All files of the release but the manifest and its signature, by path."""
        return tuple(map(self._file, self.release.manifest["resources"]))

    @property
    def tables(self) -> tuple[ReleasedFile, ...]:
        """The published tables: each as a Parquet file, and as a CSV file if there is one."""
        return tuple(file for file in self.files if file.fields)

    def rows_of(self, file: ReleasedFile) -> int | None:
        """Return the number of rows that the manifest states of a table, or None."""
        declared, part = self.declaration, PurePosixPath(file.table).parent.name
        if (counts := declared.related_rows) is not None:
            tables = {
                declared.form.table_of_rows: declared.rows.published,
                declared.form.related_table: counts.published,
            }
            return tables.get(file.table)
        if PurePosixPath(file.table).name not in _WHOLE_TABLES:
            return None
        if declared.made_of:
            rows = {entry.name: entry.rows for entry in declared.made_of}
            return None if declared.rows.vacant else rows.get(part)
        vacant = declared.rows.vacant if declared.is_recoded else 0
        return declared.rows.published + vacant

    def is_key(self, file: ReleasedFile, field: ReleasedField) -> bool:
        """Return True if a column numbers the rows of the table of groups of two related tables."""
        return self.declaration.has_related_rows and (file.table, field.name) == _KEY_OF_GROUPS

    def referred_key(self, file: ReleasedFile, field: ReleasedField) -> tuple[str, str] | None:
        """Return the table and column to which a column of related tables refers, or None."""
        refers = self.declaration.has_related_rows and field.name == GROUP_ID
        return _KEY_OF_GROUPS if refers and file.table != GROUPS else None

    def missing_words(self, fields: Mapping[str, str]) -> Iterator[Missing]:
        """Yield the words that are not stated.

        Args:
            fields: the name in a standard by the word.
        """
        for word, field in fields.items():
            if self._word(word) is None:
                yield Missing(field, word)

    def _word(self, name: str) -> str | None:
        """Return a word of the line, otherwise of the version."""
        of_line = getattr(self.line.words, name) if self.line else None
        word: str | None = of_line or getattr(self.declaration.words, name)
        return word

    def _file(self, resource: Mapping[str, Any]) -> ReleasedFile:
        path = str(resource["path"])
        is_table = PurePosixPath(path).parent.name == "data"
        fields = resource["schema"]["fields"] if is_table else ()
        return ReleasedFile(
            path,
            str(resource["mediatype"]),
            int(resource["bytes"]),
            str(resource["hash"]).removeprefix("sha256:"),
            tuple(map(self._field, fields)),
        )

    def _words_of_fact(self, name: str) -> str | None:
        """Return how a fact of people was computed; None for other columns."""
        column = self.declaration.columns.get(name)
        if column is None or column.derive is None:
            return None
        related = self.declaration.form.related_table
        return f"Computed from the rows of {related} of each person: {column.derive}"

    def _field(self, field: Mapping[str, Any]) -> ReleasedField:
        name = str(field["name"])
        return ReleasedField(
            name,
            str(field["type"]),
            bool(field.get("constraints", {}).get("required", False)),
            self.declaration.words.columns.get(name) or self._words_of_fact(name),
            tuple((c["value"], c["label"]) for c in field.get("categories", ())),
            self.declaration.columns.get(name),
        )


def json_text(document: Mapping[str, Any]) -> str:
    """Return a document as the content of a file; no character of it acts on a terminal."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    return ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"
