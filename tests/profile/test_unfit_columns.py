"""Columns that no release can show: the draft drops them with the reason, and goes on."""

import sqlite3
from datetime import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.flows.choice.first_spec import write_first_spec
from sfumato.tasks.profile.dialect import DraftOptions
from tests.microdata.arrow_types import column_of_type, people_with
from tests.profile.drafts import confirm, confirm_draft, document, draft, roles
from tests.profile.tables import write_csv

NAMES = ["age", "sex", "note", "income"]
ROWS = [[20 + n % 40, "mf"[n % 2], "", 1000 + 37 * (n % 23)] for n in range(120)]


def words(written_spec):
    """The text of a draft in one line, without the marks of comments."""
    return " ".join(written_spec.spec.read_text(encoding="utf-8").replace("#", " ").split())


def make_draft(directory, column, **options):
    pq.write_table(people_with(column), directory / "t.parquet")
    private = {"SFUMATO_WORK": str(directory / "work")}
    place = directory / "drafted.yaml"
    return write_first_spec(str(directory / "t.parquet"), place, DraftOptions(**options), private)


def test_an_empty_column_of_a_csv_file_is_dropped(tmp_path):
    made = draft(tmp_path, write_csv(NAMES, ROWS))
    assert "note: it has no value in any row" in words(made)
    assert "note" not in roles(made)
    assert confirm_draft(made).source.seen == tuple(NAMES)
    assert "120<br>100 %" in made.profile.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("null", "it has no value in any row"),
        ("float64, all null", "it has no value in any row"),
        ("float64 with NaN", "some of its numbers are NaN or infinite, and no release"),
        ("timestamp of nanoseconds", "its times are finer than microseconds"),
        ("time32", "no release can show values of type time32[ms]"),
        ("binary", "no release can show values of type binary"),
        ("duration s", "no release can show values of type duration[s]"),
        ("list", "no release can show values of type list<element: int8>"),
        ("struct", "no release can show values of type struct<a: int8>"),
        ("decimal256 of 60 digits", "its numbers have more than 38 digits"),
    ],
)
def test_the_reason_stands_in_the_draft(tmp_path, type_, reason):
    made = make_draft(tmp_path, column_of_type(type_))
    assert f"extra: {reason}" in words(made)
    assert "extra" not in roles(made)
    assert made.undecided is None
    assert made.notes[0].startswith(f"column 'extra' is dropped: {reason}")
    confirm(made)
    assert confirm_draft(made).source.seen[-1] == "extra"


def test_a_role_that_no_release_can_give_is_refused(tmp_path):
    column = column_of_type("list")
    with pytest.raises(SpecError, match=r"--role extra=sensitive: no release can show values of"):
        make_draft(tmp_path, column, roles={"extra": "sensitive"})
    assert "extra" not in roles(make_draft(tmp_path, column, roles={"extra": "drop"}))


def test_a_table_of_nothing_else_is_refused_with_the_reasons(tmp_path):
    pq.write_table(pa.table({"a": pa.nulls(3), "b": [[1], [2], [3]]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'a': it has no value in any row; column 'b': no"):
        write_first_spec(
            str(tmp_path / "t.parquet"), None, DraftOptions(), {"SFUMATO_WORK": str(tmp_path / "w")}
        )


def test_a_header_without_rows_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no rows"):
        draft(tmp_path, b"age,sex\n")


def test_missing_values_are_counted_in_the_profile_alone(tmp_path):
    rows = [["" if n % 8 == 0 else row[0], *row[1:]] for n, row in enumerate(ROWS)]
    made = draft(tmp_path, write_csv(NAMES, rows))
    assert "15<br>12.5 %" in made.profile.read_text(encoding="utf-8")
    assert "others may know or see; some values are missing" in words(made)
    assert document(made)["columns"]["age"]["nulls"] == "category"
    assert "12.5" not in words(made)


@pytest.mark.parametrize("name", ["people", "keys"])
def test_a_source_may_be_called_like_a_directory_beside_lines(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{name}.csv").write_bytes(write_csv(NAMES, ROWS))
    private = {"SFUMATO_WORK": str(tmp_path / "work")}
    made = write_first_spec(f"{name}.csv", None, DraftOptions(), private)
    assert document(made)["name"] == f"{name}-data"


def test_cells_that_no_release_can_show_are_dropped(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        clock = book.add_format({"num_format": "hh:mm:ss"})
        sheet = book.add_worksheet("people")
        sheet.write_row(0, 0, ["age", "sex", "clock", "mixed", "empty"])
        for number in range(1, 60):
            sheet.write_row(number, 0, [20 + number % 40, "mf"[number % 2]])
            sheet.write_datetime(number, 2, time(number % 24, 30), clock)
            sheet.write(number, 3, "high" if number % 3 else number)
    made = write_first_spec(
        str(tmp_path / "t.xlsx"),
        tmp_path / "drafted.yaml",
        DraftOptions(),
        {"SFUMATO_WORK": str(tmp_path / "work")},
    )
    assert "mixed: its cells have several types" in words(made)
    assert "empty: it has no value" in words(made)
    assert "clock: its cells have several types, or a type that no release" in words(made)
    assert set(roles(made)) == {"age", "sex"}


def test_bytes_of_a_database_are_dropped(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as made:
        made.execute("CREATE TABLE t (age INTEGER, sex TEXT, photo BLOB)")
        rows = [(20 + n % 40, "mf"[n % 2], bytes([n])) for n in range(60)]
        made.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    made.close()
    make_draft = write_first_spec(
        f"sqlite:///{tmp_path / 't.db'}",
        tmp_path / "drafted.yaml",
        DraftOptions(query="SELECT * FROM t"),
        {"SFUMATO_WORK": str(tmp_path / "work")},
    )
    assert "photo: its cells have several types, or a type that no release" in words(make_draft)
    assert set(roles(make_draft)) == {"age", "sex"}
