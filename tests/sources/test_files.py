"""Packed files, folders and patterns, and values that are spelled as is declared."""

import bz2
import gzip
import hashlib
import random
import subprocess
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError, MissingPackageError
from sfumato.tasks.microdata.notation.spelling import AS_ISO, ValueSpelling
from sfumato.tasks.microdata.readers.cells import cells, convert_cells
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import ingest
from tests.microdata.sources import CANARY, column, refusal

WHOLE = b"n,s\n" + b"".join(
    b"%d,x%d\n" % (i, random.Random(i).getrandbits(60)) for i in range(9000)
)
PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: bytes(pa.compress(content, codec="zstd", asbytes=True)),
}
TYPES = {"n": "integer", "s": "string"}


def read(folder, uri, types=TYPES, **keys):
    source = Source.model_validate({"uri": uri, **keys})
    columns = {name: column(type_) for name, type_ in types.items()}
    result = ingest(source, columns, "category", folder, {})
    return {name: result.microdata[name].array().to_pylist() for name in types}


def refusal_of(folder, uri, types=TYPES, **keys):
    return refusal(lambda: read(folder, uri, types, **keys), InputError)


@pytest.mark.parametrize("ending", PACKERS)
class TestPacked:
    def test_it_is_read_as_if_it_were_not(self, ending, tmp_path):
        (tmp_path / "a.csv").write_bytes(WHOLE)
        (tmp_path / f"b.csv{ending}").write_bytes(PACKERS[ending](WHOLE))
        assert read(tmp_path, f"b.csv{ending}") == read(tmp_path, "a.csv")

    def test_several_pieces_behind_one_another_are_one(self, ending, tmp_path):
        packed = PACKERS[ending](WHOLE[:5000]) + PACKERS[ending](WHOLE[5000:])
        (tmp_path / f"b.csv{ending}").write_bytes(packed)
        assert len(read(tmp_path, f"b.csv{ending}")["n"]) == 9000

    def test_one_that_is_cut_is_refused(self, ending, tmp_path):
        packed = PACKERS[ending](WHOLE)
        for end in (1, 5, len(packed) // 2, len(packed) - 9, len(packed) - 1):
            (tmp_path / f"b.csv{ending}").write_bytes(packed[:end])
            assert "to its end. The file may be incomplete; copy it again" in refusal_of(
                tmp_path, f"b.csv{ending}"
            ), end

    def test_what_is_not_packed_is_refused(self, ending, tmp_path):
        (tmp_path / f"b.csv{ending}").write_bytes(b"n,s\n1,%s\n" % CANARY.encode())
        assert "cannot be unpacked" in refusal_of(tmp_path, f"b.csv{ending}")

    def test_an_empty_one_is_refused(self, ending, tmp_path):
        (tmp_path / f"b.csv{ending}").write_bytes(PACKERS[ending](b""))
        assert refusal_of(tmp_path, f"b.csv{ending}") == f"b.csv{ending}: is empty"

    def test_its_encoding_is_that_of_its_content(self, ending, tmp_path):
        (tmp_path / f"b.csv{ending}").write_bytes(PACKERS[ending]("n,s\n1,é\n".encode("latin-1")))
        result = read(tmp_path, f"b.csv{ending}", csv={"encoding": "latin-1"})
        assert result == {"n": [1], "s": ["é"]}

    def test_the_digest_is_that_of_the_packed_file(self, ending, tmp_path):
        packed = PACKERS[ending](WHOLE)
        (tmp_path / f"b.csv{ending}").write_bytes(packed)
        result = read(tmp_path, f"b.csv{ending}", sha256=hashlib.sha256(packed).hexdigest())
        assert result == read(tmp_path, f"b.csv{ending}")
        unpacked = hashlib.sha256(WHOLE).hexdigest()
        assert "SHA-256" in refusal_of(tmp_path, f"b.csv{ending}", sha256=unpacked)


@pytest.fixture
def folder(tmp_path):
    """Two months in files of their own, and what is no month."""
    place = tmp_path / "visits"
    (place / "b").mkdir(parents=True)
    (place / "2026-02.csv").write_text("s,n\ny,3\n", encoding="utf-8")
    (place / "2026-01.csv.gz").write_bytes(gzip.compress(b"n,s\n1,x\n2,\n"))
    (place / "b" / "2026-03.csv").write_text("n,s\n4,x\n", encoding="utf-8")
    (place / ".hidden.csv").write_text("nothing", encoding="utf-8")
    (place / "_SUCCESS").write_text("", encoding="utf-8")
    (place / "notes.txt").write_text("nothing", encoding="utf-8")
    return tmp_path


def test_a_folder_is_all_its_files_in_the_order_of_their_names(folder):
    assert read(folder, "visits") == {"n": [1, 2, 3, 4], "s": ["x", None, "y", "x"]}


def test_folders_that_are_called_like_patterns_are_themselves(tmp_path):
    place = tmp_path / "[2026]" / "a*"
    place.mkdir(parents=True)
    (place / "one.csv").write_bytes(b"n,s\n1,x\n")
    assert read(place, "o*.csv")["n"] == [1]
    assert read(tmp_path, "[2026]/a*/one.csv")["n"] == [1]
    assert "no such file" in refusal_of(place, "two.csv").lower()


def test_a_pattern_is_all_files_that_match(folder):
    assert read(folder, "visits/2026-*.csv")["n"] == [3]
    assert read(folder, "visits/2026-*")["n"] == [1, 2, 3]
    assert read(folder, "visi*/**/2026-0[23].csv")["n"] == [3, 4]
    assert (
        refusal_of(folder, "visits/2027-*")
        == "visits/2027-*: no file matches this pattern. Correct it"
    )
    (folder / "visits" / "[1].csv").write_text("n,s\n9,z\n", encoding="utf-8")
    assert read(folder, "visits/[1].csv")["n"] == [9]


def test_faults_are_told_with_the_number_of_the_file(folder):
    (folder / "visits" / f"{CANARY}.csv").write_text(f"n,s\n1,x\n{CANARY}x,y\n", encoding="utf-8")
    message = refusal_of(folder, "visits")
    assert message == "visits (file 3 of 4): row 2: column 'n': not an integer of 64 bits"
    (folder / "visits" / f"{CANARY}.csv").write_text("n\n1\n", encoding="utf-8")
    assert refusal_of(folder, "visits") == "visits (file 3 of 4): column 's': is missing"
    (folder / "visits" / f"{CANARY}.csv").write_text("n,s,t\n1,x,y\n", encoding="utf-8")
    assert refusal_of(folder, "visits") == "visits (file 3 of 4): column 3 of 3 is not in the spec"


def test_what_files_must_have_in_common(tmp_path):
    (tmp_path / "a.csv").write_text("t\n2024-01-01T10:00Z\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("t\n2024-01-01T10:00\n", encoding="utf-8")
    message = refusal_of(tmp_path, "*.csv", {"t": "timestamp"})
    assert "*.csv: row 2: column 't': some timestamps have an offset, and others do not" in message
    (tmp_path / "a.csv").write_text("t\n1.5\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("t\n1.25\n", encoding="utf-8")
    assert read(tmp_path, "*.csv", {"t": "decimal"})["t"] == [Decimal("1.50"), Decimal("1.25")]


def test_typed_files_may_have_other_decimals(tmp_path):
    for name, values in (("a", ["1.5"]), ("b", ["1.25", None])):
        table = pa.table({"t": pa.array(values)}).cast(
            pa.schema({"t": pa.decimal128(9, len(name) + 1)})
        )
        pq.write_table(table, tmp_path / f"{name}.parquet")
    result = read(tmp_path, ".", {"t": "decimal"}, format="parquet")
    assert result["t"] == [Decimal("1.50"), Decimal("1.25"), None]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_names_of_folders_are_columns(tmp_path, format_):
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        rows = pa.table({"n": [year - 2020, 1]})
        place = tmp_path / f"year={year}" / f"a.{format_}"
        pq.write_table(rows, place) if format_ == "parquet" else pa.csv.write_csv(rows, place)
    result = read(tmp_path, ".", {"n": "integer", "year": "integer"}, format=format_)
    assert result == {"n": [5, 1, 6, 1], "year": [2025, 2025, 2026, 2026]}


def test_several_files_are_pinned_as_sha256sum_lists_them(folder):
    command = "find * -name '2026*' -type f | LC_ALL=C sort | xargs sha256sum | sha256sum"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder / "visits",
        capture_output=True,
        text=True,
        check=True,
    )
    pin = done.stdout.split()[0]
    assert read(folder, "visits", sha256=pin)["n"] == [1, 2, 3, 4]
    (folder / "visits" / "b" / "2026-03.csv").rename(folder / "visits" / "b" / "2026-04.csv")
    assert refusal_of(folder, "visits", sha256=pin).endswith(
        "If the change is intended, write the new digest"
    )


def test_dates_are_read_as_they_are_declared(tmp_path):
    content = "born;seen;wage\n1.2.2024;3/4/2024 5:06;1,50\n31.12.1999;;\n"
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    types = {"born": "date", "seen": "timestamp", "wage": "decimal"}
    keys = {
        "csv": {"delimiter": ";"},
        "decimal": ",",
        "date-formats": {"born": "%d.%m.%Y", "seen": "%m/%d/%Y %H:%M"},
    }
    assert read(tmp_path, "a.csv", types, **keys) == {
        "born": [date(2024, 2, 1), date(1999, 12, 31)],
        "seen": [datetime.fromisoformat("2024-03-04T05:06"), None],
        "wage": [Decimal("1.50"), None],
    }
    for name, was, wrong, rule in (
        ("born", "1.2.2024", "2024-02-01", "as source.date-formats declares it (%d.%m.%Y)"),
        ("born", "1.2.2024", "31.2.2024", "not a date of the years 1 to 9999 (yyyy-mm-dd)"),
        ("born", "1.2.2024", "1.2.24", "as source.date-formats declares it (%d.%m.%Y)"),
        ("wage", "1,50", "1.50", "not a number with a decimal comma"),
        ("wage", "1,50", "1.000,50", "not a number with a decimal comma"),
    ):
        (tmp_path / "a.csv").write_text(content.replace(was, wrong), encoding="utf-8")
        message = refusal_of(tmp_path, "a.csv", types, **keys)
        assert message.startswith(f"a.csv: row 1: column {name!r}: not a")
        assert rule in message


def test_what_is_not_declared_is_not_guessed(tmp_path):
    for value, type_ in (("1.2.2024", "date"), ("1,5", "decimal"), ("1,5", "float")):
        (tmp_path / "a.csv").write_text(f'v\n"{value}"\n', encoding="utf-8")
        assert "row 1: column 'v': not a" in refusal_of(tmp_path, "a.csv", {"v": type_})


def test_times_with_an_offset_become_local_where_it_is_declared(tmp_path):
    (tmp_path / "a.csv").write_text("t\n2024-07-01T23:30Z\n2024-01-01T00:30+01\n", encoding="utf-8")
    types = {"t": "timestamp"}
    there = read(tmp_path, "a.csv", types, timezone="Europe/Berlin")["t"]
    assert [str(t) for t in there] == ["2024-07-02 01:30:00", "2024-01-01 00:30:00"]
    utc = read(tmp_path, "a.csv", types)["t"]
    assert [str(t) for t in utc] == ["2024-07-01 23:30:00", "2023-12-31 23:30:00"]
    zoned = pa.table({"t": pa.array(utc).cast(pa.timestamp("us", "UTC"))})
    pq.write_table(zoned, tmp_path / "a.parquet")
    keys = {"format": "parquet", "timezone": "Europe/Berlin"}
    assert read(tmp_path, "a.parquet", types, **keys)["t"] == there
    (tmp_path / "a.csv").write_text("t\n2024-07-01T23:30\n", encoding="utf-8")
    times = read(tmp_path, "a.csv", types, timezone="Europe/Berlin")["t"]
    assert [str(t) for t in times] == ["2024-07-01 23:30:00"]


@given(st.dates(), st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%Y年%m月%d日"]))
def test_a_date_is_the_one_that_was_written(day, written):
    parts = {"%Y": f"{day.year:04}", "%m": f"{day.month:02}", "%d": f"{day.day:02}"}
    text = written
    for token, part in parts.items():
        text = text.replace(token, part)
    result = convert_cells(
        cells([text]), "date", "a", "d", ValueSpelling(date_formats={"d": written})
    )
    assert result.array().to_pylist() == [day]


@pytest.mark.parametrize(
    "written", ["%d.%m.%y", "%d.%m", "%d.%m.%Y %S", "%d.%d.%m.%Y", "%d. %b %Y", "%x", "%Y-%m-%d %M"]
)
def test_formats_that_leave_the_day_open(written):
    with pytest.raises(ValueError, match=r"date-formats\.d: "):
        ValueSpelling(date_formats={"d": written})


CELLS = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda x: x + 0.0),
)


@given(st.lists(CELLS, min_size=1))
def test_numbers_of_cells_are_the_same_numbers(values):
    numbers = convert_cells(cells(values), "float", "a", "x", AS_ISO).array().to_pylist()
    assert numbers == [None if v is None else float(v) for v in values]


@pytest.fixture
def workbook(tmp_path):
    """A sheet as people keep it, and another one."""
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet, day = book.add_worksheet("2026"), book.add_format({"num_format": "dd/mm/yyyy"})
        sheet.write_row(0, 0, ["n", "code", "born", "wage"])
        sheet.write_row(1, 0, [1.0, "007"])
        sheet.write_datetime(1, 2, date(1980, 2, 29), day)
        sheet.write_number(1, 3, 0.1)
        sheet.write_row(3, 0, [2.0, 7.0, "1.3.1980", 1500])
        book.add_worksheet("notes")
    return tmp_path


SHEET = {"n": "integer", "code": "string", "born": "date", "wage": "decimal"}
AS_BOOK = {"format": "excel", "sheet": "2026", "date-formats": {"born": "%d.%m.%Y"}}


def test_cells_of_a_workbook(workbook):
    types = SHEET | {"code": "integer"}
    assert read(workbook, "a.xlsx", types, **AS_BOOK) == {
        "n": [1, 2],
        "code": [7, 7],
        "born": [date(1980, 2, 29), date(1980, 3, 1)],
        "wage": [Decimal("0.1"), Decimal(1500)],
    }
    message = refusal_of(workbook, "a.xlsx", SHEET, **AS_BOOK)
    assert message.startswith("a.xlsx: row 2: column 'code': not a text")
    message = refusal_of(workbook, "a.xlsx", SHEET, **AS_BOOK | {"sheet": "2025"})
    assert message == "a.xlsx: has no sheet '2025'. Correct source.sheet"
    assert "the sheet is empty" in refusal_of(
        workbook, "a.xlsx", SHEET, **AS_BOOK | {"sheet": "notes"}
    )


def test_a_workbook_is_measured_where_it_has_one_sheet(workbook, capsys):
    from sfumato.flows.cli.main import run

    command = ["measure", str(workbook / "a.xlsx"), "--qi", "n", "--sensitive", "wage"]
    assert run(command) == 2
    assert "has 2 sheets" in capsys.readouterr().err


def test_codes_of_stata_and_spss_are_labels_where_texts_are_declared(tmp_path):
    import pandas as pd
    import pyreadstat

    rows = pd.DataFrame(
        {"sex": [1.0, 2.0, None], "age": [30, 40, 99], "born": [date(1980, 2, 29)] * 3}
    )
    labels = {"variable_value_labels": {"sex": {1: "male", 2: "female"}}}
    pyreadstat.write_dta(rows, tmp_path / "a.dta", **labels)
    pyreadstat.write_sav(rows, tmp_path / "a.sav", missing_ranges={"age": [99]}, **labels)
    types = {"sex": "string", "age": "integer", "born": "date"}
    for file, format_, last in (("a.dta", "stata", 99), ("a.sav", "spss", None)):
        result = read(tmp_path, file, types, format=format_)
        assert result == {
            "sex": ["male", "female", None],
            "age": [30, 40, last],
            "born": [date(1980, 2, 29)] * 3,
        }
        codes = read(tmp_path, file, types | {"sex": "integer"}, format=format_)
        assert codes["sex"] == [1, 2, None]
        assert "not a text" in refusal_of(tmp_path, file, types | {"age": "string"}, format=format_)


@pytest.mark.parametrize(
    ("module", "file", "extra"),
    [
        ("python_calamine", "a.xlsx", "excel"),
        ("pyreadstat", "a.dta", "stata"),
        ("pyreadstat", "a.sav", "spss"),
    ],
)
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, module, file, extra):
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / file).write_bytes(b"x")
    sheet = {"sheet": "a"} if extra == "excel" else {}
    message = refusal(lambda: read(tmp_path, file, format=extra, **sheet), MissingPackageError)
    hint = f"needs a package that is not installed. Run pip install 'sfumato[{extra}]'"
    assert message == f"{file}: {hint}"
