"""The folder on the desk: tables and specs in it, and changes of a spec that can be undone.

The spec and its hierarchy files are the only state. A change names the state that its page was made
from; if the files have another one by now, nothing is written. What a change replaced stays in the
private work directory, from where it can be put back.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.expectations.shared.wording import readable
from sfumato.flows.inputs.documents import parse_yaml, read_yaml
from sfumato.flows.inputs.spec import ReleaseSpec, json_schema, spec_of
from sfumato.tasks.lines.versions import RECORD
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes, read_json, read_text

TABLE_ENDINGS = (
    *(".csv", ".tsv", ".txt", ".data", ".dat", ".parquet", ".xlsx", ".xls", ".ods"),
    *(".dta", ".sav", ".zsav", ".por"),
)
PROJECT_ENDINGS = (".deid", ".r", ".html", ".md", ".rda")
_SPEC_ENDINGS = (".yaml", ".yml")
_DEEPEST = 3  # folders below the one that was opened
_MOST_FILES = 400
_MOST_BYTES = 1 << 24  # of a spec or a hierarchy
_MOST_CHANGES = 500
_SPEC_MODE, _HIERARCHY_MODE = 0o644, 0o600


class ChangedOutsideError(SpecError):
    """The files are not those that a page was made from."""


@dataclass(frozen=True)
class OpenedSpec:
    """A spec as it is in its file now.

    Attributes:
        name: its path, relative to the folder on the desk.
        path: its path.
        text: its text.
        document: its document.
        digest: of the text and of its hierarchy files, in hexadecimal digits.
    """

    name: str
    path: Path
    text: str
    document: Mapping[str, Any]
    digest: str

    @property
    def is_confirmed(self) -> bool:
        """True unless its roles are only proposed."""
        return bool(self.document.get("roles", "confirmed") == "confirmed")

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of its two tables, that of people first; empty for a spec of one table."""
        tables = self.document.get("tables")
        if not isinstance(tables, Mapping):
            return ()
        names = [name for name, table in tables.items() if isinstance(table, Mapping)]
        return tuple(sorted(names, key=lambda name: "of" in tables[name]))

    def of_table(self, name: str) -> "OpenedSpec":
        """Return the spec as one of one of its two tables, for pages that show a table.

        Its key names the person of each row, and is an identifier there.
        """
        table = self.document["tables"][name]
        columns = {
            column: {"role": "identifier", "nulls": "category"} if _is_key(keys) else keys
            for column, keys in (table.get("columns") or {}).items()
        }
        others = {key: value for key, value in self.document.items() if key != "tables"}
        document = {**others, "source": table.get("source"), "columns": columns}
        return replace(self, document=document)

    def fault(self) -> str | None:
        """Return why a release of it would be refused, or None; proposed roles are no fault."""
        try:
            self.parsed_spec()
        except SpecError as error:
            return str(error)
        return None

    def parsed_spec(self) -> ReleaseSpec:
        """Return the spec as if its roles were confirmed.

        Raises:
            SpecError: where it is wrong.
        """
        document = {**self.document}
        if "roles" in document:
            document["roles"] = "confirmed"
        try:
            return spec_of(document, self.path.absolute().parent)
        except ValidationError as error:
            raise SpecError(readable(error, document, json_schema())) from None


def _is_key(keys: Any) -> bool:
    return isinstance(keys, Mapping) and keys.get("role") == "key"


