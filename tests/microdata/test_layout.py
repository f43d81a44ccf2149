"""Lines above the header, names in place of others, and marks between thousands of numbers."""

from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.inputs.spec import json_schema
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from sfumato.tasks.microdata.source_files import source_files
from sfumato.tasks.parts.divide import read_chunks
from tests.microdata.sources import FILE, column, refusal

AB = {"a": column("integer"), "b": column()}


def read(directory: Path, content, columns=AB, **source):
    (directory / FILE).write_bytes(content.encode())
    declared = Source.model_validate({"uri": FILE, **source})
    table = ingest(declared, columns, "category", directory, {}).microdata
    return {c.name: c.array().to_pylist() for c in table.columns}


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        ('\ufeffTitle, of "all"\r\n\r\nb,a\r\n"x\ny",1\r\nz,2\r\n', {"skip": 1}),
        ('Title\n\n\nb,a\n"x\ny",1\nz,2\n', {"skip": 3}),
        ('c;d\n"x\ny";1\nz;2\n', {"skip": 1, "header": ["b", "a"], "delimiter": ";"}),
        ('sep=;\nb;a\n"x\ny";1\nz;2\n', {"skip": 1, "delimiter": ";"}),
    ],
)
def test_lines_above_the_header_are_skipped(tmp_path, content, dialect):
    assert read(tmp_path, content, csv=dialect) == {"a": [1, 2], "b": ["x\ny", "z"]}


@pytest.mark.parametrize(
    ("content", "dialect", "fault"),
    [
        ("Title\nb,a\nx,1\nz\n", {"skip": 1}, "row 2: 1 fields, 2 columns"),
        ("Title\nb,a\nx,1\nz\n", {"skip": 2, "header": ["b", "a"]}, "row 2: 1 fields, 2 columns"),
        ("b,a\nx,1\n", {"skip": 5}, "is empty after the 5 lines of source.csv.skip"),
        ("Title\nb,a\n", {"skip": 1}, "has no rows"),
        (
            "sep=;\nb;a\nx;1\n",
            {"delimiter": ";"},
            ("its first line names the delimiter for Excel (sep=…)"),
        ),
        ("sep=;\nb;a\nx;1\n", {}, "its first line names the delimiter for Excel (sep=…)"),
    ],
)
def test_faults_around_skipped_lines(tmp_path, content, dialect, fault):
    message = refusal(lambda: read(tmp_path, content, csv=dialect), InputError)
    assert fault in message


def test_columns_are_called_as_the_spec_renames_them(tmp_path):
    rename = {"x/y": "a"}
    table = read(tmp_path, "x/y,b\n1,p\n2,q\n", rename=rename, where="a > 1")
    assert table == {"a": [2], "b": ["q"]}


@pytest.mark.parametrize(
    ("rename", "fault"),
    [
        ({"x": "a"}, "source.rename: the source has no column 'x'. Correct the name"),
        (
            {"x/y": "b"},
            "source.rename: another column already has the name 'b'. Choose another name",
        ),
    ],
)
def test_names_that_cannot_be_given(tmp_path, rename, fault):
    message = refusal(lambda: read(tmp_path, "x/y,b\n1,p\n", rename=rename), InputError)
    assert message == f"{FILE}: {fault}"


def test_columns_of_parts_and_folders_are_renamed(tmp_path):
    for year in (2020, 2021):
        (tmp_path / "t" / f"the year={year}").mkdir(parents=True)
        rows = pa.table({"b/": ["p", "q"]})
        pq.write_table(rows, tmp_path / "t" / f"the year={year}" / "0.parquet")
    source = Source(uri="t", format="parquet", rename={"the year": "a", "b/": "b"})
    whole = ingest(source, AB, "category", tmp_path, {}).microdata
    (part, _), *_ = read_chunks(source_files(source, tmp_path, {}, None), source, AB)
    for table in (whole, part):
        assert table["a"].array().to_pylist() == [2020, 2020, 2021, 2021]
        assert table["b"].array().to_pylist() == ["p", "q"] * 2


