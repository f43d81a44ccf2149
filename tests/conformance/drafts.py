"""A release in memory that may be changed, listed and sealed again, and written elsewhere.

Only sealing uses the project's writers: sizes, hashes, digests, and files that follow from tables.
"""

import copy
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.forms.composed import form_named
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.schema.files import canonical_json
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.tables import write_table
from sfumato.tasks.terms.terms import Declared

MANIFEST = "datapackage.json"
SIGNATURE = f"{MANIFEST}.sig"
Document = dict[str, Any]
Tables = dict[str, pa.Table]
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that spreadsheets would run (T3.4)."""


class NotApplicableError(Exception):
    """A rule cannot change this member in its way."""


class Draft:
    """A release in memory.

    Attributes:
        files: the content of each file by its path in the release.
        special: entries that are no regular files, by path: `link`, `pipe` or `directory`.
        beside: the content of files in the directory of the line.
        version: the name of the version's directory, under which records know it (S4.3).
    """

    def __init__(
        self, files: Mapping[str, bytes], beside: Mapping[str, bytes], version: str
    ) -> None:
        """Copy the mappings."""
        self.files = dict(files)
        self.special: dict[str, str] = {}
        self.beside = dict(beside)
        self.version = version

    @classmethod
    def read(cls, release: Path) -> "Draft":
        """Read a release and the files beside it."""
        files = {
            path.relative_to(release).as_posix(): path.read_bytes()
            for path in sorted(release.rglob("*"))
            if path.is_file()
        }
        names = ("releases.json", "keys.json")
        beside = {name: release.parent / name for name in names}
        there = {name: path.read_bytes() for name, path in beside.items() if path.exists()}
        return cls(files, there, release.name)

    def copy(self) -> "Draft":
        """Return a draft that may be changed without this one."""
        return Draft(self.files, self.beside, self.version)

    @property
    def document(self) -> Document:
        """A copy of the manifest."""
        document: Document = copy.deepcopy(_parse(self.files[MANIFEST]))
        return document

    @property
    def terms(self) -> Document:
        """A copy of the declaration."""
        terms: Document = self.document["sfumato"]
        return terms

    @property
    def form(self) -> str:
        """The method of the form."""
        return str(self.terms["form"]["method"])

    @property
    def is_composed(self) -> bool:
        """True if versions may be combined."""
        return isinstance(self.terms["versions"], dict)

    @property
    def in_parts(self) -> bool:
        """True for a release in parts."""
        return "made_of" in self.terms

    def table(self, name: str) -> pa.Table:
        """Return a published table."""
        return pq.read_table(pa.BufferReader(self.files[f"data/{name}.parquet"]))

    def tables(self) -> Tables:
        """Return the published tables by name.

        Raises:
            NotApplicableError: for a release in parts.
        """
        if self.in_parts:
            raise NotApplicableError
        names = [
            path.removeprefix("data/").removesuffix(".parquet")
            for path in self.files
            if path.startswith("data/") and path.endswith(".parquet")
        ]
        return {name: self.table(name) for name in names}

    def seal(self, document: Document) -> None:
        """Write a manifest with its digest (M2)."""
        document["sfumato"]["digest"] = ""
        digest = hashlib.sha256(canonical_json(document)).hexdigest()
        document["sfumato"]["digest"] = digest
        self.files[MANIFEST] = canonical_json(document)

    def state(self, change: Callable[[Document], object]) -> None:
        """Change the manifest and seal it."""
        document = self.document
        change(document)
        self.seal(document)

    def declare(self, change: Callable[[Document], object]) -> None:
        """Change the declaration and seal it."""
        self.state(lambda document: change(document["sfumato"]))

    def put(self, path: str, content: bytes) -> None:
        """Give a listed file other content, and state its size and hash."""
        self.files[path] = content
        self.state(lambda document: _relist(document, path, content))

    def put_table(self, name: str, table: pa.Table, **options: Any) -> None:
        """Give a table other content in every format, and state sizes and hashes."""
        self.put(f"data/{name}.parquet", parquet_bytes(table, **options))
        if f"data/{name}.csv" in self.files and not options:
            self.put(f"data/{name}.csv", self._as_csv(table))

    def _as_csv(self, table: pa.Table) -> bytes:
        """Return the bytes of a table as CSV; the declaration says if formulas are quoted (T3)."""
        if self.terms.get("csv", {}).get("formulas") == "quote":
            table = _with_quoted_formulas(table)
        return _text_as_is(table, "table.csv")

    def rebuild(self, change: Callable[[Document], object], tables: Tables | None = None) -> None:
        """Write all files anew from a changed declaration and changed tables.

        Raises:
            NotApplicableError: for a release in parts, and for one with a reference.
        """
        content = tables or self.tables()
        terms = self.terms
        if any("reference" in promise for promise in terms["promises"]) or _is_over_people(terms):
            raise NotApplicableError
        change(terms)
        keys = {key: value for key, value in terms.items() if key in Declared.model_fields}
        declared = Declared.model_validate(keys)
        schemas = _form(declared).schemas(declared.columns, declared.form)
        typed = {name: content[name].cast(schema) for name, schema in schemas.items()}
        with tempfile.TemporaryDirectory(dir=_MEMORY) as scratch:
            write_release(Path(scratch), assess(declared, typed))
            self.files = Draft.read(Path(scratch)).files

    def in_order(self, tables: Tables) -> Tables:
        """Return tables in the order of T6."""
        keys = {key: value for key, value in self.terms.items() if key in Declared.model_fields}
        return dict(_form(Declared.model_validate(keys)).canonical(tables))

    def write(self, line: Path, version: str, origin: Path | None = None) -> Path:
        """Write the release as a version of a line; files equal to those of `origin` are links."""
        release = line / version
        release.mkdir(parents=True)
        for path, content in self.files.items():
            place = release / path
            place.parent.mkdir(parents=True, exist_ok=True)
            _write_or_link(place, content, None if origin is None else origin / path)
        for path, kind in self.special.items():
            _SPECIAL[kind](release / path)
        for name, content in self.beside.items():
            (line / name).write_bytes(content)
        return release


_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # the fastest folder


@cache
def _parse(content: bytes) -> Document:
    document: Document = json.loads(content)
    return document


def _is_over_people(terms: Document) -> bool:
    return bool(terms.get("households")) or terms.get("rows_per_unit") == "several"


def _form(declared: Declared) -> Any:
    return form_named(
        declared.form.method, composed=declared.is_composed, vacant=declared.rows.vacant
    )


def _relist(document: Document, path: str, content: bytes) -> None:
    entry = next(entry for entry in document["resources"] if entry["path"] == path)
    entry["bytes"] = len(content)
    entry["hash"] = f"sha256:{hashlib.sha256(content).hexdigest()}"


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    """Return a table as a Parquet file, as the project writes it but for the options."""
    if not options:
        return _text_as_is(table, "table.parquet")
    usual = {"version": "2.6", "data_page_version": "1.0", "compression": "zstd"}
    buffer = io.BytesIO()
    pq.write_table(
        table, buffer, **{**usual, "compression_level": 3, "store_schema": False, **options}
    )
    return buffer.getvalue()


def _text_as_is(table: pa.Table, name: str) -> bytes:
    with tempfile.TemporaryDirectory(dir=_MEMORY) as scratch:
        place = Path(scratch) / name
        write_table(table, place)
        return place.read_bytes()


def _with_quoted_formulas(table: pa.Table) -> pa.Table:
    """Put a quote before texts that spreadsheets would run (T3.4)."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = [
                f"'{text}" if text is not None and text.startswith(_FORMULAS) else text
                for text in table.column(place).to_pylist()
            ]
            table = table.set_column(place, field, pa.array(texts, field.type))
    return table


def _write_or_link(place: Path, content: bytes, origin: Path | None) -> None:
    if origin is not None and origin.is_file() and origin.read_bytes() == content:
        os.link(origin, place)
    else:
        place.write_bytes(content)


def _link(place: Path) -> None:
    if place.exists():
        content = place.read_bytes()
        place.unlink()
        target = place.parents[1] / f"{place.name}.elsewhere"
        target.write_bytes(content)
        place.symlink_to(target)
    else:
        place.symlink_to(place.parent)


_SPECIAL: Mapping[str, Callable[[Path], object]] = {
    "link": _link,
    "pipe": os.mkfifo,
    "directory": lambda place: place.mkdir(parents=True),
}
"""Writers of entries that are no regular files."""
