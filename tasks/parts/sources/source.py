"""A source of Parquet files, read so many rows at a time."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.microdata.input_error import input_error, require_distinct_names
from sfumato.tasks.microdata.places.encoded import encode_columns
from sfumato.tasks.microdata.places.files import SourceFiles
from sfumato.tasks.microdata.places.folders import parse_folder, with_folders
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.files import regular

AT_ONCE = 1 << 21  # rows


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
            schema = pq.read_schema(regular(path))
            text = [field.name for field in schema if pa.types.is_string(field.type)]
            with pq.ParquetFile(regular(path), read_dictionary=text) as parquet:
                for batch in parquet.iter_batches(batch_size=rows):
                    table = pa.table(batch.columns, names=batch.schema.names)
                    yield with_folders(table, files.folders(path))
        except (pa.ArrowException, OSError, ValueError):
            where = f"file {number} of {len(files.paths)} " if len(files.paths) > 1 else ""
            raise input_error(source.uri, f"{where}cannot be read as Parquet") from None