class Folder:
    """A folder, and the private directory of the workbench."""

    def __init__(self, folder: Path, work: Path) -> None:
        """Take the folder, and the work directory, in which private files are kept."""
        self.folder = folder.resolve()
        self.private = private_directory(private_directory(work) / ".workbench")
        self._lock = Lock()
        self._beginnings: dict[str, str] = {}

    def path(self, name: str) -> Path:
        """Return the path of a file of the folder.

        Raises:
            InputError: where it would be outside the folder, or is no regular file.
        """
        place = self.folder / name.replace("\0", "")
        try:
            place = place.resolve()
            is_file = place.is_file() and "\0" not in name
        except OSError:  # of a name that no file can have
            is_file = False
        if not place.is_relative_to(self.folder) or not name:
            raise InputError(f"{name}: is outside the folder {self.folder}. Move the file into it")
        if not is_file:
            raise InputError(f"{name}: is not in the folder {self.folder}. Choose another file")
        return place

    def files(self, endings: tuple[str, ...]) -> list[str]:
        """Return the names of files with some endings; links that lead out are left out."""
        return [name for name in self._names() if name.lower().endswith(endings)]

    def specs(self) -> list[str]:
        """Return the names of the specs in the folder."""
        return [name for name in self.files(_SPEC_ENDINGS) if _is_spec(self.folder / name)]

    def _names(self) -> Iterator[str]:
        room = _MOST_FILES
        for place, folders, files in os.walk(self.folder):
            depth = len(Path(place).relative_to(self.folder).parts)
            visible = [f for f in folders if f[0] != "." and depth < _DEEPEST]
            folders[:] = sorted(f for f in visible if not _is_published(place, f))
            for file in sorted(files):
                path = Path(place) / file
                if not room:
                    return
                if path.resolve().is_relative_to(self.folder) and path.is_file():
                    room -= 1
                    yield path.relative_to(self.folder).as_posix()

    def open(self, name: str) -> OpenedSpec:
        """Return a spec of the folder as it is now.

        Raises:
            InputError: where there is no such file.
            SpecError: where it is no YAML mapping.
        """
        path = self.path(name)
        document = read_yaml(path)
        if not isinstance(document, dict):
            raise SpecError(f"{name}: is not a spec. Choose a file with keys such as `source:`")
        text = read_text(path, _MOST_BYTES)
        self._beginnings.setdefault(name, text)
        return OpenedSpec(name, path, text, document, _digest(text, path, document))

    def first_text(self, spec: OpenedSpec) -> str:
        """Return the text that a spec had when the workbench first opened it."""
        return self._beginnings.get(spec.name, spec.text)

    def change(self, name: str, digest: str, files: Mapping[Path, str], title: str) -> None:
        """Write files of a spec, if the spec is as a page has seen it, and remember the old ones.

        Args:
            name: of the spec.
            digest: of the state that the change was made from.
            files: the new texts.
            title: of the change, for the button that undoes it.

        Raises:
            ChangedOutsideError: where the spec has changed meanwhile; nothing is written.
        """
        with self._lock:
            self._require_state(name, digest)
            before = {str(path): _text_or_none(path) for path in files}
            if before == {str(path): text for path, text in files.items()}:
                return
            for path, text in files.items():
                self._write(path, text)
            self._remember(name, before, title)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        is_spec = path.suffix in _SPEC_ENDINGS
        write_atomically(path, text.encode(), _SPEC_MODE if is_spec else _HIERARCHY_MODE)

    def _remember(self, name: str, before: Mapping[str, str | None], title: str) -> None:
        numbers = self._numbers(name)
        record = {"title": title, "before": before, "after": self.open(name).digest}
        number = numbers[-1] + 1 if numbers else 1
        place = self._changes(name)
        write_atomically(place / f"{number:06}.json", json.dumps(record).encode(), 0o600)
        for old in numbers[:-_MOST_CHANGES]:
            (place / f"{old:06}.json").unlink(missing_ok=True)

    def _require_state(self, name: str, digest: str) -> None:
        if self.open(name).digest != digest:
            raise ChangedOutsideError(
                f"{name}: was changed since this page was made, in another tab or outside the "
                "workbench. Nothing was done. Look at the present state, and try again"
            )

    def questions(self, name: str) -> list[str]:
        """Return the steward's own questions about a spec, in SQL; they outlast the workbench."""
        place = self._questions(name)
        return [str(sql) for sql in read_json(place, _MOST_BYTES)] if place.exists() else []

    def keep_questions(self, name: str, questions: Sequence[str]) -> None:
        """Keep the steward's own questions about a spec in the private work directory."""
        write_atomically(self._questions(name), json.dumps(list(questions)).encode(), 0o600)

    def _questions(self, name: str) -> Path:
        return private_directory(self.private / "questions") / f"{self._key(name)}.json"

    def latest_change(self, name: str) -> str | None:
        """Return the title of the change that can be undone, or None."""
        record = self._latest(name)
        return None if record is None else str(record["title"])

    def undo(self, name: str, digest: str) -> str | None:
        """Put back what the latest change replaced; return its title, or None without one.

        Args:
            name: of the spec.
            digest: of the state that the page with the button was made from.

        Raises:
            ChangedOutsideError: where the spec has changed since, here or outside the workbench.
        """
        with self._lock:
            record = self._latest(name)
            if record is None:
                return None
            self._require_state(name, digest)
            if self.open(name).digest != record["after"]:
                raise ChangedOutsideError(
                    f"{name}: was changed outside the workbench since the latest change here. So "
                    "that change cannot be undone. Use the editor's own undo"
                )
            for path, text in record["before"].items():
                if text is None:
                    Path(path).unlink(missing_ok=True)
                else:
                    self._write(Path(path), text)
            (self._changes(name) / f"{self._numbers(name)[-1]:06}.json").unlink()
            return str(record["title"])

    def _latest(self, name: str) -> Mapping[str, Any] | None:
        numbers = self._numbers(name)
        if not numbers:
            return None
        record: Mapping[str, Any] = read_json(
            self._changes(name) / f"{numbers[-1]:06}.json", _MOST_BYTES
        )
        return record

    def _numbers(self, name: str) -> list[int]:
        return sorted(int(path.stem) for path in self._changes(name).glob("*.json"))

    def _changes(self, name: str) -> Path:
        """Return the private directory with what changes of a spec replaced."""
        return private_directory(private_directory(self.private / "changes") / self._key(name))

    def _key(self, name: str) -> str:
        return hashlib.sha256(str(self.folder / name).encode()).hexdigest()[:16]


