"""Published Parquet files, read whole."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.schema.files import regular


def read_parquet(path: Path) -> pa.Table:
    """The table of one Parquet file.

    Not by `pyarrow.parquet.read_table`, which imports pyarrow's data sets and with them pandas:
    a third of the time in which a query starts and is answered.

    Raises:
        OSError: where the file is missing or cannot be read.
        ArrowException: where it is no Parquet file.
    """
    with pq.ParquetFile(regular(path)) as file:
        return file.read()
