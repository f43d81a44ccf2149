"""Small sources to ingest, and what every refusal of one must be."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import Ingested, ingest
from sfumato.tasks.schema.columns import ColumnSpec
from sfumato.tasks.schema.names import CsvDialect

CANARY = "87654321"
FILE = "people.csv"


def column(type_: str = "string", **keys: Any) -> ColumnSpec:
    return ColumnSpec.model_validate({"role": "insensitive", "type": type_} | keys)


def ingest_csv(
    directory: Path,
    content: str | bytes,
    columns: Mapping[str, ColumnSpec],
    nulls: str = "category",
    where: str | None = None,
    **dialect: Any,
) -> Ingested:
    data = content.encode() if isinstance(content, str) else content
    (directory / FILE).write_bytes(data)
    source = Source(uri=FILE, csv=CsvDialect(**dialect), where=where)
    return ingest(source, columns, nulls, directory, {})


def ingest_parquet(
    directory: Path,
    table: pa.Table,
    columns: Mapping[str, ColumnSpec],
    nulls: str = "category",
    row_group_size: int | None = None,
) -> Ingested:
    pq.write_table(table, directory / "people.parquet", row_group_size=row_group_size)
    source = Source(uri="people.parquet", format="parquet")
    return ingest(source, columns, nulls, directory, {})


def values(ingested: Ingested, name: str) -> list[Any]:
    return ingested.microdata[name].array().to_pylist()


def refusal(call: Callable[[], object], kind: type[SfumatoError], canary: str = CANARY) -> str:
    """The message of an error that is fit to be shown: one line, exit code 2, nothing behind it."""
    with pytest.raises(kind) as caught:
        call()
    error, message = caught.value, str(caught.value)
    assert error.exit_code == 2
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert len(message.splitlines()) == 1
    assert canary not in repr(error.args)
    return message