def _is_published(place: str, folder: str) -> bool:
    """Decide whether a folder is a line, or the catalogue of lines: it has nothing to release."""
    path = Path(place) / folder
    return (path / RECORD).exists() or any(path.glob(f"*/{RECORD}"))


def hierarchy_files(document: Mapping[str, Any], spec: Path) -> dict[str, Path]:
    """Return the paths of a spec's hierarchy files by column."""
    columns = document.get("columns")
    written = columns if isinstance(columns, Mapping) else {}
    rules = {
        name: keys.get("hierarchy") for name, keys in written.items() if isinstance(keys, Mapping)
    }
    files = {
        name: rule.get("file") if isinstance(rule, Mapping) else rule
        for name, rule in rules.items()
    }
    base = spec.absolute().parent
    return {name: base / file for name, file in files.items() if isinstance(file, str)}


def _digest(text: str, path: Path, document: Mapping[str, Any]) -> str:
    parts = [text, *(_text_or_none(p) or "" for p in hierarchy_files(document, path).values())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _text_or_none(path: Path) -> str | None:
    try:
        return read_text(path, _MOST_BYTES)
    except (OSError, UnicodeDecodeError):
        return None


def _is_spec(path: Path) -> bool:
    """Decide whether a YAML file looks like a spec: it has a source and columns, or tables."""
    try:
        document = parse_yaml(read_bytes(path, _MOST_BYTES).decode())
    except Exception:  # noqa: BLE001 - whatever else lies in the folder
        return False
    if not isinstance(document, dict):
        return False
    return {"source", "columns"} <= document.keys() or isinstance(document.get("tables"), dict)
