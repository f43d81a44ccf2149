"""Files of a source: one, those of a folder or pattern, and the columns that folders name."""

import errno
import glob
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.microdata.notation.address import local_path, resolve, scheme_of
from sfumato.tasks.microdata.notation.spelling import AS_ISO, ValueSpelling
from sfumato.tasks.microdata.object_store import fetch
from sfumato.tasks.microdata.readers.declared import QUERY, Source
from sfumato.tasks.microdata.readers.distinct import Distinct, distinct
from sfumato.tasks.microdata.readers.input_error import input_error
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.microdata.readers.typed import parse
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.files import open_file, sha256_of, unreadable

_NULL = "__HIVE_DEFAULT_PARTITION__"


def folder_values(path: Path) -> dict[str, str | None]:
    """Return the columns that the folders of a file name, below its source, and their texts."""
    pairs = [folder.partition("=") for folder in path.parts[:-1] if "=" in folder]
    return {unquote(name): None if text == _NULL else unquote(text) for name, _, text in pairs}


def with_folders(rows: pa.Table, folders: Mapping[str, str | None]) -> pa.Table:
    """Return rows with a column of text for each name of their folders."""
    for name, text in folders.items():
        column = pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(None if text is None else 0, pa.int32()), rows.num_rows),
            pa.array([] if text is None else [text], pa.string()),
        )
        rows = rows.append_column(name, column)
    return rows


def parse_folder(
    text: pa.ChunkedArray,
    name: str,
    columns: Mapping[str, ColumnSpec],
    called: str,
    spelling: ValueSpelling = AS_ISO,
) -> pa.ChunkedArray:
    """Return a column of folders' names as values of the declared type.

    Raises:
        InputError: if a folder's name is no such value.
    """
    if name not in columns or columns[name].type == "string":
        return text
    place = f"{called}, in a folder's name"
    values = parse(distinct(text), columns[name].type, place, name, spelling)
    return pa.chunked_array([values.array().dictionary_decode()])


def folder_column(
    text: str | None,
    rows: int,
    name: str,
    is_text: bool,
    columns: Mapping[str, ColumnSpec],
    called: str,
    spelling: ValueSpelling = AS_ISO,
) -> Distinct | pa.ChunkedArray:
    """Return a folder's name as a column of so many rows, as the kind of reader represents it.

    Raises:
        InputError: if it is no value of the declared type.
    """
    column = with_folders(pa.table({"": pa.nulls(rows)}), {name: text})[name]
    return distinct(column) if is_text else parse_folder(column, name, columns, called, spelling)


@dataclass(frozen=True)
class SourceFiles:
    """Files of a source in the order of their names, and the directory that they are below.

    `below` is None where the address names one file.
    """

    paths: tuple[Path, ...]
    below: Path | None = None

    def folders(self, path: Path) -> dict[str, str | None]:
        """Return the columns that the names of a file's folders give, and their texts."""
        return {} if self.below is None else folder_values(path.relative_to(self.below))

    def name_in_errors(self, number: int, uri: str) -> str:
        """Return a file's name in errors, by its number from 0: its own name may be personal."""
        several = len(self.paths) > 1
        return f"{uri} (file {number + 1} of {len(self.paths)})" if several else uri

    def sha256(self) -> str:
        """Return the digest by which a spec pins the files.

        For one named file it is the file's digest. For a folder or pattern it is the digest of the
        lines that `sha256sum` prints for the files, by their paths below the folder or fixed part.

        Raises:
            OSError: if a file cannot be read.
        """
        if self.below is None:
            return sha256_of(self.paths[0])
        lines = [f"{sha256_of(path)}  {path.relative_to(self.below)}\n" for path in self.paths]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def source_files(
    source: Source, base: Path, environ: Mapping[str, str], scratch: Path | None
) -> SourceFiles:
    """Return the files of a source, fetched from a store if need be; check the pinned digest.

    Args:
        source: the declared source.
        base: the directory that paths are relative to.
        environ: the values of `${NAME}` in the address, and a store's keys.
        scratch: a private directory for fetched files, as long as they are read.

    Raises:
        SpecError: if the address is none.
        InputError: if there is no file of the format, or they are not the pinned ones.
        TransientFault: if a store cannot be reached.
    """
    if source.format == QUERY:
        raise SpecError(
            "source.format: the rows of a query are not in files, and files are needed "
            "here. Name a file under source.uri"
        )
    scheme = scheme_of(resolve(source.uri, environ))
    if scheme == "s3":
        files = _files_at(fetch(source, environ, scratch), source)
    else:
        files = _files_at(local_path(source.uri, base, environ), source)
    _require_digest(files, source)
    return files


