"""Every registered reader of source files keeps the laws of readers."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.tasks.microdata.readers.registry import READERS
from tests.laws.reader_laws import ReaderCase, ReaderLaws, text_of
from tests.microdata.sources import CANARY


def csv_of(table: pa.Table) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(table.column_names)
    writer.writerows([text_of(value) for value in row.values()] for row in table.to_pylist())
    return stream.getvalue().encode()


def parquet_of(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


BROKEN = {
    "csv": {
        "ragged": f"n,m\n1,2\n1,2,{CANARY}\n".encode(),
        "repeated": f"n,n\n1,{CANARY}\n".encode(),
        "unreadable": f"n,m\n1,{CANARY}\xff\n".encode("latin-1"),
        "unclosed": f'n,m\n1,"{CANARY}\n'.encode(),
    },
    "parquet": {
        "unreadable": CANARY.encode() * 9,
        "short": parquet_of(pa.table({"n": [CANARY], "m": ["1"]}))[:-20],
        "repeated": parquet_of(pa.table([[CANARY], ["1"]], names=["n", "n"])),
    },
}
WRITTEN = {"csv": csv_of, "parquet": parquet_of}
CASES = {name: ReaderCase(name, WRITTEN[name], BROKEN[name]) for name in WRITTEN}


def test_every_reader_has_a_case():
    assert set(CASES) == set(READERS)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
class TestReaders(ReaderLaws):
    """All of them."""
