"""Reader of Parquet files, with PyArrow: columns keep their own types."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.tasks.microdata.notation.spelling import FileDialect
from sfumato.tasks.microdata.readers.input_error import input_error, require_distinct_names
from sfumato.tasks.microdata.readers.typed import adopt
from sfumato.tasks.schema.files import regular

ENDINGS: tuple[str, ...] = (".parquet",)
IS_TEXT = False


def read(path: Path, file: str, _dialect: FileDialect) -> dict[str, pa.ChunkedArray]:
    """Read a Parquet file, columns of text with their dictionaries.

    Args:
        path: the file.
        file: its name in errors.

    Raises:
        InputError: if it is empty or no Parquet.
    """
    if path.stat().st_size == 0:
        raise input_error(file, "is empty")
    try:
        with open_parquet(path) as parquet:
            table = parquet.read()
        _require_known_values(table)
    except (pa.ArrowException, OSError, ValueError) as error:
        require_machine(error)
        raise input_error(file, "cannot be read as Parquet") from None
    require_distinct_names(table.column_names, file)
    return dict(zip(table.column_names, table.columns, strict=True))


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file, columns of text with their dictionaries.

    Raises:
        OSError: if it cannot be read.
        ArrowException: if it is no Parquet.
    """
    schema = pq.read_schema(regular(path))
    text = [field.name for field in schema if pa.types.is_string(field.type)]
    return pq.ParquetFile(regular(path), read_dictionary=text)


def read_batches(path: Path, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file, at most so many at a time, as `read` reads them.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is no Parquet, or damaged.
    """
    with open_parquet(path) as parquet:
        for batch in parquet.iter_batches(batch_size=rows):
            table = pa.table(batch.columns, names=batch.schema.names)
            _require_known_values(table)
            yield table


def _require_known_values(table: pa.Table) -> None:
    """Refuse indices beyond their dictionaries, which Arrow reads from damaged pages unchecked.

    Raises:
        ValueError: if there is one.
    """
    for column in table.columns:
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            ends = pc.min_max(chunk.indices).as_py()
            if (ends["min"] or 0) < 0 or (ends["max"] or 0) >= max(1, len(chunk.dictionary)):
                raise ValueError("an index of a dictionary is too large")


convert = adopt