@pytest.mark.parametrize(
    ("texts", "thousands", "decimal", "numbers"),
    [
        ("1,234 12 1,234,567", ",", ".", [1234, 12, 1_234_567]),
        ("1.234 12 999", ".", ",", [1234, 12, 999]),
        ("1'234 1’234 12345", "'", ".", [1234, 1234, 12345]),
        ("1\u00a0234 1\u202f234 -12", " ", ".", [1234, 1234, -12]),
    ],
)
def test_marks_between_thousands(tmp_path, texts, thousands, decimal, numbers):
    content = "a;b\n" + "".join(f"{text};x\n" for text in texts.split(" "))
    dialect = {"delimiter": ";", "thousands": thousands}
    assert read(tmp_path, content, csv=dialect, decimal=decimal)["a"] == numbers


def test_thousands_and_decimals_together(tmp_path):
    columns = {"a": column("decimal"), "b": column("float")}
    content = "a;b\n1.234,50;1.000,5\n7;2\n"
    dialect = {"delimiter": ";", "thousands": "."}
    table = read(tmp_path, content, columns, csv=dialect, decimal=",")
    assert [float(number) for number in table["a"]] == [1234.5, 7]
    assert table["b"] == [1000.5, 2]


@pytest.mark.parametrize("text", ["1,23", "1,2345", ",123", "1,,234", "12,34,567", "1234,567"])
def test_wrong_marks_between_thousands_are_refused(tmp_path, text):
    content = f"a;b\n{text};x\n"
    dialect = {"delimiter": ";", "thousands": ","}
    message = refusal(lambda: read(tmp_path, content, csv=dialect), InputError)
    assert message == (
        f"{FILE}: row 1: column 'a': not a number as source.csv.thousands and source.decimal "
        "declare it"
    )


def test_undeclared_thousands_and_digit_dates_are_hinted_at(tmp_path):
    message = refusal(lambda: read(tmp_path, "a;b\n1'234;x\n", csv={"delimiter": ";"}), InputError)
    assert message.endswith("""not an integer of 64 bits (source.csv.thousands: "'"?)""")
    days = {"a": column("date"), "b": column()}
    message = refusal(lambda: read(tmp_path, "a,b\n20240320,x\n", days), InputError)
    assert message.endswith("(source.date-formats: %Y%m%d?)")


def test_dates_in_digits_have_all_of_them(tmp_path):
    days = {"a": column("date"), "b": column()}
    spelled = {"date-formats": {"a": "%Y%m%d"}}
    assert read(tmp_path, "a,b\n20240320,x\n", days, **spelled)["a"] == [date(2024, 3, 20)]
    with pytest.raises(InputError, match="not a date as source"):
        read(tmp_path, "a,b\n2024320,x\n", days, **spelled)


def test_a_time_zone_says_whose_local_time_others_are(tmp_path):
    times = {"a": column("timestamp"), "b": column()}
    content = "a,b\n2024-03-01T10:00+03:00,x\n2024-03-01T11:00,y\n2024-06-01T10:00Z,z\n"
    message = refusal(lambda: read(tmp_path, content, times), InputError)
    assert message.endswith("Name the time zone of the others (source.timezone: Europe/Berlin)")
    local = read(tmp_path, content, times, timezone="Europe/Berlin")["a"]
    assert local == [datetime(2024, 3, 1, 8), datetime(2024, 3, 1, 11), datetime(2024, 6, 1, 12)]  # noqa: DTZ001


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ({"csv": {"skip": -1}}, "greater than or equal to 0"),
        ({"csv": {"skip": "1"}}, "valid integer"),
        ({"csv": {"skip": True}}, "valid integer"),
        ({"csv": {"thousands": ";"}}, "Input should be ',', '.'"),
        ({"csv": {"thousands": "."}}, "csv.thousands: '.' is also the decimal mark"),
        ({"rename": {"a": ""}}, "at least 1 character"),
        ({"rename": {"a": "c", "b": "c"}}, "rename: gives two columns the same name"),
    ],
)
def test_keys_are_parsed_strictly(source, fault):
    with pytest.raises(ValidationError, match=fault.replace("(", r"\(")):
        Source.model_validate({"uri": FILE, **source})


def test_the_schema_has_the_keys():
    schema = json_schema()["$defs"]
    assert {"skip", "thousands"} <= schema["CsvDialect"]["properties"].keys()
    assert "rename" in schema["Source"]["properties"]


def test_a_quote_that_joins_rows_is_hinted_at(tmp_path):
    content = 'a,b\n1,"x\n2,y\n3,z"\n4,"v\n5,w",u\n'
    message = refusal(lambda: read(tmp_path, content), InputError)
    assert message == f"{FILE}: row 2: 3 fields, 2 columns: it may have a quote that does not close"