def formats_in(place: Path) -> list[str]:
    """Return the formats of the data files in a folder, by the endings of their names.

    The list is empty if the place is no folder.
    """
    if not place.is_dir():
        return []
    names = [path.name.lower() for path in place.rglob("*") if _is_data(path, place)]
    return [
        format_
        for format_, reader in READERS.items()
        if any(name.endswith(reader.ENDINGS) for name in names)
    ]


def _files_at(place: Path, source: Source) -> SourceFiles:
    if place.is_dir():
        if any(path.is_symlink() and not path.is_file() for path in place.rglob("*")):
            raise input_error(
                source.uri, "contains a link to a directory, or to nothing. Name files"
            )
        return _several(place, "**/*", source)
    fixed = _fixed_part(place)
    if fixed != place:
        return _several(fixed, str(place.relative_to(fixed)), source, of_pattern=True)
    if reason := unreadable(place):
        raise input_error(source.uri, reason)
    return SourceFiles((place,))


def _several(below: Path, pattern: str, source: Source, *, of_pattern: bool = False) -> SourceFiles:
    """Return the data files that match, sorted by their paths; in a folder, those of the format."""
    endings = READERS[source.format].ENDINGS
    matching = {path for path in below.glob(pattern) if _is_data(path, below)}
    files = sorted(p for p in matching if of_pattern or p.name.lower().endswith(endings))
    if not files:
        others = "" if of_pattern else _hint_at_formats(below)
        kind = f"contains no file *{endings[0]}{others}"
        raise input_error(
            source.uri, "no file matches this pattern. Correct it" if of_pattern else kind
        )
    return SourceFiles(tuple(files), below)


def _hint_at_formats(folder: Path) -> str:
    """Return the question whether another format is meant, empty if no file has a known one."""
    formats = formats_in(folder)
    ways = " or ".join(f"format: {name}" for name in formats)
    return f", but files of another format. Write {ways} under source" if formats else ""


def _fixed_part(place: Path) -> Path:
    """Return the folder above the first part of a path that is a pattern and does not exist."""
    fixed = Path()
    for part in place.parts:
        if glob.has_magic(part) and not (fixed / part).exists():
            return fixed
        fixed /= part
    return fixed


def _is_data(path: Path, below: Path) -> bool:
    """Return False for files and folders whose names writers give to unfinished data."""
    names = path.relative_to(below).parts
    aside = any(name[0] == "." or (name[0] == "_" and "=" not in name) for name in names)
    return path.is_file() and not aside


def _require_digest(files: SourceFiles, source: Source) -> None:
    for number, path in enumerate(files.paths):
        if reason := unreadable(path):
            raise input_error(files.name_in_errors(number, source.uri), reason)
    try:
        _touch(files)
        digest = files.sha256() if source.sha256 is not None else None
    except (OSError, ValueError) as error:
        raise input_error(source.uri, _unreadable(error)) from None
    if source.sha256 not in (None, digest):
        raise input_error(
            source.uri,
            (
                "its SHA-256 differs from source.sha256, so the file changed. If the change is "
                "intended, write the new digest"
            ),
        )


def _unreadable(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return with_remedies("cannot be read", error)
    return "cannot be read (no path)"


def require_open(source: Source, base: Path, environ: Mapping[str, str]) -> None:
    """Refuse to begin a long run on a file of this machine that the user may not read.

    Raises:
        InputError: where that is so; whatever else is wrong is said when it is read.
    """
    if scheme_of(resolve(source.uri, environ)) not in (None, "file"):
        return
    path = local_path(source.uri, base, environ)
    if os.path.isfile(path) and not os.access(path, os.R_OK, effective_ids=True):  # noqa: PTH113
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        raise input_error(source.uri, with_remedies("cannot be read", error))


def _touch(files: SourceFiles) -> None:
    """Open each file, to learn early whether it may be read.

    Raises:
        OSError: if one may not.
    """
    for path in files.paths:
        open_file(path).close()
