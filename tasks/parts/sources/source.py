"""A source of Parquet files, read so many rows at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.microdata.input_error import input_error, require_distinct_names
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import encode_columns, local_path
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.parts.sources.folders import folder_values, parse_folder, with_folders
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.files import unreadable
from sfumato.tasks.verification.integrity import sha256_of

AT_ONCE = 1 << 21  # rows


@dataclass(frozen=True)
class SourceFiles:
    """The files of a source, and the directory that they are below, where it is one."""

    paths: tuple[Path, ...]
    below: Path | None = None

    def folders(self, path: Path) -> dict[str, str | None]:
        """The columns that the names of a file's folders give, and the text of each."""
        return {} if self.below is None else folder_values(path.relative_to(self.below))


def source_files(source: Source, base: Path, environ: Mapping[str, str]) -> SourceFiles:
    """The files of a source: the one that its address names, or all below that directory, sorted.

    Raises:
        SpecError: where the address is none.
        InputError: where there is no Parquet file, or it is not the one that the spec pins.
    """
    place = local_path(source.uri, base, environ)
    if place.is_dir():
        files = sorted(path for path in place.rglob("*.parquet") if _is_data(path, place))
        if any(path.is_symlink() and not path.is_file() for path in place.rglob("*")):
            raise input_error(source.uri, "has a link in it to a directory or nothing: name files")
        if not files:
            raise input_error(source.uri, "has no file *.parquet in it")
        if source.sha256 is not None:
            raise input_error(source.uri, "is a directory, and a SHA-256 pins one file")
        return SourceFiles(tuple(files), place)
    if reason := unreadable(place):
        raise input_error(source.uri, reason)
    if source.sha256 not in (None, sha256_of(place)):
        raise input_error(source.uri, "its SHA-256 is not the one that the spec pins")
    return SourceFiles((place,))


def _is_data(path: Path, below: Path) -> bool:
    """False for what has a name, or is in a folder, that writers give to what is unfinished."""
    names = path.relative_to(below).parts
    aside = any(name[0] == "." or (name[0] == "_" and "=" not in name) for name in names)
    return path.is_file() and not aside


def read_chunks(
    files: SourceFiles, source: Source, columns: Mapping[str, ColumnSpec], rows: int = AT_ONCE
) -> Iterator[tuple[Microdata, str]]:
    """All rows of a source, about so many at a time, typed and encoded.

    Yields:
        The rows, and what to call them in errors, where rows are numbered from the first of them.

    Raises:
        InputError: where a file is not as declared.
    """
    passed, folders = 0, files.folders(files.paths[0])
    for found in _tables(files, source, rows):
        called = f"{source.uri} (behind the first {passed} rows)" if passed else source.uri
        require_distinct_names(found.column_names, called)
        passed += found.num_rows
        read = dict(zip(found.column_names, found.columns, strict=True))
        del found
        read |= {name: parse_folder(read[name], name, columns, called) for name in folders}
        yield encode_columns(read, source, columns, called), called


def _tables(files: SourceFiles, source: Source, rows: int) -> Iterator[pa.Table]:
    """Batches of files in their order, joined until they are as many rows."""
    waiting: list[pa.Table] = []
    for batch in _batches(files, source, rows):
        if waiting and not batch.schema.equals(waiting[0].schema):
            raise input_error(source.uri, "its files have different columns, or types")
        waiting.append(batch)
        if sum(table.num_rows for table in waiting) >= rows:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _batches(files: SourceFiles, source: Source, rows: int) -> Iterator[pa.Table]:
    for number, path in enumerate(files.paths, start=1):
        try:
            schema = pq.read_schema(path)
            text = [field.name for field in schema if pa.types.is_string(field.type)]
            with pq.ParquetFile(path, read_dictionary=text) as parquet:
                for batch in parquet.iter_batches(batch_size=rows):
                    table = pa.table(batch.columns, names=batch.schema.names)
                    yield with_folders(table, files.folders(path))
        except (pa.ArrowException, OSError, ValueError):
            where = f"file {number} of {len(files.paths)} " if len(files.paths) > 1 else ""
            raise input_error(source.uri, f"{where}cannot be read as Parquet") from None
