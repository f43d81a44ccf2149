"""Every registered reader of source files keeps the laws of readers."""

import csv
import io
import tempfile
from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlsxwriter

from sfumato.tasks.microdata.readers.registry import READERS
from tests.laws.reader_laws import ReaderCase, ReaderLaws, text_of
from tests.microdata.sources import CANARY


def csv_of(table: pa.Table) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(table.column_names)
    writer.writerows([text_of(value) for value in row.values()] for row in table.to_pylist())
    return stream.getvalue().encode()


def excel_of(table: pa.Table) -> bytes:
    """Cells of their own types, but for what a workbook's cell does not hold: this is text."""
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as workbook:
        sheet, day = workbook.add_worksheet("people"), workbook.add_format({"num_format": 14})
        for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
            sheet.write_string(0, place, name)
            for row, value in enumerate(column.to_pylist(), start=1):
                if type(value) is date and value.year > 1900:
                    sheet.write_datetime(row, place, value, day)
                elif isinstance(value, bool | int | float) and abs(value) < 2**53:
                    sheet.write(row, place, value)
                elif value is not None:
                    sheet.write_string(row, place, text_of(value))
    return stream.getvalue()


def statistical_of(write, ending, table: pa.Table) -> bytes:
    """Texts, as which such a file can hold anything."""
    texts = {name: list(map(text_of, table[name].to_pylist())) for name in table.column_names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people{ending}"
        write(pd.DataFrame(texts, dtype=object), str(path))
        return path.read_bytes()


def stata_of(table: pa.Table) -> bytes:
    """A file of Stata, which has a word of its own called float: other programs have none."""
    renamed = table.rename_columns(["fl_at" if n == "float" else n for n in table.column_names])
    written = statistical_of(pyreadstat.write_dta, ".dta", renamed)
    return written.replace(b"fl_at", b"float")


def spss_of(table: pa.Table) -> bytes:
    return statistical_of(pyreadstat.write_sav, ".sav", table)


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
    "excel": {
        "unreadable": CANARY.encode() * 9,
        "short": excel_of(pa.table({"n": [CANARY], "m": ["1"]}))[:-20],
        "repeated": excel_of(pa.table([[CANARY], ["1"]], names=["n", "n"])),
        "without names": excel_of(pa.table({"n": [CANARY], "": ["1"]})),
    },
    "stata": {
        "unreadable": CANARY.encode() * 9,
        "short": stata_of(pa.table({"n": [CANARY], "m": ["1"]}))[:200],
    },
    "spss": {
        "unreadable": CANARY.encode() * 9,
        "short": spss_of(pa.table({"n": [CANARY], "m": ["1"]}))[:-20],
    },
}
WRITTEN = {
    "csv": csv_of,
    "parquet": parquet_of,
    "excel": excel_of,
    "stata": stata_of,
    "spss": spss_of,
}
CASES = {name: ReaderCase(name, WRITTEN[name], BROKEN[name]) for name in WRITTEN}


def test_every_reader_has_a_case():
    assert set(CASES) == set(READERS)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
class TestReaders(ReaderLaws):
    """All of them."""
